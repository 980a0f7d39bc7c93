//! Clients as the published ones behave (releases 0.15 to 0.17), written from what they send: one module per path.
//!
//! Rules that clients share with the aggregator (drip, kinds, funding, grant sizes) come from the planning code; what
//! is theirs alone (conditions, order of calls, what they do after a lost race) is here. Every call is a yield point.

mod acquire;
mod create;
mod doubling;
mod materialise;
mod old_writer;
mod operator;
mod refund;
mod slow;

pub use acquire::acquire;
pub use doubling::outgrow;
pub use old_writer::old_acquire;
pub use operator::{Operation, operate};
pub use refund::{Adjustment, Lease, adjust};

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use limiter_aggregator::bucket::{LimitField, attribute};
use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::Table;
use limiter_aggregator::units::ShardId;
use limiter_aggregator::write::{Action, Comparison, Condition};

use crate::port::StepTable;
use crate::scenario::{Configuration, GROUP, Scenario};

/// What one client operation knows.
#[derive(Clone)]
pub struct Client {
    /// Its way to the table.
    pub table: StepTable,
    /// What is simulated.
    pub scenario: Scenario,
    /// Its clock when the operation began; a request carries this instant however late it lands.
    pub now: i64,
    /// The shard count that this client last saw.
    pub known: Rc<Cell<u32>>,
    /// What the operator configured.
    pub configuration: Rc<RefCell<Configuration>>,
    /// Different for every transaction of a seed.
    pub transactions: Rc<Cell<u64>>,
    /// Set while a fan-out is under way that a calm scenario does not interrupt.
    pub uninterrupted: Rc<Cell<bool>>,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The request was admitted.
    Admitted(Lease),
    /// The request was refused.
    Refused,
    /// The operation is done, or gave up.
    Done,
}

/// Where one operation draws shards from.
#[derive(Clone, Debug)]
struct Draws(u32);

impl Draws {
    /// A number below the count. Where there is no choice nothing is drawn.
    fn below(&mut self, count: u32) -> u32 {
        if count <= 1 {
            return 0;
        }
        let drawn = self.0 % count;
        self.0 = self.0.wrapping_mul(7).wrapping_add(1);
        drawn
    }

    /// One of these shards; none where there are none.
    fn of(&mut self, shards: &[u32]) -> Option<u32> {
        shards
            .get(self.below(u32::try_from(shards.len()).ok()?) as usize)
            .copied()
    }
}

impl Client {
    /// One shard as it is now; `None` where it does not exist or could not be read.
    async fn read_shard(&self, shard: u32) -> Option<Item> {
        let read = self
            .table
            .read(&[shard_key(shard)], limiter_aggregator::table::Consistency::Eventual)
            .await;
        read.ok()?.into_iter().next().flatten()
    }

    /// Remembers a shard count, which a client never lowers.
    fn learn(&self, item: &Item) {
        self.known.set(self.known.get().max(count_of(item)));
    }

    fn token(&self) -> String {
        self.transactions.set(self.transactions.get() + 1);
        format!("client-{}", self.transactions.get())
    }

    /// Begins a part that a calm scenario runs through without interruption.
    fn hold(&self) {
        self.uninterrupted.set(!self.scenario.open_fan_outs);
    }

    fn release(&self) {
        self.uninterrupted.set(false);
    }
}

/// The key of one of the simulated shards.
pub fn shard_key(shard: u32) -> ItemKey {
    GROUP.bucket(ShardId(shard))
}

/// The shard count on an item.
fn count_of(item: &Item) -> u32 {
    let count = integer(item, "shard_count").unwrap_or(1).clamp(1, 32);
    u32::try_from(count).unwrap_or(1)
}

/// A whole number on an item.
pub fn integer(item: &Item, name: &str) -> Option<i128> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

fn instant(item: &Item, name: &str) -> Option<i64> {
    integer(item, name).and_then(|value| i64::try_from(value).ok())
}

fn field(limit: &str, field: LimitField) -> String {
    attribute(limit, field)
}

/// The operator's reset counter, which the aggregator only copies.
fn reset_counter(limit: &str) -> String {
    format!("b_{limit}_rn")
}

fn set(name: impl Into<String>, value: i128) -> Action {
    Action::Set {
        attribute: name.into(),
        value: number(value),
    }
}

fn add(name: impl Into<String>, delta: i128) -> Action {
    Action::Add {
        attribute: name.into(),
        delta,
    }
}

fn at_most(name: impl Into<String>, value: i128) -> Condition {
    Condition::compare(name, Comparison::AtMost, value)
}

fn at_least(name: impl Into<String>, value: i128) -> Condition {
    Condition::compare(name, Comparison::AtLeast, value)
}

fn equals(name: impl Into<String>, value: i128) -> Condition {
    Condition::compare(name, Comparison::Equal, value)
}

fn as_read(item: &Item, name: &str) -> Condition {
    Condition::as_read(name, item.get(name).cloned())
}

/// The owner record of the simulated entity in one of its lives.
pub fn owner(life: u32) -> Item {
    let key = GROUP.meta();
    Item::from([
        ("PK".to_owned(), text(key.pk)),
        ("SK".to_owned(), text(key.sk)),
        ("pgen".to_owned(), number(i128::from(life))),
        ("pinc".to_owned(), text(format!("life-{life}"))),
    ])
}
