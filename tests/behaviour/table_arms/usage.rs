//! The usage snapshot's update: sums guarded by the last sequence number counted (R12).

use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::write::{Comparison, Condition, Update};

use super::arms::{Arm, absent, add, any, applies, item, key, loses, set, set_from, update};

const LABEL: &str = "2026-01-01T00:00:00.000";

fn snapshot() -> ItemKey {
    key("ns/ENTITY#sk-1:a@b", "#USAGE#models/gpt-4#2026-11-30T14:00:00Z")
}

/// The text under which a number of the stream is kept: label, two digits of length, the number.
fn counted(label: &str, sequence: &str) -> AttributeValue {
    text(format!("{label}/{:02}{sequence}", sequence.len()))
}

fn descriptive() -> [(&'static str, AttributeValue); 8] {
    [
        ("entity_id", text("sk-1:a@b")),
        ("resource", text("models/gpt-4")),
        ("window", text("hourly")),
        ("window_start", text("2026-11-30T14:00:00Z")),
        ("GSI2PK", text("ns/RESOURCE#models/gpt-4")),
        ("GSI2SK", text("USAGE#2026-11-30T14:00:00Z#sk-1:a@b")),
        ("GSI4PK", text("ns")),
        ("GSI4SK", text("ns/ENTITY#sk-1:a@b")),
    ]
}

fn usage(shard: u32, tokens: i128, ttl: i128, guard: Condition, last: AttributeValue) -> Update {
    let mut actions = vec![
        add("t.p-m", tokens),
        add("rpm", 1),
        add("rpm#od", 1),
        add("total_events", 2),
    ];
    actions.extend(descriptive().map(|(name, value)| set(name, value)));
    actions.push(set_from("ttl", "ttl", number(ttl)));
    actions.push(set(&format!("#seq{shard}"), last));
    Update {
        return_item_on_failure: true,
        ..update(&snapshot(), actions, vec![guard])
    }
}

fn older_than(shard: u32, first: &AttributeValue) -> Condition {
    let guard = format!("#seq{shard}");
    any(vec![
        absent(&guard),
        Condition::Compare(guard, Comparison::Less, first.clone()),
    ])
}

fn expected(tokens: i128, events: i128, ttl: i128, seqs: &[(&str, AttributeValue)]) -> Item {
    let sums = [
        ("t.p-m", number(tokens)),
        ("rpm", number(events / 2)),
        ("rpm#od", number(events / 2)),
        ("total_events", number(events)),
        ("ttl", number(ttl)),
    ];
    let attributes: Vec<_> = sums
        .into_iter()
        .chain(descriptive())
        .chain(seqs.iter().cloned())
        .collect();
    item(&snapshot(), &attributes)
}

async fn the_first_usage_of_a_window_makes_its_snapshot(arm: &impl Arm) {
    let last = counted(LABEL, "900");
    applies(arm, &usage(0, 12, 5000, older_than(0, &last), last.clone())).await;
    assert_eq!(
        arm.item(&snapshot()).await,
        Some(expected(12, 2, 5000, &[("#seq0", last)]))
    );
}

async fn later_usage_adds_up_and_keeps_the_time_to_live(arm: &impl Arm) {
    let (first, second) = (counted(LABEL, "900"), counted(LABEL, "1000"));
    applies(arm, &usage(0, 12, 5000, older_than(0, &first), first.clone())).await;
    applies(arm, &usage(0, -2, 9000, older_than(0, &second), second.clone())).await;
    assert_eq!(
        arm.item(&snapshot()).await,
        Some(expected(10, 4, 5000, &[("#seq0", second)]))
    );
}

async fn what_was_counted_is_not_counted_again_and_comes_back(arm: &impl Arm) {
    let last = counted(LABEL, "1000");
    let write = usage(0, 12, 5000, older_than(0, &last), last.clone());
    applies(arm, &write).await;
    let found = loses(arm, &write).await.unwrap();
    assert_eq!(found, expected(12, 2, 5000, &[("#seq0", last)]));
    let earlier = counted(LABEL, "999");
    loses(arm, &usage(0, 1, 5000, older_than(0, &earlier), earlier))
        .await
        .unwrap();
    let silent = Update {
        return_item_on_failure: false,
        ..write
    };
    assert_eq!(loses(arm, &silent).await, None, "not asked for");
}

async fn the_rest_is_written_on_the_value_found(arm: &impl Arm) {
    let (first, second) = (counted(LABEL, "999"), counted(LABEL, "1001"));
    applies(arm, &usage(0, 12, 5000, older_than(0, &first), first.clone())).await;
    let on_found = |found: &AttributeValue| Condition::as_read("#seq0", Some(found.clone()));
    loses(arm, &usage(0, 3, 5000, on_found(&second), second.clone())).await;
    applies(arm, &usage(0, 3, 5000, on_found(&first), second.clone())).await;
    assert_eq!(
        arm.item(&snapshot()).await,
        Some(expected(15, 4, 5000, &[("#seq0", second)]))
    );
}

async fn shards_guard_themselves_and_a_later_stream_counts_as_later(arm: &impl Arm) {
    let (zero, one) = (counted(LABEL, "1000"), counted(LABEL, "5"));
    applies(arm, &usage(0, 1, 5000, older_than(0, &zero), zero.clone())).await;
    applies(arm, &usage(1, 1, 5000, older_than(1, &one), one.clone())).await;
    let later = counted("2026-02-02T00:00:00.000", "7");
    applies(arm, &usage(0, 1, 5000, older_than(0, &later), later.clone())).await;
    assert_eq!(
        arm.item(&snapshot()).await,
        Some(expected(3, 6, 5000, &[("#seq0", later), ("#seq1", one)]))
    );
}

async fn a_guard_of_another_type_lets_nothing_through(arm: &impl Arm) {
    arm.seed(&item(&snapshot(), &[("#seq0", number(1))])).await;
    let last = counted(LABEL, "1000");
    loses(arm, &usage(0, 1, 5000, older_than(0, &last), last)).await;
}

on_both_arms! {
    the_first_usage_of_a_window_makes_its_snapshot,
    later_usage_adds_up_and_keeps_the_time_to_live,
    what_was_counted_is_not_counted_again_and_comes_back,
    the_rest_is_written_on_the_value_found,
    shards_guard_themselves_and_a_later_stream_counts_as_later,
    a_guard_of_another_type_lets_nothing_through,
}
