//! What a run has exercised: every decision of every rule with its reason, and every fault.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use limiter_aggregator::aggregate::{NewShardResult, Observer, SkippedInput, Step, WriteResult};
use limiter_aggregator::plan::Group;
use limiter_aggregator::plan::doubling::{DoublingDecision, DoublingSkip};
use limiter_aggregator::plan::funding::Funding;
use limiter_aggregator::plan::propagation::{CreationRefusal, NewShard, ShardRefusal};
use limiter_aggregator::plan::refill::{Cause, RefillDecision, RefillPlan, RefillSkip};
use limiter_aggregator::record::ReadRecord;

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Coverage(Rc<RefCell<BTreeMap<String, u64>>>);

impl Coverage {
    /// Counts one occurrence.
    pub fn count(&self, name: &str) {
        let mut counts = self.0.borrow_mut();
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                counts.insert(name.to_owned(), 1);
            }
        }
    }

    /// How often something occurred.
    pub fn of(&self, name: &str) -> u64 {
        self.0.borrow().get(name).copied().unwrap_or(0)
    }

    /// Every count, by name.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.0.borrow().clone()
    }

    /// Adds another run's counts.
    pub fn add(&self, counts: &BTreeMap<String, u64>) {
        let mut own = self.0.borrow_mut();
        for (name, count) in counts {
            *own.entry(name.clone()).or_default() += count;
        }
    }

    fn refill(&self, plan: &RefillPlan<'_>, result: Option<&WriteResult>) {
        match &plan.decision {
            RefillDecision::Skip(skip) => self.count(match skip {
                RefillSkip::NothingVisible => "refill skipped: nothing visible",
                RefillSkip::NoRefillInstant => "refill skipped: no rf",
                RefillSkip::Undecodable(_) => "refill skipped: undecodable",
                RefillSkip::WindowEndedUnapplied => "refill skipped: window ended unapplied",
                RefillSkip::AmountOutOfRange => "refill skipped: out of range",
                RefillSkip::NotNeeded => "refill skipped: not needed",
            }),
            RefillDecision::Write(write) => {
                for limit in plan.limits.iter().filter(|limit| limit.is_reason) {
                    let cause = match limit.cause {
                        Cause::Drip if limit.delta.0 < 0 => "clamp",
                        Cause::Drip => "drip",
                        Cause::Reset { .. } => "reset",
                        Cause::Roll { .. } => "roll",
                        Cause::Rest => "rest",
                    };
                    self.count(&format!("{cause} {}", outcome(result)));
                }
                if write.valid_until.is_some() {
                    self.count(&format!("vu moved {}", outcome(result)));
                }
            }
        }
    }

    fn new_shard(&self, plan: Result<&NewShard<'_>, &ShardRefusal>, result: Option<&NewShardResult>) {
        let new = match plan {
            Err(ShardRefusal::ResetPendingOnImage { .. }) => return self.count("creation skipped: reset pending"),
            Ok(new) => new,
        };
        self.count(match result {
            Some(NewShardResult::Applied) => "creation wrote",
            Some(NewShardResult::LostRace { exists: true }) => "creation lost its race: exists",
            Some(NewShardResult::LostRace { exists: false }) => "creation lost its race: donor or owner",
            Some(NewShardResult::Failed(_)) => "creation failed",
            Some(NewShardResult::DryRun) | None => "creation not sent",
        });
        for funding in &new.fundings {
            self.count(match funding.funding {
                Funding::Fresh { .. } => "funding fresh",
                Funding::Move { amount, .. } if amount.0 == 0 => "funding empty move",
                Funding::Move { .. } => "funding move",
            });
        }
    }
}

fn outcome(result: Option<&WriteResult>) -> &'static str {
    match result {
        Some(WriteResult::Applied) => "wrote",
        Some(WriteResult::LostRace) => "lost its race",
        Some(WriteResult::Failed(_)) => "failed",
        Some(WriteResult::DryRun) | None => "not sent",
    }
}

fn refusal(refusal: &CreationRefusal) -> &'static str {
    match refusal {
        CreationRefusal::Undecodable(_) => "creations skipped: undecodable",
        CreationRefusal::ReadFailed => "creations skipped: read failed",
        CreationRefusal::RaiseFailed => "creations skipped: raise failed",
        CreationRefusal::ShardZeroGone => "creations skipped: shard 0 gone",
        CreationRefusal::CountMovedOn { .. } => "creations skipped: count moved on",
        CreationRefusal::Overtaken { .. } => "creations skipped: overtaken",
        CreationRefusal::SiblingAhead { .. } => "creations skipped: sibling ahead",
        CreationRefusal::Unreadable => "creations skipped: unreadable",
        CreationRefusal::AmountOutOfRange => "creations skipped: out of range",
    }
}

impl Observer for Coverage {
    fn batch(&self, _: usize) {
        self.count("batch");
    }

    fn skipped(&self, _: &ReadRecord<'_>, _: &SkippedInput) {
        self.count("record skipped");
    }

    fn step(&self, _: &Group<'_>, step: &Step<'_>) {
        match step {
            Step::Refill { plan, result, .. } => self.refill(plan, *result),
            Step::Doubling { decision, result, .. } => match decision {
                DoublingDecision::Double(_) => self.count(&format!("doubling {}", outcome(*result))),
                DoublingDecision::Skip(skip) => self.count(match skip {
                    DoublingSkip::NotShardZero => "doubling skipped: not shard 0",
                    DoublingSkip::NoWriteBudget => "doubling skipped: no write budget",
                    DoublingSkip::AtMaximum => "doubling skipped: at maximum",
                    DoublingSkip::BudgetLeft { .. } => "doubling skipped: budget left",
                    DoublingSkip::AmountOutOfRange => "doubling skipped: out of range",
                }),
            },
            Step::Raise { raise, result, .. } => {
                let name = if raise.freezes { "raise with freeze" } else { "raise" };
                self.count(&format!("{name} {}", outcome(Some(result))));
            }
            Step::NothingCreated { refusal: reason, .. } => self.count(refusal(reason)),
            Step::NewShard { plan, result, .. } => self.new_shard(*plan, *result),
            Step::Repair { result, .. } => self.count(&format!("repair {}", outcome(Some(result)))),
            Step::RepairUnread { .. } => self.count("repair unread"),
            Step::RiseUnread { .. } => self.count("rise unread"),
            Step::RiseRefused { .. } => self.count("rise refused"),
            Step::WindowsUnread { .. } => self.count("windows unread"),
            Step::Windows { lagging, .. } => self.count(if *lagging == 0 {
                "windows: none lags"
            } else {
                "windows: some lag"
            }),
            Step::Window { result, .. } => self.count(&format!("window {}", outcome(Some(result)))),
            Step::Usage { result: None, .. } => self.count("usage skipped: counted before"),
            Step::Usage { result, .. } => self.count(&format!("usage {}", outcome(*result))),
            Step::UsageUncounted(_) => self.count("usage uncounted"),
            Step::UsageReservedName { .. } => self.count("usage reserved name"),
            Step::CutShort => self.count("cut short"),
            Step::Panicked => self.count("panicked"),
        }
    }
}

/// What a run of [`REFERENCE`] seeds must have exercised at least [`LEAST`] times: what every rule wrote, where it lost its
/// race, each reason for which it was skipped, and every fault.
const REQUIRED: [&str; 85] = [
    "batch reported a record",
    "clamp failed",
    "clamp lost its race",
    "clamp wrote",
    "creation failed",
    "creation lost its race: donor or owner",
    "creation lost its race: exists",
    "creation skipped: reset pending",
    "creation wrote",
    "creations skipped: count moved on",
    "creations skipped: out of range",
    "creations skipped: overtaken",
    "creations skipped: raise failed",
    "creations skipped: read failed",
    "creations skipped: shard 0 gone",
    "creations skipped: sibling ahead",
    "creations skipped: undecodable",
    "creations skipped: unreadable",
    "cut short",
    "doubling failed",
    "doubling lost its race",
    "doubling skipped: at maximum",
    "doubling skipped: budget left",
    "doubling skipped: no write budget",
    "doubling skipped: not shard 0",
    "doubling skipped: out of range",
    "doubling wrote",
    "drip failed",
    "drip lost its race",
    "drip wrote",
    "fault: answer lost",
    "fault: bad schedule",
    "fault: denied",
    "fault: entity deleted",
    "fault: entity made again",
    "fault: lost delivery",
    "fault: no time left",
    "fault: rewound delivery",
    "fault: shard removed",
    "fault: shuffled delivery",
    "fault: stopped",
    "fault: throttled",
    "fault: unusable bucket",
    "funding empty move",
    "funding fresh",
    "funding move",
    "raise failed",
    "raise lost its race",
    "raise with freeze failed",
    "raise with freeze lost its race",
    "raise with freeze wrote",
    "raise wrote",
    "record skipped",
    "refill skipped: no rf",
    "refill skipped: not needed",
    "refill skipped: nothing visible",
    "refill skipped: out of range",
    "refill skipped: undecodable",
    "refill skipped: window ended unapplied",
    "repair failed",
    "repair lost its race",
    "repair unread",
    "repair wrote",
    "reset failed",
    "reset lost its race",
    "reset wrote",
    "rise refused",
    "rise unread",
    "roll failed",
    "roll lost its race",
    "roll wrote",
    "settled",
    "usage audited",
    "usage failed",
    "usage skipped: counted before",
    "usage wrote",
    "vu moved failed",
    "vu moved lost its race",
    "vu moved wrote",
    "window failed",
    "window lost its race",
    "window wrote",
    "windows unread",
    "windows: none lags",
    "windows: some lag",
];
const REFERENCE: u64 = 500;
const LEAST: u64 = 100;

impl Coverage {
    /// The table.
    pub fn print(&self) {
        for (name, count) in self.counts() {
            println!("  {count:9} {name}");
        }
    }

    /// What was exercised too rarely: name, how often, how often it should have been.
    pub fn missing(&self, seeds: u64) -> Vec<(&'static str, u64, u64)> {
        let least = LEAST * seeds / REFERENCE;
        let seen = REQUIRED.iter().map(|name| (*name, self.of(name), least));
        seen.filter(|(_, seen, least)| seen < least).collect()
    }
}
