//! A deadline that is too short for the batch: every delivery makes progress, and little is done twice.

use std::cell::Cell;
use std::time::Duration;

use limiter_aggregator::aggregate::{BatchOutcome, Budget};
use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Consistency, Fault, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::units::EpochMillis;
use limiter_aggregator::write::{Transaction, Update};
use serde_json::Value;

use super::source::{Deliveries, deliver};
use super::{Changes, Nobody, aggregator};
use crate::support::captures::event_of;

const RECORDS: usize = 400;
/// Until the deadline, reserve included. Long enough for the calls that a delivery has time for, on any machine.
const REMAINING: Duration = Duration::from_millis(1500);

/// A table that answers so many calls of a delivery, and then is too slow for its deadline. It knows how many calls
/// were under way at once.
struct Slow<'t> {
    inner: &'t MemoryTable,
    left: Cell<usize>,
    now: Cell<usize>,
    most: Cell<usize>,
}

impl<'t> Slow<'t> {
    fn new(inner: &'t MemoryTable, calls: usize) -> Self {
        Self {
            inner,
            left: Cell::new(calls),
            now: Cell::new(0),
            most: Cell::new(0),
        }
    }

    async fn wait(&self) {
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        let _leave = Leave(&self.now);
        match self.left.get().checked_sub(1) {
            // As over a network, every other group gets its turn in between.
            Some(left) => {
                self.left.set(left);
                tokio::task::yield_now().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// A call that is cut off has left too.
struct Leave<'c>(&'c Cell<usize>);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Table for Slow<'_> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.wait().await;
        self.inner.update(update).await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.wait().await;
        self.inner.transact(transaction).await
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.wait().await;
        self.inner.read(keys, consistency).await
    }
}

/// The calls that a whole batch takes, and the table afterwards.
async fn undisturbed(records: &[Value], now: EpochMillis) -> (usize, MemoryTable) {
    let table = Changes::table(records);
    let slow = Slow::new(&table, usize::MAX);
    let event = event_of(records);
    let outcome = aggregator(&slow)
        .handle(&event, now, &Budget::unlimited(), &Nobody)
        .await;
    assert_eq!(outcome.unwrap(), BatchOutcome::Complete);
    assert_eq!(slow.most.get(), 16, "calls in flight");
    (usize::MAX - slow.left.get(), table)
}

/// Delivers a batch whose deadline leaves time for `part` of its calls, within 20 deliveries.
async fn deliver_with_time_for(part: impl Fn(usize) -> usize, records: &[Value], now: EpochMillis) -> Deliveries {
    let (calls, clean) = undisturbed(records, now).await;
    let table = Changes::table(records);
    let slow = Slow::new(&table, part(calls));
    let aggregator = aggregator(&slow);
    let budget = || Budget::from_remaining(REMAINING);
    let anew = || slow.left.set(part(calls));
    let deliveries = deliver(&aggregator, records, now, budget, 20, &Nobody, anew).await;
    assert!(deliveries.batches > 1, "the deadline was short");
    // Refills may have been dropped; every token that was used is counted, once.
    let usage = |table: &MemoryTable| {
        let items = table.items().into_iter();
        items
            .filter(|(key, _)| key.sk.starts_with("#USAGE#"))
            .collect::<Vec<_>>()
    };
    assert_eq!(usage(&table), usage(&clean));
    deliveries
}

#[tokio::test]
async fn time_for_three_fifths_of_a_batch_is_enough() {
    let changes = Changes::new();
    let records = changes.records(RECORDS);
    let deliveries = deliver_with_time_for(|calls| calls * 3 / 5, &records, changes.now).await;
    assert!(deliveries.repeated < RECORDS, "{deliveries:?}");
}

#[tokio::test]
async fn time_for_a_tenth_still_gets_there() {
    let changes = Changes::new();
    let records = changes.records(RECORDS);
    deliver_with_time_for(|calls| calls / 10, &records, changes.now).await;
}

#[tokio::test]
async fn buckets_that_change_throughout_the_batch_get_done_too() {
    let changes = Changes::new();
    // What was done for a bucket's later records is not known to the next delivery, so more is repeated here.
    let records: Vec<_> = (0..RECORDS).map(|n| changes.record(n % 50, n)).collect();
    deliver_with_time_for(|calls| calls * 3 / 5, &records, changes.now).await;
}
