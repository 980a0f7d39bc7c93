//! One step in the words of the log: the rule, the shard, how it ended, and what of it is worth a warning.

use super::warnings::Kind;
use crate::aggregate::{Ending, NewShardResult, Step, WriteResult};
use crate::plan::propagation::CreationRefusal;
use crate::plan::refill::{RefillDecision, RefillSkip};
use crate::plan::usage::{LeftOut, Uncounted, UncountedReason};
use crate::schedule::ScheduleError;
use crate::table::Fault;
use crate::units::ShardId;

/// See the module.
pub(super) struct Decision {
    pub(super) rule: &'static str,
    pub(super) shard: Option<ShardId>,
    pub(super) ending: Ending,
    /// Whether a write was planned.
    pub(super) is_write: bool,
    pub(super) trouble: Option<Trouble>,
}

/// What is worth a warning.
pub(super) struct Trouble {
    pub(super) kind: Kind,
    /// What to name; the bucket where there is nothing better.
    pub(super) example: Option<String>,
    pub(super) detail: String,
}

impl Trouble {
    fn with_bucket(kind: Kind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            kind,
            example: None,
            detail,
        }
    }
}

impl Decision {
    /// What a step comes to.
    pub(super) fn of(step: &Step<'_>) -> Self {
        match step {
            Step::Usage { left_out, result, .. } => Self::usage(*left_out, *result),
            Step::UsageUncounted(record) => Self::uncounted(record),
            Step::UsageReservedName { limit } => Self {
                trouble: Some(Trouble {
                    kind: Kind::ReservedName,
                    example: Some((*limit).to_owned()),
                    detail: "a snapshot has an attribute of that name".to_owned(),
                }),
                ..Self::nothing("usage")
            },
            Step::Refill { shard, plan, result } => {
                let decision = Self::write("refill", *shard, *result);
                match &plan.decision {
                    RefillDecision::Skip(RefillSkip::Undecodable(error)) => decision.undecodable(error),
                    RefillDecision::Write(_) | RefillDecision::Skip(_) => decision,
                }
            }
            Step::Doubling { shard, result, .. } => Self::write("doubling", *shard, *result),
            Step::RiseRefused { rise } => Self {
                trouble: Some(Trouble::with_bucket(
                    Kind::RefusedCount,
                    format!("a count of {}", rise.to),
                )),
                ..Self::nothing("propagation")
            },
            Step::RiseUnread { fault, .. } => Self::nothing("propagation").failed(fault),
            Step::Raise { raise, result, .. } => Self::write("raise", raise.shard, Some(result)),
            Step::NothingCreated { refusal, .. } => match refusal {
                CreationRefusal::Undecodable(error) => Self::nothing("creation").undecodable(error),
                CreationRefusal::ReadFailed
                | CreationRefusal::RaiseFailed
                | CreationRefusal::ShardZeroGone
                | CreationRefusal::CountMovedOn { .. }
                | CreationRefusal::Overtaken { .. }
                | CreationRefusal::SiblingAhead { .. }
                | CreationRefusal::Unreadable
                | CreationRefusal::AmountOutOfRange => Self::nothing("creation"),
            },
            Step::NewShard { shard, result, .. } => Self::creation(*shard, *result),
            Step::RepairUnread { fault, .. } => Self::nothing("repair").failed(fault),
            Step::Repair { raise, result, .. } => Self::write("repair", raise.shard, Some(result)),
            Step::WindowsUnread { fault, .. } => Self::nothing("windows").failed(fault),
            Step::Windows { .. } => Self::nothing("windows"),
            Step::Window { write, result } => Self::write("window", write.shard, Some(result)),
            Step::CutShort => Self {
                ending: Ending::Retryable,
                trouble: Some(Trouble::with_bucket(Kind::CutShort, "")),
                ..Self::nothing("work")
            },
            Step::Panicked => Self {
                ending: Ending::Permanent,
                trouble: Some(Trouble::with_bucket(Kind::Panicked, "")),
                ..Self::nothing("work")
            },
        }
    }

    fn nothing(rule: &'static str) -> Self {
        Self {
            rule,
            shard: None,
            ending: Ending::Skipped,
            is_write: false,
            trouble: None,
        }
    }

    fn write(rule: &'static str, shard: ShardId, result: Option<&WriteResult>) -> Self {
        let decision = Self {
            shard: Some(shard),
            is_write: result.is_some(),
            ending: result.map_or(Ending::Skipped, Ending::of_write),
            ..Self::nothing(rule)
        };
        match result {
            Some(WriteResult::Failed(fault)) => decision.failed(fault),
            None | Some(WriteResult::Applied | WriteResult::LostRace | WriteResult::DryRun) => decision,
        }
    }

    fn creation(shard: ShardId, result: Option<&NewShardResult>) -> Self {
        let decision = Self {
            shard: Some(shard),
            is_write: result.is_some(),
            ending: result.map_or(Ending::Skipped, Ending::of_creation),
            ..Self::nothing("creation")
        };
        match result {
            Some(NewShardResult::Failed(fault)) => decision.failed(fault),
            None | Some(NewShardResult::Applied | NewShardResult::LostRace { .. } | NewShardResult::DryRun) => decision,
        }
    }

    fn usage(left_out: LeftOut, result: Option<&WriteResult>) -> Self {
        let mut decision = Self {
            is_write: result.is_some(),
            ending: result.map_or(Ending::Skipped, Ending::of_write),
            ..Self::nothing("usage")
        };
        match result {
            Some(WriteResult::Failed(fault)) => return decision.failed(fault),
            // Every attempt lost one, so the records wait for the next delivery.
            Some(WriteResult::LostRace) => {
                decision.ending = Ending::Retryable;
                let kind = Kind::Fault {
                    rule: "usage",
                    operation: "UpdateItem",
                    code: "LostRace".to_owned(),
                };
                decision.trouble = Some(Trouble::with_bucket(kind, "is another consumer at work?"));
            }
            None | Some(WriteResult::Applied | WriteResult::DryRun) => {}
        }
        if left_out.beyond > 0 && decision.trouble.is_none() {
            let detail = "they had counted later records than this batch holds";
            decision.trouble = Some(Trouble::with_bucket(Kind::OutOfOrder, detail));
        }
        decision
    }

    fn uncounted(record: &Uncounted<'_>) -> Self {
        let decision = Self {
            shard: Some(record.shard),
            ..Self::nothing("usage")
        };
        let trouble = Trouble {
            kind: Kind::Uncounted(record.reason),
            example: record.event_id.and_then(super::presentable_id),
            detail: String::new(),
        };
        match record.reason {
            // As configured.
            UncountedReason::BeforeTakeover => decision,
            UncountedReason::NoSequence
            | UncountedReason::ShardBeyondLimit
            | UncountedReason::NoInstant
            | UncountedReason::AmountBeyondRange => Self {
                trouble: Some(trouble),
                ..decision
            },
        }
    }

    fn failed(self, fault: &Fault) -> Self {
        let ending = Ending::of_fault(fault);
        let kind = Kind::Fault {
            rule: self.rule,
            operation: fault.operation,
            code: fault.code.clone(),
        };
        let detail = match ending.is_owed() {
            true => "may succeed later",
            false => "will never succeed",
        };
        Self {
            ending,
            trouble: Some(Trouble::with_bucket(kind, detail)),
            ..self
        }
    }

    fn undecodable(self, error: &ScheduleError) -> Self {
        Self {
            trouble: Some(Trouble::with_bucket(Kind::Schedule, error.to_string())),
            ..self
        }
    }
}
