//! An operator's change between a doubling and its delivery: it reached shard 0, and can reach no shard that does not
//! exist yet. None may come into being from the image before it (R8).

use limiter_aggregator::item::{AttributeValue, number, text};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::Action;

use super::scene::{HOUR, NOW, Shard, double, existing, key, propagate, set, stored, world, write};

const CAPACITY: i64 = 1_000_000;

fn pair() -> MemoryTable {
    let shard = |n| {
        let limits = Shard::new(n, 2)
            .calendar("day", CAPACITY, CAPACITY / 2, 2)
            .drip("rpm", 1000, 500);
        let limits = limits
            .session("hour", CAPACITY, CAPACITY / 2, 2, NOW - HOUR)
            .s("parent_id", "p");
        limits.with("cascade", AttributeValue::Bool(false))
    };
    world([shard(0), shard(1)])
}

fn put(name: &str, value: AttributeValue) -> Action {
    Action::Set {
        attribute: name.to_owned(),
        value,
    }
}

#[test]
fn whatever_an_operator_changed_on_shard_zero_keeps_new_shards_from_the_old_image() {
    let yes = AttributeValue::Bool(true);
    let changes = [
        ("b_day_cp", number(10)),
        ("b_rpm_cp", number(10)),
        ("b_rpm_ra", number(10)),
        ("b_rpm_rp", number(10)),
        ("b_day_rsched", text("1m0h1")),
        ("b_rpm_sched", text("1s500")),
        ("b_rpm_sched", text("-")),
        ("b_hour_rsa", number(60)),
        ("b_day_soft", number(NOW.into())),
        ("b_day_soft", yes.clone()),
        ("b_new_cp", number(10)),
        ("sched", text("1s500")),
        ("rsched", text("1m0h1")),
        ("sched_tz", text("Europe/Berlin")),
        ("disabled", yes.clone()),
        ("disabled", text("by an operator")),
        ("disabled", AttributeValue::M([("why".to_owned(), text("x"))].into())),
        ("bypass", yes.clone()),
        ("pgen", number(8)),
        ("pinc", text("made-2")),
        ("cascade", yes),
        ("parent_id", text("q")),
    ];
    for (name, value) in changes {
        let table = pair();
        let event = double(&table);
        write(&table, 0, vec![put(name, value)]);
        let notes = propagate(&table, &event);
        let refusal = format!("nothing created: Overtaken {{ attribute: {name:?} }}");
        assert_eq!(notes, ["raise 1 applied".to_owned(), refusal]);
        assert_eq!(existing(&table), [0, 1]);
        assert_eq!(
            stored(&table, 1, "shard_count"),
            Some(4),
            "the shards that exist still learn the count"
        );
    }
}

#[test]
fn what_an_operator_removed_counts_as_much() {
    for name in [
        "b_day_cp",
        "b_rpm_ra",
        "b_hour_rsa",
        "b_day_rsched",
        "pgen",
        "pinc",
        "parent_id",
        "cascade",
    ] {
        let table = pair();
        let event = double(&table);
        write(
            &table,
            0,
            vec![Action::Remove {
                attribute: name.to_owned(),
            }],
        );
        assert_eq!(
            propagate(&table, &event)[1],
            format!("nothing created: Overtaken {{ attribute: {name:?} }}")
        );
        assert_eq!(existing(&table), [0, 1]);
    }
}

#[test]
fn what_everyday_work_changes_does_not_hold_creations_up() {
    let everyday = [
        ("b_day_tk", CAPACITY / 4),
        ("b_day_tc", 5),
        ("rf", NOW),
        ("vu", 0),
        ("ttl", 1),
        ("b_rpm_tk", -5),
        ("b_day_tu", 1),
        ("b_day_rn", 1),
        ("b_hour_wtc", 0),
    ];
    for (name, value) in everyday {
        let table = pair();
        let event = double(&table);
        write(&table, 0, vec![set(name, value)]);
        propagate(&table, &event);
        assert_eq!(existing(&table), [0, 1, 2, 3], "{name}");
    }
}

#[test]
fn a_number_spelled_otherwise_is_the_same_number() {
    let table = pair();
    let event = double(&table).replace(r#""b_rpm_cp":{"N":"1000"}"#, r#""b_rpm_cp":{"N":"1.0E3"}"#);
    assert!(event.contains("1.0E3"));
    propagate(&table, &event);
    assert_eq!(existing(&table), [0, 1, 2, 3]);
}

#[test]
fn a_lowered_limit_is_never_carried_on_by_any_delivery() {
    let table = pair();
    let event = double(&table);
    for shard in [0, 1] {
        write(
            &table,
            shard,
            vec![set("b_rpm_cp", 100), set("b_day_cp", 1000), set("vu", 0)],
        );
    }
    for _ in 0..3 {
        propagate(&table, &event);
    }
    let capacities: Vec<_> = existing(&table)
        .iter()
        .map(|shard| stored(&table, *shard, "b_rpm_cp"))
        .collect();
    assert_eq!(capacities, [Some(100), Some(100)]);
    // The next doubling shows the new limit, and is carried on.
    let event = double(&table);
    propagate(&table, &event);
    assert_eq!(existing(&table), [0, 1, 4, 5, 6, 7]);
    assert_eq!(stored(&table, 7, "b_rpm_cp"), Some(100));
}

#[test]
fn a_count_that_moved_on_leaves_the_shards_to_the_later_rise() {
    let table = pair();
    let event = double(&table);
    write(&table, 0, vec![set("shard_count", 8)]);
    assert!(propagate(&table, &event)[1].starts_with("nothing created: CountMovedOn"));
    write(&table, 0, vec![set("shard_count", 2)]);
    assert!(propagate(&table, &event)[0].starts_with("nothing created: CountMovedOn"));
    assert_eq!(existing(&table), [0, 1]);
}

#[test]
fn a_shard_zero_that_is_gone_has_no_copies() {
    let table = pair();
    let event = double(&table);
    table.delete_item(&key(0));
    assert_eq!(propagate(&table, &event)[1], "nothing created: ShardZeroGone");
    assert_eq!(existing(&table), [1]);
}

#[test]
fn with_a_quota_a_sibling_that_knows_of_more_shards_holds_creations_up() {
    let table = pair();
    let event = double(&table);
    write(&table, 1, vec![set("shard_count", 8)]);
    assert!(propagate(&table, &event)[0].starts_with("nothing created: SiblingAhead"));
    assert_eq!(existing(&table), [0, 1]);

    let dripping = |n| Shard::new(n, 2).drip("rpm", 1000, 500);
    let table = world([dripping(0), dripping(1)]);
    let event = double(&table);
    write(&table, 1, vec![set("shard_count", 8)]);
    propagate(&table, &event);
    assert_eq!(
        existing(&table),
        [0, 1, 2, 3],
        "without one nothing can be granted twice"
    );
}
