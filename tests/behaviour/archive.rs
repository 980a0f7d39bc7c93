//! Expired audit records in a real bucket: what is kept, and what a failure asks for again (03-delivery, Archive).

mod faults;
mod objects;
mod process;

use std::cell::RefCell;

use limiter_aggregator::aggregate::{Aggregator, ArchiveResult, BatchOutcome, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::archive::{Archive, Day};
use limiter_aggregator::config::Settings;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::Table;
use limiter_aggregator::units::EpochMillis;
use serde_json::{Value, json};

use crate::support::captures::Capture;
use crate::support::object_store::ObjectStore;
use crate::support::scene::Scene;

/// A busy bucket's changes with two expiries of one day and one of another among them, as one batch.
struct Mixed {
    capture: Capture,
    records: Vec<Value>,
}

/// Places of the expiries in the batch.
const EXPIRIES: [usize; 3] = [20, 30, 40];

impl Mixed {
    fn new() -> Self {
        let capture = Capture::read("hot-drip");
        let mut records = capture.records();
        for (place, day) in EXPIRIES.into_iter().zip(["01", "02", "01"]) {
            records.insert(place, expiry(place, day));
        }
        for (place, record) in records.iter_mut().enumerate() {
            record["dynamodb"]["SequenceNumber"] = sequence(place).into();
        }
        Self { capture, records }
    }

    fn now(&self) -> EpochMillis {
        self.capture.now
    }

    async fn scene(&self) -> Scene {
        Scene::with(&self.capture.items).await
    }
}

/// The captured expiry as that of another event, on a day of December 2026.
fn expiry(number: usize, day: &str) -> Value {
    let mut record = Capture::read("audit-expired").records().remove(0);
    record["eventID"] = format!("expiry-{number}").into();
    let id = format!("01M8QMFCN9G6H2Q0CT8Q4N{number:04}");
    let change = &mut record["dynamodb"];
    change["Keys"]["SK"]["S"] = format!("#AUDIT#{id}").into();
    change["OldImage"]["SK"]["S"] = format!("#AUDIT#{id}").into();
    change["OldImage"]["event_id"]["S"] = id.into();
    change["OldImage"]["timestamp"]["S"] = format!("2026-12-{day}T01:45:57Z").into();
    record
}

/// Numbers whose width changes in the middle of the batch.
fn sequence(place: usize) -> String {
    (99_999_999_999_999_999_999_970_u128 + u128::try_from(place).unwrap()).to_string()
}

fn event(records: &[Value]) -> String {
    json!({ "Records": records }).to_string()
}

/// One delivery.
async fn handle<T: Table, A: Archive>(
    aggregator: &Aggregator<T, A>,
    event: &str,
    now: EpochMillis,
    observer: &Seen,
) -> BatchOutcome {
    let budget = Budget::unlimited();
    aggregator.handle(event, now, &budget, observer).await.unwrap()
}

fn aggregator<T: Table, A: Archive>(table: T, archive: A) -> Aggregator<T, A> {
    Aggregator::new(table, Settings::default()).archiving_to(Some(archive))
}

/// Every event id in the bucket, with the day under which it lies.
async fn stored_events(store: &ObjectStore) -> Vec<(String, String)> {
    let mut events = Vec::new();
    for object in store.objects().await {
        let day = object.key.rsplit_once('/').unwrap().0.to_owned();
        for line in object.lines() {
            let line: Value = serde_json::from_str(&line).unwrap();
            events.push((day.clone(), line["event_id"].as_str().unwrap().to_owned()));
        }
    }
    events
}

/// What the archive came to.
#[derive(Default)]
struct Seen {
    archived: RefCell<Vec<(usize, ArchiveResult)>>,
    skipped: RefCell<Vec<SkippedInput>>,
}

impl Seen {
    /// What came of every object, in the order of the uploads' ends.
    fn results(&self) -> Vec<ArchiveResult> {
        self.archived
            .borrow()
            .iter()
            .map(|(_, result)| result.clone())
            .collect()
    }
}

impl Observer for Seen {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, reason: &SkippedInput) {
        self.skipped.borrow_mut().push(reason.clone());
    }
    fn archive(&self, day: &Day<'_>, result: &ArchiveResult) {
        self.archived.borrow_mut().push((day.records(), result.clone()));
    }
    fn step(&self, _group: &Group<'_>, _step: &Step<'_>) {}
}
