//! Window propagation in words (R11).

use limiter_aggregator::aggregate::WriteResult;
use limiter_aggregator::plan::windows::{Opening, WindowPlan, WindowWrite};
use limiter_aggregator::table::Fault;
use limiter_aggregator::units::ShardCount;

use super::{Decision, write as words};
use crate::instant;
use crate::names::printable;

const RULE: &str = "window copy";

fn opening(opening: &Opening<'_>) -> String {
    format!(
        "{} opened its window of {} on shard {}",
        printable(opening.limit),
        instant::show(opening.start),
        opening.shard
    )
}

fn openings(plan: &WindowPlan<'_>) -> String {
    plan.openings.iter().map(opening).collect::<Vec<_>>().join("; ")
}

pub(super) fn unread(plan: &WindowPlan<'_>, fault: &Fault) -> Decision {
    let why = format!("{}, which is delivered again", openings(plan));
    Decision::failed(None, RULE, fault, why)
}

pub(super) fn read(plan: &WindowPlan<'_>, lagging: usize) -> Decision {
    let opened = openings(plan);
    let why = match (plan.reads.len(), lagging) {
        (0, _) if plan.count == ShardCount::ONE => format!("{opened}, and there is no other shard"),
        (0, _) => format!("{opened}, and the batch shows every other shard at it"),
        (_, 0) => format!("{opened}, and no other shard lags"),
        (_, 1) => format!("{opened}; 1 write follows"),
        (_, lagging) => format!("{opened}; {lagging} writes follow"),
    };
    Decision {
        is_detail: lagging > 0,
        ..Decision::nothing(None, RULE, why)
    }
}

pub(super) fn write(write: &WindowWrite<'_>, result: &WriteResult) -> Decision {
    let why = format!("{}, and this shard had not learned of it", opening(&write.opening));
    Decision {
        changes: words::changes(&write.update.actions),
        conditions: words::conditions(&write.update.conditions),
        ..Decision::write(write.shard, RULE, why, Some(result))
    }
}
