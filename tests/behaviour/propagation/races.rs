//! What lands between two calls of a propagation: doublings, spending, refunds.

use limiter_aggregator::table::memory::MemoryTable;

use super::interposed::Interposed;
use super::ledger::{create_at_count, grants, ledger, spend};
use super::scene::{EDGE, HOUR, Shard, add, double, event, existing, handle, propagate, set, stored, world, write};

const CAPACITY: i64 = 1_024_000;

fn day(n: u32, count: u32, grant: u32) -> Shard {
    Shard::new(n, count)
        .calendar("day", CAPACITY, CAPACITY / i64::from(grant), grant)
        .wcu()
}

/// The calls of one propagation, when nothing comes between.
fn calls(make: impl Fn() -> MemoryTable) -> u64 {
    let table = make();
    let event = double(&table);
    let counted = Interposed::new(&table, |_, _| {});
    handle(&counted, &event);
    counted.calls()
}

/// A client doubles once more, and tells the shards that exist.
fn double_again(table: &MemoryTable) {
    let count = i64::try_from(stored(table, 0, "shard_count").unwrap()).unwrap() * 2;
    for shard in existing(table) {
        write(table, shard, vec![set("shard_count", count)]);
    }
}

#[test]
fn a_doubling_between_any_two_calls_leaves_no_shard_behind_and_grants_nothing_twice() {
    let make = || world([day(0, 2, 2), day(1, 2, 2)]);
    let calls = calls(make);
    assert_eq!(calls, 1 + 1 + 2 + 1);
    for before in 2..=calls {
        let table = make();
        let first = double(&table);
        let racing = Interposed::before(&table, before, double_again);
        handle(&racing, &first);
        for shard in existing(&table) {
            assert_eq!(
                stored(&table, shard, "shard_count"),
                Some(8),
                "shard {shard}, doubling before call {before}"
            );
        }
        assert_eq!(
            ledger(&table, "day", CAPACITY).total(),
            CAPACITY.into(),
            "doubling before call {before}"
        );
        let second = event(&table);
        handle(&table, &second);
        handle(&table, &first);
        assert_eq!(existing(&table), (0..8).collect::<Vec<_>>());
        let ledger = ledger(&table, "day", CAPACITY);
        assert_eq!((ledger.held, ledger.grantable), (CAPACITY.into(), 0));
    }
}

#[test]
fn a_repaired_shard_keeps_the_size_that_it_was_granted_at() {
    let table = world([day(0, 2, 2), day(1, 2, 2)]);
    let event = double(&table);
    // After the creations, before the repair's read.
    let racing = Interposed::before(&table, 5, |table| write(table, 0, vec![set("shard_count", 8)]));
    let notes = propagate(&racing, &event);
    assert_eq!(notes[3..], ["repair 2 applied", "repair 3 applied"]);
    let sizes: Vec<_> = grants(&table, "day", CAPACITY)
        .iter()
        .map(|grant| grant.size.get())
        .collect();
    assert_eq!(sizes, [2, 2, 4, 4]);
    assert_eq!(stored(&table, 3, "shard_count"), Some(8));
}

#[test]
fn a_repair_raises_only_what_was_created_now() {
    let table = world([day(0, 2, 2), day(1, 2, 2)]);
    let event = double(&table);
    super::ledger::create_as_client(&table, 2, "day", CAPACITY);
    let racing = Interposed::before(&table, 5, |table| write(table, 0, vec![set("shard_count", 8)]));
    assert_eq!(propagate(&racing, &event)[3..], ["repair 3 applied"]);
}

#[test]
fn without_a_quota_there_is_no_repair() {
    let make = || world([Shard::new(0, 2).drip("rpm", 1000, 500)]);
    let table = make();
    let event = double(&table);
    let racing = Interposed::new(&table, |_, _| {});
    propagate(&racing, &event);
    assert_eq!(racing.calls(), 1 + 1 + 2);
}

#[test]
fn spending_and_refunds_between_any_two_calls_are_neither_lost_nor_granted_again() {
    let make = || world([day(0, 2, 2), day(1, 2, 2)]);
    for before in 1..=calls(make) {
        for (shard, amount) in [(0, 1000), (1, 300_000), (0, 511_000), (1, 512_000)] {
            let table = make();
            let event = double(&table);
            let racing = Interposed::before(&table, before, |table| {
                spend(table, shard, "day", amount);
                write(
                    table,
                    shard,
                    vec![add("b_day_tk", amount / 2), add("b_day_tc", -amount / 2)],
                );
            });
            handle(&racing, &event);
            let ledger = ledger(&table, "day", CAPACITY);
            assert_eq!(
                ledger.total(),
                CAPACITY.into(),
                "{amount} of shard {shard} before call {before}"
            );
            assert!(
                existing(&table)
                    .iter()
                    .all(|shard| stored(&table, *shard, "b_day_tk") >= Some(0))
            );
        }
    }
}

#[test]
fn a_fresh_share_and_a_doubling_that_overtake_each_other_cost_one_share_at_most_once() {
    // Shard 1 does not exist: nobody holds the odd slots. Before the creation of shard 3 the count goes from 4 to 8,
    // and a client makes shard 7, of which shard 3 will then be the second holder: what ADR-145 names and bounds.
    let table = world([day(0, 2, 2)]);
    let first = double(&table);
    let overtaken = |table: &MemoryTable| {
        write(table, 0, vec![set("shard_count", 8)]);
        create_at_count(table, 7, "day", CAPACITY, 8);
    };
    let racing = Interposed::new(&table, |_, call| {
        if matches!(call, super::interposed::Call::Transact(t) if format!("{t:?}").contains("e#r#3")) {
            overtaken(&table);
        }
    });
    handle(&racing, &first);
    assert_eq!(stored(&table, 3, "shard_count"), Some(8), "raised by the repair");
    let beyond = ledger(&table, "day", CAPACITY).total() - i128::from(CAPACITY);
    assert_eq!(beyond, i128::from(CAPACITY / 8));
    handle(&table, &first);
    let second = event(&table);
    handle(&table, &second);
    assert_eq!(
        ledger(&table, "day", CAPACITY).total() - i128::from(CAPACITY),
        i128::from(CAPACITY / 8),
        "once"
    );
}

/// Shard 0 is reset; shard 1's reset of midnight is still pending.
fn half_reset() -> MemoryTable {
    world([day(0, 2, 2), day(1, 2, 2).n("rf", EDGE - HOUR).n("b_day_tk", 7000)])
}

/// A client resets shard 1 at the count that the shard stores.
fn reset_one(table: &MemoryTable) {
    if stored(table, 1, "rf") < Some(EDGE.into()) {
        let count = i64::try_from(stored(table, 1, "shard_count").unwrap()).unwrap();
        let share = CAPACITY / count;
        write(
            table,
            1,
            vec![set("b_day_tk", share), set("b_day_gc", count), set("rf", EDGE + HOUR)],
        );
    }
}

#[test]
fn a_siblings_reset_between_any_two_calls_leaves_no_slot_granted_twice() {
    let calls = calls(half_reset);
    for before in 1..=calls {
        let table = half_reset();
        let event = double(&table);
        let racing = Interposed::before(&table, before, reset_one);
        handle(&racing, &event);
        reset_one(&table);
        handle(&table, &event);
        let ledger = ledger(&table, "day", CAPACITY);
        assert_eq!(
            ledger.total(),
            CAPACITY.into(),
            "reset before call {before} of {calls}: {ledger:?}"
        );
    }
}
