//! What Lambda and the stream make of the answers: nothing lost, nothing stuck, whatever fails (03-delivery).

mod deadline;
mod decoding;
mod faults;
mod groups;
mod source;

use std::sync::LazyLock;

use limiter_aggregator::aggregate::{Aggregator, Observer, SkippedInput, Step};
use limiter_aggregator::config::Settings;
use limiter_aggregator::item::Item;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::Table;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;
use serde_json::Value;

use crate::support::captures::Capture;

/// An observer for tests that look at the table alone.
struct Nobody;

impl Observer for Nobody {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, _reason: &SkippedInput) {}
    fn step(&self, _group: &Group<'_>, _step: &Step<'_>) {}
}

/// A captured change of one bucket, told of others: record `n` is of entity `e{n}` with the sequence number `n`
/// above a base of the stream's usual width.
struct Changes {
    record: Value,
    now: EpochMillis,
}

/// Read once: property tests ask for it a thousand times.
static CAPTURED: LazyLock<(Value, EpochMillis)> = LazyLock::new(|| {
    let capture = Capture::read("hot-drip").with_entity("ENTITY");
    let mut record = capture.records().pop().unwrap();
    // So much used at once is a reason to refill.
    record["dynamodb"]["OldImage"]["b_rpm_tc"]["N"] = "0".into();
    (record, capture.now)
});

impl Changes {
    fn new() -> Self {
        let (record, now) = CAPTURED.clone();
        Self { record, now }
    }

    fn record(&self, entity: usize, number: usize) -> Value {
        let text = self.record.to_string().replace("ENTITY", &format!("e{entity}"));
        let mut record: Value = serde_json::from_str(&text).unwrap();
        record["dynamodb"]["SequenceNumber"] = sequence(number).into();
        record["eventID"] = format!("event-{number}").into();
        record
    }

    /// One record for each of so many entities.
    fn records(&self, count: usize) -> Vec<Value> {
        (0..count).map(|n| self.record(n, n)).collect()
    }

    /// A table that holds the buckets as the records left them.
    fn table(records: &[Value]) -> MemoryTable {
        let table = MemoryTable::new();
        for record in records {
            let item: Item = serde_json::from_value(record["dynamodb"]["NewImage"].clone()).unwrap();
            table.put_item(&item).unwrap();
        }
        table
    }
}

/// A sequence number; the first thousand of them change their width in between.
fn sequence(number: usize) -> String {
    (99_999_999_999_999_999_999_900_u128 + u128::try_from(number).unwrap()).to_string()
}

fn aggregator<T: Table>(table: T) -> Aggregator<T> {
    Aggregator::new(table, Settings::default())
}
