//! Usage of batches that the stream gave up, counted afterwards: once, whatever was counted meanwhile.

use std::collections::BTreeMap;

use limiter_aggregator::aggregate::{BatchOutcome, WriteResult};
use limiter_aggregator::config::Settings;
use limiter_aggregator::item::{AttributeValue, number};
use limiter_aggregator::key::BucketGroup;
use limiter_aggregator::plan::usage::{Fate, WindowKind, redriven_attribute};
use limiter_aggregator::redrive::{BatchUsage, Choice, SnapshotUsage, count_usage};
use limiter_aggregator::table::failing::{Failing, FailingTable, Moment};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{FaultClass, Table};
use limiter_aggregator::units::{EpochMillis, ShardId};

use super::counting::{counters, settings, snapshots};
use super::hostile::fault;
use super::model::rng::Rng;
use super::records::{Change, change, event, used};

/// 2026-11-30T13:10:00Z.
const NOW: i64 = 1_796_044_200_000;

/// Of every entity, or of one.
struct Wish {
    overtaken: bool,
    only: Option<&'static str>,
}

const LOOK: Wish = Wish {
    overtaken: false,
    only: None,
};
const COUNT_ANYWAY: Wish = Wish {
    overtaken: true,
    only: None,
};

impl Choice for Wish {
    fn name(&self, bucket: &BucketGroup<'_>) -> String {
        bucket.entity.to_owned()
    }

    fn counts_overtaken(&self, bucket: &BucketGroup<'_>) -> bool {
        self.overtaken && self.only.is_none_or(|only| only == bucket.entity)
    }
}

/// A record of one token.
fn token(sequence: u64) -> Change {
    change(sequence, NOW, vec![used("rpm", 0, 1_000)])
}

fn tokens_from(sequences: std::ops::RangeInclusive<u64>) -> Vec<Change> {
    sequences.map(token).collect()
}

fn hourly() -> Settings {
    settings(&[WindowKind::Hourly])
}

async fn deliver(table: &MemoryTable, records: &[Change]) {
    let (outcome, _) = super::counting::deliver(table, hourly(), &event(records), NOW).await;
    assert_eq!(outcome, BatchOutcome::Complete);
}

async fn redrive(table: &impl Table, records: &[Change], wish: &Wish) -> BatchUsage {
    count_usage(table, &hourly(), &event(records), EpochMillis(NOW), wish)
        .await
        .unwrap()
}

/// The one snapshot of a redrive: (records by fate, whether something was counted, whether something is open).
async fn one(table: &impl Table, records: &[Change], wish: &Wish) -> (Vec<(Fate, usize)>, bool, bool) {
    let usage = redrive(table, records, wish).await;
    assert_eq!(usage.snapshots.len(), 1);
    let snapshot = &usage.snapshots[0];
    (fates(snapshot), snapshot.is_counted(), snapshot.is_open())
}

fn fates(usage: &SnapshotUsage) -> Vec<(Fate, usize)> {
    usage.lines.iter().map(|line| (line.fate, line.records)).collect()
}

/// Of every entity.
fn total(table: &MemoryTable) -> i64 {
    let items = table.items();
    let usage = items.iter().filter(|(key, _)| key.sk.starts_with("#USAGE#"));
    usage.map(|(_, item)| counters(item)["rpm"]).sum()
}

#[tokio::test]
async fn a_batch_that_was_dropped_and_overtaken_is_shown_then_counted_on_request_and_once() {
    let table = MemoryTable::new();
    let (dropped, later) = (tokens_from(1..=3), tokens_from(4..=5));
    deliver(&table, &later).await;
    assert_eq!(
        one(&table, &dropped, &LOOK).await,
        (vec![(Fate::Overtaken, 3)], false, true)
    );
    assert_eq!(total(&table), 2, "nothing is counted silently");
    assert_eq!(
        one(&table, &dropped, &COUNT_ANYWAY).await,
        (vec![(Fate::Overtaken, 3)], true, false)
    );
    assert_eq!(total(&table), 5);
    for wish in [COUNT_ANYWAY, LOOK] {
        assert_eq!(
            one(&table, &dropped, &wish).await,
            (vec![(Fate::Redriven, 3)], false, false)
        );
    }
    assert_eq!(total(&table), 5);
    deliver(&table, &tokens_from(6..=6)).await;
    assert_eq!(total(&table), 6, "the stream goes on as before");
}

#[tokio::test]
async fn what_nothing_has_overtaken_is_counted_without_being_asked_for_and_stays_counted() {
    let table = MemoryTable::new();
    let dropped = tokens_from(1..=3);
    assert_eq!(one(&table, &dropped, &LOOK).await, (vec![(Fate::Due, 3)], true, false));
    // The guard of what follows would make the range look overtaken.
    deliver(&table, &tokens_from(4..=5)).await;
    assert_eq!(
        one(&table, &dropped, &COUNT_ANYWAY).await,
        (vec![(Fate::Redriven, 3)], false, false)
    );
    assert_eq!(total(&table), 5);
}

#[tokio::test]
async fn a_batch_that_was_counted_before_it_was_given_up_is_not_counted_again() {
    let table = MemoryTable::new();
    deliver(&table, &tokens_from(1..=3)).await;
    let found = one(&table, &tokens_from(1..=4), &COUNT_ANYWAY).await;
    assert_eq!(found, (vec![(Fate::Due, 1), (Fate::Counted, 3)], true, false));
    assert_eq!(total(&table), 4);
}

#[tokio::test]
async fn ranges_that_overlap_count_what_they_share_once() {
    let table = MemoryTable::new();
    deliver(&table, &tokens_from(20..=20)).await;
    for (range, overtaken) in [(5..=8, 4), (7..=10, 2), (1..=12, 6), (6..=9, 0)] {
        let (fates, ..) = one(&table, &tokens_from(range), &COUNT_ANYWAY).await;
        let counted: BTreeMap<Fate, usize> = fates.into_iter().collect();
        assert_eq!(counted.get(&Fate::Overtaken).copied().unwrap_or(0), overtaken);
    }
    assert_eq!(total(&table), 13);
}

#[tokio::test]
async fn a_part_that_was_redriven_alone_does_not_pass_for_all_before_it() {
    let table = MemoryTable::new();
    one(&table, &tokens_from(3..=4), &LOOK).await;
    let whole = tokens_from(1..=5);
    let found = one(&table, &whole, &LOOK).await;
    assert_eq!(
        found,
        (
            vec![(Fate::Due, 1), (Fate::Overtaken, 2), (Fate::Redriven, 2)],
            true,
            true
        )
    );
    one(&table, &whole, &COUNT_ANYWAY).await;
    assert_eq!(total(&table), 5);
}

#[tokio::test]
async fn each_bucket_shard_and_each_window_is_judged_by_itself() {
    let table = MemoryTable::new();
    let on_shard = |shard, sequence| Change {
        shard,
        ..token(sequence)
    };
    deliver(&table, &[on_shard(1, 9)]).await;
    let usage = redrive(&table, &[on_shard(0, 3), on_shard(1, 4)], &LOOK).await;
    let lines: Vec<(u32, Fate)> = usage.snapshots[0]
        .lines
        .iter()
        .map(|line| (line.shard.0, line.fate))
        .collect();
    assert_eq!(lines, [(0, Fate::Due), (1, Fate::Overtaken)]);
    assert!(usage.snapshots[0].is_counted() && usage.snapshots[0].is_open());
    assert_eq!(total(&table), 2);
    let an_hour_before = change(2, NOW - 3_600_000, vec![used("rpm", 0, 1_000)]);
    assert_eq!(
        one(&table, &[an_hour_before], &LOOK).await,
        (vec![(Fate::Due, 1)], true, false)
    );
}

#[tokio::test]
async fn overtaken_usage_of_one_bucket_can_be_counted_alone() {
    let table = MemoryTable::new();
    let of = |entity: &str, sequence| Change {
        entity: entity.to_owned(),
        ..token(sequence)
    };
    deliver(&table, &[of("a", 8), of("b", 9)]).await;
    let wish = Wish {
        overtaken: true,
        only: Some("b"),
    };
    let usage = redrive(&table, &[of("a", 1), of("b", 2)], &wish).await;
    let counted: Vec<(&str, bool)> = usage
        .snapshots
        .iter()
        .map(|one| (&*one.bucket, one.is_counted()))
        .collect();
    assert_eq!(counted, [("a", false), ("b", true)]);
    assert_eq!(total(&table), 3);
}

#[tokio::test]
async fn an_answer_that_is_lost_counts_once_and_leaves_something_to_do() {
    for (moment, then) in [(Moment::Before, Fate::Overtaken), (Moment::After, Fate::Redriven)] {
        let table = MemoryTable::new();
        deliver(&table, &tokens_from(4..=4)).await;
        let failing = FailingTable::new(&table);
        // The read, then the write.
        failing.fail(Failing::Only(2), moment, fault(FaultClass::Retryable));
        let usage = redrive(&failing, &tokens_from(1..=3), &COUNT_ANYWAY).await;
        assert!(usage.snapshots[0].has_failed());
        let (fates, ..) = one(&table, &tokens_from(1..=3), &COUNT_ANYWAY).await;
        assert_eq!(fates, [(then, 3)]);
        assert_eq!(total(&table), 4);
    }
}

#[tokio::test]
async fn a_snapshot_that_cannot_be_read_is_a_failure() {
    let failing = FailingTable::new(MemoryTable::new());
    failing.fail(Failing::Only(1), Moment::Before, fault(FaultClass::Retryable));
    let usage = redrive(&failing, &tokens_from(1..=1), &LOOK).await;
    assert!(usage.snapshots[0].has_failed() && usage.snapshots[0].lines.is_empty());
}

#[tokio::test]
async fn a_marker_of_another_form_counts_nothing() {
    let table = MemoryTable::new();
    deliver(&table, &tokens_from(4..=4)).await;
    let (_, mut item) = snapshots(&table).into_iter().next().unwrap();
    for odd in [
        number(7),
        AttributeValue::S("x".to_owned()),
        AttributeValue::S("b~a".to_owned()),
    ] {
        item.insert(redriven_attribute(ShardId::ZERO), odd);
        table.put_item(&item).unwrap();
        let usage = redrive(&table, &tokens_from(1..=3), &COUNT_ANYWAY).await;
        assert!(usage.snapshots[0].has_failed());
        assert_eq!(snapshots(&table).into_values().next().as_ref(), Some(&item));
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let table = MemoryTable::new();
    let dry = Settings {
        dry_run: true,
        ..hourly()
    };
    let usage = count_usage(&table, &dry, &event(&tokens_from(1..=2)), EpochMillis(NOW), &LOOK)
        .await
        .unwrap();
    assert_eq!(usage.snapshots[0].result, Some(Ok(WriteResult::DryRun)));
    assert!(snapshots(&table).is_empty());
}

/// Batches are delivered or dropped; what was dropped is redriven, whole or in part, before and after later batches,
/// again and again, with answers lost. Every record is counted once as soon as every dropped batch was redriven.
#[tokio::test]
async fn whatever_is_dropped_and_redriven_in_whatever_order_is_counted_once() {
    for history in 0..2_000 {
        let mut rng = Rng::of(history);
        let table = MemoryTable::new();
        let records: Vec<Change> = (1..=u64::try_from(4 + rng.below(20)).unwrap())
            .map(|sequence| Change {
                shard: u32::try_from(rng.below(3)).unwrap(),
                ..token(sequence)
            })
            .collect();
        let mut dropped: Vec<&[Change]> = Vec::new();
        let mut rest = records.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(1 + rng.below(5)));
            rest = after;
            if rng.chance(50) {
                dropped.push(batch);
            } else {
                deliver(&table, batch).await;
            }
            if rng.chance(40) && !dropped.is_empty() {
                some_redrive(&table, dropped[rng.below(dropped.len())], &mut rng).await;
            }
        }
        let whole = i64::try_from(records.len()).unwrap();
        assert!(total(&table) <= whole, "history {history}");
        while rng.chance(70) && !dropped.is_empty() {
            some_redrive(&table, dropped[rng.below(dropped.len())], &mut rng).await;
        }
        for batch in &dropped {
            redrive(&table, batch, &COUNT_ANYWAY).await;
        }
        assert_eq!(total(&table), whole, "history {history}");
    }
}

/// Whole or in part, counting or looking, with or without its answer.
async fn some_redrive(table: &MemoryTable, batch: &[Change], rng: &mut Rng) {
    let from = if rng.chance(30) { rng.below(batch.len()) } else { 0 };
    let wish = if rng.chance(60) { COUNT_ANYWAY } else { LOOK };
    let failing = FailingTable::new(table);
    if rng.chance(20) {
        let moment = *rng.pick(&[Moment::Before, Moment::After]);
        failing.fail(Failing::Only(2), moment, fault(FaultClass::Retryable));
    }
    redrive(&failing, &batch[from..], &wish).await;
}
