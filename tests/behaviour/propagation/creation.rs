//! What a new shard is made of (R8, step 3), and whom it waits for.

use limiter_aggregator::item::{Item, text};
use limiter_aggregator::table::memory::MemoryTable;

use super::scene::{EDGE, HOUR, NOW, Shard, double, event, existing, key, propagate, set, stored, world, write};

const CAPACITY: i64 = 1_000_000;

fn doubled(shard: Shard) -> (MemoryTable, Vec<String>) {
    let table = world([shard]);
    let event = double(&table);
    let notes = propagate(&table, &event);
    (table, notes)
}

#[test]
fn a_new_shard_is_the_image_but_for_what_is_its_own() {
    let image = Shard::new(0, 1)
        .calendar("day", CAPACITY, CAPACITY, 1)
        .n("b_day_tu", 5)
        .n("b_day_tc", 77)
        .n("b_day_rn", 2);
    let image = image
        .session("hour", CAPACITY, 0, 1, NOW - HOUR)
        .n("b_hour_wtc", 9)
        .n("b_hour_soft", NOW);
    let image = image
        .drip("rpm", 999, 5)
        .n("b_rpm_tc", 3)
        .wcu()
        .n("b_wcu_tk", -8)
        .n("b_wcu_tc", 1_000_008);
    let image = image
        .n("vu", NOW + HOUR)
        .n("ttl", 5)
        .s("parent_id", "p")
        .s("anything", "else");
    let (table, notes) = doubled(image.clone());
    assert_eq!(notes, ["shard 1 created"]);
    let mut expected: Item = image.n("shard_count", 2).0;
    expected.remove("b_day_tu");
    expected.extend(
        Shard(Item::new())
            .n("b_day_tk", CAPACITY / 2)
            .n("b_day_gc", 2)
            .n("b_day_tc", 0)
            .n("b_hour_tk", 0)
            .n("b_hour_gc", 2)
            .n("b_hour_wtc", 0)
            .n("b_rpm_tk", 499)
            .n("b_rpm_tc", 0)
            .n("b_wcu_tk", 1_000_000)
            .n("b_wcu_tc", 0)
            .0,
    );
    expected.insert("PK".to_owned(), text("ns/BUCKET#e#r#1"));
    expected.insert("GSI2SK".to_owned(), text("BUCKET#e#1"));
    expected.insert("GSI3SK".to_owned(), text("BUCKET#r#1"));
    expected.insert("GSI4SK".to_owned(), text("BUCKET#e#r#1"));
    assert_eq!(table.get(&key(1)), Some(expected));
}

#[test]
fn a_limit_without_capacity_is_not_carried_on() {
    let image = Shard::new(0, 1)
        .drip("rpm", 1000, 5)
        .n("b_rpm2_tk", 5)
        .n("b_rpm2_tc", 5)
        .n("b_a.b-c_d_gc", 1);
    let (table, _) = doubled(image);
    let made = table.get(&key(1)).unwrap();
    let limits: Vec<_> = made
        .keys()
        .filter(|name| name.starts_with("b_"))
        .map(String::as_str)
        .collect();
    assert_eq!(limits, ["b_rpm_cp", "b_rpm_ra", "b_rpm_rp", "b_rpm_tc", "b_rpm_tk"]);
}

#[test]
fn what_drips_starts_at_its_share_of_the_scheduled_capacity() {
    // Half of the capacity all day long.
    let (table, _) = doubled(Shard::new(0, 1).drip("rpm", 1001, 0).s("b_rpm_sched", "1s500"));
    assert_eq!(stored(&table, 1, "b_rpm_tk"), Some(250));
    assert_eq!(
        stored(&table, 1, "b_rpm_cp"),
        Some(1001),
        "what is stored stays undivided"
    );
}

#[test]
fn a_limit_that_recovers_by_nothing_starts_at_its_share_and_is_no_quota() {
    let (table, notes) = doubled(Shard::new(0, 1).limit("dead", 1000, 0, 1000, 1000));
    assert_eq!(notes, ["shard 1 created"]);
    assert_eq!(
        (stored(&table, 1, "b_dead_tk"), stored(&table, 0, "b_dead_tk")),
        (Some(500), Some(1000))
    );
    assert_eq!(stored(&table, 1, "b_dead_gc"), None);
}

#[test]
fn a_shard_that_a_donor_would_pay_waits_while_the_images_reset_is_pending() {
    // Shard 0 was reset after the doubling; the image still shows yesterday.
    for balance in [CAPACITY, 0] {
        let table = world([Shard::new(0, 1).calendar("day", CAPACITY, 5, 1).n("rf", EDGE - HOUR)]);
        let event = double(&table);
        write(&table, 0, vec![set("rf", EDGE), set("b_day_tk", balance)]);
        let notes = propagate(&table, &event);
        assert_eq!(
            notes,
            ["shard 1 refused: ResetPendingOnImage { limit: \"day\" }"],
            "whatever would move"
        );
        assert_eq!(
            (existing(&table), stored(&table, 0, "b_day_tk")),
            (vec![0], Some(balance.into()))
        );
    }
}

#[test]
fn a_shard_that_nobody_pays_is_made_with_a_fresh_share_though_the_images_reset_is_pending() {
    let (table, notes) = doubled(Shard::new(0, 1).calendar("day", CAPACITY, 5, 1).n("rf", EDGE - HOUR));
    assert_eq!(notes, ["shard 1 created"]);
    assert_eq!(
        (stored(&table, 1, "b_day_tk"), stored(&table, 0, "b_day_tk")),
        (Some(500_000), Some(5))
    );
    assert_eq!(
        stored(&table, 1, "rf"),
        Some((EDGE - HOUR).into()),
        "it resets with its siblings"
    );
}

#[test]
fn one_pending_quota_among_several_keeps_the_whole_shard_waiting() {
    let image = Shard::new(0, 1)
        .calendar("day", CAPACITY, CAPACITY, 1)
        .session("hour", CAPACITY, 7, 1, NOW - HOUR);
    let table = world([image.n("b_hour_wa", NOW - 9 * HOUR)]);
    let event = double(&table);
    write(&table, 0, vec![set("b_hour_wa", NOW - HOUR)]);
    assert_eq!(
        propagate(&table, &event),
        ["shard 1 refused: ResetPendingOnImage { limit: \"hour\" }"]
    );
    assert_eq!(stored(&table, 0, "b_day_tk"), Some(CAPACITY.into()));
}

#[test]
fn a_shard_that_a_client_made_first_stays_as_it_is() {
    let table = world([Shard::new(0, 1).calendar("day", CAPACITY, CAPACITY, 1)]);
    let event_of_doubling = double(&table);
    super::ledger::create_as_client(&table, 1, "day", CAPACITY);
    let before = table.items();
    event(&table);
    assert_eq!(propagate(&table, &event_of_doubling), ["shard 1 lost, exists: true"]);
    assert_eq!(table.items(), before);
}
