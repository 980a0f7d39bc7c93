//! The table as the aggregator needs it: three operations, and what each can answer.
//!
//! Decides how bad news is sorted: an expected refusal (a failed condition) is data, everything else a [`Fault`]
//! that is either worth a retry or not (03-delivery, Outcome of a batch). Two arms implement it: the real one
//! through the SDK, and one in memory for tests; one conformance suite runs on both.

pub mod counted;
pub mod dynamodb;
#[cfg(feature = "replay")]
pub mod failing;
#[cfg(feature = "replay")]
pub mod memory;

use std::future::Future;

use crate::item::Item;
use crate::key::ItemKey;
use crate::write::{Transaction, Update};

/// Most different keys in one read: what the service takes in one batch.
pub const MAX_KEYS_PER_READ: usize = 100;

/// How a batch read sees the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consistency {
    /// May miss the latest writes; half the price.
    Eventual,
    /// Sees every write that was answered before.
    Strong,
}

/// What became of an update whose request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// The write took effect.
    Applied,
    /// A condition failed: somebody else moved first. Not an error.
    LostRace {
        /// The item as it stands, where the update asked for it and one exists.
        found: Option<Item>,
    },
}

/// What became of a transaction whose request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// Every member took effect.
    Applied,
    /// At least one condition failed, and nothing worse happened; nothing took effect.
    LostRace {
        /// Places of the members whose condition failed, in order; never empty.
        failed: Vec<usize>,
    },
}

/// Whether the same work is worth asking for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultClass {
    /// The request itself is wrong and stays wrong.
    Permanent,
    /// Everything else, unknown errors included.
    Retryable,
    /// Another writer's transaction held the item; retryable, and sooner.
    Conflict,
}

/// A request that failed. Carries a code, never a message: messages may repeat keys, and keys hold entity ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} failed: {code}")]
pub struct Fault {
    /// The operation that failed, for example `UpdateItem`.
    pub operation: &'static str,
    /// The service's error code, or a word for what happened on the way to it.
    pub code: String,
    /// Whether to try again.
    pub class: FaultClass,
}

/// The table that holds buckets, owners and snapshots.
pub trait Table {
    /// Updates one item on its conditions.
    ///
    /// # Errors
    /// Any [`Fault`]; the write may or may not have taken effect.
    fn update(&self, update: &Update) -> impl Future<Output = Result<UpdateOutcome, Fault>>;

    /// Carries out all of a transaction or none of it.
    ///
    /// # Errors
    /// Any [`Fault`]; the writes may or may not have taken effect.
    fn transact(&self, transaction: &Transaction) -> impl Future<Output = Result<TransactionOutcome, Fault>>;

    /// Reads up to 100 different items. The answer has one place per key, `None` where no such item exists: a key
    /// that could not be read at all is a fault, never a `None` (R8).
    ///
    /// # Errors
    /// Any [`Fault`].
    fn read(
        &self,
        keys: &[ItemKey],
        consistency: Consistency,
    ) -> impl Future<Output = Result<Vec<Option<Item>>, Fault>>;
}

/// A table behind a reference is that table: a wrapper can borrow one that its test goes on looking into.
impl<T: Table> Table for &T {
    fn update(&self, update: &Update) -> impl Future<Output = Result<UpdateOutcome, Fault>> {
        (**self).update(update)
    }

    fn transact(&self, transaction: &Transaction) -> impl Future<Output = Result<TransactionOutcome, Fault>> {
        (**self).transact(transaction)
    }

    fn read(
        &self,
        keys: &[ItemKey],
        consistency: Consistency,
    ) -> impl Future<Output = Result<Vec<Option<Item>>, Fault>> {
        (**self).read(keys, consistency)
    }
}
