//! A small world: shards of one bucket in the table in memory, their owner, clients' writes, and one batch at a time.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::aggregate::{
    Aggregator, BatchOutcome, Budget, NewShardResult, Observer, SkippedInput, Step, WriteResult,
};
use limiter_aggregator::config::Settings;
use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::key::{BucketGroup, ItemKey};
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::{ReadRecord, parse_integer};
use limiter_aggregator::table::Table;
use limiter_aggregator::table::memory::{MemoryTable, StreamRecord};
use limiter_aggregator::units::{EpochMillis, ShardId};
use limiter_aggregator::write::{Action, Condition, Update};

pub const HOUR: i64 = 3_600_000;
/// A midnight, UTC: the edge of the calendar quotas here.
pub const EDGE: i64 = 1_793_664_000_000;
/// Noon of that day.
pub const NOW: i64 = EDGE + 12 * HOUR;
/// `rf` of every shard unless a test says otherwise: in the current period.
pub const REFILLED: i64 = EDGE + HOUR;
/// The calendar quotas' reset: midnight.
pub const MIDNIGHT: &str = "1m0h0";
/// `pgen` of the owner.
pub const GENERATION: i64 = 7;

pub fn group() -> BucketGroup<'static> {
    BucketGroup {
        namespace: "ns",
        entity: "e",
        resource: "r",
    }
}

pub fn key(shard: u32) -> ItemKey {
    group().bucket(ShardId(shard))
}

/// A shard to be stored.
#[derive(Clone, Debug)]
pub struct Shard(pub Item);

impl Shard {
    /// A shard without limits, written by a client that knew of `count` shards.
    pub fn new(shard: u32, count: u32) -> Self {
        let mut item = Item::from([
            ("PK".to_owned(), text(key(shard).pk)),
            ("SK".to_owned(), text(key(shard).sk)),
            ("entity_id".to_owned(), text("e")),
            ("resource".to_owned(), text("r")),
        ]);
        for (name, value) in group().bucket_index_keys(ShardId(shard)) {
            item.insert(name.to_owned(), text(value));
        }
        let stamped = Self(item).n("pgen", GENERATION).s("pinc", "made-1");
        stamped.n("rf", REFILLED).n("shard_count", count.into())
    }

    pub fn n(self, name: &str, value: i64) -> Self {
        self.with(name, number(value.into()))
    }

    pub fn s(self, name: &str, value: &str) -> Self {
        self.with(name, text(value))
    }

    pub fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        assert!(self.0.remove(name).is_some(), "{name} is not there");
        self
    }

    /// A limit's numbers, nothing consumed.
    pub fn limit(self, limit: &str, capacity: i64, refill: i64, period: i64, balance: i64) -> Self {
        let fields = [
            ("tk", balance),
            ("cp", capacity),
            ("ra", refill),
            ("rp", period),
            ("tc", 0),
        ];
        fields.iter().fold(self, |shard, (field, value)| {
            shard.n(&format!("b_{limit}_{field}"), *value)
        })
    }

    /// A limit that drips its capacity within a minute.
    pub fn drip(self, limit: &str, capacity: i64, balance: i64) -> Self {
        self.limit(limit, capacity, capacity, 60_000, balance)
    }

    /// The partition's write budget, full.
    pub fn wcu(self) -> Self {
        self.limit("wcu", 1_000_000, 1_000_000, 1000, 1_000_000)
    }

    /// A quota of a day, granted at `grant` shards.
    pub fn calendar(self, limit: &str, capacity: i64, balance: i64, grant: u32) -> Self {
        let shard = self
            .limit(limit, capacity, 0, 1000, balance)
            .n(&format!("b_{limit}_gc"), grant.into());
        shard.s(&format!("b_{limit}_rsched"), MIDNIGHT)
    }

    /// A quota of a session of five hours that began at `start`, applied, granted at `grant` shards.
    pub fn session(self, limit: &str, capacity: i64, balance: i64, grant: u32, start: i64) -> Self {
        let shard = self
            .limit(limit, capacity, 0, 1000, balance)
            .n(&format!("b_{limit}_gc"), grant.into());
        let shard = shard.n(&format!("b_{limit}_rsa"), 5 * HOUR / 1000);
        shard
            .n(&format!("b_{limit}_ws"), start)
            .n(&format!("b_{limit}_wa"), start)
    }
}

/// The owner's record, with the stamp that [`Shard::new`] carries.
pub fn owner() -> Item {
    let meta = group().meta();
    Shard(Item::new())
        .s("PK", &meta.pk)
        .s("SK", &meta.sk)
        .n("pgen", GENERATION)
        .s("pinc", "made-1")
        .0
}

/// The table in memory with the shards and their owner, its stream empty.
pub fn world(shards: impl IntoIterator<Item = Shard>) -> MemoryTable {
    let table = MemoryTable::with_stream("2026-11-01T00:00:00.000");
    table.set_now(EpochMillis(NOW));
    table.put_item(&owner()).unwrap();
    for shard in shards {
        table.put_item(&shard.0).unwrap();
    }
    table.take_records();
    table
}

/// What the stream carries since last time, as one event.
pub fn event(table: &MemoryTable) -> String {
    StreamRecord::to_event_json(&table.take_records())
}

/// A write of somebody else.
pub fn write(table: &MemoryTable, shard: u32, actions: Vec<Action>) {
    let conditions = vec![Condition::item_exists()];
    let update = Update {
        key: key(shard),
        actions,
        conditions,
        return_item_on_failure: false,
    };
    table.apply_update(&update).unwrap();
}

pub fn set(name: &str, value: i64) -> Action {
    Action::Set {
        attribute: name.to_owned(),
        value: number(value.into()),
    }
}

pub fn add(name: &str, delta: i64) -> Action {
    Action::Add {
        attribute: name.to_owned(),
        delta: delta.into(),
    }
}

/// Doubles the count on shard 0, as a client or R7 does; gives the event.
pub fn double(table: &MemoryTable) -> String {
    table.take_records();
    let count = stored(table, 0, "shard_count").unwrap();
    write(table, 0, vec![set("shard_count", i64::try_from(count).unwrap() * 2)]);
    event(table)
}

/// A number as stored.
pub fn stored(table: &MemoryTable, shard: u32, name: &str) -> Option<i128> {
    numeric(&table.get(&key(shard))?, name)
}

/// A number on an item.
pub fn numeric(item: &Item, name: &str) -> Option<i128> {
    match item.get(name)? {
        AttributeValue::N(digits) => parse_integer(digits),
        other => panic!("{name} is {other:?}"),
    }
}

/// The shards that exist, of 64 possible.
pub fn existing(table: &MemoryTable) -> Vec<u32> {
    (0..64).filter(|shard| table.get(&key(*shard)).is_some()).collect()
}

/// Notes what became of each decision, in few words.
#[derive(Default)]
pub struct Notes(RefCell<Vec<String>>);

impl Notes {
    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }

    pub fn any(&self, start: &str) -> bool {
        self.0.borrow().iter().any(|note| note.starts_with(start))
    }
}

fn word(result: &WriteResult) -> &'static str {
    match result {
        WriteResult::Applied => "applied",
        WriteResult::LostRace => "lost",
        WriteResult::DryRun => "dry",
        WriteResult::Failed(_) => "failed",
    }
}

impl Observer for Notes {
    fn batch(&self, _: usize) {}

    fn skipped(&self, _: &ReadRecord<'_>, reason: &SkippedInput) {
        self.0.borrow_mut().push(format!("skipped: {reason:?}"));
    }

    fn step(&self, _: &Group<'_>, step: &Step<'_>) {
        let note = match step {
            Step::Refill {
                shard,
                result: Some(result),
                ..
            } => format!("refill {shard} {}", word(result)),
            Step::Doubling {
                result: Some(result), ..
            } => format!("doubling {}", word(result)),
            Step::Refill { .. } | Step::Doubling { .. } => return,
            Step::Usage { .. } | Step::UsageUncounted(_) | Step::UsageReservedName { .. } => return,
            Step::RiseRefused { .. } => "rise refused".to_owned(),
            Step::RiseUnread { .. } => "rise unread".to_owned(),
            Step::Raise { raise, result, .. } => format!("raise {} {}", raise.shard, word(result)),
            Step::NothingCreated { refusal, .. } => format!("nothing created: {refusal:?}"),
            Step::NewShard {
                shard,
                plan: Err(refusal),
                ..
            } => format!("shard {shard} refused: {refusal:?}"),
            Step::NewShard { shard, result, .. } => match result {
                Some(NewShardResult::Applied) => format!("shard {shard} created"),
                Some(NewShardResult::LostRace { exists }) => format!("shard {shard} lost, exists: {exists}"),
                other => format!("shard {shard} {other:?}"),
            },
            Step::RepairUnread { .. } => "repair unread".to_owned(),
            Step::Repair { raise, result, .. } => format!("repair {} {}", raise.shard, word(result)),
            Step::WindowsUnread { .. } => "windows unread".to_owned(),
            Step::Windows { lagging, .. } => format!("windows: {lagging} lag"),
            Step::Window { write, result } => format!("window {} {}", write.shard, word(result)),
            Step::CutShort => "cut short".to_owned(),
            Step::Panicked => "panicked".to_owned(),
        };
        self.0.borrow_mut().push(note);
    }
}

/// Propagation and nothing else.
pub fn propagation_only() -> Settings {
    Settings {
        enable_refill: false,
        ..bucket_rules()
    }
}

/// Every rule that writes buckets.
pub fn bucket_rules() -> Settings {
    Settings {
        enable_usage: false,
        ..Settings::default()
    }
}

/// One batch at noon, every rule that writes buckets.
pub fn handle(table: &impl Table, event: &str) -> BatchOutcome {
    handle_with(table, event, NOW, bucket_rules(), &Notes::default())
}

/// One batch at noon, propagation alone; what it noted.
pub fn propagate(table: &impl Table, event: &str) -> Vec<String> {
    let notes = Notes::default();
    assert_eq!(
        handle_with(table, event, NOW, propagation_only(), &notes),
        BatchOutcome::Complete
    );
    notes.take()
}

pub fn handle_with(table: &impl Table, event: &str, now: i64, settings: Settings, notes: &Notes) -> BatchOutcome {
    let aggregator = Aggregator::new(table, settings);
    let outcome = block_on(aggregator.handle(event, EpochMillis(now), &Budget::unlimited(), notes)).unwrap();
    assert!(!notes.any("panicked"), "a group panicked");
    outcome
}

/// Polls to the end. What is waited for here is ready, or becomes so by being polled again.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("never ready");
}

/// Numbers that differ from seed to seed and are the same for one: xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap() % bound
    }
}
