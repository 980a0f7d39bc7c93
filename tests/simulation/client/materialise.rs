//! The slow path on a shard that exists: what is due since the last writer, and the one write that does it all
//! (R2 to R5 as clients apply them; ADR-139, ADR-140).

use limiter_aggregator::bucket::{Bucket, LimitField, WCU};
use limiter_aggregator::item::Item;
use limiter_aggregator::plan::accrual::project;
use limiter_aggregator::plan::quota::grant_size;
use limiter_aggregator::plan::recovery::{ItemSchedules, NumericLimit, Recovery, shard_share, window_applied};
use limiter_aggregator::schedule::Parameters;
use limiter_aggregator::units::{EpochMillis, Millitokens};
use limiter_aggregator::write::{Action, Condition, Update};

use super::slow::Begun;
use super::{add, as_read, at_least, at_most, field, set, shard_key};

/// What becomes of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It drips.
    Drip,
    /// A calendar reset is due, since this edge.
    Reset,
    /// A propagated window must be applied.
    Roll,
    /// The next window opens now.
    Open,
    /// Nothing is due, but it is clamped.
    Rest,
}

/// One limit, brought up to date.
#[derive(Clone, Debug)]
pub struct Materialised {
    /// Its name.
    pub limit: String,
    /// What is due.
    pub due: Due,
    /// The balance read.
    pub read: i128,
    /// The balance when that is done.
    pub balance: i128,
    /// The window that the balance then reflects.
    pub window: Option<i64>,
    /// The reset edge that the balance then reflects.
    edge: Option<i64>,
    /// The length of its windows on this item, in seconds.
    pub length_s: i64,
    /// Whether the item records a top-up.
    pub has_top_up: bool,
}

/// A window that a pass opens.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The quota.
    pub limit: String,
    /// The window's start.
    pub start: i64,
    /// Its length in seconds.
    pub length_s: i64,
}

/// One shard, brought up to date.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Every limit, `wcu` included.
    pub limits: Vec<Materialised>,
    /// The new `rf`.
    pub last_refill: i64,
    /// The new `vu`.
    pub valid_until: Option<i64>,
    /// The count on the item.
    pub count: u32,
}

/// Works out what is due on an item for a request, which opens a window where none is live; `None` where it cannot be
/// read.
pub fn pass(item: &Item, now: i64) -> Option<Pass> {
    pass_at(item, now, true)
}

/// The same for an operator. `opens`: whether a window is opened where none is live.
pub fn pass_at(item: &Item, now: i64, opens: bool) -> Option<Pass> {
    let bucket = Bucket::from_item(item).ok()?;
    let schedules = ItemSchedules::decode(&bucket.fields, &bucket.limits).ok()?;
    let last_refill = bucket.fields.last_refill?;
    let mut limits = Vec::new();
    let mut boundary = schedules.next_boundary(EpochMillis(now)).map(|boundary| boundary.0);
    let mut rf = last_refill.0.max(now);
    for limit in &bucket.limits {
        let Some(numbers) = NumericLimit::of(limit) else {
            continue;
        };
        let recovery = schedules.recovery(&bucket.fields, limit, &numbers.base);
        let one = materialise(&bucket, limit, numbers, recovery, &schedules, (now, opens))?;
        if recovery == Recovery::Session {
            let end = one
                .window
                .zip(limit.window_length_ms())
                .map(|(start, length)| start + length);
            boundary = boundary.into_iter().chain(end).min();
            rf = rf.max(one.window.unwrap_or(rf));
        }
        limits.push(one);
    }
    Some(Pass {
        limits,
        last_refill: rf,
        valid_until: boundary,
        count: bucket.fields.shard_count().get(),
    })
}

fn materialise(
    bucket: &Bucket<'_>,
    limit: &limiter_aggregator::bucket::Limit<'_>,
    numbers: NumericLimit,
    recovery: Recovery,
    schedules: &ItemSchedules<'_>,
    (now, opens): (i64, bool),
) -> Option<Materialised> {
    let (count, last_refill) = (bucket.fields.shard_count(), bucket.fields.last_refill?);
    let effective = schedules.effective(&bucket.fields, limit, numbers.base, EpochMillis(now))?;
    let share = shard_share(limit, effective.capacity, count);
    let read = numbers.balance;
    let rest = || {
        let granted = numbers
            .base
            .capacity
            .share(grant_size(limit, count, numbers.base.capacity));
        (
            Due::Rest,
            read.min(Millitokens(granted.0 + limit.topped_up.unwrap_or_default().0)),
        )
    };
    let resets = schedules.resets(&bucket.fields, limit);
    let edge = resets.and_then(|resets| resets.previous_edge(EpochMillis(now)));
    let mut window = limit.window_start.map(|start| start.0);
    let (due, balance) = match recovery {
        Recovery::Never => (Due::Rest, read),
        Recovery::Drip => {
            let refill = shard_share(limit, effective.refill, count);
            let own = Parameters {
                capacity: share,
                refill,
                period_ms: effective.period_ms,
            };
            (Due::Drip, project(read, &own, now - last_refill.0)?.balance)
        }
        Recovery::Calendar => {
            if edge.is_some_and(|edge| edge > last_refill) {
                (Due::Reset, share)
            } else {
                rest()
            }
        }
        Recovery::Session => match limit.window_start {
            Some(start) if !opens || start.0 + limit.window_length_ms()? > now => {
                if start > window_applied(limit, last_refill) {
                    let at_window = limit.consumed_at_window.or(limit.consumed).unwrap_or_default();
                    let spent = limit.consumed?.0 - at_window.0;
                    (Due::Roll, Millitokens(share.0 - spent.max(0)))
                } else {
                    rest()
                }
            }
            None if !opens => rest(),
            _ => {
                window = Some(now);
                (Due::Open, share)
            }
        },
    };
    let (has_top_up, length_s) = (limit.topped_up.is_some(), limit.window_length_s.unwrap_or(0));
    let limit = limit.name.to_owned();
    Some(Materialised {
        limit,
        due,
        read: read.0,
        balance: balance.0,
        window,
        edge: edge.map(|edge| edge.0),
        length_s,
        has_top_up,
    })
}

impl Pass {
    /// The windows that this pass opens.
    pub fn opened(&self) -> impl Iterator<Item = Opened> {
        let opened = self.limits.iter().filter(|limit| limit.due == Due::Open);
        opened.filter_map(|limit| {
            Some(Opened {
                limit: limit.limit.clone(),
                start: limit.window?,
                length_s: limit.length_s,
            })
        })
    }

    /// Whether every limit allows the amount.
    pub fn admits(&self, amount: i128) -> bool {
        self.limits
            .iter()
            .all(|limit| limit.limit == WCU || limit.balance >= amount)
    }

    /// The write on its conditions: the item is as it was read as far as this pass relies on it.
    pub fn update(&self, item: &Item, shard: u32, amount: i128) -> Update {
        let mut actions = vec![set("rf", self.last_refill.into())];
        actions.push(match self.valid_until {
            Some(boundary) => set("vu", boundary.into()),
            None => Action::Remove {
                attribute: "vu".to_owned(),
            },
        });
        let mut conditions = vec![as_read(item, "rf"), as_read(item, "vu")];
        for limit in &self.limits {
            limit.write(self, amount, &mut actions, &mut conditions);
        }
        if self.limits.iter().any(Materialised::is_regranted) {
            let count = "shard_count".to_owned();
            conditions.push(Condition::Any(vec![
                Condition::Absent(count.clone()),
                at_most(count, self.count.into()),
            ]));
        }
        Update {
            key: shard_key(shard),
            actions,
            conditions,
            return_item_on_failure: false,
        }
    }

    /// The periods that this pass begins on the shard.
    pub(super) fn begun(&self) -> Vec<Begun> {
        let begun = self.limits.iter().filter(|limit| limit.is_regranted());
        begun
            .filter_map(|limit| limit.window.map(Begun::Window).or(limit.edge.map(Begun::Edge)))
            .collect()
    }
}

impl Materialised {
    /// Whether a period's allowance is handed out anew.
    pub fn is_regranted(&self) -> bool {
        matches!(self.due, Due::Reset | Due::Roll | Due::Open)
    }

    fn write(&self, pass: &Pass, amount: i128, actions: &mut Vec<Action>, conditions: &mut Vec<Condition>) {
        let amount = if self.limit == WCU { 0 } else { amount };
        let balance = field(&self.limit, LimitField::Tk);
        let gained = self.balance - self.read;
        let delta = gained - amount;
        if delta < 0 {
            conditions.push(at_least(&balance, -delta));
        }
        if gained > 0 {
            conditions.push(at_most(&balance, self.read));
        }
        if delta != 0 {
            actions.push(add(balance, delta));
        }
        if amount != 0 {
            actions.push(add(field(&self.limit, LimitField::Tc), amount));
        }
        if let Some(window) = self.window {
            actions.push(set(field(&self.limit, LimitField::Wa), window.into()));
        }
        if !self.is_regranted() {
            return;
        }
        actions.push(set(field(&self.limit, LimitField::Gc), pass.count.into()));
        if self.has_top_up {
            actions.push(Action::Remove {
                attribute: field(&self.limit, LimitField::Tu),
            });
        }
        if let Some(window) = self.window.filter(|_| self.due == Due::Open) {
            actions.push(set(field(&self.limit, LimitField::Ws), window.into()));
            actions.push(set(field(&self.limit, LimitField::Rsa), self.length_s.into()));
        }
    }
}
