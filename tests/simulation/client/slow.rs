//! The slow path: a shard brought up to date, or made, and consumed from in the same write (ADR-133).
//!
//! A plan whose write lost is made again a bounded number of times, each for its own reason.

use limiter_aggregator::bucket::LimitField;
use limiter_aggregator::item::{Item, number};
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::write::{Action, Comparison, Condition, Update};

use super::create::create;
use super::materialise::{Opened, pass};
use super::refund::{Lease, written};
use super::{Client, Draws, Ended, add, at_least, at_most, count_of, equals, field, instant, set, shard_key};
use crate::scenario::Kind;

/// How often a plan that moves tokens may lose before the shard is made without them.
const MOVES_LOST: u32 = 2;

/// What came of one plan.
pub(super) enum Planned {
    /// The request is answered.
    Ended(Ended),
    /// A move lost its race, and everything with it.
    MoveLost,
    /// Somebody else wrote the shard, and the period this plan would have begun is still not begun.
    PeriodPending,
    /// The owner is not the one that was read.
    OwnerMoved,
}

/// Where a plan is made for.
pub(super) struct Place {
    /// The shard.
    pub shard: u32,
    /// The count that the request has seen.
    pub count: u32,
    /// Whether it may take tokens from a sibling.
    pub moves: bool,
}

/// The slow path on a shard. `count`: what a failed fast path saw, if it saw one.
pub(super) async fn slow(client: &Client, draws: &mut Draws, shard: u32, count: Option<u32>, amount: i128) -> Ended {
    for lost in 0..=MOVES_LOST {
        let (mut begun, mut reread) = (false, false);
        loop {
            let count = count.unwrap_or_else(|| client.known.get());
            let shard = if shard < count { shard } else { draws.below(count) };
            let moves = lost < MOVES_LOST;
            match plan(client, &Place { shard, count, moves }, amount).await {
                Planned::Ended(ended) => return ended,
                Planned::MoveLost => break,
                Planned::PeriodPending if !begun => begun = true,
                Planned::OwnerMoved if !reread => reread = true,
                Planned::PeriodPending | Planned::OwnerMoved => return Ended::Refused,
            }
        }
    }
    Ended::Refused
}

async fn plan(client: &Client, place: &Place, amount: i128) -> Planned {
    let Some(item) = client.read_shard(place.shard).await else {
        return create(client, place, amount).await;
    };
    let shard = place.shard;
    let Some(pass) = pass(&item, client.now).filter(|pass| pass.admits(amount)) else {
        return Planned::Ended(Ended::Refused);
    };
    if pass.opened().next().is_some() {
        client.hold();
    }
    let update = pass.update(&item, shard, amount);
    match client.table.update(&update).await {
        Ok(UpdateOutcome::Applied) => {
            for opened in pass.opened() {
                propagate_window(client, shard, place.count.max(count_of(&item)), &opened).await;
            }
            client.release();
            return Planned::Ended(Ended::Admitted(Lease::new(shard, amount, written(&item, &update))));
        }
        Ok(UpdateOutcome::LostRace { .. }) => {}
        Err(_) => return Planned::Ended(Ended::Done),
    }
    client.release();
    // What it planned with, as far as a refund relies on it: the rest is as it was read.
    let mut planned = written(&item, &update);
    for name in ["rf", "vu"] {
        match item.get(name) {
            Some(value) => drop(planned.insert(name.to_owned(), value.clone())),
            None => drop(planned.remove(name)),
        }
    }
    consume(client, shard, amount, &pass.begun(), Some(planned)).await
}

/// A period that a lost write would have begun on a shard.
pub(super) enum Begun {
    /// From this edge on.
    Edge(i64),
    /// With this window.
    Window(i64),
}

impl Begun {
    fn condition(&self) -> Condition {
        match self {
            Self::Edge(edge) => at_least("rf", (*edge).into()),
            Self::Window(start) => equals(field(Kind::Session.limit(), LimitField::Wa), (*start).into()),
        }
    }

    fn holds_on(&self, item: &Item) -> bool {
        match self {
            Self::Edge(edge) => instant(item, "rf").is_some_and(|rf| rf >= *edge),
            Self::Window(start) => instant(item, &field(Kind::Session.limit(), LimitField::Wa)) == Some(*start),
        }
    }
}

/// The amount alone, after a race was lost: whoever won it did the rest. `planned`: the item as the lost write would
/// have left it; none where the shard was to be made.
pub(super) async fn consume(
    client: &Client,
    shard: u32,
    amount: i128,
    begun: &[Begun],
    planned: Option<Item>,
) -> Planned {
    let was_missing = planned.is_none();
    let mut update = Update {
        key: shard_key(shard),
        actions: vec![],
        conditions: begun.iter().map(Begun::condition).collect(),
        return_item_on_failure: true,
    };
    for kind in Kind::ALL.into_iter().filter(|kind| client.scenario.has(*kind)) {
        let balance = field(kind.limit(), LimitField::Tk);
        update.conditions.push(at_least(&balance, amount));
        update.actions.push(add(balance, -amount));
        update.actions.push(add(field(kind.limit(), LimitField::Tc), amount));
    }
    match client.table.update_returning(&update).await {
        Ok(Ok(item)) => Planned::Ended(Ended::Admitted(Lease::after_race(shard, amount, planned, item))),
        Ok(Err(Some(item))) if !begun.iter().all(|begun| begun.holds_on(&item)) => Planned::PeriodPending,
        Ok(Err(None)) if was_missing => Planned::PeriodPending,
        Ok(Err(_)) => Planned::Ended(Ended::Refused),
        Err(_) => Planned::Ended(Ended::Done),
    }
}

/// Tells every other shard of a window that was just opened (ADR-140): the start, never tokens.
pub(super) async fn propagate_window(client: &Client, shard: u32, count: u32, opened: &Opened) {
    let (limit, start, length_s) = (&opened.limit, opened.start, opened.length_s);
    let start_field = field(limit, LimitField::Ws);
    for sibling in (0..count).filter(|sibling| *sibling != shard) {
        let consumed = field(limit, LimitField::Tc);
        let actions = vec![
            set(&start_field, start.into()),
            set(field(limit, LimitField::Rsa), length_s.into()),
            set("vu", 0),
            Action::SetFrom {
                attribute: field(limit, LimitField::Wtc),
                source: consumed,
                default: number(0),
            },
        ];
        let applied = Condition::Exists(field(limit, LimitField::Wa));
        let older = Condition::compare("rf", Comparison::Less, start.into());
        let ended = at_most(&start_field, i128::from(start - length_s * 1000));
        let conditions = vec![
            Condition::item_exists(),
            Condition::Any(vec![applied, older]),
            Condition::Any(vec![Condition::Absent(start_field.clone()), ended]),
        ];
        let update = Update {
            key: shard_key(sibling),
            actions,
            conditions,
            return_item_on_failure: false,
        };
        if client.table.update(&update).await.is_err() {
            return;
        }
    }
}
