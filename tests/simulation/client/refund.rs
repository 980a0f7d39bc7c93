//! What happens to a lease after its work: some of it is given back, or more of it was used.

use limiter_aggregator::bucket::LimitField;
use limiter_aggregator::item::Item;
use limiter_aggregator::plan::quota::grant_size;
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::write::{Comparison, Condition, Update};

use super::{Client, Ended, add, as_read, at_most, field, instant, reset_counter, set, shard_key};
use crate::scenario::{Kind, PERIOD_MS};

/// An admitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Where it was admitted.
    pub shard: u32,
    /// What it consumed of every limit.
    pub amount: i128,
    /// The clock it was admitted at.
    pub at: i64,
}

impl Lease {
    pub(super) fn new(client: &Client, shard: u32, amount: i128) -> Self {
        Self {
            shard,
            amount,
            at: client.now,
        }
    }
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
    match adjustment {
        Adjustment::Charge(amount) => {
            let update = change(&client, lease.shard, -amount, vec![Condition::item_exists()]);
            let _charged = client.table.update(&update).await;
        }
        Adjustment::Refund(amount) => refund(&client, lease, amount.min(lease.amount)).await,
    }
    Ended::Done
}

/// First below the ceiling and with everything as the lease left it; then, if that fails, above it if need be, with
/// `vu` at 0 so that the next request clamps. Never into another period.
async fn refund(client: &Client, lease: Lease, amount: i128) {
    let Some(item) = client.read_shard(lease.shard).await else {
        return;
    };
    let Some(period) = same_period(client, &item, lease) else {
        return;
    };
    let mut conditions = period.clone();
    conditions.extend([
        as_read(&item, "shard_count"),
        as_read(&item, "vu"),
        Condition::item_exists(),
    ]);
    for limit in limits(client) {
        let Some(ceiling) = ceiling(&item, limit) else { return };
        conditions.push(at_most(field(limit, LimitField::Tk), ceiling - amount));
        let fields = [LimitField::Cp, LimitField::Gc, LimitField::Tu].map(|name| field(limit, name));
        conditions.extend(fields.iter().map(|name| as_read(&item, name)));
    }
    match client
        .table
        .update(&change(client, lease.shard, amount, conditions))
        .await
    {
        Ok(UpdateOutcome::LostRace { .. }) => {}
        Ok(UpdateOutcome::Applied) | Err(_) => return,
    }
    let mut update = change(client, lease.shard, amount, period);
    update.actions.push(set("vu", 0));
    update.conditions.push(Condition::item_exists());
    let _refunded = client.table.update(&update).await;
}

fn limits(client: &Client) -> impl Iterator<Item = &'static str> {
    let scenario = client.scenario;
    Kind::ALL
        .into_iter()
        .filter(move |kind| scenario.has(*kind))
        .map(Kind::limit)
}

/// That the period which paid for the lease is still the one on the item.
fn same_period(client: &Client, item: &Item, lease: Lease) -> Option<Vec<Condition>> {
    let mut conditions = Vec::new();
    if client.scenario.has(Kind::Calendar) {
        let next_edge = lease.at - lease.at.rem_euclid(PERIOD_MS) + PERIOD_MS;
        conditions.push(Condition::compare("rf", Comparison::Less, next_edge.into()));
        conditions.push(as_read(item, &reset_counter(Kind::Calendar.limit())));
    }
    if client.scenario.has(Kind::Session) {
        let limit = Kind::Session.limit();
        let (start, applied) = (field(limit, LimitField::Ws), field(limit, LimitField::Wa));
        let window = instant(item, &start).filter(|window| *window <= lease.at)?;
        if instant(item, &applied) != Some(window) {
            return None;
        }
        conditions.extend([as_read(item, &start), as_read(item, &applied)]);
    }
    Some(conditions)
}

fn ceiling(item: &Item, limit: &str) -> Option<i128> {
    let bucket = limiter_aggregator::bucket::Bucket::from_item(item).ok()?;
    let count = bucket.fields.shard_count();
    let limit = bucket.limit(limit)?;
    let capacity = limit.capacity?;
    let granted = match limit.grant_count {
        Some(_) => capacity.share(grant_size(limit, count, capacity)),
        None => capacity.share(count),
    };
    Some(granted.0 + limit.topped_up.unwrap_or_default().0)
}

fn change(client: &Client, shard: u32, amount: i128, conditions: Vec<Condition>) -> Update {
    let changes = limits(client).flat_map(|limit| {
        [
            add(field(limit, LimitField::Tk), amount),
            add(field(limit, LimitField::Tc), -amount),
        ]
    });
    Update {
        key: shard_key(shard),
        actions: changes.collect(),
        conditions,
        return_item_on_failure: false,
    }
}
