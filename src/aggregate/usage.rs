//! Carries out a group's usage snapshots (R12): one write each, again on what a failed condition shows, and what of
//! it the stream must send once more.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::group::GroupRun;
use super::observe::{Observer, Step, WriteResult};
use super::outcome::{Ending, Unfinished};
use crate::plan::usage::{Guards, LeftOut, Snapshot, SnapshotPlan, SnapshotWrite, Tally};
use crate::table::{Table, UpdateOutcome};

/// Writes of one snapshot in one batch, at most. With one consumer the second succeeds: only a second consumer, or an
/// item that expires between two writes, makes more of them.
const MAX_ATTEMPTS: u32 = 5;

/// Names of limits that a batch has already been warned about: every group of a stack has the same limits.
#[derive(Debug, Default)]
pub(super) struct WarnedNames(RefCell<BTreeSet<String>>);

impl WarnedNames {
    /// Whether this name comes up for the first time in the batch.
    fn is_first(&self, name: &str) -> bool {
        self.0.borrow_mut().insert(name.to_owned())
    }
}

/// What came of one snapshot.
struct Outcome<'i> {
    /// The last write that was planned; `None` where everything was counted before.
    write: Option<SnapshotWrite<'i>>,
    left_out: LeftOut,
    calls: u32,
    result: Option<WriteResult>,
}

impl Outcome<'_> {
    fn ending(&self) -> Ending {
        match &self.result {
            None => Ending::Skipped,
            // Every attempt lost one: the records are not counted yet, unlike where somebody else's write stands for
            // one's own.
            Some(WriteResult::LostRace) => Ending::Retryable,
            Some(result) => Ending::of_write(result),
        }
    }
}

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Writes one snapshot and answers what must be delivered again.
    pub(super) async fn count_usage(&self, snapshot: &Snapshot<'_, '_>) -> Unfinished {
        let outcome = self.write_snapshot(snapshot).await;
        self.show(snapshot, &outcome);
        match &outcome.write {
            Some(write) => Unfinished::after(outcome.ending(), Some(write.lowest)),
            None => Unfinished::Nothing,
        }
    }

    async fn write_snapshot<'i>(&self, snapshot: &Snapshot<'_, 'i>) -> Outcome<'i> {
        let mut guards = Guards::default();
        let mut calls = 0;
        loop {
            let SnapshotPlan { write, left_out } = snapshot.plan(&guards);
            let result = match &write {
                None => None,
                Some(_) if self.settings.dry_run => Some(WriteResult::DryRun),
                Some(_) if calls == MAX_ATTEMPTS => Some(WriteResult::LostRace),
                Some(write) => {
                    calls += 1;
                    match self.table.update(&write.update).await {
                        Ok(UpdateOutcome::LostRace { found }) => {
                            guards.learn(found.as_ref(), snapshot.shards());
                            continue;
                        }
                        answer => Some(answer.into()),
                    }
                }
            };
            return Outcome {
                write,
                left_out,
                calls,
                result,
            };
        }
    }

    fn show(&self, snapshot: &Snapshot<'_, '_>, outcome: &Outcome<'_>) {
        let step = Step::Usage {
            snapshot,
            write: outcome.write.as_ref(),
            left_out: outcome.left_out,
            calls: outcome.calls,
            result: outcome.result.as_ref(),
        };
        self.observer.step(self.group, &step);
    }

    /// Says what no snapshot counts, and why.
    pub(super) fn show_uncounted(&self, tally: &Tally<'_>) {
        for record in &tally.uncounted {
            self.observer.step(self.group, &Step::UsageUncounted(record));
        }
        for limit in &tally.reserved {
            if self.warned_names.is_first(limit) {
                self.observer.step(self.group, &Step::UsageReservedName { limit });
            }
        }
    }
}

/// What is owed as long as a snapshot is not written.
pub(super) fn owed_for(snapshot: &Snapshot<'_, '_>) -> Unfinished {
    let lowest = snapshot.lowest();
    lowest.map_or(Unfinished::Nothing, |lowest| Unfinished::record(Some(lowest)))
}
