//! What must hold after every step, worked out from the changes of the table alone.
//!
//! Independent of the planning code and of the workload: it sees the images before and after each write, who wrote and
//! by which clock, and what an aggregator had been shown. Decoding of an item is shared; no rule is. Each check names
//! the regime in which it is exact and, where it allows anything, the clause that does.

mod creation;
mod drip;
mod holding;
mod ledger;
mod refill;
mod settle;
mod shape;
mod snapshot;
mod twins;
mod usage;

pub use snapshot::Snapshot;
pub use usage::counted;

use std::collections::BTreeMap;

use limiter_aggregator::item::Item;
use limiter_aggregator::key::{BucketKey, ItemKey};
use limiter_aggregator::record::ChangeKind;
use limiter_aggregator::table::memory::StreamRecord;

use crate::scenario::{GROUP, Kind, Scenario};
use drip::DripBook;
use ledger::Ledger;
use settle::Settlement;
use twins::Twins;

/// Something that must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, in a few words that stay the same: minimised traces keep it.
    pub rule: &'static str,
    /// What was seen.
    pub detail: String,
}

/// The answer of every check.
pub type Verdict = Result<(), Violation>;

/// A violation unless something holds.
pub fn require(holds: bool, rule: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    if holds {
        Ok(())
    } else {
        Err(Violation { rule, detail: detail() })
    }
}

/// Who wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A client's request.
    Client,
    /// A client's refund or charge after the fact.
    Adjuster,
    /// A client of an old release.
    OldRelease,
    /// An operator.
    Operator,
    /// An aggregator.
    Aggregator,
    /// Time to live, or the deletion of one item.
    Removal,
}

/// One shard before and after a write.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which shard.
    pub shard: u32,
    /// What it was; none when it was made.
    pub old: Option<Snapshot>,
    /// What it is; none when it is gone.
    pub new: Option<Snapshot>,
}

/// What one call changed, all at once.
#[derive(Debug)]
pub struct Event<'e> {
    /// Who wrote.
    pub writer: Writer,
    /// By which clock.
    pub now: i64,
    /// The shards that changed.
    pub changes: Vec<Change>,
    /// What the writer was last shown of each shard in this operation or batch; a client's request, what it was shown
    /// of the siblings of a shard that it makes.
    pub shown: &'e BTreeMap<u32, Option<Item>>,
    /// The last image of each shard that an aggregator's batch holds.
    pub images: BTreeMap<u32, Snapshot>,
    /// The count on shard 0 now; 0 where it does not exist.
    pub truth: i128,
    /// Whether the entity was deleted before: records of its last life may still be under way.
    pub reborn: bool,
    /// What is simulated.
    pub scenario: Scenario,
    /// The owner's stamp now.
    pub owner: Option<(Option<i128>, Option<String>)>,
}

impl Event<'_> {
    /// The shard as its writer was last shown it; none where it was not, or did not exist.
    fn shown_of(&self, shard: u32) -> Option<Snapshot> {
        self.shown.get(&shard)?.as_ref().map(Snapshot::of)
    }
}

/// Every book that is kept.
#[derive(Clone, Debug)]
pub struct Auditor {
    scenario: Scenario,
    calendar: Ledger,
    session: Ledger,
    drip: DripBook,
    settlement: Settlement,
    twins: Twins,
}

impl Auditor {
    /// Books for an empty table.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            calendar: Ledger::new(Kind::Calendar, scenario),
            session: Ledger::new(Kind::Session, scenario),
            drip: DripBook::new(),
            settlement: Settlement::default(),
            twins: Twins::default(),
        }
    }

    /// Enters what one call changed.
    pub fn enter(&mut self, event: &Event<'_>) -> Verdict {
        // As they were before this write.
        let twins = self.twins.shards().clone();
        for change in &event.changes {
            let is_twin = self.twins.shards().contains(&change.shard);
            self.twins.enter(change);
            shape::check(change, event, self.scenario.lengths, is_twin)?;
            if event.writer == Writer::Aggregator {
                match (&change.old, &change.new) {
                    (None, Some(new)) => creation::check(change.shard, new, event)?,
                    (Some(old), Some(new)) => refill::check(change.shard, old, new, event, is_twin)?,
                    (_, None) => {}
                }
            }
            self.drip.enter(change, event, is_twin)?;
            self.settlement.enter(change, event);
        }
        if self.scenario.has(Kind::Calendar) {
            self.calendar.enter(event, &twins)?;
        }
        if self.scenario.has(Kind::Session) {
            self.session.enter(event, &twins)?;
        }
        Ok(())
    }

    /// What must hold after quiet. `complete` says that no delivery was lost: only then has the aggregator seen every
    /// raise and every opening.
    pub fn settled(&self, shards: &BTreeMap<u32, Snapshot>, now: i64, complete: bool) -> Verdict {
        self.settlement.check(shards, now, self.scenario.skew, complete)
    }

    /// The entity was deleted whole: its next life owes nothing to the last.
    pub fn forget(&mut self) {
        *self = Self {
            twins: std::mem::take(&mut self.twins),
            ..Self::new(self.scenario)
        };
    }
}

/// The changes of bucket shards among stream records.
pub fn changes_of(records: &[StreamRecord]) -> Vec<Change> {
    let of = |record: &StreamRecord| {
        let shard = simulated(&record.key)?.shard.0;
        let old = record
            .old
            .as_ref()
            .filter(|_| record.kind != ChangeKind::Insert)
            .map(Snapshot::of);
        Some(Change {
            shard,
            old,
            new: record.new.as_ref().map(Snapshot::of),
        })
    };
    records.iter().filter_map(of).collect()
}

/// The shard of the simulated bucket that a key names.
pub fn simulated(key: &ItemKey) -> Option<BucketKey<'_>> {
    BucketKey::parse(&key.pk).filter(|bucket| key.sk == "#STATE" && bucket.group == GROUP)
}

/// A bystander's bucket is one that no rule can use: an aggregator that writes to it took something for what it is
/// not.
pub fn left_alone(records: &[StreamRecord], writer: Writer) -> Verdict {
    let is_bystander = |record: &&StreamRecord| record.key.sk == "#STATE" && simulated(&record.key).is_none();
    let written = records
        .iter()
        .find(is_bystander)
        .filter(|_| writer == Writer::Aggregator);
    require(written.is_none(), "a bucket that no rule can use is left alone", || {
        format!("{written:?}")
    })
}
