//! Carries out a group's usage snapshots (R12): one write each, again on what a failed condition shows, and what of
//! it the stream must send once more.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::group::GroupRun;
use super::observe::{Observer, Step, WriteResult};
use super::outcome::Unfinished;
use crate::plan::usage::{Guards, LeftOut, Snapshot, SnapshotPlan, SnapshotWrite, Tally};
use crate::table::{FaultClass, Table, UpdateOutcome};

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
    /// Whether a later delivery may succeed. A permanent fault is counted instead: the same write would fail again.
    fn is_owed(&self) -> bool {
        match &self.result {
            None | Some(WriteResult::Applied | WriteResult::DryRun) => false,
            Some(WriteResult::LostRace) => true,
            Some(WriteResult::Failed(fault)) => fault.class != FaultClass::Permanent,
        }
    }
}

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Writes the snapshots of the group's records and answers what must be delivered again. Meanwhile `unfinished`
    /// says what is owed if the work ends here: the snapshots that failed or are still to come, and `later`, which is
    /// what the rules after this one owe.
    pub(super) async fn count_usage(&self, later: &Unfinished) -> Unfinished {
        let tally = Tally::of(self.group, &self.settings.usage);
        self.show_uncounted(&tally);
        let snapshots = tally.snapshots(self.group.key, &self.settings.usage, self.now);
        let mut failed = Unfinished::Nothing;
        for (snapshot, owed) in snapshots.iter().zip(owed_from_each(&snapshots)) {
            let ahead = owed.earliest(later.clone());
            self.unfinished.replace(failed.clone().earliest(ahead));
            let outcome = self.write_snapshot(snapshot).await;
            if let (true, Some(write)) = (outcome.is_owed(), &outcome.write) {
                failed = failed.earliest(Unfinished::record(Some(write.lowest)));
            }
            self.show(snapshot, &outcome);
        }
        failed
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

    fn show_uncounted(&self, tally: &Tally<'_>) {
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

/// For each snapshot what is owed as long as neither it nor the ones after it are written.
fn owed_from_each(snapshots: &[Snapshot<'_, '_>]) -> Vec<Unfinished> {
    let lowest = snapshots.iter().rev().map(Snapshot::lowest);
    let mut from_each: Vec<Unfinished> = lowest
        .scan(Unfinished::Nothing, |owed, lowest| {
            let this = lowest.map_or(Unfinished::Nothing, |lowest| Unfinished::record(Some(lowest)));
            *owed = owed.clone().earliest(this);
            Some(owed.clone())
        })
        .collect();
    from_each.reverse();
    from_each
}
