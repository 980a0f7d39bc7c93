//! Groups: in order, contained, and each owing only what is ever reported.

use std::cell::RefCell;
use std::panic::panic_any;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::config::Settings;
use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::failing::{Failing, FailingTable, Moment};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Consistency, Fault, FaultClass, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Transaction, Update};
use serde_json::Value;

use super::{Changes, Nobody, aggregator, sequence};
use crate::support::captures::{Capture, event_of};

fn fault(class: FaultClass) -> Fault {
    Fault {
        operation: "UpdateItem",
        code: "ScriptedException".to_owned(),
        class,
    }
}

async fn outcome<T: Table>(table: T, records: &[Value]) -> BatchOutcome {
    let now = Changes::new().now;
    let event = event_of(records);
    aggregator(table)
        .handle(&event, now, &Budget::unlimited(), &Nobody)
        .await
        .unwrap()
}

fn retry_from(outcome: BatchOutcome) -> String {
    match outcome {
        BatchOutcome::RetryFrom(sequence) => sequence.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn when_everything_fails_the_first_number_is_answered_and_never_nothing() {
    // Across a change of width, where text order would name another one; and shuffled, as redelivery may do.
    let mut records = Changes::new().records(250);
    records.rotate_left(77);
    let table = FailingTable::new(MemoryTable::new());
    table.fail(Failing::From(1), Moment::Before, fault(FaultClass::Retryable));
    assert_eq!(retry_from(outcome(&table, &records).await), sequence(0));
}

#[tokio::test]
async fn what_can_never_succeed_is_never_asked_for_again() {
    let table = FailingTable::new(MemoryTable::new());
    table.fail(Failing::From(1), Moment::Before, fault(FaultClass::Permanent));
    assert_eq!(
        outcome(&table, &Changes::new().records(5)).await,
        BatchOutcome::Complete
    );
}

#[tokio::test]
async fn a_refill_that_fails_is_dropped() {
    let records = Changes::new().records(1);
    let table = FailingTable::new(Changes::table(&records));
    // Two snapshots, then the refill.
    table.fail(Failing::From(3), Moment::Before, fault(FaultClass::Retryable));
    assert_eq!(outcome(&table, &records).await, BatchOutcome::Complete);
    assert_eq!(table.calls().updates, 3);
}

/// A table that panics at an entity's items, with the entity in its last words.
struct Panicking<T> {
    inner: T,
    at: &'static str,
}

impl<T: Table> Table for Panicking<T> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        if update.key.pk.contains(self.at) && update.key.sk == "#STATE" {
            panic_any(format!("something about {}", update.key.pk));
        }
        self.inner.update(update).await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.inner.transact(transaction).await
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.inner.read(keys, consistency).await
    }
}

#[tokio::test]
async fn a_panic_costs_its_own_group_and_blocks_nothing() {
    let records = Changes::new().records(20);
    let (clean, table) = (Changes::table(&records), Changes::table(&records));
    outcome(&clean, &records).await;
    let panicking = Panicking {
        inner: &table,
        at: "#e7#",
    };
    assert_eq!(outcome(panicking, &records).await, BatchOutcome::Complete);
    let (clean, found) = (clean.items(), table.items());
    let differing: Vec<_> = clean.keys().filter(|key| clean.get(key) != found.get(key)).collect();
    assert_eq!(differing.len(), 1, "its refill alone; its usage came before");
    assert!(differing[0].pk.contains("#e7#"));
}

#[tokio::test]
async fn usage_that_failed_before_a_panic_is_still_asked_for() {
    let records = Changes::new().records(1);
    let table = FailingTable::new(Changes::table(&records));
    table.fail(Failing::Only(1), Moment::Before, fault(FaultClass::Retryable));
    let panicking = Panicking {
        inner: &table,
        at: "#e0#",
    };
    assert_eq!(retry_from(outcome(panicking, &records).await), sequence(0));
}

/// What is shown, by group's entity.
#[derive(Default)]
struct Order(RefCell<Vec<String>>);

impl Observer for Order {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, _reason: &SkippedInput) {}
    fn step(&self, group: &Group<'_>, _step: &Step<'_>) {
        let entity = group.key.entity.to_owned();
        let mut seen = self.0.borrow_mut();
        if !seen.contains(&entity) {
            seen.push(entity);
        }
    }
}

#[tokio::test]
async fn groups_start_in_the_order_of_their_lowest_number() {
    let changes = Changes::new();
    let mut records: Vec<_> = (0..40).map(|n| changes.record((n * 7) % 40, n)).collect();
    let expected: Vec<_> = (0..40).map(|n| format!("e{}", (n * 7) % 40)).collect();
    records.reverse();
    let settings = Settings {
        max_in_flight: 1,
        ..Settings::default()
    };
    let order = Order::default();
    let aggregator = Aggregator::new(MemoryTable::new(), settings);
    let event = event_of(&records);
    aggregator
        .handle(&event, changes.now, &Budget::unlimited(), &order)
        .await
        .unwrap();
    assert_eq!(order.0.into_inner(), expected);
}

/// The outcome of a capture whose time is up before it begins.
async fn out_of_time(capture: &Capture, settings: Settings) -> BatchOutcome {
    let budget = Budget::from_remaining(std::time::Duration::ZERO);
    let aggregator = Aggregator::new(MemoryTable::new(), settings);
    aggregator
        .handle(&capture.event, capture.now, &budget, &Nobody)
        .await
        .unwrap()
}

#[tokio::test]
async fn what_was_not_begun_owes_only_what_is_ever_reported() {
    let without_usage = || Settings {
        enable_usage: false,
        ..Settings::default()
    };
    let drip = Capture::read("hot-drip");
    assert!(matches!(
        out_of_time(&drip, Settings::default()).await,
        BatchOutcome::RetryFrom(_)
    ));
    assert_eq!(out_of_time(&drip, without_usage()).await, BatchOutcome::Complete);

    // Two records, of which the second shows the rise.
    let doubling = Capture::read("quota-doubling-2-4");
    let rise = doubling.records().into_iter().find(|record| {
        let count = |image| {
            record["dynamodb"][image]["shard_count"]["N"]
                .as_str()
                .unwrap_or("1")
                .to_owned()
        };
        count("OldImage") != count("NewImage")
    });
    let rise = rise.unwrap()["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
    assert_eq!(retry_from(out_of_time(&doubling, without_usage()).await), rise);
    let nothing = Settings {
        enable_propagation: false,
        ..without_usage()
    };
    assert_eq!(out_of_time(&doubling, nothing).await, BatchOutcome::Complete);
    let session = Capture::read("session-rollover-lost-fanout");
    assert!(matches!(
        out_of_time(&session, without_usage()).await,
        BatchOutcome::RetryFrom(_)
    ));
}

#[tokio::test]
async fn a_failed_rise_without_a_sequence_number_fails_the_invocation() {
    let mut records = Capture::read("quota-doubling-1-2").records();
    for record in &mut records {
        record["dynamodb"].as_object_mut().unwrap().remove("SequenceNumber");
    }
    let table = FailingTable::new(MemoryTable::new());
    table.fail(Failing::From(1), Moment::Before, fault(FaultClass::Retryable));
    assert_eq!(outcome(&table, &records).await, BatchOutcome::RetryAll);
}
