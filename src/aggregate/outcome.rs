//! How work can end, and what a batch answers: the one lowest sequence number whose work is not complete, or nothing.

use std::cell::RefCell;

use super::observe::{ArchiveResult, NewShardResult, SkippedInput, WriteResult};
use crate::archive::Day;
use crate::plan::SkippedRecord;
use crate::plan::windows::WindowPlan;
use crate::record::SequenceNumber;
use crate::table::{Fault, FaultClass};

/// The answer to the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Everything that is ever asked for again is done.
    Complete,
    /// The stream rewinds to this record and sends everything from it again.
    RetryFrom(SequenceNumber<'static>),
    /// Work failed whose record carries no sequence number: the whole invocation must fail.
    RetryAll,
}

/// How a piece of work ended, by how bad that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// There was nothing to do, or nothing was to be written.
    Skipped,
    /// The write took effect.
    Applied,
    /// A condition failed: somebody else moved first. No error.
    LostRace,
    /// The record could not be read, and no delivery will make it readable.
    Unreadable,
    /// The request is wrong, or the work panicked: it would in every delivery.
    Permanent,
    /// Everything else. An operator's slip must delay work, not lose it.
    Retryable,
}

impl Ending {
    /// Whether the stream must send the record again, where the work is of a kind that is ever reported. This is the
    /// one place that says so.
    pub fn is_owed(self) -> bool {
        match self {
            Self::Skipped | Self::Applied | Self::LostRace | Self::Unreadable | Self::Permanent => false,
            Self::Retryable => true,
        }
    }

    /// Of a request that failed.
    pub fn of_fault(fault: &Fault) -> Self {
        match fault.class {
            FaultClass::Permanent => Self::Permanent,
            // A conflict that outlasted its own repeats counts as throttling.
            FaultClass::Retryable | FaultClass::Conflict => Self::Retryable,
        }
    }

    /// Of a write.
    pub fn of_write(result: &WriteResult) -> Self {
        match result {
            WriteResult::Applied => Self::Applied,
            WriteResult::LostRace => Self::LostRace,
            WriteResult::DryRun => Self::Skipped,
            WriteResult::Failed(fault) => Self::of_fault(fault),
        }
    }

    /// Of the creation of a shard.
    pub fn of_creation(result: &NewShardResult) -> Self {
        match result {
            NewShardResult::Applied => Self::Applied,
            NewShardResult::LostRace { .. } => Self::LostRace,
            NewShardResult::DryRun => Self::Skipped,
            NewShardResult::Failed(fault) => Self::of_fault(fault),
        }
    }

    /// Of an upload to the archive.
    pub fn of_archive(result: &ArchiveResult) -> Self {
        match result {
            ArchiveResult::Stored => Self::Applied,
            ArchiveResult::DryRun => Self::Skipped,
            ArchiveResult::Panicked => Self::Permanent,
            // Whatever the service says: its refusal is an operator's slip or passes.
            ArchiveResult::Failed(_) | ArchiveResult::CutShort => Self::Retryable,
        }
    }

    /// Of a record that no rule works on.
    pub fn of_skipped(skipped: &SkippedInput) -> Self {
        match skipped {
            SkippedInput::Unreadable(_) | SkippedInput::Record(SkippedRecord::Unreadable(_)) => Self::Unreadable,
            SkippedInput::Record(
                SkippedRecord::NotABucket
                | SkippedRecord::Removed
                | SkippedRecord::NoEntity
                | SkippedRecord::MissingImage,
            ) => Self::Skipped,
        }
    }
}

/// Where a group's reportable work stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing is owed.
    #[default]
    Nothing,
    /// Everything from this record on is owed.
    From(SequenceNumber<'static>),
    /// Owed from a record without a sequence number.
    FromUnnumbered,
}

impl Unfinished {
    /// One record.
    pub fn record(sequence: Option<&SequenceNumber<'_>>) -> Self {
        sequence.map_or(Self::FromUnnumbered, |sequence| {
            Self::From(sequence.clone().into_owned())
        })
    }

    /// What is owed of a record whose reportable work ended so.
    pub fn after(ending: Ending, sequence: Option<&SequenceNumber<'_>>) -> Self {
        match ending.is_owed() {
            true => Self::record(sequence),
            false => Self::Nothing,
        }
    }

    /// The records that opened windows.
    pub fn of_windows(plan: &WindowPlan<'_>) -> Self {
        let openings = plan.openings.iter().map(|opening| Self::record(opening.sequence));
        openings.fold(Self::Nothing, Self::earliest)
    }

    /// The records of a day that is to be archived.
    pub fn of_day(day: &Day<'_>) -> Self {
        day.sequences().map(Self::record).fold(Self::Nothing, Self::earliest)
    }

    /// The earlier of two: nothing is later than everything, an unnumbered record earlier.
    pub fn earliest(self, other: Self) -> Self {
        match (self, other) {
            (Self::FromUnnumbered, _) | (_, Self::FromUnnumbered) => Self::FromUnnumbered,
            (Self::Nothing, owed) | (owed, Self::Nothing) => owed,
            (Self::From(left), Self::From(right)) => Self::From(left.min(right)),
        }
    }
}

/// Failures of all groups.
#[derive(Debug, Default)]
pub struct Failures(RefCell<Option<BatchOutcome>>);

impl Failures {
    /// Adds what a group still owes.
    pub fn add(&self, unfinished: Unfinished) {
        let mut lowest = self.0.borrow_mut();
        match (unfinished, &mut *lowest) {
            (Unfinished::Nothing, _) | (_, Some(BatchOutcome::RetryAll)) => {}
            (Unfinished::FromUnnumbered, slot) => *slot = Some(BatchOutcome::RetryAll),
            (Unfinished::From(sequence), Some(BatchOutcome::RetryFrom(known))) if *known <= sequence => {}
            (Unfinished::From(sequence), slot) => *slot = Some(BatchOutcome::RetryFrom(sequence)),
        }
    }

    /// The batch's answer.
    pub fn into_outcome(self) -> BatchOutcome {
        self.0.into_inner().unwrap_or(BatchOutcome::Complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn sequence(text: &'static str) -> SequenceNumber<'static> {
        SequenceNumber::parse(Cow::Borrowed(text)).unwrap()
    }

    #[test]
    fn the_lowest_number_is_answered_whatever_the_order() {
        let (low, high) = (sequence("999"), sequence("1000"));
        for order in [[&low, &high], [&high, &low]] {
            let failures = Failures::default();
            failures.add(Unfinished::Nothing);
            for sequence in order {
                failures.add(Unfinished::record(Some(sequence)));
            }
            assert_eq!(failures.into_outcome(), BatchOutcome::RetryFrom(low.clone()));
        }
    }

    #[test]
    fn an_unnumbered_failure_fails_the_invocation() {
        let (one, failures) = (sequence("1"), Failures::default());
        failures.add(Unfinished::record(Some(&one)));
        failures.add(Unfinished::FromUnnumbered);
        failures.add(Unfinished::record(Some(&one)));
        assert_eq!(failures.into_outcome(), BatchOutcome::RetryAll);
    }

    #[test]
    fn no_failure_is_a_complete_batch() {
        assert_eq!(Failures::default().into_outcome(), BatchOutcome::Complete);
    }
}
