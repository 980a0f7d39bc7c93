//! The work on one (entity, resource), in the order of 02-rules: usage, refill of each shard seen, proactive doubling,
//! propagation of the shard count, propagation of windows.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::observe::{Observer, Step, WriteResult};
use super::outcome::Unfinished;
use super::usage::WarnedNames;
use crate::config::Settings;
use crate::plan::doubling::{DoublingDecision, plan_doubling};
use crate::plan::propagation::Rise;
use crate::plan::refill::{RefillDecision, plan_refill};
use crate::plan::windows::plan_windows;
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
    pub observer: &'r O,
    /// What the batch has warned about.
    pub warned_names: &'r WarnedNames,
    /// What must be asked for again if the work ends here.
    pub unfinished: &'r RefCell<Unfinished>,
}

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    pub(super) async fn run(&self) {
        let states = self.group.shard_states();
        let later = self.propagation_owes(&states);
        let mut owed = Unfinished::Nothing;
        if self.settings.enable_usage {
            owed = self.count_usage(&later).await;
        }
        self.unfinished.replace(owed.clone().earliest(later));
        // A refill or doubling that fails is dropped: drip accrues from the unmoved `rf`, and resets and rolls are
        // derived again from the next record. A redelivery would only bring staler images.
        if self.settings.enable_refill {
            for state in states.values() {
                self.refill(state).await;
            }
            for state in states.values() {
                self.double(state).await;
            }
        }
        if self.settings.enable_propagation {
            for change in &self.group.changes {
                if !self.propagate(change).await {
                    owed = owed.earliest(Unfinished::record(change.sequence));
                }
            }
            owed = owed.earliest(self.propagate_windows(&states).await);
        }
        self.unfinished.replace(owed);
    }

    /// What propagation owes as long as it has not run: the records that it would work on.
    fn propagation_owes(&self, states: &BTreeMap<ShardId, ShardState<'_>>) -> Unfinished {
        if !self.settings.enable_propagation {
            return Unfinished::Nothing;
        }
        let rises = self.group.changes.iter().filter(|change| Rise::of(change).is_some());
        let windows = plan_windows(self.group, states, self.now);
        let openings = windows.iter().flat_map(|plan| &plan.openings);
        rises
            .map(|change| change.sequence)
            .chain(openings.map(|opening| opening.sequence))
            .map(Unfinished::record)
            .fold(Unfinished::Nothing, Unfinished::earliest)
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
