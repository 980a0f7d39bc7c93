//! A doubling by a client whose write budget ran out: shard 0 first, then every shard that exists (ADR-133).

use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::units::MAX_SHARD_COUNT;
use limiter_aggregator::write::{Comparison, Condition, Update};

use super::{Client, Ended, count_of, equals, set, shard_key};

const COUNT: &str = "shard_count";

/// A request found the write budget spent a while ago, and only now goes on to double the count.
pub async fn outgrow(client: Client) -> Ended {
    if let Some(item) = client.read_shard(0).await {
        double(&client, count_of(&item)).await;
    }
    Ended::Done
}

/// Doubles the count that was found, and tells the other shards. Answers the count that the client knows then.
pub async fn double(client: &Client, found: u32) -> u32 {
    let known = |count: u32| {
        client.known.set(client.known.get().max(count));
        client.known.get()
    };
    if found >= MAX_SHARD_COUNT.get() {
        return known(found);
    }
    let (count, doubled) = (i128::from(found), i128::from(found * 2));
    client.hold();
    let update = Update {
        key: shard_key(0),
        actions: vec![set(COUNT, doubled)],
        conditions: vec![equals(COUNT, count)],
        return_item_on_failure: true,
    };
    let now = match client.table.update(&update).await {
        Ok(UpdateOutcome::Applied) => {
            raise(client, count, doubled).await;
            known(found * 2)
        }
        Ok(UpdateOutcome::LostRace { found: Some(item) }) => known(found.max(count_of(&item))),
        Ok(UpdateOutcome::LostRace { found: None }) | Err(_) => known(found),
    };
    client.release();
    now
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
