//! The refill write of one shard: drip, calendar reset, window roll and re-stamp in one conditional update (R2 to R6).
//!
//! Decides what every visible limit of a shard gains or loses, whether that is reason enough to write, and the
//! conditions under which the write is still right. Refuses an item with a schedule that will not decode, with a
//! window that ended before it was applied, or without `rf`. What must stay true: a write that moves `rf` credits
//! every dripping limit, because all of them accrue from `rf`; balances only ever move by `ADD`, so that a write
//! commutes with clients' debits.

mod limit;
mod write;

pub use limit::{Cause, LimitPlan};

use super::recovery::ItemSchedules;
use super::shard_state::ShardState;
use crate::schedule::ScheduleError;
use crate::units::{EpochMillis, ShardCount};
use crate::write::Update;

/// What the refill of one shard comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefillPlan<'s> {
    /// Every limit that took part, by name.
    pub limits: Vec<LimitPlan<'s>>,
    /// Write or not.
    pub decision: RefillDecision,
}

/// Write or not, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefillDecision {
    /// One update.
    Write(RefillWrite),
    /// Nothing.
    Skip(RefillSkip),
}

/// A refill write and what it records besides balances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefillWrite {
    /// The typed write.
    pub update: Update,
    /// The new `rf`.
    pub last_refill: EpochMillis,
    /// The new `vu`, where it is re-stamped.
    pub valid_until: Option<EpochMillis>,
}

/// Why a shard is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefillSkip {
    /// No limit of the shard was on an old image too.
    NothingVisible,
    /// The item has no `rf` that could be read.
    NoRefillInstant,
    /// A schedule on the item will not decode.
    Undecodable(ScheduleError),
    /// A limit's window ended before this shard applied it: the client that opens the next one decides.
    WindowEndedUnapplied,
    /// Some amount leaves 128 bits.
    AmountOutOfRange,
    /// No limit needs a write now.
    NotNeeded,
}

/// Plans the refill of one shard at `now`.
pub fn plan_refill<'s>(state: &ShardState<'s>, now: EpochMillis) -> RefillPlan<'s> {
    match try_plan(state, now) {
        Ok(plan) => plan,
        Err(skip) => RefillPlan {
            limits: Vec::new(),
            decision: RefillDecision::Skip(skip),
        },
    }
}

/// What every limit of the shard is planned with.
struct Context<'c, 's> {
    state: &'c ShardState<'s>,
    schedules: ItemSchedules<'s>,
    count: ShardCount,
    last_refill: EpochMillis,
    now: EpochMillis,
}

fn try_plan<'s>(state: &ShardState<'s>, now: EpochMillis) -> Result<RefillPlan<'s>, RefillSkip> {
    if state.limits.is_empty() {
        return Err(RefillSkip::NothingVisible);
    }
    let fields = state.fields();
    let last_refill = fields.last_refill.ok_or(RefillSkip::NoRefillInstant)?;
    let schedules = ItemSchedules::decode(fields, state.limits.iter().map(|folded| folded.limit))
        .map_err(RefillSkip::Undecodable)?;
    let context = Context {
        state,
        schedules,
        count: fields.shard_count(),
        last_refill,
        now,
    };
    let limits = limit::plan_limits(&context)?;
    let decision = if limits.iter().any(|limit| limit.is_reason) {
        RefillDecision::Write(write::build(&context, &limits))
    } else {
        RefillDecision::Skip(RefillSkip::NotNeeded)
    };
    Ok(RefillPlan { limits, decision })
}
