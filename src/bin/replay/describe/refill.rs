//! Refills in words (R2 to R6).

use limiter_aggregator::aggregate::WriteResult;
use limiter_aggregator::plan::recovery::Recovery;
use limiter_aggregator::plan::refill::{Cause, LimitPlan, RefillDecision, RefillPlan, RefillSkip};
use limiter_aggregator::units::{Millitokens, ShardId};

use super::{Decision, LimitLine, write};
use crate::instant;
use crate::names::printable;

const RULE: &str = "refill";

pub(super) fn describe(shard: ShardId, plan: &RefillPlan<'_>, result: Option<&WriteResult>) -> Decision {
    let writes = matches!(plan.decision, RefillDecision::Write(_));
    let limits: Vec<LimitLine> = plan.limits.iter().map(|limit| line(limit, writes)).collect();
    let decision = match &plan.decision {
        RefillDecision::Write(refill) => {
            let reasons = limits.iter().filter(|limit| limit.is_reason);
            let names: Vec<&str> = reasons.map(|limit| limit.limit.as_str()).collect();
            let why = format!("{} called for it", names.join(" and "));
            Decision {
                changes: write::changes(&refill.update.actions),
                conditions: write::conditions(&refill.update.conditions),
                ..Decision::write(shard, RULE, why, result)
            }
        }
        RefillDecision::Skip(skip) => Decision::nothing(Some(shard), RULE, skip_words(skip, &limits)),
    };
    Decision { limits, ..decision }
}

fn skip_words(skip: &RefillSkip, limits: &[LimitLine]) -> String {
    match skip {
        RefillSkip::NothingVisible => "no limit was there before this batch".to_owned(),
        RefillSkip::NoRefillInstant => "left alone: the shard holds no last refill (rf)".to_owned(),
        RefillSkip::Undecodable(error) => format!("left alone: {error}"),
        RefillSkip::WindowEndedUnapplied => {
            "left alone: a window ended before this shard applied it, and the client that opens the next one decides"
                .to_owned()
        }
        RefillSkip::AmountOutOfRange => "left alone: an amount is out of range".to_owned(),
        RefillSkip::NotNeeded if limits.is_empty() => "no limit could be read".to_owned(),
        RefillSkip::NotNeeded => {
            let each = limits.iter().map(|limit| format!("{} {}", limit.limit, limit.why));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

fn line(plan: &LimitPlan<'_>, writes: bool) -> LimitLine {
    let before = plan.numbers.balance;
    let after = before.checked_add(plan.delta).unwrap_or(before);
    LimitLine {
        limit: printable(plan.limit.name),
        kind: match plan.recovery {
            Recovery::Drip => "drips",
            Recovery::Calendar => "calendar quota",
            Recovery::Session => "session quota",
            Recovery::Never => "never refilled",
        },
        before,
        after,
        ceiling: plan.ceiling,
        consumed: plan.consumed,
        is_reason: plan.is_reason,
        why: why(plan, after, writes),
    }
}

/// Reads on from the limit's name.
fn why(plan: &LimitPlan<'_>, after: Millitokens, writes: bool) -> String {
    let unmoved = plan.delta == Millitokens::ZERO;
    match plan.cause {
        Cause::Drip if unmoved && plan.numbers.balance >= plan.ceiling => "is full".to_owned(),
        Cause::Drip if unmoved => "has gained nothing yet".to_owned(),
        Cause::Drip if plan.delta < Millitokens::ZERO => "was above its ceiling and is clamped".to_owned(),
        Cause::Drip if plan.is_reason => {
            format!("would not last another such batch, which used {}", plan.consumed)
        }
        Cause::Drip if writes => "is credited along, because the last refill moves".to_owned(),
        Cause::Drip => format!(
            "can wait: with its drip {after} are left, and the batch used {}",
            plan.consumed
        ),
        Cause::Reset { edge } if unmoved => format!("was due at {}, and is whole already", instant::show(edge)),
        Cause::Reset { edge } => format!("was due for its reset at {}", instant::show(edge)),
        Cause::Roll { start } if unmoved => {
            format!("enters the window of {}, and is whole already", instant::show(start))
        }
        Cause::Roll { start } => {
            let spent = match plan.ceiling.checked_sub(after) {
                Some(spent) if spent > Millitokens::ZERO => format!(", less the {spent} used in it"),
                _ => String::new(),
            };
            format!("enters the window of {}{spent}", instant::show(start))
        }
        Cause::Rest => match (plan.recovery, plan.window_start()) {
            (Recovery::Session, Some(start)) => format!("stays in its window of {}", instant::show(start)),
            (Recovery::Session, None) => "has no window open yet".to_owned(),
            (Recovery::Calendar, _) => "waits for its next reset".to_owned(),
            (Recovery::Drip | Recovery::Never, _) => "has neither refill nor reset".to_owned(),
        },
    }
}
