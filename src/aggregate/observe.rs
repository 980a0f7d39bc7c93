//! What is shown of a batch while it is worked on: every decision with its reason, and what came of it.

use crate::archive::Day;
use crate::plan::doubling::DoublingDecision;
use crate::plan::propagation::{CreationRefusal, NewShard, Raise, Rise, ShardRefusal};
use crate::plan::refill::RefillPlan;
use crate::plan::usage::{LeftOut, Snapshot, SnapshotWrite, Uncounted};
use crate::plan::windows::{WindowPlan, WindowWrite};
use crate::plan::{Group, SkippedRecord};
use crate::record::{ReadRecord, RecordError};
use crate::table::{Fault, UpdateOutcome};
use crate::units::ShardId;

/// Sees a batch's decisions. Implementations count, log or print; they must not show an entity id unless a person
/// asked for it.
pub trait Observer {
    /// A batch of so many records begins.
    fn batch(&self, records: usize);
    /// The batch's changes fall into so many groups.
    fn groups(&self, _groups: usize) {}
    /// A record comes from a stream whose view type is not NEW_AND_OLD_IMAGES. It is worked on as far as its images go.
    fn other_view(&self, _read: &ReadRecord<'_>) {}
    /// A record changes no bucket.
    fn skipped(&self, read: &ReadRecord<'_>, reason: &SkippedInput);
    /// A day's expired audit records were to be archived.
    fn archive(&self, _day: &Day<'_>, _result: &ArchiveResult) {}
    /// A decision was made in a group, and carried out as far as it could be.
    fn step(&self, group: &Group<'_>, step: &Step<'_>);
}

/// Why a record was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedInput {
    /// Its JSON could not be read.
    Unreadable(RecordError),
    /// It concerns no bucket, or not in a way that a rule could use.
    Record(SkippedRecord),
}

/// One decision and its result.
#[derive(Clone, Debug)]
pub enum Step<'s> {
    /// R12 on one snapshot.
    Usage {
        /// The snapshot.
        snapshot: &'s Snapshot<'s, 's>,
        /// What was to be added; `None` where everything was counted before.
        write: Option<&'s SnapshotWrite<'s>>,
        /// What had been counted before.
        left_out: LeftOut,
        /// Writes sent, failed ones included.
        calls: u32,
        /// What came of the last write: a lost race means that every attempt lost one. `None` where nothing was left
        /// to be written.
        result: Option<&'s WriteResult>,
    },
    /// R12 does not count a record's consumption.
    UsageUncounted(&'s Uncounted<'s>),
    /// R12 does not count a limit whose name the snapshot uses itself. Shown once per batch and name.
    UsageReservedName {
        /// The limit.
        limit: &'s str,
    },
    /// R2 to R6 on one shard.
    Refill {
        /// The shard.
        shard: ShardId,
        /// What was decided.
        plan: &'s RefillPlan<'s>,
        /// What came of it; `None` where nothing was to be written.
        result: Option<&'s WriteResult>,
    },
    /// R7 on one shard.
    Doubling {
        /// The shard.
        shard: ShardId,
        /// What was decided.
        decision: &'s DoublingDecision,
        /// What came of it; `None` where nothing was to be written.
        result: Option<&'s WriteResult>,
    },
    /// R8 refused a rise: no table should hold so many shards.
    RiseRefused {
        /// The rise.
        rise: Rise,
    },
    /// R8 could not read the siblings. Where the reason may pass, nothing is raised or created; otherwise every shard
    /// is raised without a look at it.
    RiseUnread {
        /// The rise.
        rise: Rise,
        /// What failed.
        fault: &'s Fault,
    },
    /// R8 raised a shard that existed before.
    Raise {
        /// The rise.
        rise: Rise,
        /// What was decided.
        raise: &'s Raise,
        /// What came of it.
        result: &'s WriteResult,
    },
    /// R8 creates no shard after a rise.
    NothingCreated {
        /// The rise.
        rise: Rise,
        /// Why.
        refusal: &'s CreationRefusal,
    },
    /// R8 and R9 on one new shard.
    NewShard {
        /// The rise.
        rise: Rise,
        /// The shard.
        shard: ShardId,
        /// How it is funded, or why it is left to the clients.
        plan: Result<&'s NewShard<'s>, &'s ShardRefusal>,
        /// What came of it; `None` where nothing was to be written.
        result: Option<&'s NewShardResult>,
    },
    /// The count could not be read again after creations.
    RepairUnread {
        /// The rise.
        rise: Rise,
        /// What failed.
        fault: &'s Fault,
    },
    /// A shard that was just created is raised, because the count had moved on.
    Repair {
        /// The rise that created it.
        rise: Rise,
        /// What was decided.
        raise: &'s Raise,
        /// What came of it.
        result: &'s WriteResult,
    },
    /// R11 could not read the siblings.
    WindowsUnread {
        /// The windows.
        plan: &'s WindowPlan<'s>,
        /// What failed.
        fault: &'s Fault,
    },
    /// R11 knows who lags.
    Windows {
        /// The windows, and the shards that were read.
        plan: &'s WindowPlan<'s>,
        /// Writes that follow.
        lagging: usize,
    },
    /// R11 wrote a start to a sibling.
    Window {
        /// What was decided.
        write: &'s WindowWrite<'s>,
        /// What came of it.
        result: &'s WriteResult,
    },
    /// The time was up before the group was done.
    CutShort,
    /// The group's work panicked; its other rules did not run.
    Panicked,
}

/// What came of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// It took effect.
    Applied,
    /// A condition failed: somebody else moved first.
    LostRace,
    /// It was not sent, because only decisions are wanted.
    DryRun,
    /// It failed.
    Failed(Fault),
}

/// What came of the creation of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewShardResult {
    /// It exists, and its donors have paid.
    Applied,
    /// A condition failed: the shard is left as it is.
    LostRace {
        /// The shard exists already; otherwise a donor or the owner changed meanwhile.
        exists: bool,
    },
    /// It was not sent, because only decisions are wanted.
    DryRun,
    /// It failed; a client creates the shard on first use.
    Failed(Fault),
}

/// What came of an upload to the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveResult {
    /// The object is there.
    Stored,
    /// It was not sent, because only decisions are wanted.
    DryRun,
    /// It failed.
    Failed(Fault),
    /// The time was up before it was done.
    CutShort,
    /// The work on it panicked.
    Panicked,
}

impl From<Result<UpdateOutcome, Fault>> for WriteResult {
    fn from(answer: Result<UpdateOutcome, Fault>) -> Self {
        match answer {
            Ok(UpdateOutcome::Applied) => Self::Applied,
            Ok(UpdateOutcome::LostRace { .. }) => Self::LostRace,
            Err(fault) => Self::Failed(fault),
        }
    }
}
