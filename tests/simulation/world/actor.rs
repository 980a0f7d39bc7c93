//! An actor: work under way, polled by hand.

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::item::Item;
use limiter_aggregator::write::{Transaction, TransactionAction};

use crate::audit::{Writer, simulated};
use crate::client::Ended;
use crate::port::{Answer, Call, StepTable};
use crate::step::Fate;

/// A client's operation.
pub type Work = Pin<Box<dyn Future<Output = Ended>>>;
/// An aggregator's batch.
pub type BatchWork = Pin<Box<dyn Future<Output = BatchOutcome>>>;

/// What is under way.
enum Task {
    Client(Work),
    Batch(BatchWork),
}

/// How it ended.
pub enum Outcome {
    Client(Ended),
    Batch(BatchOutcome),
}

/// Someone with work under way.
pub struct Actor {
    pub table: StepTable,
    /// The clock that its work began with.
    pub now: i64,
    pub writer: Writer,
    /// The records that a batch holds, by place in the log.
    pub records: Vec<usize>,
    /// The last that it was shown of each shard; a client's request, of the siblings of a shard that it makes.
    pub shown: BTreeMap<u32, Option<Item>>,
    /// Shards with a quota that a batch made and has not read shard 0's count after.
    pub unrepaired: Vec<u32>,
    /// Whether it has read shard 0's count after shards that it made.
    pub read_again: bool,
    /// Whether any call of it failed.
    pub fault: bool,
    /// A hash of everything it was answered.
    pub history: u64,
    task: Task,
}

impl Actor {
    pub fn client(table: StepTable, now: i64, writer: Writer, work: Work) -> Self {
        Self::new(table, now, writer, vec![], Task::Client(work))
    }

    pub fn batch(table: StepTable, now: i64, records: Vec<usize>, work: BatchWork) -> Self {
        Self::new(table, now, Writer::Aggregator, records, Task::Batch(work))
    }

    fn new(table: StepTable, now: i64, writer: Writer, records: Vec<usize>, task: Task) -> Self {
        Self {
            table,
            now,
            writer,
            records,
            shown: BTreeMap::new(),
            unrepaired: vec![],
            read_again: false,
            fault: false,
            history: 0,
            task,
        }
    }

    /// Goes on until the next call, or the end.
    pub fn poll(&mut self) -> Option<Outcome> {
        let mut context = Context::from_waker(Waker::noop());
        match &mut self.task {
            Task::Client(work) => match work.as_mut().poll(&mut context) {
                Poll::Ready(ended) => Some(Outcome::Client(ended)),
                Poll::Pending => None,
            },
            Task::Batch(work) => match work.as_mut().poll(&mut context) {
                Poll::Ready(outcome) => Some(Outcome::Batch(outcome)),
                Poll::Pending => None,
            },
        }
    }

    /// Adds an answer to its history, where a search compares histories.
    pub fn remember(&mut self, answer: &Answer) {
        let mut hasher = DefaultHasher::new();
        (self.history, format!("{answer:?}")).hash(&mut hasher);
        self.history = hasher.finish();
    }

    /// Takes note of what an actor was shown, and what a batch made.
    pub fn saw(&mut self, call: &Call, answer: &Answer, fate: Fate) {
        // Each rise goes by a read of its own, and by none where that failed (R8).
        if self.writer == Writer::Aggregator && matches!(call, Call::Read(_)) {
            self.shown.clear();
        }
        match (call, answer) {
            (Call::Read(keys), Answer::Read(Ok(items))) if self.writer != Writer::Client || keys.len() > 1 => {
                for (key, item) in keys.iter().zip(items) {
                    if let Some(bucket) = simulated(key) {
                        self.shown.insert(bucket.shard.0, item.clone());
                        if bucket.shard.0 == 0 {
                            self.read_again |= !self.unrepaired.is_empty();
                            self.unrepaired.clear();
                        }
                    }
                }
            }
            (
                Call::Transact(transaction),
                Answer::Transact(Ok(limiter_aggregator::table::TransactionOutcome::Applied)),
            ) if fate == Fate::Answered && self.writer == Writer::Aggregator => {
                self.unrepaired.extend(created(transaction));
            }
            _ => {}
        }
    }
}

fn created(transaction: &Transaction) -> Option<u32> {
    transaction.actions.iter().find_map(|action| match action {
        TransactionAction::Put(put) if put.item.keys().any(|name| name.ends_with("_gc")) => {
            let key = limiter_aggregator::item::key_of(&put.item)?;
            Some(simulated(&key)?.shard.0)
        }
        _ => None,
    })
}
