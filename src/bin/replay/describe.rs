//! A decision in words: what every kind of step comes to, before it is printed as text or as JSON.
//!
//! Decides the words; each rule's are in a file of their own, and a new kind of step is one more arm and one more
//! file. What must stay true: words name limits, amounts, instants and shards, never an entity or a key.

mod doubling;
mod propagation;
mod refill;
mod usage;
mod windows;
mod write;

pub use usage::uncounted_words;

use limiter_aggregator::aggregate::{SkippedInput, Step, WriteResult};
use limiter_aggregator::plan::SkippedRecord;
use limiter_aggregator::table::{Fault, FaultClass};
use limiter_aggregator::units::{Millitokens, ShardId};

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Written.
    Written,
    /// Somebody else was first, or a condition no longer held: nothing was written.
    Dropped,
    /// Decided, not sent.
    DryRun,
    /// The request failed.
    Failed,
    /// Nothing is to be written.
    None,
}

/// One limit's part of a decision.
#[derive(Clone, Debug)]
pub struct LimitLine {
    /// Its name.
    pub limit: String,
    /// How it recovers.
    pub kind: &'static str,
    /// Balance read.
    pub before: Millitokens,
    /// Balance planned.
    pub after: Millitokens,
    /// The most this shard may hold.
    pub ceiling: Millitokens,
    /// Used over the batch.
    pub consumed: Millitokens,
    /// Whether the write would happen for this limit alone.
    pub is_reason: bool,
    /// Why its balance moves, or does not; reads on from the limit's name.
    pub why: String,
}

/// One decision.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The shard; none where it concerns the whole bucket.
    pub shard: Option<ShardId>,
    /// What was decided about, as a noun.
    pub rule: &'static str,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, and what came of it where that was not success.
    pub why: String,
    /// The limits that took part.
    pub limits: Vec<LimitLine>,
    /// What the write changes.
    pub changes: Vec<String>,
    /// What must still hold when the write arrives.
    pub conditions: Vec<String>,
    /// Only worth telling somebody who wants every detail.
    pub is_detail: bool,
}

impl Decision {
    fn nothing(shard: Option<ShardId>, rule: &'static str, why: impl Into<String>) -> Self {
        Self {
            shard,
            rule,
            verdict: Verdict::None,
            why: why.into(),
            limits: Vec::new(),
            changes: Vec::new(),
            conditions: Vec::new(),
            is_detail: false,
        }
    }

    fn failed(shard: Option<ShardId>, rule: &'static str, fault: &Fault, why: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Failed,
            why: format!("{}; {}", fault_words(fault), why.into()),
            ..Self::nothing(shard, rule, "")
        }
    }

    /// A decision to write, with what came of it. `None` never happens for one and reads as not sent.
    fn write(shard: ShardId, rule: &'static str, why: String, result: Option<&WriteResult>) -> Self {
        let (verdict, why) = match result {
            Some(WriteResult::Applied) => (Verdict::Written, why),
            Some(WriteResult::LostRace) => (
                Verdict::Dropped,
                format!("{why}; but the shard is no longer as the records show it"),
            ),
            Some(WriteResult::DryRun) | None => (Verdict::DryRun, why),
            Some(WriteResult::Failed(fault)) => (Verdict::Failed, format!("{why}; but {}", fault_words(fault))),
        };
        Self {
            verdict,
            ..Self::nothing(Some(shard), rule, why)
        }
    }
}

/// A step in words.
pub fn describe(step: &Step<'_>) -> Decision {
    match step {
        Step::Usage {
            snapshot,
            write,
            left_out,
            result,
            ..
        } => usage::describe(snapshot, *write, *left_out, *result),
        Step::UsageUncounted(record) => usage::uncounted(record),
        Step::UsageReservedName { limit } => usage::reserved_name(limit),
        Step::Refill { shard, plan, result } => refill::describe(*shard, plan, *result),
        Step::Doubling {
            shard,
            decision,
            result,
        } => doubling::describe(*shard, decision, *result),
        Step::RiseRefused { rise } => propagation::refused(rise),
        Step::RiseUnread { rise, fault } => propagation::unread(rise, fault),
        Step::Raise { rise, raise, result } => propagation::raise(rise, raise, result),
        Step::NothingCreated { rise, refusal } => propagation::nothing_created(rise, refusal),
        Step::NewShard {
            rise,
            shard,
            plan,
            result,
        } => propagation::new_shard(rise, *shard, plan, *result),
        Step::RepairUnread { rise, fault } => propagation::repair_unread(rise, fault),
        Step::Repair { rise, raise, result } => propagation::repair(rise, raise, result),
        Step::WindowsUnread { plan, fault } => windows::unread(plan, fault),
        Step::Windows { plan, lagging } => windows::read(plan, *lagging),
        Step::Window { write, result } => windows::write(write, result),
        Step::CutShort => Decision::nothing(None, "work", "the time was up before this bucket was done"),
        Step::Panicked => Decision {
            verdict: Verdict::Failed,
            ..Decision::nothing(None, "work", "an internal error ended the work on this bucket")
        },
    }
}

/// Why a record was left out, in words.
pub fn left_out(reason: &SkippedInput) -> String {
    match reason {
        SkippedInput::Unreadable(error) => format!("unreadable: {error}"),
        SkippedInput::Record(SkippedRecord::NotABucket) => "not about a bucket".to_owned(),
        SkippedInput::Record(SkippedRecord::Removed) => "an item was removed".to_owned(),
        SkippedInput::Record(SkippedRecord::NoEntity) => "the bucket names no entity".to_owned(),
        SkippedInput::Record(SkippedRecord::MissingImage) => {
            "the item's old or new image is missing: the stream's view type must be NEW_AND_OLD_IMAGES".to_owned()
        }
        SkippedInput::Record(SkippedRecord::Unreadable(error)) => format!("unreadable: {error}"),
    }
}

/// A failed request, and whether it is worth another try.
pub fn fault_words(fault: &Fault) -> String {
    let prospect = match fault.class {
        FaultClass::Permanent => "and always would",
        FaultClass::Retryable | FaultClass::Conflict => "which may pass",
    };
    format!("{fault}, {prospect}")
}
