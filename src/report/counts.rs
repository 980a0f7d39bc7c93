//! The numbers of one batch: one list of them, for the summary in the log and for the metrics alike.

use std::collections::BTreeMap;
use std::fmt;

use super::decision::Decision;
use crate::aggregate::{ArchiveResult, Ending, NewShardResult, SkippedInput, Step, WriteResult};
use crate::plan::SkippedRecord;
use crate::plan::doubling::{DoublingDecision, DoublingSkip};
use crate::plan::propagation::CreationRefusal;
use crate::plan::refill::{Cause, RefillDecision, RefillPlan, RefillSkip};

/// Why nothing was written, and how often, as `reason=count`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skips(BTreeMap<&'static str, u64>);

impl Skips {
    /// Of all reasons together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// By reason, in alphabetical order.
    pub fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}

impl fmt::Display for Skips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (reason, count)) in self.by_reason().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{reason}={count}")?;
        }
        Ok(())
    }
}

/// What a batch came to. In a dry run: what it would have come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records in the event.
    pub records: u64,
    /// Different (namespace, entity, resource) among them.
    pub groups: u64,
    /// Refill writes, whatever they were for (R6).
    pub refills: u64,
    /// Limits that such writes reset (R3).
    pub resets: u64,
    /// Limits that such writes rolled (R4).
    pub rolls: u64,
    /// Shard counts doubled (R7).
    pub doublings: u64,
    /// Shards that learned of a higher count (R8).
    pub shards_raised: u64,
    /// Shards created (R8).
    pub shards_created: u64,
    /// Window starts written to siblings (R11).
    pub windows_propagated: u64,
    /// Usage snapshots written (R12).
    pub snapshots: u64,
    /// Expired audit records stored in the archive, repeats included.
    pub archived: u64,
    /// Records left out of snapshots that had counted them, as after a redelivery.
    pub left_out_repeats: u64,
    /// Records left out of snapshots that had counted later records than the batch holds.
    pub left_out_out_of_order: u64,
    /// Records whose consumption no snapshot can count.
    pub uncounted: u64,
    /// Everything that was looked at and needed nothing.
    pub skipped: Skips,
    /// Writes that somebody else was quicker than.
    pub lost_races: u64,
    /// Records without the images that the rules need, or of another view type.
    pub missing_images: u64,
    /// Rises above the highest shard count.
    pub refused_counts: u64,
    /// Records that could not be read.
    pub unreadable: u64,
    /// Requests that can never succeed, and panics.
    pub permanent: u64,
    /// Requests that failed and may succeed later, and groups and uploads that were cut short.
    pub retryable: u64,
    /// Groups and uploads that were not done in time.
    pub cut_short: u64,
    /// Groups and uploads whose work panicked.
    pub panics: u64,
    /// Writes sent, or in a dry run to be sent.
    pub(super) written: u64,
}

impl Counts {
    /// Every count with its name as a metric. Zeros too: an alarm on a sum needs them.
    pub fn metrics(&self) -> [(&'static str, u64); 23] {
        [
            ("Records", self.records),
            ("Groups", self.groups),
            ("Refills", self.refills),
            ("Resets", self.resets),
            ("Rolls", self.rolls),
            ("Doublings", self.doublings),
            ("ShardsRaised", self.shards_raised),
            ("ShardsCreated", self.shards_created),
            ("WindowsPropagated", self.windows_propagated),
            ("Snapshots", self.snapshots),
            ("AuditRecordsArchived", self.archived),
            ("LeftOutRepeats", self.left_out_repeats),
            ("LeftOutOutOfOrder", self.left_out_out_of_order),
            ("UsageUncounted", self.uncounted),
            ("Skipped", self.skipped.total()),
            ("LostRaces", self.lost_races),
            ("MissingImages", self.missing_images),
            ("RefusedCounts", self.refused_counts),
            ("UnreadableRecords", self.unreadable),
            ("PermanentFailures", self.permanent),
            ("RetryableFailures", self.retryable),
            ("CutShort", self.cut_short),
            ("Panics", self.panics),
        ]
    }

    pub(super) fn add_skipped(&mut self, skipped: &SkippedInput) {
        if Ending::of_skipped(skipped) == Ending::Unreadable {
            self.unreadable += 1;
            return;
        }
        if let SkippedInput::Record(reason) = skipped {
            let reason = match reason {
                SkippedRecord::NotABucket => "not_a_bucket",
                SkippedRecord::Removed => "removed",
                SkippedRecord::NoEntity => "no_entity",
                SkippedRecord::MissingImage => "missing_image",
                SkippedRecord::Unreadable(_) => "unreadable",
            };
            self.skip(reason);
        }
    }

    pub(super) fn add_archive(&mut self, records: u64, result: &ArchiveResult) {
        self.add_ending(Ending::of_archive(result));
        match result {
            ArchiveResult::Stored | ArchiveResult::DryRun => self.archived += records,
            ArchiveResult::Failed(_) => {}
            ArchiveResult::CutShort => self.cut_short += 1,
            ArchiveResult::Panicked => self.panics += 1,
        }
    }

    pub(super) fn add_step(&mut self, step: &Step<'_>, decision: &Decision) {
        self.add_ending(decision.ending);
        self.written += u64::from(decision.is_write);
        match step {
            Step::Usage { left_out, result, .. } => {
                self.snapshots += one_if_done(*result);
                self.left_out_repeats += super::number(left_out.repeats);
                self.left_out_out_of_order += super::number(left_out.beyond);
            }
            Step::UsageUncounted(_) => self.uncounted += 1,
            Step::UsageReservedName { .. } => self.skip("reserved_name"),
            Step::Refill { plan, result, .. } => self.add_refill(plan, *result),
            Step::Doubling { decision, result, .. } => match decision {
                DoublingDecision::Double(_) => self.doublings += one_if_done(*result),
                DoublingDecision::Skip(reason) => self.skip(doubling_word(*reason)),
            },
            Step::RiseRefused { .. } => self.refused_counts += 1,
            Step::NothingCreated { refusal, .. } => self.skip(creation_word(refusal)),
            Step::Raise { result, .. } | Step::Repair { result, .. } => {
                self.shards_raised += one_if_done(Some(result));
            }
            Step::NewShard { plan, result, .. } => match plan {
                Ok(_) => self.shards_created += one_if_created(*result),
                Err(_) => self.skip("creation_reset_pending"),
            },
            Step::Window { result, .. } => self.windows_propagated += one_if_done(Some(result)),
            Step::RiseUnread { .. } | Step::RepairUnread { .. } | Step::WindowsUnread { .. } => {}
            Step::Windows { lagging, .. } => {
                if *lagging == 0 {
                    self.skip("windows_known");
                }
            }
            Step::CutShort => self.cut_short += 1,
            Step::Panicked => self.panics += 1,
        }
    }

    fn add_ending(&mut self, ending: Ending) {
        match ending {
            Ending::Skipped | Ending::Applied | Ending::Unreadable => {}
            Ending::LostRace => self.lost_races += 1,
            Ending::Permanent => self.permanent += 1,
            Ending::Retryable => self.retryable += 1,
        }
    }

    fn add_refill(&mut self, plan: &RefillPlan<'_>, result: Option<&WriteResult>) {
        match &plan.decision {
            RefillDecision::Skip(reason) => self.skip(refill_word(reason)),
            RefillDecision::Write(_) => {
                let done = one_if_done(result);
                self.refills += done;
                for limit in &plan.limits {
                    match limit.cause {
                        Cause::Reset { .. } => self.resets += done,
                        Cause::Roll { .. } => self.rolls += done,
                        Cause::Drip | Cause::Rest => {}
                    }
                }
            }
        }
    }

    fn skip(&mut self, reason: &'static str) {
        *self.skipped.0.entry(reason).or_default() += 1;
    }
}

/// A dry run counts what it would have done.
fn one_if_done(result: Option<&WriteResult>) -> u64 {
    match result {
        Some(WriteResult::Applied | WriteResult::DryRun) => 1,
        None | Some(WriteResult::LostRace | WriteResult::Failed(_)) => 0,
    }
}

fn one_if_created(result: Option<&NewShardResult>) -> u64 {
    match result {
        Some(NewShardResult::Applied | NewShardResult::DryRun) => 1,
        None | Some(NewShardResult::LostRace { .. } | NewShardResult::Failed(_)) => 0,
    }
}

fn refill_word(reason: &RefillSkip) -> &'static str {
    match reason {
        RefillSkip::NothingVisible => "refill_nothing_visible",
        RefillSkip::NoRefillInstant => "refill_no_rf",
        RefillSkip::Undecodable(_) => "refill_undecodable",
        RefillSkip::WindowEndedUnapplied => "refill_window_ended",
        RefillSkip::AmountOutOfRange => "refill_out_of_range",
        RefillSkip::NotNeeded => "refill_not_needed",
    }
}

fn doubling_word(reason: DoublingSkip) -> &'static str {
    match reason {
        DoublingSkip::NotShardZero => "doubling_not_shard_zero",
        DoublingSkip::NoWriteBudget => "doubling_no_wcu",
        DoublingSkip::AtMaximum => "doubling_at_maximum",
        DoublingSkip::BudgetLeft { .. } => "doubling_not_needed",
        DoublingSkip::AmountOutOfRange => "doubling_out_of_range",
    }
}

fn creation_word(refusal: &CreationRefusal) -> &'static str {
    match refusal {
        CreationRefusal::Undecodable(_) => "creation_undecodable",
        CreationRefusal::ReadFailed => "creation_unread",
        CreationRefusal::RaiseFailed => "creation_raise_failed",
        CreationRefusal::ShardZeroGone => "creation_shard_zero_gone",
        CreationRefusal::CountMovedOn { .. } => "creation_count_moved_on",
        CreationRefusal::Overtaken { .. } => "creation_overtaken",
        CreationRefusal::SiblingAhead { .. } => "creation_sibling_ahead",
        CreationRefusal::Unreadable => "creation_unreadable",
        CreationRefusal::AmountOutOfRange => "creation_out_of_range",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_said_in_one_order() {
        let mut counts = Counts::default();
        for reason in [
            SkippedRecord::Removed,
            SkippedRecord::NotABucket,
            SkippedRecord::NotABucket,
        ] {
            counts.add_skipped(&SkippedInput::Record(reason));
        }
        assert_eq!(counts.skipped.to_string(), "not_a_bucket=2 removed=1");
        assert_eq!(counts.skipped.total(), 3);
    }
}
