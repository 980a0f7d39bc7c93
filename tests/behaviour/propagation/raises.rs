//! Which changes are rises, and what a raise writes (R8, steps 1 and 2).

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::table::failing::FailingTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::Action;

use super::scene::{
    NOW, Notes, Shard, double, event, existing, handle_with, key, propagate, propagation_only, set, stored, world,
    write,
};

const CAPACITY: i64 = 1_000_000;

fn day(n: u32, count: u32) -> Shard {
    Shard::new(n, count).calendar("day", CAPACITY, CAPACITY / i64::from(count), count)
}

/// How many calls a change of shard `n` causes.
fn calls(table: &MemoryTable, n: u32, actions: Vec<Action>) -> u64 {
    table.take_records();
    write(table, n, actions);
    let counted = FailingTable::new(table);
    propagate(&counted, &event(table));
    counted.calls().total()
}

#[test]
fn only_a_count_that_rose_on_shard_zero_is_propagated() {
    let table = || world([day(0, 4), day(1, 4)]);
    assert_eq!(
        calls(&table(), 0, vec![set("shard_count", 8)]),
        1 + 3 + 4 + 1,
        "read, raises, creations, repair read"
    );
    assert_eq!(calls(&table(), 0, vec![set("shard_count", 4), set("rf", NOW)]), 0);
    assert_eq!(calls(&table(), 0, vec![set("shard_count", 2)]), 0);
    assert_eq!(calls(&table(), 1, vec![set("shard_count", 8)]), 0);
    let gone = Action::Remove {
        attribute: "shard_count".to_owned(),
    };
    assert_eq!(calls(&table(), 0, vec![gone]), 0);
    let uncounted = world([day(0, 1).without("shard_count")]);
    assert_eq!(
        calls(&uncounted, 0, vec![set("shard_count", 2)]),
        0,
        "there must be a count on both images"
    );
    let below_one = world([day(0, 1).n("shard_count", 0)]);
    assert_eq!(calls(&below_one, 0, vec![set("shard_count", 1)]), 0, "0 reads as 1");
}

#[test]
fn a_shard_zero_that_appears_with_a_count_is_no_rise() {
    let table = world([]);
    table.put_item(&day(0, 8).0).unwrap();
    let counted = FailingTable::new(&table);
    propagate(&counted, &event(&table));
    assert_eq!(counted.calls().total(), 0);
}

#[test]
fn a_count_above_32_is_refused_with_a_word() {
    for (from, to, refused) in [(16, 32, false), (32, 64, true), (16, 33, true)] {
        let table = world([Shard::new(0, from).drip("rpm", 1000, 0)]);
        table.take_records();
        write(&table, 0, vec![set("shard_count", to)]);
        let counted = FailingTable::new(&table);
        let notes = Notes::default();
        assert_eq!(
            handle_with(&counted, &event(&table), NOW, propagation_only(), &notes),
            BatchOutcome::Complete
        );
        assert_eq!(notes.any("rise refused"), refused, "{from} to {to}");
        assert_eq!(counted.calls().total() == 0, refused);
    }
}

#[test]
fn a_raise_records_every_grant_that_the_siblings_own_item_carries() {
    // `day` is on both; `hour` on the sibling alone; `rpm` is no quota.
    let sibling = day(1, 2)
        .without("b_day_gc")
        .session("hour", CAPACITY, CAPACITY, 1, NOW - 1000)
        .drip("rpm", 1000, 0);
    let table = world([day(0, 2), sibling.without("b_hour_gc")]);
    let event = double(&table);
    assert!(propagate(&table, &event).contains(&"raise 1 applied".to_owned()));
    assert_eq!(stored(&table, 1, "shard_count"), Some(4));
    assert_eq!(stored(&table, 1, "b_day_gc"), Some(2));
    assert_eq!(stored(&table, 1, "b_hour_gc"), Some(1), "it holds more than half");
    assert_eq!(stored(&table, 1, "b_rpm_gc"), None);
}

#[test]
fn a_grant_that_is_recorded_already_keeps_its_size() {
    for recorded in [0, 1, 16] {
        let table = world([day(0, 2), day(1, 2).n("b_day_gc", recorded)]);
        let event = double(&table);
        propagate(&table, &event);
        assert_eq!(stored(&table, 1, "b_day_gc"), Some(recorded.into()));
        assert_eq!(stored(&table, 1, "shard_count"), Some(4));
    }
}

#[test]
fn a_raise_never_lowers_a_count_and_never_makes_a_shard() {
    // Shard 1 knows of more already, shard 2 is missing, shard 3 has no count, shard 4 one below 1.
    let drip = |n: u32, count| Shard::new(n, count).drip("rpm", 1000, 0);
    let shards = [
        drip(0, 8),
        drip(1, 32),
        drip(3, 8).without("shard_count"),
        drip(4, 0),
        drip(5, 16),
        drip(7, 15),
    ];
    let table = world(shards);
    let event = double(&table);
    let notes = propagate(&table, &event);
    let raises: Vec<_> = notes
        .iter()
        .filter(|note| note.starts_with("raise"))
        .map(String::as_str)
        .collect();
    let expected = [
        "raise 1 lost",
        "raise 2 lost",
        "raise 3 applied",
        "raise 4 applied",
        "raise 5 lost",
        "raise 6 lost",
        "raise 7 applied",
    ];
    assert_eq!(raises, expected);
    let counts: Vec<_> = (0..8).map(|shard| stored(&table, shard, "shard_count")).collect();
    let some = |count| Some(count);
    assert_eq!(
        counts,
        [some(16), some(32), None, some(16), some(16), some(16), None, some(16)]
    );
}

#[test]
fn rules_that_will_not_decode_are_raised_without_a_read_and_create_nothing() {
    for (name, value) in [
        ("sched", "1m61"),
        ("rsched", "2m0"),
        ("b_day_sched", "x"),
        ("sched_tz", "Mars/Olympus"),
    ] {
        let table = world([day(0, 2).s(name, value), day(1, 2).without("b_day_gc")]);
        let event = double(&table);
        let counted = FailingTable::new(&table);
        let notes = propagate(&counted, &event);
        assert!(notes[1].starts_with("nothing created: Undecodable"), "{notes:?}");
        assert_eq!((counted.calls().reads, counted.calls().total()), (0, 1));
        assert_eq!(stored(&table, 1, "shard_count"), Some(4));
        assert_eq!(stored(&table, 1, "b_day_gc"), None, "nothing is known of its grant");
        assert_eq!(existing(&table), [0, 1]);
    }
}

#[test]
fn a_sibling_whose_own_rules_will_not_decode_is_raised_without_a_record() {
    let table = world([day(0, 2), day(1, 2).without("b_day_gc").s("b_day_rsched", "?")]);
    let event = double(&table);
    propagate(&table, &event);
    assert_eq!(
        (stored(&table, 1, "shard_count"), stored(&table, 1, "b_day_gc")),
        (Some(4), None)
    );
}

#[test]
fn a_sibling_raised_before_the_creations_resets_to_its_new_share() {
    let table = world([day(0, 2), day(1, 2)]);
    let event = double(&table);
    let raised_first = super::interposed::Interposed::new(&table, |_, call| {
        if matches!(call, super::interposed::Call::Transact(_)) {
            assert_eq!(stored(&table, 1, "shard_count"), Some(4));
        }
    });
    propagate(&raised_first, &event);
    assert!(table.get(&key(3)).is_some());
}
