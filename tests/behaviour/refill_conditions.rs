//! The conditions of the refill write (R6), each met and missed by a write that lands just before it, and the order
//! that records are brought into.

use limiter_aggregator::item::text;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::Action;

use crate::propagation::interposed::Interposed;
use crate::propagation::scene::{
    EDGE, HOUR, MIDNIGHT, NOW, Notes, Random, Shard, add, bucket_rules, event, handle_with, key, set, stored, world,
    write,
};

const RF: i64 = NOW - 10_000;

/// Spends `rpm` on shard 0 so fast that ten seconds' drip would not last another batch, delivers that, and lets
/// something happen before the refill is written. Whether the refill took effect.
fn is_written(shard: Shard, meanwhile: impl Fn(&MemoryTable)) -> bool {
    let table = world([shard]);
    write(&table, 0, vec![add("b_rpm_tc", 20_000)]);
    let spent = event(&table);
    let notes = Notes::default();
    handle_with(
        &Interposed::before(&table, 1, meanwhile),
        &spent,
        NOW,
        bucket_rules(),
        &notes,
    );
    match notes.take().first().map(String::as_str) {
        Some("refill 0 applied") => true,
        Some("refill 0 lost") => false,
        other => panic!("no refill was planned: {other:?}"),
    }
}

/// 60 tokens a minute, one left: due 10 more.
fn rpm() -> Shard {
    Shard::new(0, 1).drip("rpm", 60_000, 1000).n("rf", RF)
}

fn sets(name: &'static str, value: i64) -> impl Fn(&MemoryTable) {
    move |table| write(table, 0, vec![set(name, value)])
}

fn removes(name: &'static str) -> impl Fn(&MemoryTable) {
    move |table| {
        write(
            table,
            0,
            vec![Action::Remove {
                attribute: name.to_owned(),
            }],
        )
    }
}

fn texts(name: &'static str, value: &'static str) -> impl Fn(&MemoryTable) {
    move |table| {
        write(
            table,
            0,
            vec![Action::Set {
                attribute: name.to_owned(),
                value: text(value),
            }],
        )
    }
}

#[test]
fn a_refill_is_dropped_when_somebody_else_refilled_or_re_evaluated() {
    assert!(is_written(rpm(), |_| {}));
    assert!(!is_written(rpm(), sets("rf", RF + 1)));
    assert!(!is_written(rpm(), sets("vu", 0)));
    let valid = || rpm().n("vu", NOW + HOUR);
    assert!(is_written(valid(), |_| {}));
    assert!(!is_written(valid(), sets("vu", 0)));
    assert!(!is_written(valid(), removes("vu")));
}

#[test]
fn a_raise_is_dropped_when_a_refund_landed_meanwhile_but_not_when_more_was_spent() {
    assert!(is_written(rpm(), sets("b_rpm_tk", 1000)));
    assert!(is_written(rpm(), sets("b_rpm_tk", -5000)));
    assert!(!is_written(rpm(), sets("b_rpm_tk", 1001)));
}

#[test]
fn a_limit_that_rides_along_leaves_room_for_refunds_up_to_its_ceiling() {
    // Due 100,000 more of a ceiling of 600,000, and no reason to write by itself.
    let beside = || rpm().drip("tpm", 600_000, 100_000);
    assert!(is_written(beside(), sets("b_tpm_tk", 500_000)));
    assert!(!is_written(beside(), sets("b_tpm_tk", 500_001)));
    assert!(
        !is_written(beside(), sets("b_tpm_cp", 500_000)),
        "its capacity must be the one that was read all the same"
    );
}

#[test]
fn the_write_budget_never_has_room_for_refunds() {
    let beside = || rpm().wcu().n("b_wcu_tk", 900_000);
    assert!(is_written(beside(), sets("b_wcu_tk", 899_999)));
    assert!(!is_written(beside(), sets("b_wcu_tk", 900_001)));
}

#[test]
fn a_lowered_limit_is_never_refilled_to_its_old_ceiling() {
    assert!(!is_written(rpm(), sets("b_rpm_cp", 500)));
    assert!(!is_written(rpm(), removes("b_rpm_cp")));
    assert!(is_written(rpm(), sets("b_rpm_ra", 500)));
    // A balance that is not written need not have the capacity that was read.
    assert!(is_written(rpm().drip("full", 600, 600), sets("b_full_cp", 5)));
}

#[test]
fn a_clamp_under_a_slow_clock_is_made_once() {
    let ahead = || Shard::new(0, 1).drip("rpm", 60_000, 70_000).n("rf", NOW + 5);
    assert!(is_written(ahead(), |_| {}));
    assert!(is_written(ahead(), sets("b_rpm_tk", 60_001)));
    assert!(!is_written(ahead(), sets("b_rpm_tk", 60_000)));

    let table = world([ahead()]);
    write(&table, 0, vec![add("b_rpm_tc", 1)]);
    let seen = event(&table);
    // Delivered again, also under a clock that has caught up with `rf` and passed it.
    for now in [NOW, NOW, NOW + 50] {
        handle_with(&table, &seen, now, bucket_rules(), &Notes::default());
    }
    assert_eq!(
        (stored(&table, 0, "b_rpm_tk"), stored(&table, 0, "rf")),
        (Some(60_000), Some((NOW + 5).into()))
    );
    // So a clamp is never made where the balance is below the ceiling already, whatever the clock.
    assert!(!is_written(
        Shard::new(0, 1).drip("rpm", 60_000, 70_000).n("rf", RF),
        sets("b_rpm_tk", 60_000)
    ));
}

/// A session quota that waits for its roll to the window that began a second ago.
fn rolling() -> Shard {
    Shard::new(0, 2)
        .session("hour", 400_000, 7, 1, NOW - 1000)
        .n("b_hour_wa", NOW - 9 * HOUR)
        .drip("rpm", 1000, 0)
        .n("rf", RF)
}

#[test]
fn a_roll_is_dropped_when_the_window_or_what_was_applied_of_it_changed() {
    assert!(is_written(rolling(), |_| {}));
    assert!(!is_written(rolling(), sets("b_hour_ws", NOW - 999)));
    assert!(!is_written(rolling(), sets("b_hour_wa", NOW - 1000)));
    assert!(!is_written(rolling(), removes("b_hour_wa")));
    let unmarked = || rolling().without("b_hour_wa");
    assert!(is_written(unmarked(), |_| {}));
    assert!(!is_written(unmarked(), sets("b_hour_wa", NOW - 1000)));
}

#[test]
fn every_window_in_force_must_be_applied_as_it_was_read_though_it_is_not_rolled() {
    let resting = || rpm().session("hour", 400_000, 7, 1, NOW - HOUR);
    assert!(is_written(resting(), |_| {}));
    assert!(!is_written(resting(), sets("b_hour_wa", NOW - HOUR + 1)));
    assert!(
        is_written(resting(), sets("b_hour_ws", NOW - 5)),
        "its start is pinned only by a roll"
    );
}

#[test]
fn a_window_that_was_given_another_length_meanwhile_is_neither_rolled_nor_passed_over() {
    for shard in [rolling(), rpm().session("hour", 400_000, 7, 1, NOW - HOUR)] {
        assert!(is_written(Shard(shard.0.clone()), |_| {}));
        assert!(!is_written(shard, sets("b_hour_rsa", 300)));
    }
}

#[test]
fn an_item_that_was_made_anew_gets_nothing_for_what_the_former_one_spent() {
    let table = world([rpm()]);
    write(&table, 0, vec![add("b_rpm_tc", 20_000)]);
    table.delete_item(&key(0));
    let anew = Shard::new(0, 1).drip("rpm", 60_000, 1000).n("rf", RF);
    table.put_item(&anew.0).unwrap();
    handle_with(&table, &event(&table), NOW, bucket_rules(), &Notes::default());
    assert_eq!(stored(&table, 0, "b_rpm_tk"), Some(1000));
}

#[test]
fn nothing_is_granted_again_at_a_count_that_has_grown() {
    assert!(!is_written(rolling(), sets("shard_count", 4)));
    assert!(is_written(rolling(), sets("shard_count", 1)));
    assert!(is_written(rolling(), removes("shard_count")));
    assert!(is_written(rpm(), sets("shard_count", 4)), "a drip alone does not mind");
}

#[test]
fn an_expired_validity_is_renewed_only_on_the_schedules_and_balances_that_were_read() {
    let expired = || {
        rpm()
            .calendar("day", 1000, 1000, 1)
            .s("sched", "1h3s500")
            .s("rsched", MIDNIGHT)
            .s("b_rpm_rsched", "-")
    };
    let expired = || expired().n("vu", NOW);
    type Meanwhile = fn(&MemoryTable);
    let conditions: [(&str, Meanwhile); 6] = [
        ("another sched", |table| texts("sched", "1h4s500")(table)),
        ("another rsched", |table| texts("rsched", "1m1h0")(table)),
        ("a zone", |table| texts("sched_tz", "Europe/Berlin")(table)),
        ("no sched", |table| removes("sched")(table)),
        ("a quota above its grant", |table| sets("b_day_tk", 1001)(table)),
        ("no balance", |table| removes("b_day_tk")(table)),
    ];
    assert!(is_written(expired(), |_| {}));
    assert!(is_written(expired(), sets("b_day_tk", 999)));
    for (name, meanwhile) in conditions {
        assert!(!is_written(expired(), meanwhile), "{name}");
        // One that is not renewed depends on none of them.
        assert!(is_written(expired().n("vu", NOW + 1), meanwhile), "{name}");
    }
}

#[test]
fn an_expired_validity_is_not_renewed_over_a_limit_that_an_operator_changed_meanwhile() {
    // `vu` is 0 before the change and after it.
    let told = || {
        rpm()
            .calendar("day", 1000, 1000, 1)
            .session("hour", 2000, 2000, 1, NOW - 1000)
            .drip("full", 600, 600)
            .s("b_day_rsched", MIDNIGHT)
            .n("vu", 0)
    };
    assert!(is_written(told(), |_| {}));
    for lowered in ["b_day_cp", "b_hour_cp", "b_full_cp"] {
        assert!(!is_written(told(), sets(lowered, 500)), "{lowered}");
    }
    for (other, schedule) in [
        ("b_day_rsched", "1m1h0"),
        ("b_day_sched", "1h3s500"),
        ("b_full_sched", "1h3s500"),
    ] {
        assert!(!is_written(told(), texts(other, schedule)), "{other}");
    }
    // A reset that finds the balance at its share adds nothing to it, and renews `vu` all the same.
    let reset = || told().drip("rpm", 15_000, 1000).n("rf", EDGE - 1);
    assert!(is_written(reset(), |_| {}));
    assert!(!is_written(reset(), sets("b_day_cp", 500)));
}

/// The table after an event whose records `arrange` has put in another order.
fn after(arrange: impl Fn(&mut Vec<serde_json::Value>)) -> MemoryTable {
    let shard = |n, balance| Shard::new(n, 2).drip("rpm", 60_000, balance).n("rf", RF).wcu();
    let table = world([shard(0, 9000), shard(1, 4000)]);
    // Enough records to cross from `9…` to a longer `1…`, where the order of the texts is not that of the numbers.
    for n in 0..20 {
        let amount = if n % 2 == 0 { 900 } else { 360 };
        write(&table, n % 2, vec![add("b_rpm_tk", -amount), add("b_rpm_tc", amount)]);
    }
    let mut batch: serde_json::Value = serde_json::from_str(&event(&table)).unwrap();
    arrange(batch["Records"].as_array_mut().unwrap());
    handle_with(&table, &batch.to_string(), NOW, bucket_rules(), &Notes::default());
    table
}

#[test]
fn the_order_of_arrival_and_exact_repeats_make_no_difference() {
    let in_order = after(|_| {});
    // Shard 0 spent its 9000 and is due 5000, which would not last; on an earlier image it would look well off.
    assert_eq!(
        (stored(&in_order, 0, "rf"), stored(&in_order, 0, "b_rpm_tk")),
        (Some(NOW.into()), Some(5000))
    );
    // Shard 1 has 400 left and is due 5000, which lasts for another 3600, unless some of that is counted twice.
    assert_eq!(
        (stored(&in_order, 1, "rf"), stored(&in_order, 1, "b_rpm_tk")),
        (Some(RF.into()), Some(400))
    );
    for seed in 0..50 {
        let shuffled = after(|records| {
            let mut random = Random::new(seed);
            for _ in 0..random.below(30) {
                let again = records[random.below(records.len())].clone();
                records.push(again);
            }
            for at in (1..records.len()).rev() {
                records.swap(at, random.below(at + 1));
            }
        });
        assert_eq!(shuffled.items(), in_order.items(), "seed {seed}");
    }
}

#[test]
fn the_last_image_by_number_decides_however_late_it_arrives() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let table = world([rpm()]);
        for balance in [50_000, -4000, -9000] {
            write(&table, 0, vec![set("b_rpm_tk", balance), add("b_rpm_tc", 7000)]);
        }
        let mut batch: serde_json::Value = serde_json::from_str(&event(&table)).unwrap();
        let records = batch["Records"].as_array_mut().unwrap();
        *records = order.iter().map(|place| records[*place].clone()).collect();
        handle_with(&table, &batch.to_string(), NOW, bucket_rules(), &Notes::default());
        assert_eq!(
            stored(&table, 0, "b_rpm_tk"),
            Some(1000),
            "10 tokens more than the last balance"
        );
    }
}
