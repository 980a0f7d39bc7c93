//! Every point at which a propagation can stop, and the delivery after it.

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::table::failing::{Failing, FailingTable, Moment};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Fault, FaultClass};

use super::ledger::ledger;
use super::scene::{NOW, Notes, Shard, bucket_rules, double, existing, handle, handle_with, key, stored, world};

const CAPACITY: i64 = 1_024_000;

/// Four shards with two quotas and a drip; shard 2 is missing, shard 3 written before grants were recorded.
fn start() -> (MemoryTable, String) {
    let shard = |n: u32, day: i64| {
        let limits = Shard::new(n, 4)
            .calendar("day", CAPACITY, day, 4)
            .drip("rpm", 64_000, 8000)
            .wcu();
        limits.session("hour", CAPACITY, 250_000, 4, NOW - 3_600_000)
    };
    let old = shard(3, 200_000).without("b_day_gc");
    let table = world([shard(0, 256_000), shard(1, 100_000), old]);
    let event = double(&table);
    (table, event)
}

fn fault(class: FaultClass) -> Fault {
    Fault {
        operation: "any",
        code: "scripted".to_owned(),
        class,
    }
}

fn totals(table: &MemoryTable) -> [i128; 2] {
    ["day", "hour"].map(|limit| ledger(table, limit, CAPACITY).total())
}

/// Runs the propagation with a failure, then the same record again and once more; gives the table.
fn interrupted(failing: Failing, moment: Moment, class: FaultClass) -> MemoryTable {
    let (table, event) = start();
    let before = totals(&table);
    let broken = FailingTable::new(&table);
    broken.fail(failing, moment, fault(class));
    handle_with(&broken, &event, NOW, bucket_rules(), &Notes::default());
    assert_eq!(totals(&table), before, "after {failing:?} {moment:?}");
    for _ in 0..2 {
        assert_eq!(handle(&table, &event), BatchOutcome::Complete);
        assert_eq!(totals(&table), before, "redelivered after {failing:?} {moment:?}");
    }
    table
}

fn calls_of_a_whole_run() -> u64 {
    let (table, event) = start();
    let counted = FailingTable::new(&table);
    handle(&counted, &event);
    counted.calls().total()
}

#[test]
fn whatever_call_is_lost_no_slot_is_paid_twice_and_the_next_delivery_ends_as_if_it_had_not_been() {
    let (whole, event) = start();
    handle(&whole, &event);
    assert_eq!(
        existing(&whole),
        [0, 1, 3, 4, 5, 6, 7],
        "shard 2 is a client's to create"
    );
    let calls = calls_of_a_whole_run();
    assert_eq!(calls, 1 + 3 + 4 + 1, "read, raises, creations, repair read");
    for call in 1..=calls {
        for moment in [Moment::Before, Moment::After] {
            for failing in [Failing::Only(call), Failing::From(call)] {
                for class in [FaultClass::Retryable, FaultClass::Conflict, FaultClass::Permanent] {
                    let table = interrupted(failing, moment, class);
                    if class == FaultClass::Permanent && call == 1 {
                        // Raised without freezing, which no later delivery makes up for (ADR-145).
                        continue;
                    }
                    assert_eq!(table.items(), whole.items(), "{failing:?} {moment:?} {class:?}");
                }
            }
        }
    }
}

#[test]
fn a_record_is_asked_for_again_only_for_its_read_and_its_raises() {
    let calls = calls_of_a_whole_run();
    for call in 1..=calls {
        for (class, is_worth_it) in [(FaultClass::Retryable, call <= 4), (FaultClass::Permanent, false)] {
            let (table, event) = start();
            let broken = FailingTable::new(&table);
            broken.fail(Failing::Only(call), Moment::Before, fault(class));
            let outcome = handle_with(&broken, &event, NOW, bucket_rules(), &Notes::default());
            assert_eq!(
                matches!(outcome, BatchOutcome::RetryFrom(_)),
                is_worth_it,
                "call {call}, {class:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_read_that_may_pass_raises_nothing_and_one_that_will_not_raises_without_freezing() {
    let with_read_failing = |class| {
        let (table, event) = start();
        let broken = FailingTable::new(&table);
        broken.fail(Failing::Only(1), Moment::Before, fault(class));
        let notes = Notes::default();
        handle_with(&broken, &event, NOW, bucket_rules(), &notes);
        (table, notes.take())
    };
    let (table, notes) = with_read_failing(FaultClass::Retryable);
    assert_eq!(notes, ["rise unread"]);
    assert_eq!(stored(&table, 1, "shard_count"), Some(4));
    let (table, notes) = with_read_failing(FaultClass::Permanent);
    let expected = [
        "rise unread",
        "raise 1 applied",
        "raise 2 lost",
        "raise 3 applied",
        "nothing created: ReadFailed",
    ];
    assert_eq!(notes, expected);
    assert_eq!(stored(&table, 1, "shard_count"), Some(8));
    assert_eq!(stored(&table, 3, "b_day_gc"), None, "its size is not known");
}

#[test]
fn a_raise_that_fails_for_good_leaves_the_new_shards_to_the_clients() {
    let (table, event) = start();
    let broken = FailingTable::new(&table);
    broken.fail(Failing::Only(2), Moment::Before, fault(FaultClass::Permanent));
    let notes = Notes::default();
    assert_eq!(
        handle_with(&broken, &event, NOW, bucket_rules(), &notes),
        BatchOutcome::Complete
    );
    assert_eq!(
        notes.take(),
        [
            "raise 1 failed",
            "raise 2 lost",
            "raise 3 applied",
            "nothing created: RaiseFailed"
        ]
    );
    assert_eq!(existing(&table), [0, 1, 3]);
}

#[test]
fn a_shard_whose_creation_failed_is_skipped_and_the_next_is_tried() {
    for moment in [Moment::Before, Moment::After] {
        let (table, event) = start();
        let broken = FailingTable::new(&table);
        broken.fail(Failing::Only(5), moment, fault(FaultClass::Retryable));
        let notes = Notes::default();
        assert_eq!(
            handle_with(&broken, &event, NOW, bucket_rules(), &notes),
            BatchOutcome::Complete
        );
        assert!(notes.any("shard 4 Some(Failed") && notes.any("shard 5 created") && notes.any("shard 7 created"));
        assert_eq!(table.get(&key(4)).is_some(), moment == Moment::After);
    }
}
