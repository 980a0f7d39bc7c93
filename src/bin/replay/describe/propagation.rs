//! Shard-count propagation and the funding of new shards in words (R8 to R10).

use limiter_aggregator::aggregate::{Ending, NewShardResult, WriteResult};
use limiter_aggregator::plan::funding::Funding;
use limiter_aggregator::plan::propagation::{CreationRefusal, NewShard, QuotaFunding, Raise, Rise, ShardRefusal};
use limiter_aggregator::table::Fault;
use limiter_aggregator::units::{MAX_SHARD_COUNT, ShardId};
use limiter_aggregator::write::TransactionAction;

use super::{Decision, Verdict, fault_words, write};
use crate::names::printable;

const RISE: &str = "propagation";
const RAISE: &str = "shard count";
const NEW_SHARD: &str = "new shard";
const REPAIR: &str = "shard count repair";

pub(super) fn refused(rise: &Rise) -> Decision {
    let why = format!(
        "{} shards are refused, {MAX_SHARD_COUNT} are the most there may be",
        rise.to
    );
    Decision::nothing(None, RISE, why)
}

pub(super) fn unread(rise: &Rise, fault: &Fault) -> Decision {
    let then = match Ending::of_fault(fault).is_owed() {
        true => "is delivered again",
        false => "goes on without",
    };
    let why = format!("the rise from {} to {} shards {then}", rise.from, rise.to);
    Decision::failed(None, RISE, fault, why)
}

pub(super) fn raise(rise: &Rise, raise: &Raise, result: &WriteResult) -> Decision {
    let why = format!("it must know that there are {} shards now", rise.to);
    raised(RAISE, why, raise, result)
}

pub(super) fn repair(rise: &Rise, raise: &Raise, result: &WriteResult) -> Decision {
    let why = format!(
        "it was created for {} shards, and the count has moved on since",
        rise.to
    );
    raised(REPAIR, why, raise, result)
}

fn raised(rule: &'static str, why: String, raise: &Raise, result: &WriteResult) -> Decision {
    let why = if raise.freezes {
        format!("{why}, and keep the size of its grants")
    } else {
        why
    };
    Decision {
        changes: write::changes(&raise.update.actions),
        conditions: write::conditions(&raise.update.conditions),
        ..Decision::write(raise.shard, rule, why, Some(result))
    }
}

pub(super) fn repair_unread(rise: &Rise, fault: &Fault) -> Decision {
    let why = format!(
        "whether there are more than {} shards by now is left to the next batch",
        rise.to
    );
    Decision::failed(None, REPAIR, fault, why)
}

pub(super) fn nothing_created(rise: &Rise, refusal: &CreationRefusal) -> Decision {
    let why = match refusal {
        CreationRefusal::Undecodable(error) => error.to_string(),
        CreationRefusal::ReadFailed => "the shards that exist could not be read".to_owned(),
        CreationRefusal::RaiseFailed => "a shard that exists could not be told of the new count".to_owned(),
        CreationRefusal::ShardZeroGone => "shard 0 is gone".to_owned(),
        CreationRefusal::CountMovedOn { read } => format!("shard 0 counts {read} shards by now"),
        CreationRefusal::Overtaken { attribute } => {
            format!("shard 0 has changed since: {}", write::attribute_words(attribute))
        }
        CreationRefusal::SiblingAhead { shard } => format!("shard {shard} counts more shards"),
        CreationRefusal::Unreadable => "a shard holds something that cannot be read or copied".to_owned(),
        CreationRefusal::AmountOutOfRange => "an amount is out of range".to_owned(),
    };
    let why = format!(
        "{} to {} are left to the clients: {why}",
        rise.from,
        rise.to.get().saturating_sub(1)
    );
    Decision::nothing(None, NEW_SHARD, why)
}

pub(super) fn new_shard(
    rise: &Rise,
    shard: ShardId,
    plan: &Result<&NewShard<'_>, &ShardRefusal>,
    result: Option<&NewShardResult>,
) -> Decision {
    let new = match plan {
        Ok(new) => new,
        Err(ShardRefusal::ResetPendingOnImage { limit }) => {
            let why = format!(
                "left to the clients: {} waits for its reset on shard 0, and would be paid twice",
                printable(limit)
            );
            return Decision::nothing(Some(shard), NEW_SHARD, why);
        }
    };
    let rose = format!("the count rose from {} to {}", rise.from, rise.to);
    let quotas = new.fundings.iter().map(funding_words);
    let why = std::iter::once(rose).chain(quotas).collect::<Vec<_>>().join("; ");
    let (verdict, why) = match result {
        Some(NewShardResult::Applied) => (Verdict::Written, why),
        Some(NewShardResult::LostRace { exists: true }) => (Verdict::Dropped, "the shard exists already".to_owned()),
        Some(NewShardResult::LostRace { exists: false }) => {
            let why = "a sibling that pays, or the owner, has changed meanwhile; left to the clients".to_owned();
            (Verdict::Dropped, why)
        }
        Some(NewShardResult::DryRun) | None => (Verdict::DryRun, why),
        Some(NewShardResult::Failed(fault)) => {
            (Verdict::Failed, format!("{}; left to the clients", fault_words(fault)))
        }
    };
    let (changes, conditions) = transaction_words(&new.transaction.actions);
    Decision {
        verdict,
        changes,
        conditions,
        ..Decision::nothing(Some(shard), NEW_SHARD, why)
    }
}

/// Who pays for a quota of a new shard.
fn funding_words(quota: &QuotaFunding<'_>) -> String {
    let limit = printable(quota.limit);
    match quota.funding {
        Funding::Fresh { share } => format!("{limit} starts with a share of {share}, which nobody holds yet"),
        Funding::Move { donor, amount } => {
            let left = donor.balance.checked_sub(amount).unwrap_or_default();
            format!(
                "{limit} starts with {amount} from shard {}, whose grant for {} covers it and keeps {left}",
                donor.shard,
                plural(donor.size.get(), "shard")
            )
        }
    }
}

fn plural(count: u32, noun: &str) -> String {
    if count == 1 {
        format!("{count} {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// What a creation changes besides the new shard, and what must hold for it.
fn transaction_words(actions: &[TransactionAction]) -> (Vec<String>, Vec<String>) {
    let (mut changes, mut conditions) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            TransactionAction::Put(put) => {
                changes.push("a copy of shard 0 is stored".to_owned());
                conditions.extend(write::conditions(&put.conditions));
            }
            TransactionAction::Update(update) => {
                let on_donor = |words: String| format!("on the shard that pays: {words}");
                changes.extend(write::changes(&update.actions).into_iter().map(on_donor));
                conditions.extend(write::conditions(&update.conditions).into_iter().map(on_donor));
            }
            TransactionAction::Check(check) => {
                let words = write::conditions(&check.conditions);
                conditions.extend(words.into_iter().map(|words| format!("on the owner: {words}")));
            }
        }
    }
    (changes, conditions)
}
