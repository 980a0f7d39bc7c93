//! Batches that the stream gave up, worked on afterwards (03-delivery, Dead letters).
//!
//! [`Discarded`] is what Lambda leaves at the on-failure destination. [`count_usage`] counts the usage of such a batch:
//! what is counted and what is only shown is decided in [`crate::plan::usage`], here it is carried out. What must stay
//! true: a record is counted once, however often its batch is redriven, and nothing is counted on what another writer
//! has changed since it was looked at. Every other rule runs as it would in a delivery.

mod discarded;

pub use discarded::{BatchInfo, Discarded, DiscardedError};

use std::collections::BTreeMap;

use crate::aggregate::WriteResult;
use crate::config::Settings;
use crate::key::BucketGroup;
use crate::plan::usage::{
    Fate, LimitTotal, RedriveRow, Snapshot, Tally, UncountedReason, UnreadableMarker, WindowKind,
};
use crate::plan::{BucketChange, group_changes};
use crate::record::{EventError, read_event};
use crate::table::{Consistency, Table, UpdateOutcome};
use crate::units::{EpochMillis, ShardId};

/// Writes of one snapshot, at most: the aggregator goes on counting meanwhile.
const MAX_ATTEMPTS: usize = 5;

/// Who the usage is of, and what a person wants of it.
pub trait Choice {
    /// What the bucket is called in the answer.
    fn name(&self, bucket: &BucketGroup<'_>) -> String;
    /// Whether usage that later changes have overtaken is to be counted all the same.
    fn counts_overtaken(&self, bucket: &BucketGroup<'_>) -> bool;
}

/// The usage of a range in one snapshot, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotUsage {
    /// The bucket, as it may be called.
    pub bucket: String,
    /// Kind of the snapshot's window.
    pub kind: WindowKind,
    /// Start of the window, as it is stored.
    pub start: String,
    /// By bucket shard and fate, as last seen.
    pub lines: Vec<Line>,
    /// Whether what was overtaken is counted with the rest.
    pub counts_overtaken: bool,
    /// What came of the write; `None` where nothing was to be counted.
    pub result: Option<Result<WriteResult, UnreadableMarker>>,
}

/// The records of one bucket shard with one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The bucket shard.
    pub shard: ShardId,
    /// What the snapshot says of the records.
    pub fate: Fate,
    /// How many they are.
    pub records: usize,
    /// What they add or have added, by limit.
    pub limits: BTreeMap<String, LimitTotal>,
    /// Sequence numbers of the first and the last.
    pub range: (String, String),
}

impl From<&RedriveRow<'_>> for Line {
    fn from(row: &RedriveRow<'_>) -> Self {
        let limits = row.limits.iter().map(|(limit, total)| ((*limit).to_owned(), *total));
        Self {
            shard: row.shard,
            fate: row.fate,
            records: row.records,
            limits: limits.collect(),
            range: (row.first.as_str().to_owned(), row.last.as_str().to_owned()),
        }
    }
}

impl SnapshotUsage {
    /// Whether something of it is counted by this run.
    pub fn is_counted(&self) -> bool {
        self.result == Some(Ok(WriteResult::Applied))
    }

    /// Whether the write that it needs was not made.
    pub fn has_failed(&self) -> bool {
        let done = [None, Some(Ok(WriteResult::Applied)), Some(Ok(WriteResult::DryRun))];
        !done.contains(&self.result)
    }

    /// Whether usage is left that nobody may have counted.
    pub fn is_open(&self) -> bool {
        !self.counts_overtaken && self.lines.iter().any(|line| line.fate == Fate::Overtaken)
    }
}

/// The usage of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchUsage {
    /// Each snapshot that it belongs to.
    pub snapshots: Vec<SnapshotUsage>,
    /// Records that no snapshot counts, by reason.
    pub uncounted: BTreeMap<UncountedReason, usize>,
}

/// Counts the usage of an event's records, one snapshot after the other, in the order of the buckets' lowest sequence
/// numbers. `now` dates the items that this makes.
///
/// # Errors
/// Only when the text is no stream event. What the table refuses is part of the answer.
pub async fn count_usage(
    table: &impl Table,
    settings: &Settings,
    event: &str,
    now: EpochMillis,
    choice: &impl Choice,
) -> Result<BatchUsage, EventError> {
    let records = read_event(event)?;
    let changes = records.iter().filter_map(|read| {
        let record = read.record.as_ref().ok()?;
        BucketChange::read(read.position, record).ok()
    });
    let groups = group_changes(changes);
    let mut answer = BatchUsage::default();
    for group in &groups {
        let tally = Tally::of(group, &settings.usage);
        for record in &tally.uncounted {
            *answer.uncounted.entry(record.reason).or_default() += 1;
        }
        for snapshot in tally.snapshots(group.key, &settings.usage, now) {
            answer.snapshots.push(count(table, settings, &snapshot, choice).await);
        }
    }
    Ok(answer)
}

async fn count(
    table: &impl Table,
    settings: &Settings,
    snapshot: &Snapshot<'_, '_>,
    choice: &impl Choice,
) -> SnapshotUsage {
    let count_overtaken = choice.counts_overtaken(&snapshot.group);
    let mut usage = SnapshotUsage {
        bucket: choice.name(&snapshot.group),
        kind: snapshot.window.kind,
        start: snapshot.start.clone(),
        lines: Vec::new(),
        counts_overtaken: false,
        result: None,
    };
    let mut found = match table.read(&[snapshot.key()], Consistency::Strong).await {
        Ok(items) => items.into_iter().next().flatten(),
        Err(fault) => {
            usage.result = Some(Ok(WriteResult::Failed(fault)));
            return usage;
        }
    };
    for _ in 0..MAX_ATTEMPTS {
        let plan = match snapshot.redrive(found.as_ref(), count_overtaken) {
            Ok(plan) => plan,
            Err(unreadable) => {
                usage.result = Some(Err(unreadable));
                return usage;
            }
        };
        usage.lines = plan.rows.iter().map(Line::from).collect();
        usage.counts_overtaken = plan.write.as_ref().is_some_and(|write| write.counts_overtaken);
        let Some(write) = plan.write else {
            usage.result = None;
            return usage;
        };
        if settings.dry_run {
            usage.result = Some(Ok(WriteResult::DryRun));
            return usage;
        }
        match table.update(&write.update).await {
            // What was counted meanwhile, perhaps by an answer of one's own that was lost, is judged anew.
            Ok(UpdateOutcome::LostRace { found: item }) => {
                found = item;
                usage.result = Some(Ok(WriteResult::LostRace));
            }
            answer => {
                usage.result = Some(Ok(answer.into()));
                return usage;
            }
        }
    }
    usage
}
