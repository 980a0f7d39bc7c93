//! What one bad delivery leaves, and what it asks for again. Every combination of them is in [`super::model`].

use std::time::Duration;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, WriteResult};
use limiter_aggregator::item::{Item, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::plan::usage::WindowKind;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{FaultClass, UpdateOutcome};
use limiter_aggregator::units::EpochMillis;
use limiter_aggregator::write::Update;

use super::counting::{counters, settings, snapshots};
use super::hostile::{Fate, Hostile, fault};
use super::records::{Change, LABEL, change, event, used};
use super::seen::{Seen, SnapshotSeen};

/// 2026-11-30T13:10:00Z.
const NOW: i64 = 1_796_044_200_000;
const HOUR: i64 = 3_600_000;

/// A record of one token in the hour that begins so many hours from [`NOW`]'s.
fn token(sequence: u64, hour: i64) -> Change {
    change(sequence, NOW + hour * HOUR, vec![used("rpm", 0, 1_000)])
}

/// Delivers records with hourly windows alone.
async fn deliver(table: &MemoryTable, records: &[Change], fate: impl FnMut(u32, &Update) -> Fate) -> Delivered {
    let hostile = Hostile::new(table, fate);
    let seen = Seen::default();
    let aggregator = Aggregator::new(&hostile, settings(&[WindowKind::Hourly]));
    let budget = Budget::from_remaining(Duration::from_millis(400));
    let outcome = aggregator
        .handle(&event(records), EpochMillis(NOW), &budget, &seen)
        .await;
    Delivered {
        retry_from: match outcome.unwrap() {
            BatchOutcome::Complete => None,
            BatchOutcome::RetryFrom(sequence) => Some(sequence.as_str().to_owned()),
            BatchOutcome::RetryAll => panic!("every record has a number"),
        },
        snapshots: seen.snapshots.take(),
        others: seen.others.take(),
        calls: hostile.calls(),
    }
}

struct Delivered {
    retry_from: Option<String>,
    snapshots: Vec<SnapshotSeen>,
    others: Vec<String>,
    calls: u32,
}

fn pass(_: u32, _: &Update) -> Fate {
    Fate::Pass
}

fn nth(call: u32, fate: Fate) -> impl FnMut(u32, &Update) -> Fate {
    move |now, _| if now == call { fate.clone() } else { Fate::Pass }
}

fn retryable() -> Fate {
    Fate::Answer(Err(fault(FaultClass::Retryable)))
}

/// Tokens by hour.
fn tokens(table: &MemoryTable) -> Vec<i64> {
    snapshots(table).values().map(|item| counters(item)["rpm"]).collect()
}

#[tokio::test]
async fn a_retryable_failure_reports_its_lowest_record_and_stops_nothing() {
    let records = [token(1, 0), token(2, 1), token(3, 1), token(4, 2)];
    for (failing, from) in [(1, "1"), (2, "2"), (3, "4")] {
        let table = MemoryTable::new();
        let delivered = deliver(&table, &records, nth(failing, retryable())).await;
        assert_eq!(delivered.retry_from.as_deref(), Some(from));
        assert_eq!(delivered.others, ["Refill", "Doubling"], "the later rules still run");
        assert_eq!(tokens(&table).len(), 2);
        assert_eq!(deliver(&table, &records, pass).await.retry_from, None);
        assert_eq!(tokens(&table), [1, 2, 1]);
    }
}

#[tokio::test]
async fn a_permanent_failure_is_counted_and_never_asked_for_again() {
    let table = MemoryTable::new();
    // Somebody stored a text where the counter belongs: nothing can be added to it.
    let key = [
        ("PK", "ns/ENTITY#e"),
        ("SK", "#USAGE#gpt-4#2026-11-30T13:00:00Z"),
        ("rpm", "x"),
    ];
    let spoilt: Item = key
        .iter()
        .map(|(name, value)| ((*name).to_owned(), text(*value)))
        .collect();
    table.put_item(&spoilt).unwrap();
    let delivered = deliver(&table, &[token(1, 0), token(2, 1)], pass).await;
    assert_eq!((delivered.retry_from, delivered.calls), (None, 2));
    let failed = |seen: &SnapshotSeen| matches!(&seen.result, Some(WriteResult::Failed(fault)) if fault.class == FaultClass::Permanent);
    assert_eq!(
        delivered.snapshots.iter().map(failed).collect::<Vec<_>>(),
        [true, false]
    );
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_adds_nothing() {
    let table = MemoryTable::new();
    let records = [token(1, 0), token(2, 0)];
    assert_eq!(
        deliver(&table, &records, nth(1, Fate::LoseAnswer))
            .await
            .retry_from
            .as_deref(),
        Some("1")
    );
    let again = deliver(&table, &records, pass).await;
    assert_eq!(
        (again.retry_from, again.calls),
        (None, 1),
        "the failed condition itself shows what was counted"
    );
    assert_eq!(again.snapshots[0], left_out(2, 0, 1));
    assert_eq!(tokens(&table), [2]);
}

fn left_out(repeats: usize, beyond: usize, calls: u32) -> SnapshotSeen {
    SnapshotSeen {
        window: "hourly",
        events: None,
        repeats,
        beyond,
        calls,
        result: None,
    }
}

#[tokio::test]
async fn a_write_that_the_sdk_sends_twice_is_told_from_a_race() {
    let table = MemoryTable::new();
    let delivered = deliver(&table, &[token(1, 0), token(2, 0)], nth(1, Fate::SentTwice)).await;
    assert_eq!(
        (delivered.retry_from, &*delivered.snapshots),
        (None, &[left_out(2, 0, 1)][..])
    );
    assert_eq!(tokens(&table), [2]);
}

#[tokio::test]
async fn a_suffix_or_another_cut_adds_only_what_is_new() {
    let table = MemoryTable::new();
    let records: Vec<Change> = (1..=9).map(|sequence| token(sequence, 0)).collect();
    for (range, retried, seen) in [
        (0..4, 1, (0, 0)),
        (2..4, 1, (2, 0)),
        (1..7, 2, (3, 0)),
        (0..3, 1, (0, 3)),
        (0..9, 2, (7, 0)),
    ] {
        let delivered = deliver(&table, &records[range], pass).await;
        let snapshot = &delivered.snapshots[0];
        assert_eq!((snapshot.calls, (snapshot.repeats, snapshot.beyond)), (retried, seen));
    }
    assert_eq!(tokens(&table), [9]);
}

#[tokio::test]
async fn attempts_are_bounded_and_then_the_rest_is_owed() {
    let table = MemoryTable::new();
    // A second consumer that is always one step ahead, on another shard of the same snapshot.
    let racing = |call: u32, _: &Update| {
        let guards = [("#seq0", "011".to_owned()), ("#seq1", format!("02{call}0"))];
        let found = guards
            .into_iter()
            .map(|(name, guard)| (name.to_owned(), text(format!("{LABEL}/{guard}"))));
        Fate::Answer(Ok(UpdateOutcome::LostRace {
            found: Some(found.collect()),
        }))
    };
    let on_shard_1 = |sequence| Change {
        shard: 1,
        ..token(sequence, 0)
    };
    let delivered = deliver(&table, &[token(1, 0), token(2, 0), on_shard_1(99)], racing).await;
    assert_eq!((delivered.calls, delivered.retry_from.as_deref()), (5, Some("2")));
    assert_eq!(delivered.snapshots[0].result, Some(WriteResult::LostRace));
}

#[tokio::test]
async fn a_deadline_reports_only_what_is_not_done() {
    let table = MemoryTable::new();
    let records = [token(1, 0), token(2, 1), token(3, 2)];
    let delivered = deliver(&table, &records, nth(2, Fate::StopAfter)).await;
    assert_eq!(
        (delivered.retry_from.as_deref(), &*delivered.others),
        (Some("2"), &["CutShort".to_owned()][..])
    );
    assert_eq!(deliver(&table, &records[1..], pass).await.retry_from, None);
    assert_eq!(tokens(&table), [1, 1, 1]);
}

#[tokio::test]
async fn a_deadline_during_usage_also_owes_the_rise_that_was_not_propagated() {
    let table = MemoryTable::new();
    let rise = event(&[token(1, 0), token(2, 1)])
        .replacen(r#""OldImage":{"#, r#""OldImage":{"shard_count":{"N":"1"},"#, 1)
        .replacen(r#""NewImage":{"#, r#""NewImage":{"shard_count":{"N":"2"},"#, 1);
    let hostile = Hostile::new(&table, nth(2, Fate::StopBefore));
    let aggregator = Aggregator::new(&hostile, settings(&[WindowKind::Hourly]));
    let budget = Budget::from_remaining(Duration::from_millis(400));
    let outcome = aggregator
        .handle(&rise, EpochMillis(NOW), &budget, &Seen::default())
        .await
        .unwrap();
    assert!(matches!(outcome, BatchOutcome::RetryFrom(sequence) if sequence.as_str() == "1"));
}

#[tokio::test]
async fn a_snapshot_that_expired_starts_anew() {
    let table = MemoryTable::new();
    deliver(&table, &[token(1, 0)], pass).await;
    table.set_now(EpochMillis(NOW + 91 * 24 * HOUR));
    assert_eq!(table.expire(), 1);
    deliver(&table, &[token(2, 0)], pass).await;
    assert_eq!(tokens(&table), [1]);
}

#[tokio::test]
async fn what_was_counted_stays_counted_when_the_snapshot_expires_between_two_attempts() {
    let table = MemoryTable::new();
    deliver(&table, &[token(1, 0)], pass).await;
    let expiring = |call: u32, update: &Update| {
        if call == 2 {
            table.delete_item(&ItemKey {
                pk: update.key.pk.clone(),
                sk: update.key.sk.clone(),
            });
        }
        Fate::Pass
    };
    let delivered = deliver(&table, &[token(1, 0), token(2, 0)], expiring).await;
    assert_eq!((delivered.calls, delivered.retry_from), (3, None));
    assert_eq!(tokens(&table), [1], "the second record alone");
}

#[tokio::test]
async fn a_new_streams_records_count_and_the_old_ones_never_again() {
    let table = MemoryTable::new();
    let old = token(900, 0);
    let new = Change {
        label: "2026-06-01T00:00:00.000",
        ..token(5, 0)
    };
    for record in [&old, &new] {
        deliver(&table, std::slice::from_ref(record), pass).await;
    }
    let again = deliver(&table, &[old], pass).await;
    assert_eq!((again.retry_from, &again.snapshots[0]), (None, &left_out(0, 1, 1)));
    assert_eq!(tokens(&table), [2]);
}

#[tokio::test]
async fn a_late_write_adds_nothing_to_what_a_later_delivery_counted() {
    let table = MemoryTable::new();
    let records = [token(1, 0), token(2, 0)];
    let hostile = Hostile::new(&table, nth(1, Fate::Late));
    let aggregator = Aggregator::new(&hostile, settings(&[WindowKind::Hourly]));
    let (event, budget, seen) = (event(&records), Budget::unlimited(), Seen::default());
    let outcome = aggregator.handle(&event, EpochMillis(NOW), &budget, &seen).await;
    assert!(matches!(outcome.unwrap(), BatchOutcome::RetryFrom(_)));
    deliver(&table, &records[..1], pass).await;
    for late in hostile.take_late() {
        assert!(matches!(table.apply_update(&late), Ok(UpdateOutcome::LostRace { .. })));
    }
    deliver(&table, &records, pass).await;
    assert_eq!(tokens(&table), [2]);
}
