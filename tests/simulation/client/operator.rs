//! What an operator does to every shard at once: other limits, a top-up, a reset (ADR-145, I1, I7, I8).

use std::collections::BTreeMap;

use limiter_aggregator::bucket::{Bucket, LimitField};
use limiter_aggregator::item::Item;
use limiter_aggregator::plan::quota::grant_size;
use limiter_aggregator::table::{Consistency, Table, TransactionOutcome};
use limiter_aggregator::write::{Action, Condition, Transaction, TransactionAction, Update};

use super::create::freeze;
use super::materialise::{Due, Materialised, Pass, pass_at};
use super::{Client, Ended, add, as_read, count_of, field, integer, reset_counter, set, shard_key};
use crate::scenario::{Configuration, Kind};

/// Millitokens of a token: an operator tops up whole ones.
const TOKEN: i128 = 1000;
/// How often a top-up or a reset is planned anew after a lost race.
const ATTEMPTS: u32 = 4;

/// One thing an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets every limit to so many thousandths of its base.
    Configure(u16),
    /// Gives session windows another length, in seconds.
    Lengthen(i64),
    /// Adds to every quota above its grant.
    TopUp(i128),
    /// Grants every quota anew.
    Reset,
}

/// Carries an operation out on every shard that exists.
pub async fn operate(client: Client, operation: Operation) -> Ended {
    match operation {
        Operation::Configure(per_mille) => {
            configure(&client, |configuration| configuration.per_mille = per_mille.into()).await;
        }
        Operation::Lengthen(window_s) => configure(&client, |configuration| configuration.window_s = window_s).await,
        Operation::TopUp(amount) => regrant(&client, Some(amount)).await,
        Operation::Reset => regrant(&client, None).await,
    }
    client.release();
    Ended::Done
}

async fn shards(client: &Client) -> BTreeMap<u32, Item> {
    let keys: Vec<_> = (0..32).map(shard_key).collect();
    let read = client.table.read(&keys, Consistency::Strong).await.unwrap_or_default();
    (0..32)
        .zip(read)
        .filter_map(|(shard, item)| Some((shard, item?)))
        .collect()
}

/// The configuration first, then every shard, then those that came into being meanwhile.
async fn configure(client: &Client, change: impl FnOnce(&mut Configuration)) {
    client.hold();
    change(&mut client.configuration.borrow_mut());
    let mut told = BTreeMap::new();
    for _ in 0..2 {
        for (shard, item) in shards(client).await {
            if told.insert(shard, ()).is_none() && !tell(client, shard, &item).await {
                return;
            }
        }
    }
}

async fn tell(client: &Client, shard: u32, item: &Item) -> bool {
    let mut actions = vec![set("vu", 0)];
    for kind in Kind::ALL
        .into_iter()
        .filter(|kind| item.contains_key(&field(kind.limit(), LimitField::Cp)))
    {
        let parameters = client.configuration.borrow().parameters(kind);
        actions.push(set(field(kind.limit(), LimitField::Cp), parameters.capacity.0));
        actions.push(set(field(kind.limit(), LimitField::Ra), parameters.refill.0));
        actions.push(set(field(kind.limit(), LimitField::Rp), parameters.period_ms));
        if kind == Kind::Session {
            let length = client.configuration.borrow().window_s;
            actions.push(set(field(kind.limit(), LimitField::Rsa), length.into()));
        }
    }
    let conditions = vec![Condition::item_exists()];
    let update = Update {
        key: shard_key(shard),
        actions,
        conditions,
        return_item_on_failure: false,
    };
    client.table.update(&update).await.is_ok()
}

/// A top-up or a reset: every shard brought up to date and changed, in one transaction. Shards that have not heard of
/// the count are told first.
async fn regrant(client: &Client, top_up: Option<i128>) {
    client.hold();
    for _ in 0..ATTEMPTS {
        let shards = shards(client).await;
        let count = shards.values().map(count_of).max().unwrap_or(1);
        let lagging: Vec<_> = shards.iter().filter(|(_, item)| count_of(item) < count).collect();
        if !lagging.is_empty() {
            for (shard, item) in lagging {
                if client.table.update(&freeze(client, *shard, item, count)).await.is_err() {
                    return;
                }
            }
            continue;
        }
        let Some(members) = members(&shards, client.now, top_up) else {
            return;
        };
        let transaction = Transaction {
            actions: members.into_iter().map(TransactionAction::Update).collect(),
            token: client.token(),
        };
        match client.table.transact(&transaction).await {
            Ok(TransactionOutcome::LostRace { .. }) => {}
            Ok(TransactionOutcome::Applied) | Err(_) => return,
        }
    }
}

/// The write of every shard; none where there is nothing to do.
fn members(shards: &BTreeMap<u32, Item>, now: i64, top_up: Option<i128>) -> Option<Vec<Update>> {
    let mut planned = Vec::new();
    for (shard, item) in shards {
        let pass = pass_at(item, now, top_up.is_some());
        planned.extend(pass.and_then(|pass| Some((*shard, Regrant::new(item, pass)?))));
    }
    match top_up.map(|amount| amount / TOKEN) {
        Some(0) => return None,
        Some(tokens) => [Kind::Calendar, Kind::Session]
            .into_iter()
            .for_each(|kind| spread(&mut planned, kind, tokens)),
        None => planned.iter_mut().for_each(|(_, regrant)| regrant.reset(now)),
    }
    let members = planned.into_iter().map(|(shard, regrant)| regrant.update(shard, now));
    Some(members.collect()).filter(|members: &Vec<Update>| !members.is_empty())
}

/// A top-up's parts: in proportion to the part of the allowance that each shard holds, what is left to the first.
fn spread(planned: &mut [(u32, Regrant)], kind: Kind, tokens: i128) {
    let weight = |regrant: &Regrant| {
        let grant = regrant.grants.get(kind.limit())?;
        Some((i128::from(regrant.pass.count) / i128::from((*grant).max(1))).max(1))
    };
    let weights: Vec<i128> = planned
        .iter()
        .map(|(_, regrant)| weight(regrant).unwrap_or(0))
        .collect();
    let total: i128 = weights.iter().sum();
    if total == 0 {
        return;
    }
    let parts: Vec<i128> = weights.iter().map(|weight| tokens * weight / total).collect();
    let mut left = tokens - parts.iter().sum::<i128>();
    for (place, (_, regrant)) in planned.iter_mut().enumerate().filter(|(place, _)| weights[*place] > 0) {
        regrant.top_up(kind, (parts[place] + std::mem::take(&mut left)) * TOKEN);
    }
}

/// One shard of a top-up or a reset.
struct Regrant<'i> {
    item: &'i Item,
    pass: Pass,
    /// The size of every quota's grant when this is done.
    grants: BTreeMap<String, u32>,
    changes: BTreeMap<String, i128>,
    actions: Vec<Action>,
}

impl<'i> Regrant<'i> {
    /// The shard as it is once it is brought up to date.
    fn new(item: &'i Item, pass: Pass) -> Option<Self> {
        let bucket = Bucket::from_item(item).ok()?;
        let mut regrant = Self {
            item,
            grants: BTreeMap::new(),
            changes: pass
                .limits
                .iter()
                .map(|limit| (limit.limit.clone(), limit.balance - limit.read))
                .collect(),
            actions: vec![],
            pass,
        };
        for limit in &regrant.pass.limits {
            if matches!(Kind::of(&limit.limit), None | Some(Kind::Drip)) {
                continue;
            }
            let stored = bucket.limit(&limit.limit)?;
            let mut grant = grant_size(stored, bucket.fields.shard_count(), stored.capacity?).get();
            if limit.is_regranted() {
                grant = regrant.pass.count;
                regrant
                    .actions
                    .push(set(field(&limit.limit, LimitField::Gc), grant.into()));
            }
            regrant.grants.insert(limit.limit.clone(), grant);
        }
        Some(regrant)
    }

    fn limit(&self, kind: Kind) -> Option<&Materialised> {
        self.pass.limits.iter().find(|limit| limit.limit == kind.limit())
    }

    fn top_up(&mut self, kind: Kind, amount: i128) {
        let Some(limit) = self.limit(kind).cloned() else { return };
        let (size, topped_up) = (field(kind.limit(), LimitField::Gc), field(kind.limit(), LimitField::Tu));
        if !limit.is_regranted() && !self.item.contains_key(&size) {
            let grant = self.grants.get(kind.limit()).copied().unwrap_or(1);
            self.actions.push(set(size, grant.into()));
        }
        let before = integer(self.item, &topped_up).filter(|_| !limit.is_regranted());
        match before.unwrap_or(0) + amount {
            0 if limit.is_regranted() && limit.has_top_up => self.actions.push(Action::Remove { attribute: topped_up }),
            0 => {}
            after => self.actions.push(set(topped_up, after)),
        }
        *self.changes.entry(kind.limit().to_owned()).or_default() += amount;
    }

    fn reset(&mut self, now: i64) {
        if let Some(limit) = self.limit(Kind::Calendar).cloned() {
            let name = Kind::Calendar.limit();
            let capacity = integer(self.item, &field(name, LimitField::Cp)).unwrap_or(0);
            let count = i128::from(self.pass.count);
            self.changes
                .insert(name.to_owned(), capacity.div_euclid(count) - limit.read);
            self.actions
                .retain(|action| *action != set(field(name, LimitField::Gc), count));
            self.actions.push(set(field(name, LimitField::Gc), count));
            self.actions.push(add(reset_counter(name), 1));
            self.end_top_up(&limit, true);
        }
        if let Some(limit) = self.limit(Kind::Session).cloned() {
            let name = Kind::Session.limit();
            let ended = now - limit.length_s * 1000;
            self.pass
                .limits
                .iter_mut()
                .filter(|limit| limit.limit == name)
                .for_each(|limit| limit.window = Some(ended));
            self.actions.push(set(field(name, LimitField::Ws), ended.into()));
            self.actions
                .push(set(field(name, LimitField::Rsa), limit.length_s.into()));
            self.actions.push(Action::Remove {
                attribute: field(name, LimitField::Wtc),
            });
            self.end_top_up(&limit, limit.is_regranted());
        }
    }

    /// A top-up ends with its period.
    fn end_top_up(&mut self, limit: &Materialised, ends: bool) {
        if ends && limit.has_top_up {
            self.actions.push(Action::Remove {
                attribute: field(&limit.limit, LimitField::Tu),
            });
        }
    }

    fn update(self, shard: u32, now: i64) -> Update {
        let mut rf = (integer(self.item, "rf").unwrap_or(0) + 1).max(now.into());
        let mut actions = self.actions;
        for limit in &self.pass.limits {
            if let Some(window) = limit.window {
                rf = rf.max(window.into());
                actions.push(set(field(&limit.limit, LimitField::Wa), window.into()));
                if limit.due == Due::Open {
                    actions.push(set(field(&limit.limit, LimitField::Ws), window.into()));
                    actions.push(set(field(&limit.limit, LimitField::Rsa), limit.length_s.into()));
                }
            }
        }
        let changes = self.changes.into_iter().filter(|(_, change)| *change != 0);
        actions.extend(changes.map(|(limit, change)| add(field(&limit, LimitField::Tk), change)));
        actions.extend([set("rf", rf), set("vu", 0)]);
        Update {
            key: shard_key(shard),
            actions,
            conditions: vec![as_read(self.item, "rf"), as_read(self.item, "shard_count")],
            return_item_on_failure: false,
        }
    }
}
