//! Proactive doublings in words (R7).

use limiter_aggregator::aggregate::WriteResult;
use limiter_aggregator::plan::doubling::{DoublingDecision, DoublingSkip};
use limiter_aggregator::units::{MAX_SHARD_COUNT, ShardId};

use super::{Decision, write};

const RULE: &str = "doubling";

pub(super) fn describe(shard: ShardId, decision: &DoublingDecision, result: Option<&WriteResult>) -> Decision {
    match decision {
        DoublingDecision::Double(doubling) => {
            let why = format!(
                "from {} to {} shards, because only {} tokens of the write budget (wcu) are left",
                doubling.from, doubling.to, doubling.budget
            );
            Decision {
                changes: write::changes(&doubling.update.actions),
                conditions: write::conditions(&doubling.update.conditions),
                ..Decision::write(shard, RULE, why, result)
            }
        }
        DoublingDecision::Skip(skip) => {
            let why = match skip {
                DoublingSkip::NotShardZero => "only shard 0 may ask for one".to_owned(),
                DoublingSkip::NoWriteBudget => "the shard holds no write budget (wcu)".to_owned(),
                DoublingSkip::AtMaximum => format!("{MAX_SHARD_COUNT} shards are the most there may be"),
                DoublingSkip::BudgetLeft { budget } => {
                    format!("{budget} tokens of the write budget (wcu) are left, at least a fifth")
                }
                DoublingSkip::AmountOutOfRange => "an amount is out of range".to_owned(),
            };
            Decision {
                is_detail: matches!(skip, DoublingSkip::NotShardZero | DoublingSkip::NoWriteBudget),
                ..Decision::nothing(Some(shard), RULE, why)
            }
        }
    }
}
