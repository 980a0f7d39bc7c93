//! R11 carried out: at most one read of the siblings, then one write for each that lags.

use super::group::GroupRun;
use super::observe::{Observer, Step};
use super::outcome::{Ending, Unfinished};
use crate::plan::windows::WindowPlan;
use crate::table::{Consistency, Table};

impl<T: Table, O: Observer> GroupRun<'_, T, O> {
    /// Propagates the windows that the group's changes opened, and answers what must be delivered again.
    pub(super) async fn propagate_windows(&self, plan: &WindowPlan<'_>) -> Unfinished {
        let read = match self.read_shards(&plan.reads, Consistency::Eventual).await {
            Ok(read) => read,
            Err(fault) => {
                self.observer
                    .step(self.group, &Step::WindowsUnread { plan, fault: &fault });
                return match Ending::of_fault(&fault).is_owed() {
                    true => Unfinished::of_windows(plan),
                    false => Unfinished::Nothing,
                };
            }
        };
        let writes = plan.writes(self.group, &read);
        self.observer.step(
            self.group,
            &Step::Windows {
                plan,
                lagging: writes.len(),
            },
        );
        let mut owed = Unfinished::Nothing;
        for write in &writes {
            let result = self.write(&write.update).await;
            let ending = Ending::of_write(&result);
            owed = owed.earliest(Unfinished::after(ending, write.opening.sequence));
            self.observer.step(self.group, &Step::Window { write, result: &result });
        }
        owed
    }
}
