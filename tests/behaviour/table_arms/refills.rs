//! The refill write (R6) and the doubling of the shard count (R7).

use limiter_aggregator::item::{Item, number, text};
use limiter_aggregator::write::Update;

use super::arms::{
    Arm, absent, add, any, applies, at_most, each_condition_decides, equal, exists, greater, item, key, loses, remove,
    set, update,
};

const PK: &str = "ns/BUCKET#sk-1:a@b#models/gpt-4#0";

/// `rpm` drips and is a reason, `t.p-m` drips along, `wcu` too; `day` is a calendar quota that was reset, `ses` a
/// session quota that was rolled.
fn bucket() -> Item {
    let attributes = [
        ("rf", number(1000)),
        ("vu", number(900)),
        ("shard_count", number(2)),
        ("b_rpm_tk", number(-50)),
        ("b_rpm_cp", number(100_000)),
        ("b_t.p-m_tk", number(10)),
        ("b_t.p-m_cp", number(60_000)),
        ("b_wcu_tk", number(999_000)),
        ("b_wcu_cp", number(1_000_000)),
        ("b_day_tk", number(3)),
        ("b_day_cp", number(8000)),
        ("b_day_gc", number(1)),
        ("b_day_tu", number(500)),
        ("b_ses_tk", number(7)),
        ("b_ses_cp", number(9000)),
        ("b_ses_ws", number(950)),
        ("b_ses_wa", number(400)),
    ];
    item(&key(PK, "#STATE"), &attributes)
}

fn refill() -> Update {
    let actions = vec![
        add("b_rpm_tk", 40_000),
        add("b_t.p-m_tk", 20_000),
        add("b_wcu_tk", 1000),
        add("b_day_tk", 3997),
        add("b_ses_tk", -7),
        set("rf", number(2000)),
        set("b_ses_wa", number(950)),
        set("b_day_gc", number(2)),
        set("b_ses_gc", number(2)),
        remove("b_day_tu"),
        set("vu", number(5000)),
    ];
    let conditions = vec![
        equal("rf", number(1000)),
        equal("vu", number(900)),
        at_most("b_rpm_tk", -50),
        at_most("b_t.p-m_tk", 10_000),
        at_most("b_wcu_tk", 999_000),
        at_most("b_day_tk", 3),
        equal("b_rpm_cp", number(100_000)),
        equal("b_t.p-m_cp", number(60_000)),
        equal("b_wcu_cp", number(1_000_000)),
        equal("b_day_cp", number(8000)),
        equal("b_ses_cp", number(9000)),
        equal("b_ses_ws", number(950)),
        equal("b_ses_wa", number(400)),
        any(vec![absent("shard_count"), at_most("shard_count", 2)]),
        absent("sched"),
        absent("rsched"),
        absent("sched_tz"),
    ];
    update(&key(PK, "#STATE"), actions, conditions)
}

async fn a_refill_is_dropped_when_anything_it_relied_on_moved(arm: &impl Arm) {
    let moved = [
        ("rf", Some(number(1001))),
        ("rf", None),
        ("vu", Some(number(0))),
        ("vu", None),
        ("b_rpm_tk", Some(number(-49))),
        ("b_t.p-m_tk", Some(number(10_001))),
        ("b_wcu_tk", Some(number(999_001))),
        ("b_day_tk", Some(number(4))),
        ("b_rpm_cp", Some(number(99_999))),
        ("b_t.p-m_cp", Some(text("60000"))),
        ("b_wcu_cp", None),
        ("b_day_cp", Some(number(7000))),
        ("b_ses_cp", Some(number(9001))),
        ("b_ses_ws", Some(number(951))),
        ("b_ses_wa", None),
        ("shard_count", Some(number(3))),
        ("sched", Some(text("1h9s500"))),
        ("rsched", Some(text("1h0"))),
        ("sched_tz", Some(text("UTC"))),
    ];
    let after = each_condition_decides(arm, &bucket(), &refill(), &moved).await;
    let mut expected = bucket();
    expected.extend(
        [
            ("b_rpm_tk", number(39_950)),
            ("b_t.p-m_tk", number(20_010)),
            ("b_wcu_tk", number(1_000_000)),
            ("b_day_tk", number(4000)),
            ("b_ses_tk", number(0)),
            ("rf", number(2000)),
            ("b_ses_wa", number(950)),
            ("b_day_gc", number(2)),
            ("b_ses_gc", number(2)),
            ("vu", number(5000)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    expected.remove("b_day_tu");
    assert_eq!(after, expected);
}

async fn a_refill_commutes_with_the_debits_of_clients(arm: &impl Arm) {
    let mut debited = bucket();
    debited.insert("b_rpm_tk".to_owned(), number(-90_000));
    debited.insert("b_t.p-m_tk".to_owned(), number(9000));
    debited.remove("shard_count");
    arm.seed(&debited).await;
    applies(arm, &refill()).await;
    let after = arm.item(&refill().key).await.unwrap();
    assert_eq!(
        (&after["b_rpm_tk"], &after["b_t.p-m_tk"]),
        (&number(-50_000), &number(29_000))
    );
}

async fn a_repeated_refill_is_dropped(arm: &impl Arm) {
    arm.seed(&bucket()).await;
    applies(arm, &refill()).await;
    loses(arm, &refill()).await;
}

async fn a_refill_does_not_revive_a_deleted_bucket(arm: &impl Arm) {
    assert_eq!(
        loses(
            arm,
            &Update {
                return_item_on_failure: true,
                ..refill()
            }
        )
        .await,
        None
    );
    assert_eq!(arm.item(&refill().key).await, None);
}

async fn a_slow_clocks_clamp_is_applied_once(arm: &impl Arm) {
    let key = key(PK, "#STATE");
    arm.seed(&item(
        &key,
        &[("rf", number(1000)), ("b_rpm_tk", number(70)), ("b_rpm_cp", number(50))],
    ))
    .await;
    let actions = vec![add("b_rpm_tk", -20), set("rf", number(1000))];
    let conditions = vec![
        equal("rf", number(1000)),
        absent("vu"),
        greater("b_rpm_tk", 50),
        equal("b_rpm_cp", number(50)),
    ];
    let clamp = update(&key, actions, conditions);
    applies(arm, &clamp).await;
    loses(arm, &clamp).await;
    assert_eq!(arm.item(&key).await.unwrap()["b_rpm_tk"], number(50));
}

async fn a_doubling_needs_the_count_that_was_read(arm: &impl Arm) {
    let key = key(PK, "#STATE");
    let stored = item(&key, &[("shard_count", number(4)), ("b_wcu_tk", number(1))]);
    let double = update(
        &key,
        vec![set("shard_count", number(8))],
        vec![equal("shard_count", number(4))],
    );
    let moved = [
        ("shard_count", Some(number(8))),
        ("shard_count", Some(text("4"))),
        ("shard_count", None),
    ];
    let after = each_condition_decides(arm, &stored, &double, &moved).await;
    assert_eq!(after["shard_count"], number(8));
    loses(arm, &double).await;
}

async fn a_doubling_of_an_uncounted_bucket_needs_the_count_still_absent(arm: &impl Arm) {
    let key = key(PK, "#STATE");
    let conditions = vec![exists("PK"), absent("shard_count")];
    let double = update(&key, vec![set("shard_count", number(2))], conditions);
    loses(arm, &double).await;
    let moved = [("shard_count", Some(number(1)))];
    let after = each_condition_decides(arm, &item(&key, &[]), &double, &moved).await;
    assert_eq!(after, item(&key, &[("shard_count", number(2))]));
}

on_both_arms! {
    a_refill_is_dropped_when_anything_it_relied_on_moved,
    a_refill_commutes_with_the_debits_of_clients,
    a_repeated_refill_is_dropped,
    a_refill_does_not_revive_a_deleted_bucket,
    a_slow_clocks_clamp_is_applied_once,
    a_doubling_needs_the_count_that_was_read,
    a_doubling_of_an_uncounted_bucket_needs_the_count_still_absent,
}
