//! The work on one (entity, resource): usage, then refill of each shard seen, then proactive doubling, in the order of
//! 02-rules.

use std::cell::Cell;

use super::budget::Budget;
use super::observe::{Observer, Step, WriteResult};
use super::outcome::Unfinished;
use super::usage::WarnedNames;
use crate::config::Settings;
use crate::plan::doubling::{DoublingDecision, plan_doubling};
use crate::plan::refill::{RefillDecision, plan_refill};
use crate::plan::{Group, ShardState};
use crate::table::Table;
use crate::units::EpochMillis;
use crate::write::Update;

/// Everything that the work on one group needs.
pub(super) struct GroupRun<'r, 'i, T, O> {
    pub table: &'r T,
    pub settings: &'r Settings,
    pub group: &'r Group<'i>,
    pub now: EpochMillis,
    pub budget: &'r Budget,
    pub observer: &'r O,
    /// What the batch has warned about.
    pub warned_names: &'r WarnedNames,
    /// What must be asked for again if the work ends here.
    pub unfinished: &'r Cell<Unfinished<'i>>,
}

impl<T: Table, O: Observer> GroupRun<'_, '_, T, O> {
    pub(super) async fn run(&self) {
        // What the rules after usage owe as long as they have not run. A refill or doubling that fails is dropped: drip
        // accrues from the unmoved `rf`, and resets and rolls are derived again from the next record. A redelivery
        // would only bring staler images.
        let later = Unfinished::Nothing;
        self.unfinished.set(later);
        if self.settings.enable_usage {
            self.count_usage(later).await;
        }
        let states = self.group.shard_states();
        if self.settings.enable_refill {
            for state in states.values() {
                self.refill(state).await;
            }
            for state in states.values() {
                self.double(state).await;
            }
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

    async fn write(&self, update: &Update) -> WriteResult {
        if self.settings.dry_run {
            return WriteResult::DryRun;
        }
        self.table.update(update).await.into()
    }
}
