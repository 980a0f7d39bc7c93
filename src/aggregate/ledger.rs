//! What one group owes the stream, at every moment of its work.
//!
//! Everything that is ever reported is entered before the group's first call and struck out when it is done. What
//! must stay true: wherever the work ends, what is left names the lowest record whose reportable work is not
//! complete, and no lower one, so that a deadline costs as little repetition as possible (03-delivery). A refill or
//! doubling is never entered.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::outcome::Unfinished;

/// One piece of reportable work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Debt {
    /// A usage snapshot (R12), by its place among the group's.
    Snapshot(usize),
    /// The reads and raises of one rise (R8), by the place of its change in the group.
    Rise(usize),
    /// The windows that the group opened (R11).
    Windows,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ledger(RefCell<Entries>);

#[derive(Debug, Default)]
struct Entries {
    ahead: BTreeMap<Debt, Unfinished>,
    failed: Unfinished,
}

impl Ledger {
    /// Enters work, and what is owed as long as it is not done.
    pub(super) fn enter(&self, debt: Debt, owed: Unfinished) {
        self.0.borrow_mut().ahead.insert(debt, owed);
    }

    /// Strikes work out, except for what of it failed in a way that a later delivery may mend.
    pub(super) fn settle(&self, debt: Debt, failed: Unfinished) {
        let mut entries = self.0.borrow_mut();
        entries.ahead.remove(&debt);
        entries.failed = std::mem::take(&mut entries.failed).earliest(failed);
    }

    /// What is owed where the work ended or was cut short.
    pub(super) fn owed(self) -> Unfinished {
        let Entries { ahead, failed } = self.0.into_inner();
        ahead.into_values().fold(failed, Unfinished::earliest)
    }

    /// What is owed after a panic: it would happen again in every delivery, so what it kept from being done is
    /// skipped, and only what failed before it is asked for again.
    pub(super) fn owed_despite_panic(self) -> Unfinished {
        self.0.into_inner().failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SequenceNumber;
    use std::borrow::Cow;

    fn from(digits: &'static str) -> Unfinished {
        Unfinished::record(SequenceNumber::parse(Cow::Borrowed(digits)).as_ref())
    }

    fn entered() -> Ledger {
        let ledger = Ledger::default();
        ledger.enter(Debt::Snapshot(0), from("10"));
        ledger.enter(Debt::Snapshot(1), from("12"));
        ledger.enter(Debt::Rise(3), from("13"));
        ledger
    }

    #[test]
    fn a_cut_owes_what_is_not_done_and_nothing_else() {
        assert_eq!(entered().owed(), from("10"));
        let ledger = entered();
        ledger.settle(Debt::Snapshot(0), Unfinished::Nothing);
        assert_eq!(ledger.owed(), from("12"));
        let ledger = entered();
        for debt in [Debt::Snapshot(0), Debt::Snapshot(1), Debt::Rise(3)] {
            ledger.settle(debt, Unfinished::Nothing);
        }
        assert_eq!(ledger.owed(), Unfinished::Nothing);
    }

    #[test]
    fn what_failed_stays_owed_even_after_a_panic() {
        let failing = || {
            let ledger = entered();
            ledger.settle(Debt::Snapshot(0), from("11"));
            ledger
        };
        assert_eq!(failing().owed(), from("11"));
        assert_eq!(failing().owed_despite_panic(), from("11"));
        assert_eq!(entered().owed_despite_panic(), Unfinished::Nothing);
    }
}
