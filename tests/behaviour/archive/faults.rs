//! Uploads that fail: asked for again from the lowest record that is not in the bucket, while buckets and usage are
//! worked on once.

use std::time::Duration;

use limiter_aggregator::aggregate::{Aggregator, ArchiveResult, BatchOutcome, Budget};
use limiter_aggregator::archive::{Archive, Object};
use limiter_aggregator::config::Settings;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Fault, FaultClass};
use serde_json::Value;

use super::{EXPIRIES, Mixed, Seen, aggregator, event, expiry, handle, sequence, stored_events};
use crate::support::object_store::ObjectStore;
use crate::support::proxy::{Answer, Step};

/// S3's way of saying no.
fn refusal(status: u16, code: &str) -> Step {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>");
    Step::Answer(Answer {
        status,
        content_type: "application/xml",
        body: body.into_bytes(),
    })
}

fn faults() -> Vec<(&'static str, Step)> {
    vec![
        ("SlowDown", refusal(503, "SlowDown")),
        ("InternalError", refusal(500, "InternalError")),
        ("AccessDenied", refusal(403, "AccessDenied")),
        ("NoSuchBucket", refusal(404, "NoSuchBucket")),
        ("ExpiredToken", refusal(400, "ExpiredToken")),
        ("KMS.DisabledException", refusal(400, "KMS.DisabledException")),
        ("ValidationException", refusal(400, "ValidationException")),
        ("connection", Step::ResetBefore),
        ("connection", Step::ResetAfter),
        ("connection", Step::CloseBefore),
    ]
}

#[tokio::test]
async fn every_fault_asks_for_the_lowest_record_again_and_for_nothing_else_to_be_done_twice() {
    let mixed = Mixed::new();
    for (code, fault) in faults() {
        let (store, scene) = (ObjectStore::start().await, mixed.scene().await);
        let aggregator = aggregator(scene.table(), store.archive());
        store.proxy.always("PutObject", fault.clone());
        let seen = Seen::default();
        let failed = handle(&aggregator, &event(&mixed.records), mixed.now(), &seen).await;
        let BatchOutcome::RetryFrom(from) = failed else {
            panic!("{code}: not asked for again")
        };
        assert_eq!(from.as_str(), sequence(EXPIRIES[0]), "{code}");
        for (_, result) in seen.archived.borrow().iter() {
            let ArchiveResult::Failed(failure) = result else {
                panic!("{code}: {result:?}")
            };
            assert_eq!((failure.operation, failure.code.as_str()), ("PutObject", code));
        }
        let after_the_first = scene.items().await;
        assert_ne!(
            after_the_first,
            mixed.scene().await.items().await,
            "{code}: buckets were worked on"
        );

        store.proxy.pass_all();
        let rest = event(&mixed.records[EXPIRIES[0]..]);
        let again = handle(&aggregator, &rest, mixed.now(), &Seen::default()).await;
        assert_eq!(again, BatchOutcome::Complete, "{code}");
        assert_eq!(scene.items().await, after_the_first, "{code}: buckets and usage stay");
        assert_eq!(stored_events(&store).await.len(), 3, "{code}: each event once");
    }
}

#[tokio::test]
async fn one_failed_day_is_asked_for_from_its_own_lowest_record() {
    let (store, mixed) = (ObjectStore::start().await, Mixed::new());
    let scene = mixed.scene().await;
    let aggregator = aggregator(scene.table(), store.archive());
    // The second day's object alone: its one record is the second expiry.
    let second_day = Failing {
        inner: store.archive(),
        prefix: "audit/year=2026/month=12/day=02/",
    };
    let failing = super::aggregator(scene.table(), second_day);
    let outcome = handle(&failing, &event(&mixed.records), mixed.now(), &Seen::default()).await;
    let BatchOutcome::RetryFrom(from) = outcome else {
        panic!("not asked for again")
    };
    assert_eq!(from.as_str(), sequence(EXPIRIES[1]));
    assert_eq!(stored_events(&store).await.len(), 2);
    let rest = &mixed.records[EXPIRIES[1]..];
    let again = handle(&aggregator, &event(rest), mixed.now(), &Seen::default()).await;
    assert_eq!(again, BatchOutcome::Complete);
    let mut events = stored_events(&store).await;
    // The third expiry lies in the first day's object and in that of the part that came again.
    assert_eq!(events.len(), 4);
    events.sort();
    events.dedup();
    assert_eq!(events.len(), 3);
}

#[tokio::test]
async fn a_key_that_the_service_does_not_take_delays_and_loses_nothing() {
    let (store, seen) = (ObjectStore::start().await, Seen::default());
    let aggregator = aggregator(MemoryTable::new(), store.archive_with_a_wrong_key());
    let record = expiry(7, "01");
    let from = record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
    let event = event(&[record]);
    let outcome = handle(&aggregator, &event, Mixed::new().now(), &seen).await;
    assert!(matches!(outcome, BatchOutcome::RetryFrom(asked) if asked.as_str() == from));
    let archived = seen.archived.borrow();
    let [(1, ArchiveResult::Failed(fault))] = &archived[..] else {
        panic!("{archived:?}")
    };
    assert_eq!(
        (fault.code.as_str(), fault.class),
        ("SignatureDoesNotMatch", FaultClass::Retryable)
    );
}

#[tokio::test]
async fn an_expiry_without_a_sequence_number_fails_the_invocation() {
    let (store, mut record) = (ObjectStore::start().await, expiry(7, "01"));
    record["dynamodb"]["SequenceNumber"] = Value::Null;
    store.proxy.always("PutObject", refusal(403, "AccessDenied"));
    let aggregator = aggregator(MemoryTable::new(), store.archive());
    let event = event(&[record]);
    let outcome = handle(&aggregator, &event, Mixed::new().now(), &Seen::default()).await;
    assert_eq!(outcome, BatchOutcome::RetryAll);
}

#[tokio::test]
async fn an_upload_that_stalls_holds_no_bucket_up() {
    let (store, mixed) = (ObjectStore::start().await, Mixed::new());
    let (scene, undisturbed) = (mixed.scene().await, mixed.scene().await);
    store.proxy.always("PutObject", Step::Stall);
    let seen = Seen::default();
    let budget = Budget::from_remaining(Duration::from_millis(2500));
    let event = event(&mixed.records);
    let stalled = aggregator(scene.table(), store.archive());
    let outcome = stalled.handle(&event, mixed.now(), &budget, &seen).await.unwrap();
    assert!(matches!(outcome, BatchOutcome::RetryFrom(from) if from.as_str() == sequence(EXPIRIES[0])));
    assert_eq!(seen.results(), [ArchiveResult::CutShort, ArchiveResult::CutShort]);
    let plain = Aggregator::new(undisturbed.table(), Settings::default());
    handle(&plain, &event, mixed.now(), &Seen::default()).await;
    assert_eq!(scene.items().await, undisturbed.items().await);
}

#[tokio::test]
async fn a_panic_in_an_upload_is_contained_and_not_repeated() {
    struct Broken;
    impl Archive for Broken {
        async fn put(&self, _object: &Object) -> Result<(), Fault> {
            panic!("sk-secret")
        }
    }
    let mixed = Mixed::new();
    let scene = mixed.scene().await;
    let before = scene.items().await;
    let (aggregator, seen) = (aggregator(scene.table(), Broken), Seen::default());
    let outcome = handle(&aggregator, &event(&mixed.records), mixed.now(), &seen).await;
    assert_eq!(outcome, BatchOutcome::Complete);
    assert_eq!(seen.results(), [ArchiveResult::Panicked, ArchiveResult::Panicked]);
    assert_ne!(scene.items().await, before, "the buckets were worked on");
}

/// An archive that refuses what lies under one prefix.
struct Failing<A> {
    inner: A,
    prefix: &'static str,
}

impl<A: Archive> Archive for Failing<A> {
    async fn put(&self, object: &Object) -> Result<(), Fault> {
        if object.key.starts_with(self.prefix) {
            return Err(Fault {
                operation: "PutObject",
                code: "SlowDown".to_owned(),
                class: FaultClass::Retryable,
            });
        }
        self.inner.put(object).await
    }
}
