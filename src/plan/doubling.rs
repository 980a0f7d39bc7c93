//! Proactive doubling (R7): more shards before a partition's write budget runs dry.

use super::accrual::project;
use super::recovery::NumericLimit;
use super::shard_state::ShardState;
use crate::bucket::WCU;
use crate::item::number;
use crate::units::{EpochMillis, MAX_SHARD_COUNT, Millitokens, ShardCount, ShardId};
use crate::write::{Action, Condition, Update};

/// Below this part of its capacity the write budget is short: one fifth.
const SHORT_BELOW_ONE_IN: i128 = 5;

/// Whether a shard asks for a doubling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoublingDecision {
    /// Raise the count.
    Double(Doubling),
    /// Leave it.
    Skip(DoublingSkip),
}

/// A raise of the shard count on shard 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The count read.
    pub from: ShardCount,
    /// The count written.
    pub to: ShardCount,
    /// The write budget at `now`, in millitokens.
    pub budget: Millitokens,
    /// The typed write.
    pub update: Update,
}

/// Why no shard is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoublingSkip {
    /// Only shard 0 holds the true count.
    NotShardZero,
    /// No usable `wcu` limit on the image, or no `rf`.
    NoWriteBudget,
    /// The count is at its maximum.
    AtMaximum,
    /// At least a fifth of the budget is left.
    BudgetLeft {
        /// The write budget at `now`, in millitokens.
        budget: Millitokens,
    },
    /// The arithmetic leaves 128 bits.
    AmountOutOfRange,
}

/// Plans the doubling of one shard at `now`, from the balance on its last image.
pub fn plan_doubling(state: &ShardState<'_>, now: EpochMillis) -> DoublingDecision {
    match try_plan(state, now) {
        Ok(doubling) => DoublingDecision::Double(doubling),
        Err(skip) => DoublingDecision::Skip(skip),
    }
}

fn try_plan(state: &ShardState<'_>, now: EpochMillis) -> Result<Doubling, DoublingSkip> {
    if state.key.shard != ShardId::ZERO {
        return Err(DoublingSkip::NotShardZero);
    }
    let fields = state.fields();
    let wcu = state.last.limit(WCU).and_then(NumericLimit::of).zip(fields.last_refill);
    let (wcu, last_refill) = wcu.ok_or(DoublingSkip::NoWriteBudget)?;
    if wcu.base.capacity <= Millitokens::ZERO {
        return Err(DoublingSkip::NoWriteBudget);
    }
    let from = fields.shard_count();
    if from >= MAX_SHARD_COUNT {
        return Err(DoublingSkip::AtMaximum);
    }
    let projected = project(wcu.balance, &wcu.base, now.since(last_refill)).ok_or(DoublingSkip::AmountOutOfRange)?;
    let budget = projected.balance;
    if budget.0.saturating_mul(SHORT_BELOW_ONE_IN) >= wcu.base.capacity.0 {
        return Err(DoublingSkip::BudgetLeft { budget });
    }
    let to = from.doubled();
    let update = Update {
        key: state.key.group.bucket(ShardId::ZERO),
        actions: vec![Action::Set {
            attribute: "shard_count".to_owned(),
            value: number(to.get().into()),
        }],
        conditions: vec![
            Condition::item_exists(),
            Condition::as_read("shard_count", fields.stored_count.map(number)),
        ],
        return_item_on_failure: false,
    };
    Ok(Doubling {
        from,
        to,
        budget,
        update,
    })
}
