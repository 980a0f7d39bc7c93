//! Window propagation to a lagging sibling (R11).

use limiter_aggregator::item::{Item, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::write::{Condition, Update};

use super::arms::{
    Arm, absent, any, applies, at_most, each_condition_decides, equal, exists, item, key, less, loses, set, set_from,
    update,
};

const START: i128 = 1_000_000;
const LENGTH_MILLIS: i128 = 60_000;

fn sibling() -> ItemKey {
    key("ns/BUCKET#e#r#3", "#STATE")
}

fn propagate(rsa: Condition) -> Update {
    let actions = vec![
        set("b_ses_ws", number(START)),
        set("b_ses_rsa", number(60)),
        set("vu", number(0)),
        set_from("b_ses_wtc", "b_ses_tc", number(0)),
    ];
    let conditions = vec![
        exists("PK"),
        any(vec![absent("b_ses_ws"), at_most("b_ses_ws", START - LENGTH_MILLIS)]),
        rsa,
        any(vec![exists("b_ses_wa"), less("rf", START)]),
    ];
    update(&sibling(), actions, conditions)
}

fn lagging() -> Item {
    let attributes = [
        ("b_ses_ws", number(START - LENGTH_MILLIS)),
        ("b_ses_rsa", number(60)),
        ("b_ses_tc", number(77)),
        ("b_ses_wtc", number(5)),
        ("rf", number(START - 1)),
        ("vu", number(START + 1)),
    ];
    item(&sibling(), &attributes)
}

async fn a_window_lands_only_where_the_last_one_had_ended(arm: &impl Arm) {
    let moved = [
        ("b_ses_ws", Some(number(START - LENGTH_MILLIS + 1))),
        ("b_ses_ws", Some(number(START))),
        ("b_ses_rsa", Some(number(61))),
        ("b_ses_rsa", None),
        ("rf", Some(number(START))),
        ("rf", None),
    ];
    let write = propagate(equal("b_ses_rsa", number(60)));
    let after = each_condition_decides(arm, &lagging(), &write, &moved).await;
    let mut expected = lagging();
    let landed = [
        ("b_ses_ws", number(START)),
        ("vu", number(0)),
        ("b_ses_wtc", number(77)),
    ];
    expected.extend(landed.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(after, expected);
    loses(arm, &write).await;
}

async fn a_shard_that_never_had_a_window_gets_one(arm: &impl Arm) {
    arm.seed(&item(&sibling(), &[("b_ses_wa", number(1)), ("rf", number(START + 9))]))
        .await;
    applies(arm, &propagate(absent("b_ses_rsa"))).await;
    let after = arm.item(&sibling()).await.unwrap();
    assert_eq!((&after["b_ses_rsa"], &after["b_ses_wtc"]), (&number(60), &number(0)));
}

async fn a_window_makes_no_shard(arm: &impl Arm) {
    loses(arm, &propagate(absent("b_ses_rsa"))).await;
    assert_eq!(arm.item(&sibling()).await, None);
}

async fn the_consumption_taken_over_is_whatever_is_stored(arm: &impl Arm) {
    // The value is copied, not added: its type does not matter to the write.
    let mut odd = lagging();
    odd.insert("b_ses_tc".to_owned(), text("odd"));
    arm.seed(&odd).await;
    applies(arm, &propagate(equal("b_ses_rsa", number(60)))).await;
    assert_eq!(arm.item(&sibling()).await.unwrap()["b_ses_wtc"], text("odd"));
}

on_both_arms! {
    a_window_lands_only_where_the_last_one_had_ended,
    a_shard_that_never_had_a_window_gets_one,
    a_window_makes_no_shard,
    the_consumption_taken_over_is_whatever_is_stored,
}
