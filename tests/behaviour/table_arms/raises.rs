//! Raising the shard count of a sibling, its grants frozen in the same write (R8, step 2 and 4).

use limiter_aggregator::item::{number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::write::Update;

use super::arms::{
    Arm, absent, any, applies, each_condition_decides, exists, item, key, less, loses, set, set_from, update,
};

fn sibling() -> ItemKey {
    key("ns/BUCKET#e#r#1", "#STATE")
}

fn raise() -> Update {
    let actions = vec![
        set("shard_count", number(4)),
        set_from("b_day_gc", "b_day_gc", number(2)),
        set_from("b_ses_gc", "b_ses_gc", number(2)),
    ];
    update(
        &sibling(),
        actions,
        vec![exists("PK"), any(vec![absent("shard_count"), less("shard_count", 4)])],
    )
}

async fn a_raise_freezes_grants_that_have_no_size_yet(arm: &impl Arm) {
    let stored = item(&sibling(), &[("shard_count", number(2)), ("b_ses_gc", number(1))]);
    let moved = [
        ("shard_count", Some(number(4))),
        ("shard_count", Some(number(8))),
        ("shard_count", Some(text("2"))),
    ];
    let after = each_condition_decides(arm, &stored, &raise(), &moved).await;
    let frozen = [
        ("shard_count", number(4)),
        ("b_day_gc", number(2)),
        ("b_ses_gc", number(1)),
    ];
    assert_eq!(after, item(&sibling(), &frozen));
}

async fn a_sibling_without_a_count_is_raised(arm: &impl Arm) {
    arm.seed(&item(&sibling(), &[])).await;
    applies(arm, &raise()).await;
    assert_eq!(arm.item(&sibling()).await.unwrap()["shard_count"], number(4));
}

async fn a_raise_makes_no_shard(arm: &impl Arm) {
    loses(arm, &raise()).await;
    assert_eq!(arm.item(&sibling()).await, None);
}

async fn a_repeated_raise_is_dropped(arm: &impl Arm) {
    arm.seed(&item(&sibling(), &[("shard_count", number(2))])).await;
    applies(arm, &raise()).await;
    loses(arm, &raise()).await;
}

on_both_arms! {
    a_raise_freezes_grants_that_have_no_size_yet,
    a_sibling_without_a_count_is_raised,
    a_raise_makes_no_shard,
    a_repeated_raise_is_dropped,
}
