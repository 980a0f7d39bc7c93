//! How large a grant was, whether it is this period's, and who covers a slot (R9), on stored items.

use limiter_aggregator::bucket::Bucket;
use limiter_aggregator::plan::funding::{Funding, Grant, fund};
use limiter_aggregator::plan::quota::{Period, grant_size, quotas_of};
use limiter_aggregator::plan::recovery::ItemSchedules;
use limiter_aggregator::units::{EpochMillis, Millitokens, ShardCount, ShardId};

use super::scene::{EDGE, HOUR, NOW, Shard, double, propagate, stored, world};

const CAPACITY: i64 = 1_000_000;

fn count(value: u32) -> ShardCount {
    ShardCount::from_stored(Some(value.into()))
}

fn size(shard: &Shard) -> u32 {
    let bucket = Bucket::from_item(&shard.0).unwrap();
    let limit = bucket.limit("q").unwrap();
    grant_size(limit, bucket.fields.shard_count(), Millitokens(CAPACITY.into())).get()
}

fn at(shards: u32, balance: i64) -> Shard {
    Shard::new(0, shards)
        .calendar("q", CAPACITY, balance, 1)
        .without("b_q_gc")
}

#[test]
fn a_recorded_grant_says_its_size_whatever_the_balance_and_the_count() {
    assert_eq!(size(&at(8, CAPACITY).n("b_q_gc", 4)), 4);
    assert_eq!(size(&at(2, 0).n("b_q_gc", 16)), 16);
}

#[test]
fn a_recorded_grant_below_one_reads_as_the_count_and_is_never_halved() {
    for recorded in [0, -3] {
        assert_eq!(size(&at(8, CAPACITY).n("b_q_gc", recorded)), 8);
    }
}

#[test]
fn an_unrecorded_grant_is_halved_until_the_balance_fits() {
    for (shards, balance, expected) in [
        (4, 250_000, 4),
        (4, 250_001, 2),
        (4, 500_001, 1),
        (4, 9_000_000, 1),
        (4, -5, 4),
        (1, 9_000_000, 1),
        (6, 333_334, 1),
        (6, 333_333, 3),
        (32, 62_500, 16),
    ] {
        assert_eq!(size(&at(shards, balance)), expected, "{balance} at {shards}");
    }
    let uncounted = at(4, 250_000).without("shard_count");
    assert_eq!(size(&uncounted), 1);
}

fn is_current(shard: &Shard, now: i64) -> bool {
    let bucket = Bucket::from_item(&shard.0).unwrap();
    let schedules = ItemSchedules::decode(&bucket.fields, &bucket.limits).unwrap();
    let quotas = quotas_of(&bucket, &schedules, EpochMillis(now)).unwrap();
    quotas[0]
        .period
        .is_current(&bucket.fields, quotas[0].limit, EpochMillis(now))
}

#[test]
fn a_calendar_grant_is_current_from_its_edge_on() {
    assert!(is_current(&at(1, 0).n("rf", EDGE), NOW));
    assert!(!is_current(&at(1, 0).n("rf", EDGE - 1), NOW));
    assert!(is_current(&at(1, 0).n("rf", EDGE - 1), EDGE - 1));
    assert!(!is_current(&at(1, 0).without("rf"), NOW));
}

#[test]
fn a_session_grant_is_current_while_its_window_is_open_and_applied() {
    let start = NOW - HOUR;
    let session = |change: fn(Shard) -> Shard| change(Shard::new(0, 1).session("q", CAPACITY, 0, 1, NOW - HOUR));
    assert!(is_current(&session(|s| s), NOW));
    assert!(is_current(&session(|s| s), start + 5 * HOUR - 1));
    assert!(!is_current(&session(|s| s), start + 5 * HOUR), "ended");
    assert!(
        !is_current(&session(|s| s.n("b_q_wa", NOW - HOUR - 1)), NOW),
        "not applied"
    );
    assert!(!is_current(&session(|s| s.without("b_q_ws")), NOW), "never opened");
    let unmarked = |rf| {
        Shard::new(0, 1)
            .session("q", CAPACITY, 0, 1, start)
            .without("b_q_wa")
            .n("rf", rf)
    };
    assert!(is_current(&unmarked(start), NOW));
    assert!(!is_current(&unmarked(start - 1), NOW));
    assert!(!is_current(&unmarked(start).without("rf"), NOW));
}

#[test]
fn a_corrupt_item_with_both_kinds_of_reset_is_a_calendar_quota() {
    let both = Shard::new(0, 1)
        .session("q", CAPACITY, 0, 1, NOW)
        .s("b_q_rsched", "1m0h0");
    let bucket = Bucket::from_item(&both.0).unwrap();
    let schedules = ItemSchedules::decode(&bucket.fields, &bucket.limits).unwrap();
    let quotas = quotas_of(&bucket, &schedules, EpochMillis(NOW)).unwrap();
    assert_eq!(
        quotas[0].period,
        Period::Calendar {
            edge: Some(EpochMillis(EDGE))
        }
    );
}

#[test]
fn the_donor_is_the_smallest_covering_grant_whatever_the_order_it_is_listed_in() {
    let grant = |shard, size, balance| Grant {
        shard: ShardId(shard),
        size: count(size),
        balance: Millitokens(balance),
    };
    let mut current = vec![
        grant(0, 1, 900),
        grant(1, 2, 7),
        grant(5, 4, 0),
        grant(9, 4, 500),
        grant(2, 8, 500),
    ];
    for _ in 0..current.len() {
        current.rotate_left(1);
        let Funding::Move { donor, amount } = fund(ShardId(13), count(16), Millitokens(1600), &current) else {
            panic!("slot 13 is covered")
        };
        assert_eq!(
            (donor.shard, amount),
            (ShardId(5), Millitokens(0)),
            "5 and 9 tie: the lower pays, and is empty"
        );
    }
}

#[test]
fn a_sibling_carries_a_quota_by_its_balance_and_capacity_alone() {
    // `ra` and the reset schedule are shard 0's business; without a balance there is nothing to pay with.
    for (missing, paid) in [
        ("b_day_ra", true),
        ("b_day_rsched", true),
        ("b_day_tk", false),
        ("b_day_cp", false),
    ] {
        let half = |n| Shard::new(n, 2).calendar("day", CAPACITY, CAPACITY / 2, 2);
        let table = world([half(0), half(1).without(missing)]);
        let event = double(&table);
        propagate(&table, &event);
        assert_eq!(stored(&table, 3, "b_day_tk"), Some(250_000));
        let left = if paid { 250_000 } else { 500_000 };
        assert_eq!(
            stored(&table, 1, "b_day_tk"),
            (missing != "b_day_tk").then_some(left),
            "without {missing}"
        );
    }
}
