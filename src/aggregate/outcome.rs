//! What a batch answers: the one lowest sequence number whose work is not complete, or nothing.

use std::cell::RefCell;

use crate::plan::Group;
use crate::record::SequenceNumber;

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

/// Where a group's reportable work stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing is owed.
    Nothing,
    /// Everything from this record on is owed.
    From(SequenceNumber<'static>),
    /// Owed from a record without a sequence number.
    FromUnnumbered,
}

impl Unfinished {
    /// All of a group.
    pub fn of(group: &Group<'_>) -> Self {
        if group.changes.iter().any(|change| change.sequence.is_none()) {
            return Self::FromUnnumbered;
        }
        group
            .lowest_sequence()
            .map_or(Self::Nothing, |sequence| Self::record(Some(sequence)))
    }

    /// One record.
    pub fn record(sequence: Option<&SequenceNumber<'_>>) -> Self {
        sequence.map_or(Self::FromUnnumbered, |sequence| {
            Self::From(sequence.clone().into_owned())
        })
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
