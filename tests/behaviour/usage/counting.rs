//! What one good delivery leaves on the snapshots.

use std::collections::BTreeMap;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, WriteResult};
use limiter_aggregator::config::{Settings, UsageSettings};
use limiter_aggregator::item::{AttributeValue, Item};
use limiter_aggregator::plan::usage::{UncountedReason, WindowKind, Windows};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::records::{Change, Used, change, event, used};
use super::seen::Seen;

/// 2026-12-01T00:30:00Z.
const FIRST_OF_DECEMBER: i64 = 1_796_085_000_000;

pub fn settings(kinds: &[WindowKind]) -> Settings {
    let windows = Windows::of(kinds.iter().copied());
    Settings {
        usage: UsageSettings {
            windows,
            ..UsageSettings::default()
        },
        ..Settings::default()
    }
}

/// Delivers one event to a table.
pub async fn deliver(table: &MemoryTable, settings: Settings, event: &str, now: i64) -> (BatchOutcome, Seen) {
    let seen = Seen::default();
    let aggregator = Aggregator::new(table, settings);
    let outcome = aggregator
        .handle(event, EpochMillis(now), &Budget::unlimited(), &seen)
        .await
        .unwrap();
    (outcome, seen)
}

/// The snapshots of a table by sort key.
pub fn snapshots(table: &MemoryTable) -> BTreeMap<String, Item> {
    let items = table.items().into_iter();
    items
        .filter(|(key, _)| key.sk.starts_with("#USAGE#"))
        .map(|(key, item)| (key.sk, item))
        .collect()
}

/// The counters of a snapshot: every number but `ttl`.
pub fn counters(item: &Item) -> BTreeMap<&str, i64> {
    let number = |(name, value): (&'_ String, &AttributeValue)| match value {
        AttributeValue::N(number) if name != "ttl" => Some(number.parse().unwrap()),
        _ => None,
    };
    item.iter()
        .filter_map(|(name, value)| Some((name.as_str(), number((name, value))?)))
        .collect()
}

fn text<'i>(item: &'i Item, attribute: &str) -> &'i str {
    match &item[attribute] {
        AttributeValue::S(text) => text,
        other => panic!("{attribute} is {other:?}"),
    }
}

#[tokio::test]
async fn the_first_use_of_a_fresh_entity_is_one_request_and_900_tokens() {
    let capture = include_str!("../../../events/first-use.json");
    let table = MemoryTable::new();
    let (outcome, _) = deliver(&table, Settings::default(), capture, 1_793_627_972_050).await;
    assert_eq!(outcome, BatchOutcome::Complete);
    let snapshots = snapshots(&table);
    let windows: Vec<_> = snapshots.values().map(|item| text(item, "window")).collect();
    assert_eq!(windows, ["daily", "hourly"]);
    for item in snapshots.values() {
        assert_eq!(counters(item), [("rpm", 1), ("total_events", 2), ("tpm", 900)].into());
        assert_eq!(text(item, "entity_id"), "user-1");
        assert_eq!(text(item, "#seq0"), "2026-11-02T00:00:00.000/21100001796089552995897");
    }
}

#[tokio::test]
async fn half_past_midnight_on_the_first_has_three_items_each_right_once() {
    let table = MemoryTable::new();
    let batch = [
        change(1, FIRST_OF_DECEMBER, vec![used("rpm", 0, 2_000)]),
        change(2, FIRST_OF_DECEMBER + 3_600_000, vec![used("rpm", 2_000, 5_000)]),
    ];
    deliver(&table, settings(&WindowKind::ALL), &event(&batch), FIRST_OF_DECEMBER).await;
    let midnight = "#USAGE#gpt-4#2026-12-01T00:00:00Z";
    let items = snapshots(&table);
    let seen: Vec<_> = items
        .iter()
        .map(|(sk, item)| {
            (
                sk.as_str(),
                text(item, "window"),
                text(item, "window_start"),
                counters(item)["rpm"],
            )
        })
        .collect();
    let start = "2026-12-01T00:00:00Z";
    assert_eq!(
        seen,
        [
            (midnight, "monthly", start, 5),
            (&*format!("{midnight}#daily"), "daily", start, 5),
            (&*format!("{midnight}#hourly"), "hourly", start, 2),
            ("#USAGE#gpt-4#2026-12-01T01:00:00Z", "hourly", "2026-12-01T01:00:00Z", 3),
        ]
    );
    let by_start: Vec<_> = items.values().map(|item| text(item, "GSI2SK")).collect();
    assert_eq!(
        by_start,
        [
            "USAGE#2026-12-01T00:00:00Z#e",
            "USAGE#2026-12-01T00:00:00Z#e#daily",
            "USAGE#2026-12-01T00:00:00Z#e#hourly",
            "USAGE#2026-12-01T01:00:00Z#e",
        ]
    );
}

#[tokio::test]
async fn a_limit_of_a_reserved_name_is_left_out_with_one_warning_for_the_batch() {
    let table = MemoryTable::new();
    let limits = || {
        vec![
            used("ttl", 0, 9_000),
            used("window", 0, 9_000),
            used("total_events", 0, 9_000),
            used("rpm", 0, 1_000),
        ]
    };
    let batch: Vec<Change> = (1..=4)
        .map(|sequence| Change {
            entity: format!("e{}", sequence % 2),
            ..change(sequence, FIRST_OF_DECEMBER, limits())
        })
        .collect();
    let (outcome, seen) = deliver(
        &table,
        settings(&[WindowKind::Hourly]),
        &event(&batch),
        FIRST_OF_DECEMBER,
    )
    .await;
    assert_eq!(outcome, BatchOutcome::Complete);
    assert_eq!(*seen.reserved.borrow(), ["total_events", "ttl", "window"]);
    let items: Vec<Item> = table.items().into_values().collect();
    assert_eq!(items.len(), 2);
    for item in &items {
        assert_eq!(counters(item), [("rpm", 2), ("total_events", 2)].into());
        assert_eq!(text(item, "window"), "hourly");
        assert_eq!(
            item["ttl"],
            AttributeValue::N((FIRST_OF_DECEMBER / 1000 + 90 * 86_400).to_string())
        );
    }
}

#[tokio::test]
async fn the_life_of_a_snapshot_is_set_once() {
    let table = MemoryTable::new();
    for (sequence, now) in [(1, FIRST_OF_DECEMBER), (2, FIRST_OF_DECEMBER + 50_000)] {
        let batch = [change(sequence, FIRST_OF_DECEMBER, vec![used("rpm", 0, 1_000)])];
        deliver(&table, settings(&[WindowKind::Daily]), &event(&batch), now).await;
    }
    let items = snapshots(&table);
    let item = items.values().next().unwrap();
    assert_eq!(counters(item)["rpm"], 2);
    assert_eq!(
        item["ttl"],
        AttributeValue::N((FIRST_OF_DECEMBER / 1000 + 90 * 86_400).to_string())
    );
}

#[tokio::test]
async fn no_two_buckets_share_a_snapshot() {
    let table = MemoryTable::new();
    // Keys that would meet if a name could end where another begins.
    let names = [
        ("e", "r"),
        ("e", "r/2026"),
        ("e:r", "r"),
        ("e.USAGE", "r"),
        ("e", "USAGE/r"),
    ];
    let batch: Vec<Change> = (1..)
        .zip(names)
        .map(|(sequence, (entity, resource))| Change {
            entity: entity.to_owned(),
            resource,
            ..change(sequence, FIRST_OF_DECEMBER, vec![used("rpm", 0, 1_000)])
        })
        .collect();
    deliver(&table, settings(&WindowKind::ALL), &event(&batch), FIRST_OF_DECEMBER).await;
    let items = table.items();
    assert_eq!(items.len(), 3 * names.len());
    assert!(items.values().all(|item| counters(item)["rpm"] == 1));
}

#[tokio::test]
async fn what_is_not_counted_is_shown_and_never_asked_for_again() {
    let table = MemoryTable::new();
    let record = |sequence: &str, shard, created| Change {
        sequence: sequence.to_owned(),
        shard,
        ..change(0, created, vec![used("rpm", 0, 1_000)])
    };
    let takeover = EpochMillis(FIRST_OF_DECEMBER);
    let mut settings = settings(&[WindowKind::Hourly]);
    settings.usage.not_before = Some(takeover);
    let batch = [
        record("1", 0, takeover.0 - 1),
        record("2", 32, takeover.0),
        record("", 0, takeover.0),
        record("4", 0, takeover.0),
    ];
    let (outcome, seen) = deliver(&table, settings, &event(&batch), FIRST_OF_DECEMBER).await;
    assert_eq!(outcome, BatchOutcome::Complete);
    use UncountedReason::{BeforeTakeover, NoSequence, ShardBeyondLimit};
    let mut reasons = seen.uncounted.take();
    reasons.sort_unstable();
    assert_eq!(reasons, [BeforeTakeover, NoSequence, ShardBeyondLimit]);
    assert_eq!(counters(snapshots(&table).values().next().unwrap())["rpm"], 1);
}

#[tokio::test]
async fn a_dry_run_and_a_switched_off_duty_write_nothing() {
    let batch = event(&[change(1, FIRST_OF_DECEMBER, vec![used("rpm", 0, 1_000)])]);
    let dry = Settings {
        dry_run: true,
        ..Settings::default()
    };
    let off = Settings {
        enable_usage: false,
        ..Settings::default()
    };
    for (settings, results) in [
        (dry, &[Some(WriteResult::DryRun), Some(WriteResult::DryRun)][..]),
        (off, &[]),
    ] {
        let table = MemoryTable::new();
        let (outcome, seen) = deliver(&table, settings, &batch, FIRST_OF_DECEMBER).await;
        assert_eq!(outcome, BatchOutcome::Complete);
        assert!(table.items().is_empty());
        let seen: Vec<_> = seen.snapshots.take().into_iter().map(|seen| seen.result).collect();
        assert_eq!(seen, results);
    }
}

#[tokio::test]
async fn a_hundred_records_are_as_many_writes_as_there_are_windows() {
    let records = |entity: String, from: u64, count: u64| {
        (from..from + count).map(move |sequence| Change {
            entity: entity.clone(),
            shard: u32::try_from(sequence % 3).unwrap(),
            ..change(sequence, FIRST_OF_DECEMBER, two_limits())
        })
    };
    let one: Vec<Change> = records("e".to_owned(), 1, 100).collect();
    let many: Vec<Change> = (0..100)
        .flat_map(|entity| records(format!("e{entity}"), entity + 1, 1))
        .collect();
    for (batch, writes) in [(one, 2), (many, 200)] {
        let table = limiter_aggregator::table::failing::FailingTable::new(MemoryTable::new());
        let aggregator = Aggregator::new(&table, settings(&[WindowKind::Hourly, WindowKind::Daily]));
        let outcome = aggregator
            .handle(
                &event(&batch),
                EpochMillis(FIRST_OF_DECEMBER),
                &Budget::unlimited(),
                &Seen::default(),
            )
            .await;
        assert_eq!(outcome.unwrap(), BatchOutcome::Complete);
        assert_eq!((table.calls().updates, table.calls().total()), (writes, writes));
    }
}

pub fn two_limits() -> Vec<Used> {
    vec![used("rpm", 0, 1_000), used("tpm", 5_000, 7_500)]
}
