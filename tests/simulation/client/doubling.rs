//! A doubling by a client whose write budget ran out: shard 0 first, then every shard that exists (ADR-133).

use limiter_aggregator::item::Item;
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::units::MAX_SHARD_COUNT;
use limiter_aggregator::write::{Comparison, Condition, Update};

use super::{Client, equals, integer, set, shard_key};

const COUNT: &str = "shard_count";

/// Doubles the count that was found, and tells the other shards.
pub async fn double(client: &Client, found: &Item) {
    let count = integer(found, COUNT).unwrap_or(1).max(1);
    let doubled = (count * 2).min(MAX_SHARD_COUNT.get().into());
    if doubled == count {
        return;
    }
    client.hold();
    let update = Update {
        key: shard_key(0),
        actions: vec![set(COUNT, doubled)],
        conditions: vec![equals(COUNT, count)],
        return_item_on_failure: true,
    };
    match client.table.update(&update).await {
        Ok(UpdateOutcome::Applied) => {
            client.known.set(u32::try_from(doubled).unwrap_or(1));
            raise(client, count, doubled).await;
        }
        Ok(UpdateOutcome::LostRace { found: Some(item) }) => client.learn(&item),
        Ok(UpdateOutcome::LostRace { found: None }) | Err(_) => {}
    }
    client.release();
}

async fn raise(client: &Client, from: i128, to: i128) {
    for shard in 1..u32::try_from(from).unwrap_or(1) {
        let lower = Condition::compare(COUNT, Comparison::Less, to);
        let update = Update {
            key: shard_key(shard),
            actions: vec![set(COUNT, to)],
            conditions: vec![lower],
            return_item_on_failure: false,
        };
        if client.table.update(&update).await.is_err() {
            return;
        }
    }
}
