//! Quiet: what is under way ends, everything is delivered, nothing new is used.

use super::World;
use crate::audit::{Verdict, counted, require};
use crate::step::{Delivery, Fate, Step};

/// Batches after which the system must have nothing left to write.
const MOST_BATCHES: u32 = 5_000;

impl World {
    /// Lets the system come to rest, and checks that it did.
    pub fn quiet(&mut self) -> Verdict {
        self.finish()?;
        let mut batches = 0;
        while self.readers[0].checkpoint < self.log.len() {
            self.step(Step::Deliver(0, Delivery::Next(50)))?;
            self.finish()?;
            batches += 1;
            require(batches < MOST_BATCHES, "the system settles", || {
                format!("{} records", self.log.len())
            })?;
        }
        self.coverage.count("settled");
        let complete = !self.lost && !self.denied && !self.scenario.bad_schedules && self.life == 1;
        self.auditor.settled(&self.shards(), self.now, complete)?;
        if self.passed_over || self.denied {
            return Ok(());
        }
        self.coverage.count("usage audited");
        counted(
            self.log.iter().map(|entry| &entry.record),
            self.memory.items().into_values(),
        )
    }

    fn finish(&mut self) -> Verdict {
        while let Some(actor) = self.busy().first().copied() {
            self.step(Step::Call(actor, 0, Fate::Answered))?;
        }
        Ok(())
    }
}
