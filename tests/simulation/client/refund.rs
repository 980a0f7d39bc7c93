//! What happens to a lease after its work: some of it is given back, or more of it was used.

use std::rc::Rc;

use limiter_aggregator::bucket::{LimitField, attribute};
use limiter_aggregator::item::Item;
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::write::{Action, Comparison, Condition, Update};

use super::{Client, Ended, add, as_read, at_most, count_of, field, instant, integer, reset_counter, set, shard_key};
use crate::scenario::{Kind, PERIOD_MS};

/// An admitted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Where it was admitted.
    pub shard: u32,
    /// What it consumed of every limit.
    pub amount: i128,
    /// The item that its ceilings are known from; none where the shard was to be made, and somebody else had made it.
    pub image: Option<Rc<Item>>,
    /// The item that its periods are known from.
    pub period: Rc<Item>,
}

impl Lease {
    /// One whose write left the item like this.
    pub(super) fn new(shard: u32, amount: i128, image: Item) -> Self {
        let image = Rc::new(relied_on(image));
        Self {
            shard,
            amount,
            image: Some(image.clone()),
            period: image,
        }
    }

    /// One that consumed the amount alone after a lost race: what it had planned, and what it found.
    pub(super) fn after_race(shard: u32, amount: i128, planned: Option<Item>, found: Item) -> Self {
        Self {
            shard,
            amount,
            image: planned.map(relied_on).map(Rc::new),
            period: Rc::new(relied_on(found)),
        }
    }
}

/// What decides a ceiling or a period: neither balances nor counters.
fn relied_on(mut item: Item) -> Item {
    let fields = ["cp", "gc", "tu", "rn", "ws", "wa", "sched"];
    item.retain(|name, _| match name.rsplit_once('_') {
        Some(("shard", _)) => true,
        Some((_, field)) => fields.contains(&field),
        None => matches!(name.as_str(), "rf" | "vu" | "sched"),
    });
    item
}

/// An item with what a write sets and removes on it. Balances and counters stay as they were read.
pub(super) fn written(item: &Item, update: &Update) -> Item {
    let mut item = item.clone();
    for action in &update.actions {
        match action {
            Action::Set { attribute, value } => drop(item.insert(attribute.clone(), value.clone())),
            Action::Remove { attribute } => drop(item.remove(attribute)),
            Action::Add { .. } | Action::SetFrom { .. } => {}
        }
    }
    item
}

/// How a lease turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// Less was used.
    Refund(i128),
    /// More was used: charged whatever the balance.
    Charge(i128),
}

/// Adjusts a lease.
pub async fn adjust(client: Client, lease: Lease, adjustment: Adjustment) -> Ended {
    let every: Vec<Kind> = kinds(&client).collect();
    match adjustment {
        Adjustment::Charge(amount) => {
            let update = change(&every, lease.shard, -amount, vec![]);
            let _charged = client.table.update(&update).await;
        }
        Adjustment::Refund(amount) => refund(&client, &lease, &every, amount.min(lease.amount)).await,
    }
    Ended::Done
}

/// First below the ceiling and with everything that decides it as the lease left it. Then, if that fails, above it if
/// need be, with `vu` at 0 so that the next request clamps. Then each limit by itself: what a quota is owed is dropped
/// once its period has passed.
async fn refund(client: &Client, lease: &Lease, every: &[Kind], amount: i128) {
    // Without an image the schedule is unknown that a calendar period's end comes from.
    let is_known = |kind: &&Kind| lease.image.is_some() || **kind != Kind::Calendar;
    let kinds: Vec<Kind> = every.iter().filter(is_known).copied().collect();
    let periods: Vec<Condition> = kinds
        .iter()
        .flat_map(|kind| same_period(&lease.period, *kind))
        .collect();
    if let Some(image) = &lease.image {
        let mut below = pins(client, image);
        below.extend(periods.iter().cloned());
        for kind in &kinds {
            let Some(ceiling) = ceiling(image, kind.limit()) else {
                return;
            };
            below.push(at_most(field(kind.limit(), LimitField::Tk), ceiling - amount));
        }
        if done(client, &change(&kinds, lease.shard, amount, below)).await {
            return;
        }
    }
    let is_guarded = !periods.is_empty();
    if kinds.is_empty() || done(client, &above(&kinds, lease.shard, amount, periods)).await || !is_guarded {
        return;
    }
    for kind in &kinds {
        let update = above(&[*kind], lease.shard, amount, same_period(&lease.period, *kind));
        if client.table.update(&update).await.is_err() {
            return;
        }
    }
}

/// Whether nothing is left to do: it took effect, or nobody knows.
async fn done(client: &Client, update: &Update) -> bool {
    !matches!(client.table.update(update).await, Ok(UpdateOutcome::LostRace { .. }))
}

fn kinds(client: &Client) -> impl Iterator<Item = Kind> + use<> {
    let scenario = client.scenario;
    Kind::ALL.into_iter().filter(move |kind| scenario.has(*kind))
}

/// That everything which decides a ceiling is as the lease left it.
fn pins(client: &Client, image: &Item) -> Vec<Condition> {
    let mut names = vec!["shard_count".to_owned(), "vu".to_owned(), "sched".to_owned()];
    for kind in kinds(client) {
        let fields = [LimitField::Cp, LimitField::Gc, LimitField::Tu, LimitField::Sched];
        names.extend(fields.map(|name| attribute(kind.limit(), name)));
    }
    names.iter().map(|name| as_read(image, name)).collect()
}

/// That the period which paid for the lease is still the one on the item.
fn same_period(image: &Item, kind: Kind) -> Vec<Condition> {
    let limit = kind.limit();
    match kind {
        Kind::Drip => vec![],
        Kind::Calendar => {
            let refilled = instant(image, "rf").unwrap_or(0);
            let next_edge = refilled - refilled.rem_euclid(PERIOD_MS) + PERIOD_MS;
            vec![
                Condition::compare("rf", Comparison::Less, next_edge.into()),
                as_read(image, &reset_counter(limit)),
            ]
        }
        Kind::Session => vec![
            as_read(image, &field(limit, LimitField::Ws)),
            as_read(image, &field(limit, LimitField::Wa)),
        ],
    }
}

fn ceiling(item: &Item, limit: &str) -> Option<i128> {
    let stored = |name| integer(item, &field(limit, name));
    let grant = stored(LimitField::Gc).filter(|grant| *grant >= 1);
    let grant = grant.unwrap_or_else(|| count_of(item).into());
    Some(stored(LimitField::Cp)?.div_euclid(grant) + stored(LimitField::Tu).unwrap_or(0))
}

fn above(kinds: &[Kind], shard: u32, amount: i128, periods: Vec<Condition>) -> Update {
    let mut update = change(kinds, shard, amount, periods);
    update.actions.push(set("vu", 0));
    update
}

fn change(kinds: &[Kind], shard: u32, amount: i128, mut conditions: Vec<Condition>) -> Update {
    conditions.push(Condition::item_exists());
    let changes = kinds.iter().flat_map(|kind| {
        [
            add(field(kind.limit(), LimitField::Tk), amount),
            add(field(kind.limit(), LimitField::Tc), -amount),
        ]
    });
    Update {
        key: shard_key(shard),
        actions: changes.collect(),
        conditions,
        return_item_on_failure: false,
    }
}
