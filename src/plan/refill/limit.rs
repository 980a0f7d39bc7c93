//! One limit of a shard at an instant: what it is due, and whether that is a reason to write (R2 to R5).

use super::super::accrual::project;
use super::super::recovery::{NumericLimit, Recovery, shard_share, window_applied};
use super::super::shard_state::FoldedLimit;
use super::{Context, RefillSkip};
use crate::bucket::Limit;
use crate::schedule::Parameters;
use crate::units::{EpochMillis, Millitokens, ShardCount};

/// Why a limit's balance moves, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It drips (R2).
    Drip,
    /// A reset edge lies behind `rf` (R3).
    Reset {
        /// The edge, the first instant of the period.
        edge: EpochMillis,
    },
    /// Its window started after the one that its balance reflects (R4).
    Roll {
        /// The window's start.
        start: EpochMillis,
    },
    /// It does not accrue, and no reset is due (R5).
    Rest,
}

/// One limit's part of a refill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitPlan<'s> {
    /// The limit as stored.
    pub limit: &'s Limit<'s>,
    /// Its four numbers.
    pub numbers: NumericLimit,
    /// How it recovers.
    pub recovery: Recovery,
    /// Why its balance moves.
    pub cause: Cause,
    /// The most this shard may hold, in millitokens.
    pub ceiling: Millitokens,
    /// What the write adds, in millitokens.
    pub delta: Millitokens,
    /// Whether the write would happen for this limit alone.
    pub is_reason: bool,
    /// Consumption over the batch, in millitokens.
    pub consumed: Millitokens,
}

impl LimitPlan<'_> {
    /// Whether this write hands out a period's allowance anew, with or without a delta.
    pub fn is_regranted(&self) -> bool {
        matches!(self.cause, Cause::Reset { .. } | Cause::Roll { .. })
    }

    /// The limit's window start, where a window is in force.
    pub fn window_start(&self) -> Option<EpochMillis> {
        self.limit.window_start.filter(|_| self.recovery == Recovery::Session)
    }
}

pub(super) fn plan_limits<'s>(context: &Context<'_, 's>) -> Result<Vec<LimitPlan<'s>>, RefillSkip> {
    let mut plans = Vec::with_capacity(context.state.limits.len());
    for folded in &context.state.limits {
        if let Some(numbers) = NumericLimit::of(folded.limit) {
            plans.push(plan_limit(context, folded, numbers)?);
        }
    }
    let ended_unapplied = |plan: &LimitPlan<'_>| {
        let start = plan.window_start()?;
        let end = start.saturating_add(plan.limit.window_length_ms()?);
        Some(start > window_applied(plan.limit, context.last_refill) && end <= context.now)
    };
    if plans.iter().any(|plan| ended_unapplied(plan) == Some(true)) {
        return Err(RefillSkip::WindowEndedUnapplied);
    }
    Ok(plans)
}

fn plan_limit<'s>(
    context: &Context<'_, 's>,
    folded: &FoldedLimit<'s>,
    numbers: NumericLimit,
) -> Result<LimitPlan<'s>, RefillSkip> {
    let (fields, limit) = (context.state.fields(), folded.limit);
    let recovery = context.schedules.recovery(fields, limit, &numbers.base);
    let effective = context
        .schedules
        .effective(fields, limit, numbers.base, context.now)
        .ok_or(RefillSkip::AmountOutOfRange)?;
    let share = shard_share(limit, effective.capacity, context.count);
    let cause = cause(context, limit, recovery);
    let (ceiling, balance) = match cause {
        Cause::Drip => {
            let refill = shard_share(limit, effective.refill, context.count);
            let own = Parameters {
                capacity: share,
                refill,
                period_ms: effective.period_ms,
            };
            let elapsed = context.now.since(context.last_refill);
            (
                share,
                project(numbers.balance, &own, elapsed)
                    .ok_or(RefillSkip::AmountOutOfRange)?
                    .balance,
            )
        }
        Cause::Reset { .. } => (share, share),
        Cause::Roll { .. } => (share, rolled_balance(limit, share).ok_or(RefillSkip::AmountOutOfRange)?),
        Cause::Rest => (
            resting_ceiling(limit, recovery, effective.capacity, share, context.count),
            numbers.balance,
        ),
    };
    let delta = balance
        .checked_sub(numbers.balance)
        .ok_or(RefillSkip::AmountOutOfRange)?;
    let is_reason = match cause {
        // Enough for another such batch is left: the drip can wait (R2).
        Cause::Drip => {
            delta < Millitokens::ZERO || delta > Millitokens::ZERO && balance < folded.consumed.max(Millitokens::ZERO)
        }
        Cause::Reset { .. } | Cause::Roll { .. } => delta != Millitokens::ZERO,
        Cause::Rest => false,
    };
    Ok(LimitPlan {
        limit,
        numbers,
        recovery,
        cause,
        ceiling,
        delta,
        is_reason,
        consumed: folded.consumed,
    })
}

fn cause(context: &Context<'_, '_>, limit: &Limit<'_>, recovery: Recovery) -> Cause {
    match recovery {
        Recovery::Drip => Cause::Drip,
        Recovery::Never => Cause::Rest,
        Recovery::Calendar => {
            let resets = context.schedules.resets(context.state.fields(), limit);
            match resets.and_then(|resets| resets.previous_edge(context.now)) {
                Some(edge) if edge > context.last_refill => Cause::Reset { edge },
                _ => Cause::Rest,
            }
        }
        Recovery::Session => match limit.window_start {
            Some(start) if start > window_applied(limit, context.last_refill) => Cause::Roll { start },
            _ => Cause::Rest,
        },
    }
}

/// A rolled window starts whole, less what was spent on this shard since the start was propagated to it (R4,
/// ADR-140): a client may spend the ended window's leftover until the roll, and that must be charged.
fn rolled_balance(limit: &Limit<'_>, share: Millitokens) -> Option<Millitokens> {
    let spent = match (limit.consumed, limit.consumed_at_window) {
        (Some(consumed), Some(at_window)) => consumed.checked_sub(at_window)?.max(Millitokens::ZERO),
        _ => Millitokens::ZERO,
    };
    share.checked_sub(spent)
}

/// The most that a limit at rest may hold: a quota its grant, which may be larger than a share (ADR-145), and what
/// was topped up on it (R5).
fn resting_ceiling(
    limit: &Limit<'_>,
    recovery: Recovery,
    capacity: Millitokens,
    share: Millitokens,
    count: ShardCount,
) -> Millitokens {
    match recovery {
        Recovery::Calendar | Recovery::Session => {
            let granted = capacity.share(grant_size(limit, count));
            Millitokens(granted.0.saturating_add(limit.topped_up.unwrap_or_default().0))
        }
        Recovery::Drip | Recovery::Never => share,
    }
}

/// The count that a quota's grant was sized at: its `gc`, or the item's count where there is none.
fn grant_size(limit: &Limit<'_>, count: ShardCount) -> ShardCount {
    match limit.grant_count {
        Some(stored) if stored >= 1 => ShardCount::from_stored(Some(stored)),
        _ => count,
    }
}
