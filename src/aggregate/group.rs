//! The work on one (entity, resource), in the order of 02-rules: usage, refill of each shard seen, proactive doubling,
//! propagation of the shard count, propagation of windows.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::ledger::{Debt, Ledger};
use super::observe::{Observer, Step, WriteResult};
use super::outcome::Unfinished;
use super::usage::{WarnedNames, owed_for};
use crate::config::Settings;
use crate::plan::doubling::{DoublingDecision, plan_doubling};
use crate::plan::propagation::Rise;
use crate::plan::refill::{RefillDecision, plan_refill};
use crate::plan::usage::{Snapshot, Tally};
use crate::plan::windows::{WindowPlan, plan_windows};
use crate::plan::{Group, ShardState};
use crate::table::Table;
use crate::units::{EpochMillis, ShardId};
use crate::write::Update;

/// Everything that the work on one group needs.
pub(super) struct GroupRun<'r, T, O> {
    pub table: &'r T,
    pub settings: &'r Settings,
    pub group: &'r Group<'r>,
    pub now: EpochMillis,
    pub budget: &'r Budget,
    pub observer: &'r O,
    /// What the batch has warned about.
    pub warned_names: &'r WarnedNames,
    /// What must be asked for again if the work ends here.
    pub ledger: &'r Ledger,
}

/// What a group's reportable rules have before them.
struct Work<'w> {
    states: &'w BTreeMap<ShardId, ShardState<'w>>,
    tally: &'w Tally<'w>,
    snapshots: &'w [Snapshot<'w, 'w>],
    rises: &'w [(usize, Rise)],
    windows: Option<&'w WindowPlan<'w>>,
}

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Plans what may be owed, then works until done or until the budget is spent. `false` in the latter case.
    pub(super) async fn run(&self) -> bool {
        let states = self.group.shard_states();
        let tally = match self.settings.enable_usage {
            true => Tally::of(self.group, &self.settings.usage),
            false => Tally::default(),
        };
        let snapshots = tally.snapshots(self.group.key, &self.settings.usage, self.now);
        let (rises, windows) = match self.settings.enable_propagation {
            true => (self.rises(), plan_windows(self.group, &states, self.now)),
            false => (Vec::new(), None),
        };
        let work = Work {
            states: &states,
            tally: &tally,
            snapshots: &snapshots,
            rises: &rises,
            windows: windows.as_ref(),
        };
        self.enter(&work);
        self.budget.limit(self.rules(&work)).await.is_some()
    }

    /// The group's rises that are propagated, with the places of their changes. What is refused owes nothing.
    fn rises(&self) -> Vec<(usize, Rise)> {
        let changes = self.group.changes.iter().enumerate();
        changes
            .filter_map(|(place, change)| Some((place, Rise::of(change)?)))
            .collect()
    }

    fn enter(&self, work: &Work<'_>) {
        for (place, snapshot) in work.snapshots.iter().enumerate() {
            self.ledger.enter(Debt::Snapshot(place), owed_for(snapshot));
        }
        for (place, rise) in work.rises {
            if !rise.is_above_maximum() {
                let owed = Unfinished::record(self.group.changes[*place].sequence);
                self.ledger.enter(Debt::Rise(*place), owed);
            }
        }
        if let Some(plan) = work.windows {
            self.ledger.enter(Debt::Windows, Unfinished::of_windows(plan));
        }
    }

    async fn rules(&self, work: &Work<'_>) {
        self.show_uncounted(work.tally);
        for (place, snapshot) in work.snapshots.iter().enumerate() {
            let failed = self.count_usage(snapshot).await;
            self.ledger.settle(Debt::Snapshot(place), failed);
        }
        // A refill or doubling that fails is dropped: drip accrues from the unmoved `rf`, and resets and rolls are
        // derived again from the next record. A redelivery would only bring staler images.
        if self.settings.enable_refill {
            for state in work.states.values() {
                self.refill(state).await;
            }
            for state in work.states.values() {
                self.double(state).await;
            }
        }
        for (place, rise) in work.rises {
            self.propagate(*place, *rise).await;
        }
        if let Some(plan) = work.windows {
            let failed = self.propagate_windows(plan).await;
            self.ledger.settle(Debt::Windows, failed);
        }
    }

    async fn refill(&self, state: &ShardState<'_>) {
        let plan = plan_refill(state, self.now);
        let result = match &plan.decision {
            RefillDecision::Write(write) => Some(self.write(&write.update).await),
            RefillDecision::Skip(_) => None,
        };
        let step = Step::Refill {
            shard: state.key.shard,
            plan: &plan,
            result: result.as_ref(),
        };
        self.observer.step(self.group, &step);
    }

    async fn double(&self, state: &ShardState<'_>) {
        let decision = plan_doubling(state, self.now);
        let result = match &decision {
            DoublingDecision::Double(doubling) => Some(self.write(&doubling.update).await),
            DoublingDecision::Skip(_) => None,
        };
        let step = Step::Doubling {
            shard: state.key.shard,
            decision: &decision,
            result: result.as_ref(),
        };
        self.observer.step(self.group, &step);
    }

    pub(super) async fn write(&self, update: &Update) -> WriteResult {
        if self.settings.dry_run {
            return WriteResult::DryRun;
        }
        self.table.update(update).await.into()
    }
}
