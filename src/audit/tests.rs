use super::*;
use crate::item::{number, text};

const NOW: EpochMillis = EpochMillis(1_796_000_000_000);

/// A clean shard of a session quota of 1,024 tokens and a drip of 1,000, in a window that began an hour ago.
fn shard(count: i128, held: i128) -> Item {
    let start = i128::from(NOW.0) - 3_600_000;
    let numbers = [
        ("rf", start),
        ("shard_count", count),
        ("b_q_tk", held * 1_000),
        ("b_q_cp", 1_024_000),
        ("b_q_ra", 0),
        ("b_q_rp", 0),
        ("b_q_tc", 0),
        ("b_q_gc", count),
        ("b_q_rsa", 18_000),
        ("b_q_ws", start),
        ("b_q_wa", start),
        ("b_d_tk", 1_000_000 / count),
        ("b_d_cp", 1_000_000),
        ("b_d_ra", 1_000_000),
        ("b_d_rp", 60_000),
        ("b_d_tc", 0),
    ];
    numbers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect()
}

fn bucket(shards: impl IntoIterator<Item = Item>) -> BTreeMap<ShardId, Item> {
    (0..).map(ShardId).zip(shards).collect()
}

fn with(mut item: Item, name: &str, value: i128) -> Item {
    item.insert(name.to_owned(), number(value));
    item
}

fn kinds(shards: impl IntoIterator<Item = Item>) -> Vec<(&'static str, Option<u32>)> {
    let found = audit_bucket(&bucket(shards), NOW);
    found
        .iter()
        .map(|finding| (finding.kind(), finding.shard().map(|shard| shard.0)))
        .collect()
}

#[test]
fn nothing_is_found_on_a_clean_bucket() {
    assert_eq!(kinds([shard(1, 1_024)]), []);
    assert_eq!(kinds([shard(2, 512), shard(2, 512)]), []);
    // Moved tokens: the donor keeps the count that its grant was sized at, and 1/gc adds up to more than one.
    assert_eq!(kinds([with(shard(2, 700), "b_q_gc", 1), shard(2, 324)]), []);
    // In debt.
    assert_eq!(kinds([shard(2, -5), shard(2, 512)]), []);
}

#[test]
fn overlapping_grants_are_found_by_what_they_hold_together() {
    assert_eq!(kinds([shard(2, 1_000), shard(2, 25)]), [("over_granted", None)]);
    let topped_up = with(shard(2, 1_000), "b_q_tu", 1_000);
    assert_eq!(kinds([topped_up, shard(2, 25)]), []);
}

#[test]
fn a_share_above_the_whole_is_found() {
    let found = kinds([shard(2, 1_025), shard(2, 0)]);
    assert_eq!(found, [("over_granted", None), ("above_capacity", Some(0))]);
}

#[test]
fn what_waits_for_its_reset_or_its_evaluation_is_no_overlap() {
    let ended = EpochMillis(NOW.0 - 20_000_000).0;
    let old = |item| with(with(item, "b_q_ws", ended.into()), "b_q_wa", ended.into());
    assert_eq!(kinds([old(shard(2, 1_024)), old(shard(2, 1_024))]), []);
    let waiting = |item| with(item, "vu", 0);
    let found = kinds([waiting(shard(2, 1_024)), waiting(shard(2, 1_024))]);
    assert_eq!(found, [("dead_valid_until", Some(0)), ("dead_valid_until", Some(1))]);
}

#[test]
fn shards_that_lag_or_lack_are_found() {
    let found = kinds([with(shard(1, 100), "b_q_gc", 2), shard(4, 100)]);
    let drip_above = ("above_ceiling", Some(0));
    let wanted = [
        drip_above,
        ("lagging_count", Some(0)),
        ("missing_shard", Some(2)),
        ("missing_shard", Some(3)),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn windows_that_differ_or_wait_are_found() {
    let start = i128::from(NOW.0) - 60_000;
    let newer = |item| with(item, "b_q_ws", start);
    let opened = with(newer(shard(2, 512)), "b_q_wa", start);
    assert_eq!(kinds([opened.clone(), shard(2, 512)]), [("staggered_window", Some(1))]);
    assert_eq!(kinds([opened, newer(shard(2, 512))]), [("unapplied_window", Some(1))]);
}

#[test]
fn shards_that_cannot_be_read_are_found() {
    let mut unreadable = shard(2, 512);
    unreadable.insert("b_q_tc".to_owned(), text("x"));
    let mut undecodable = shard(2, 512);
    undecodable.insert("rsched".to_owned(), text("not a schedule"));
    let found = kinds([unreadable, undecodable]);
    assert_eq!(found, [("unreadable", Some(0)), ("undecodable_schedule", Some(1))]);
}
