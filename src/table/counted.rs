//! A table that counts the calls made to it. What the SDK repeats on its own is one call.

use std::cell::Cell;

use super::{Consistency, Fault, Table, TransactionOutcome, UpdateOutcome};
use crate::item::Item;
use crate::key::ItemKey;
use crate::write::{Transaction, Update};

/// See the module.
pub struct CountedTable<T> {
    inner: T,
    calls: Cell<u64>,
}

impl<T: Table> CountedTable<T> {
    /// Counts from 0.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            calls: Cell::new(0),
        }
    }

    /// Calls since the start.
    pub fn calls(&self) -> u64 {
        self.calls.get()
    }

    fn count(&self) {
        self.calls.set(self.calls.get().saturating_add(1));
    }
}

impl<T: Table> Table for CountedTable<T> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.count();
        self.inner.update(update).await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.count();
        self.inner.transact(transaction).await
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.count();
        self.inner.read(keys, consistency).await
    }
}
