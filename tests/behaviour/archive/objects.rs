//! What lies in the bucket afterwards.

use limiter_aggregator::aggregate::{Aggregator, ArchiveResult, BatchOutcome, SkippedInput};
use limiter_aggregator::config::Settings;
use limiter_aggregator::plan::SkippedRecord;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::{Mixed, Seen, aggregator, event, expiry, handle, stored_events};
use crate::support::captures::Capture;
use crate::support::object_store::ObjectStore;

#[tokio::test]
async fn a_captured_expiry_is_one_plain_line_under_its_day() {
    let (store, capture) = (ObjectStore::start().await, Capture::read("audit-expired"));
    let aggregator = aggregator(MemoryTable::new(), store.archive());
    let seen = Seen::default();
    let handled = handle(&aggregator, &capture.event, capture.now, &seen).await;
    assert_eq!(handled, BatchOutcome::Complete);
    assert_eq!(*seen.archived.borrow(), [(1, ArchiveResult::Stored)]);
    assert!(seen.skipped.borrow().is_empty());

    let [object] = &store.objects().await[..] else {
        panic!("one object")
    };
    let name = object
        .key
        .strip_prefix("audit/year=2026/month=12/day=01/")
        .and_then(|name| name.strip_suffix(".jsonl.gz"))
        .unwrap_or_else(|| panic!("{}", object.key));
    assert!(name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(object.content_type.as_deref(), Some("application/x-ndjson"));
    assert_eq!(object.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(
        object.lines(),
        [concat!(
            r#"{"event_id":"01M8QMFCN9G6H2Q0CT8Q4N75Y4","entity_id":"user-5","action":"entity_created","#,
            r#""timestamp":"2026-12-01T01:45:57Z","principal":"admin","resource":null,"#,
            r#""details":{"cascade":false,"metadata":{},"name":"user-5","parent_id":null}}"#,
        )]
    );
}

#[tokio::test]
async fn a_redelivery_writes_the_same_object() {
    let (store, mixed) = (ObjectStore::start().await, Mixed::new());
    let scene = mixed.scene().await;
    let aggregator = aggregator(scene.table(), store.archive());
    let mut deliveries = Vec::new();
    // As sent, again, with its expiries twice, and out of order.
    let mut doubled = mixed.records.clone();
    doubled.push(mixed.records[20].clone());
    let mut turned = mixed.records.clone();
    turned.reverse();
    for records in [&mixed.records, &mixed.records, &doubled, &turned] {
        let handled = handle(&aggregator, &event(records), mixed.now(), &Seen::default()).await;
        assert_eq!(handled, BatchOutcome::Complete);
        deliveries.push(store.objects().await);
    }
    assert_eq!(deliveries[0].len(), 2, "one object a day");
    assert!(deliveries.iter().all(|objects| *objects == deliveries[0]));
    assert_eq!(store.proxy.count("PutObject"), 8);
}

#[tokio::test]
async fn a_part_of_a_batch_that_comes_again_takes_nothing_away() {
    let (store, mixed) = (ObjectStore::start().await, Mixed::new());
    let aggregator = aggregator(MemoryTable::new(), store.archive());
    let mut events = Vec::new();
    for from in [0, 21, 31, 41] {
        let event = event(&mixed.records[from..]);
        let handled = handle(&aggregator, &event, mixed.now(), &Seen::default()).await;
        assert_eq!(handled, BatchOutcome::Complete);
        events = stored_events(&store).await;
        events.sort();
        events.dedup();
        assert_eq!(events.len(), 3, "from {from} on");
    }
    let days: Vec<_> = events.iter().map(|(day, _)| day.as_str()).collect();
    let (first, second) = ("audit/year=2026/month=12/day=01", "audit/year=2026/month=12/day=02");
    assert_eq!(days, [first, first, second]);
}

#[tokio::test]
async fn audit_records_that_somebody_deletes_are_not_archived() {
    let (store, mut record) = (ObjectStore::start().await, expiry(1, "01"));
    record["userIdentity"] = serde_json::Value::Null;
    record["dynamodb"]["OldImage"]["ttl"]["N"] = "1801403970".into();
    let (aggregator, seen) = (aggregator(MemoryTable::new(), store.archive()), Seen::default());
    let before_expiry = EpochMillis(1_801_403_970_000);
    let handled = handle(&aggregator, &event(&[record]), before_expiry, &seen).await;
    assert_eq!(handled, BatchOutcome::Complete);
    assert!(store.objects().await.is_empty());
    assert_eq!(*seen.skipped.borrow(), [SkippedInput::Record(SkippedRecord::Removed)]);
}

#[tokio::test]
async fn without_an_archive_an_expiry_is_one_of_many_removals() {
    let capture = Capture::read("audit-expired");
    let (aggregator, seen) = (
        Aggregator::new(MemoryTable::new(), Settings::default()),
        Seen::default(),
    );
    let handled = handle(&aggregator, &capture.event, capture.now, &seen).await;
    assert_eq!(handled, BatchOutcome::Complete);
    assert_eq!(*seen.skipped.borrow(), [SkippedInput::Record(SkippedRecord::Removed)]);
    assert!(seen.archived.borrow().is_empty());
}

#[tokio::test]
async fn a_dry_run_uploads_nothing() {
    let (store, capture) = (ObjectStore::start().await, Capture::read("audit-expired"));
    let settings = Settings {
        dry_run: true,
        ..Settings::default()
    };
    let aggregator = Aggregator::new(MemoryTable::new(), settings).archiving_to(Some(store.archive()));
    let seen = Seen::default();
    let handled = handle(&aggregator, &capture.event, capture.now, &seen).await;
    assert_eq!(handled, BatchOutcome::Complete);
    assert_eq!(*seen.archived.borrow(), [(1, ArchiveResult::DryRun)]);
    assert_eq!(store.proxy.requests(), 0);
}
