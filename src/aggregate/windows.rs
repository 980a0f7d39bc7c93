//! R11 carried out: at most one read of the siblings, then one write for each that lags.

use std::collections::BTreeMap;

use super::group::GroupRun;
use super::observe::{Observer, Step, WriteResult};
use super::outcome::Unfinished;
use crate::plan::ShardState;
use crate::plan::windows::plan_windows;
use crate::table::{Consistency, FaultClass, Table};
use crate::units::ShardId;

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Propagates the windows that the group's changes opened, and answers what must be delivered again.
    pub(super) async fn propagate_windows(&self, states: &BTreeMap<ShardId, ShardState<'_>>) -> Unfinished {
        let Some(plan) = plan_windows(self.group, states, self.now) else {
            return Unfinished::Nothing;
        };
        let read = match self.read_shards(&plan.reads, Consistency::Eventual).await {
            Ok(read) => read,
            Err(fault) => {
                self.observer.step(
                    self.group,
                    &Step::WindowsUnread {
                        plan: &plan,
                        fault: &fault,
                    },
                );
                let owed = plan.openings.iter().map(|opening| Unfinished::record(opening.sequence));
                return owed
                    .filter(|_| fault.class != FaultClass::Permanent)
                    .fold(Unfinished::Nothing, Unfinished::earliest);
            }
        };
        let writes = plan.writes(self.group, &read);
        self.observer.step(
            self.group,
            &Step::Windows {
                plan: &plan,
                lagging: writes.len(),
            },
        );
        let mut owed = Unfinished::Nothing;
        for write in &writes {
            let result = self.write(&write.update).await;
            if let WriteResult::Failed(fault) = &result
                && fault.class != FaultClass::Permanent
            {
                owed = owed.earliest(Unfinished::record(write.opening.sequence));
            }
            self.observer.step(self.group, &Step::Window { write, result: &result });
        }
        owed
    }
}
