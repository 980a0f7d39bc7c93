//! What a propagation costs, counted at the proxy, and that its own echo in the stream dies away.

use limiter_aggregator::table::failing::FailingTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::scene::{
    HOUR, NOW, Notes, Shard, add, bucket_rules, double, event, existing, handle_with, set, world, write,
};
use super::wire::Wire;

/// How many keys each read asked for, and how consistently.
fn reads(wire: &Wire) -> Vec<(usize, bool)> {
    let of = |body: &Vec<u8>| {
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        let asked = &body["RequestItems"]["buckets"];
        (
            asked["Keys"].as_array().unwrap().len(),
            asked["ConsistentRead"].as_bool().unwrap(),
        )
    };
    wire.proxy.bodies("BatchGetItem").iter().map(of).collect()
}

async fn doubled(from: u32, shard: impl Fn(u32) -> Shard) -> Wire {
    let memory = world((0..from).map(shard));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    wire.deliver(&event).await;
    assert!(wire.shard(2 * from - 1).await.is_some());
    wire
}

#[tokio::test]
async fn a_doubling_with_a_quota_costs_a_read_its_raises_its_transactions_and_a_read_of_shard_zero() {
    for from in [1, 2, 4, 16] {
        let share = 1_024_000 / i64::from(from);
        let wire = doubled(from, |n| {
            Shard::new(n, from).calendar("day", 1_024_000, share, from).wcu()
        })
        .await;
        let from = usize::try_from(from).unwrap();
        assert_eq!(wire.asked(), [2, from - 1, from]);
        assert_eq!(reads(&wire), [(from, true), (1, true)]);
    }
}

#[tokio::test]
async fn a_doubling_without_a_quota_reads_shard_zero_once() {
    for from in [1, 2, 16] {
        let wire = doubled(from, |n| Shard::new(n, from).drip("rpm", 64_000, 1000).wcu()).await;
        let from = usize::try_from(from).unwrap();
        assert_eq!(wire.asked(), [1, from - 1, from]);
        assert_eq!(reads(&wire), [(1, true)]);
    }
}

fn hour(n: u32) -> Shard {
    Shard::new(n, 4)
        .session("hour", 400_000, 100_000, 4, NOW - 6 * HOUR)
        .wcu()
}

#[tokio::test]
async fn a_rollover_that_the_client_propagated_costs_one_read_at_most_and_no_write() {
    let memory = world((0..4).map(hour));
    let start = NOW - 500;
    write(
        &memory,
        2,
        vec![
            set("b_hour_ws", start),
            set("b_hour_wa", start),
            set("rf", start),
            add("b_hour_tc", 1),
        ],
    );
    let opened = event(&memory);
    for shard in [0, 1, 3] {
        write(
            &memory,
            shard,
            vec![set("b_hour_ws", start), set("b_hour_wtc", 0), set("vu", 0)],
        );
    }
    let wire = Wire::with(&memory).await;
    wire.deliver(&opened).await;
    assert_eq!(wire.asked(), [1, 0, 0]);
    assert_eq!(reads(&wire), [(3, false)], "the siblings, eventually consistent");
}

#[tokio::test]
async fn a_rollover_that_nobody_propagated_costs_one_read_and_a_write_for_each_sibling() {
    let memory = world((0..4).map(hour));
    write(
        &memory,
        2,
        vec![
            set("b_hour_ws", NOW - 500),
            set("b_hour_wa", NOW - 500),
            set("rf", NOW - 500),
        ],
    );
    let opened = event(&memory);
    let wire = Wire::with(&memory).await;
    wire.deliver(&opened).await;
    assert_eq!(wire.asked(), [1, 3, 0]);
}

/// Calls of each batch made of the stream that the batches before left, until one is empty.
fn echoes(table: &MemoryTable, first: &str) -> Vec<u64> {
    let (mut batch, mut calls, mut now) = (first.to_owned(), Vec::new(), NOW);
    loop {
        let counted = FailingTable::new(table);
        handle_with(&counted, &batch, now, bucket_rules(), &Notes::default());
        calls.push(counted.calls().total());
        batch = event(table);
        if batch == r#"{"Records":[]}"# {
            return calls;
        }
        assert!(calls.len() < 20, "it never ends: {calls:?}");
        now += 1000;
        table.set_now(EpochMillis(now));
    }
}

#[test]
fn the_echo_of_a_doubling_is_quiet_within_two_rounds() {
    for from in [1, 2, 8, 16] {
        let shard = |n| {
            let quotas = Shard::new(n, from).calendar("day", 1_024_000, 1_024_000 / i64::from(from), from);
            let quotas = quotas.session("hour", 1_024_000, 1_024_000 / i64::from(from), from, NOW - HOUR);
            // Above the new ceiling on every shard: each must be clamped once.
            quotas
                .drip("rpm", 64_000, 64_000 / i64::from(from))
                .wcu()
                .n("vu", NOW + HOUR)
        };
        let table = world((0..from).map(shard));
        let event = double(&table);
        let calls = echoes(&table, &event);
        assert_eq!(existing(&table).len(), usize::try_from(2 * from).unwrap());
        let raised = u64::from(from) - 1;
        let expected = match raised {
            // Shard 0 is clamped with the doubling, the raised shards when the stream shows them.
            0 => vec![1 + 2 + 1, 0],
            _ => vec![1 + 2 + raised + u64::from(from), raised, 0],
        };
        assert_eq!(calls, expected, "from {from}");
    }
}

#[test]
fn the_echo_of_a_window_is_the_roll_of_each_sibling_and_then_quiet() {
    let table = world((0..4).map(|n| hour(n).n("b_hour_tk", 7000)));
    write(
        &table,
        2,
        vec![
            set("b_hour_ws", NOW - 500),
            set("b_hour_wa", NOW - 500),
            set("rf", NOW - 500),
            set("b_hour_tk", 100_000),
        ],
    );
    let event = event(&table);
    assert_eq!(echoes(&table, &event), [1 + 3, 3, 0]);
}
