//! The table in memory: interprets the same typed reads and writes as DynamoDB does, and emits stream records.
//!
//! Decides by DynamoDB's documentation wherever the embedded engine differs. Refuses nothing for its size: neither the
//! 400 KB of an item nor the 4 KB of an expression are counted, and index keys are attributes like any other. What must
//! stay true: no real clock, no randomness, no order that depends on hashing; a refused write leaves no trace.
//! One conformance suite (`tests/behaviour/table_arms.rs`) keeps it equal to the real arm.

mod change;
mod condition;
mod number;
mod stream;
mod transaction;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

pub use stream::StreamRecord;

use self::stream::Stream;
use self::transaction::{Effect, Tokens, Verdict};
use super::{Consistency, Fault, FaultClass, MAX_KEYS_PER_READ, Table, TransactionOutcome, UpdateOutcome};
use crate::item::{AttributeValue, Item, key_of};
use crate::key::ItemKey;
use crate::record::parse_integer;
use crate::units::EpochMillis;
use crate::write::{Transaction, Update};

/// DynamoDB would answer with a `ValidationException`, or cancel with a `ValidationError`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Invalid;

/// How far back time to live looks.
const TTL_REACH_SECONDS: i128 = 5 * 365 * 86_400;

fn invalid(operation: &'static str) -> Fault {
    Fault {
        operation,
        code: "ValidationException".to_owned(),
        class: FaultClass::Permanent,
    }
}

/// A table in memory, for one thread.
#[derive(Default)]
pub struct MemoryTable {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    items: BTreeMap<ItemKey, Item>,
    now: EpochMillis,
    tokens: Tokens,
    stream: Option<Stream>,
}

impl MemoryTable {
    /// An empty table without a stream, its clock at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table with a stream of this label (an ISO date, what the stream's ARN ends in).
    pub fn with_stream(label: &str) -> Self {
        let table = Self::default();
        table.restart_stream(label);
        table
    }

    /// Switches to a new stream, as an operator does: records not taken yet are lost, sequence numbers start again.
    pub fn restart_stream(&self, label: &str) {
        self.state.borrow_mut().stream = Some(Stream::new(label));
    }

    /// Sets the clock, which dates stream records and ages tokens.
    pub fn set_now(&self, now: EpochMillis) {
        self.state.borrow_mut().now = now;
    }

    /// One item.
    pub fn get(&self, key: &ItemKey) -> Option<Item> {
        self.state.borrow().items.get(key).cloned()
    }

    /// Every item, in the order of the keys.
    pub fn items(&self) -> BTreeMap<ItemKey, Item> {
        self.state.borrow().items.clone()
    }

    /// Stores a whole item, whatever was there.
    ///
    /// # Errors
    /// Permanent, if the item lacks a key or holds what DynamoDB does not store.
    pub fn put_item(&self, item: &Item) -> Result<(), Fault> {
        let refused = |_| invalid("PutItem");
        let key = key_of(item).ok_or(Invalid).map_err(refused)?;
        change::check_key(&key).map_err(refused)?;
        let item = transaction::stored_item(item).map_err(refused)?;
        self.state.borrow_mut().replace(key, item);
        Ok(())
    }

    /// Removes an item, as a request does; gives what was there.
    pub fn delete_item(&self, key: &ItemKey) -> Option<Item> {
        self.state.borrow_mut().remove(key, false)
    }

    /// Removes every item whose `ttl` (epoch seconds) lies before the clock, as time to live does, which takes one
    /// more than five years back for a slip and leaves it alone. How many.
    pub fn expire(&self) -> usize {
        let mut state = self.state.borrow_mut();
        let now = i128::from(state.now.0.div_euclid(1000));
        let is_due = |item: &Item| match item.get("ttl") {
            Some(AttributeValue::N(ttl)) => {
                parse_integer(ttl).is_some_and(|ttl| (now - TTL_REACH_SECONDS..now).contains(&ttl))
            }
            _ => false,
        };
        let due: Vec<ItemKey> = state
            .items
            .iter()
            .filter(|(_, item)| is_due(item))
            .map(|(key, _)| key.clone())
            .collect();
        due.iter().filter_map(|key| state.remove(key, true)).count()
    }

    /// The stream records since last time, in order; none without a stream.
    pub fn take_records(&self) -> Vec<StreamRecord> {
        self.state
            .borrow_mut()
            .stream
            .as_mut()
            .map(Stream::take)
            .unwrap_or_default()
    }

    /// [`Table::update`] without waiting.
    ///
    /// # Errors
    /// Permanent, where DynamoDB would answer with a `ValidationException`.
    pub fn apply_update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        let refused = |_| invalid("UpdateItem");
        change::check(update).map_err(refused)?;
        let mut state = self.state.borrow_mut();
        let item = state.items.get(&update.key);
        if !condition::hold(&update.conditions, item) {
            let found = if update.return_item_on_failure {
                item.cloned()
            } else {
                None
            };
            return Ok(UpdateOutcome::LostRace { found });
        }
        let changes = change::work_out(&update.actions, item).map_err(refused)?;
        state.change(&update.key, changes);
        Ok(UpdateOutcome::Applied)
    }

    /// [`Table::transact`] without waiting. A transaction that took effect within the last ten minutes is answered
    /// again by its token; one that did not is judged anew.
    ///
    /// # Errors
    /// Permanent, where DynamoDB would answer with a `ValidationException` or cancel for a `ValidationError`.
    /// Retryable, where the token took effect with other content.
    pub fn apply_transaction(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        const OPERATION: &str = "TransactWriteItems";
        let keys = transaction::check(transaction).map_err(|_| invalid(OPERATION))?;
        let mut state = self.state.borrow_mut();
        let now = state.now;
        if let Some(known) = state.tokens.get(&transaction.token, now) {
            let code = "IdempotentParameterMismatchException".to_owned();
            let mismatch = Fault {
                operation: OPERATION,
                code,
                class: FaultClass::Retryable,
            };
            return if known == transaction {
                Ok(TransactionOutcome::Applied)
            } else {
                Err(mismatch)
            };
        }
        let (mut effects, mut failed) = (Vec::new(), Vec::new());
        let mut impossible = false;
        for (place, (action, key)) in transaction.actions.iter().zip(keys).enumerate() {
            match transaction::judge(action, state.items.get(&key)) {
                Verdict::Passed(effect) => effects.push((key, effect)),
                Verdict::ConditionFailed => failed.push(place),
                Verdict::Invalid => impossible = true,
            }
        }
        if impossible {
            let code = "ValidationError".to_owned();
            return Err(Fault {
                operation: OPERATION,
                code,
                class: FaultClass::Permanent,
            });
        }
        if !failed.is_empty() {
            return Ok(TransactionOutcome::LostRace { failed });
        }
        for (key, effect) in effects {
            match effect {
                Effect::None => {}
                Effect::Change(changes) => state.change(&key, changes),
                Effect::Replace(item) => state.replace(key, item),
            }
        }
        state.tokens.insert(transaction, now);
        Ok(TransactionOutcome::Applied)
    }

    /// [`Table::read`] without waiting; always consistent.
    ///
    /// # Errors
    /// Permanent, for more than 100 different keys or one that cannot be stored.
    pub fn apply_read(&self, keys: &[ItemKey]) -> Result<Vec<Option<Item>>, Fault> {
        let refused = |_| invalid("BatchGetItem");
        keys.iter().try_for_each(change::check_key).map_err(refused)?;
        if keys.len() > MAX_KEYS_PER_READ && keys.iter().collect::<BTreeSet<_>>().len() > MAX_KEYS_PER_READ {
            return Err(refused(Invalid));
        }
        let state = self.state.borrow();
        Ok(keys.iter().map(|key| state.items.get(key).cloned()).collect())
    }
}

impl State {
    /// Changes attributes of an item, which is created if it is not there.
    fn change(&mut self, key: &ItemKey, changes: Vec<change::Change<'_>>) {
        let Some(item) = self.items.get_mut(key) else {
            let mut item = change::bare_item(key);
            change::store(changes, &mut item);
            self.replace(key.clone(), item);
            return;
        };
        let Some(stream) = &mut self.stream else {
            change::store(changes, item);
            return;
        };
        let old = item.clone();
        if change::store(changes, item) {
            stream.emit(key.clone(), Some(old), Some(item.clone()), false, self.now);
        }
    }

    /// Stores a whole item.
    fn replace(&mut self, key: ItemKey, item: Item) {
        let Some(stream) = &mut self.stream else {
            self.items.insert(key, item);
            return;
        };
        let old = self.items.insert(key.clone(), item.clone());
        // A write that changes nothing leaves no record.
        if old.as_ref() != Some(&item) {
            stream.emit(key, old, Some(item), false, self.now);
        }
    }

    fn remove(&mut self, key: &ItemKey, expired: bool) -> Option<Item> {
        let old = self.items.remove(key)?;
        if let Some(stream) = &mut self.stream {
            stream.emit(key.clone(), Some(old.clone()), None, expired, self.now);
        }
        Some(old)
    }
}

impl Table for MemoryTable {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.apply_update(update)
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.apply_transaction(transaction)
    }

    async fn read(&self, keys: &[ItemKey], _: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.apply_read(keys)
    }
}

#[cfg(test)]
mod tests;
