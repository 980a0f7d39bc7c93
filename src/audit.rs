//! Whether the shards of a bucket agree with each other and with the rules, from what is stored alone.
//!
//! Decides what is a broken invariant and what only waits for the next write. Refuses to guess: a shard that cannot be
//! read is a finding, and is left out of every sum. What must stay true: a table on which only clients and
//! aggregators have worked has no broken invariant, whatever is under way on it.

mod finding;

use std::collections::{BTreeMap, BTreeSet};

use crate::bucket::Bucket;
use crate::item::Item;
use crate::plan::quota::{Period, Quota, quotas_of};
use crate::plan::recovery::{ItemSchedules, NumericLimit, Recovery, shard_share};
use crate::units::{EpochMillis, Millitokens, ShardCount, ShardId};

pub use finding::Finding;

/// A readable shard with its schedules.
struct Shard<'i> {
    id: ShardId,
    bucket: Bucket<'i>,
    schedules: ItemSchedules<'i>,
}

impl Shard<'_> {
    /// Whether `vu` has passed: whoever comes next evaluates the shard before anything is spent from it.
    fn awaits_evaluation(&self, now: EpochMillis) -> bool {
        self.bucket.fields.valid_until.is_some_and(|until| until <= now)
    }
}

/// Everything that is found on the shards of one bucket at an instant, sorted.
pub fn audit_bucket(shards: &BTreeMap<ShardId, Item>, now: EpochMillis) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut readable = Vec::new();
    let decoded: Vec<(ShardId, Option<Bucket<'_>>)> = shards
        .iter()
        .map(|(id, item)| (*id, Bucket::from_item(item).ok()))
        .collect();
    for (id, bucket) in decoded {
        let Some(bucket) = bucket else {
            findings.push(Finding::Unreadable { shard: id });
            continue;
        };
        match ItemSchedules::decode(&bucket.fields, bucket.limits.iter()) {
            Ok(schedules) => readable.push(Shard { id, bucket, schedules }),
            Err(_) => findings.push(Finding::UndecodableSchedule { shard: id }),
        }
    }
    if let Some(highest) = readable.iter().map(|shard| shard.bucket.fields.shard_count()).max() {
        counts_and_validity(&readable, highest, now, &mut findings);
        missing(shards, highest, &mut findings);
        quotas(&readable, now, &mut findings);
        drips(&readable, highest, now, &mut findings);
        windows(&readable, now, &mut findings);
    }
    findings.sort();
    findings
}

fn counts_and_validity(shards: &[Shard<'_>], highest: ShardCount, now: EpochMillis, findings: &mut Vec<Finding>) {
    for shard in shards {
        let count = shard.bucket.fields.shard_count();
        if count < highest {
            findings.push(Finding::LaggingCount {
                shard: shard.id,
                count,
                highest,
            });
        }
        if shard.awaits_evaluation(now) {
            findings.push(Finding::DeadValidUntil { shard: shard.id });
        }
    }
}

fn missing(shards: &BTreeMap<ShardId, Item>, highest: ShardCount, findings: &mut Vec<Finding>) {
    let ids = (0..highest.get()).map(ShardId);
    findings.extend(
        ids.filter(|id| !shards.contains_key(id))
            .map(|shard| Finding::MissingShard { shard }),
    );
}

/// Conservation: what the shards of one period hold together. Left out are shards of an earlier period, which are reset
/// before anybody spends from them, and shards whose `vu` has passed, which are evaluated before: a lowered limit says
/// so on every shard, and clamps them one by one.
fn quotas(shards: &[Shard<'_>], now: EpochMillis, findings: &mut Vec<Finding>) {
    let mut sums: BTreeMap<&str, (Millitokens, Millitokens)> = BTreeMap::new();
    for shard in shards {
        if shard.awaits_evaluation(now) {
            continue;
        }
        let fields = &shard.bucket.fields;
        for Quota {
            limit,
            capacity,
            period,
        } in quotas_of(&shard.bucket, &shard.schedules, now).unwrap_or_default()
        {
            // Without an edge within reach there is no telling which period the balance is of.
            if matches!(period, Period::Calendar { edge: None }) || !period.is_current(fields, limit, now) {
                continue;
            }
            let balance = limit.balance.unwrap_or_default();
            let topped_up = limit.topped_up.unwrap_or_default();
            let whole = Millitokens(capacity.0.saturating_add(topped_up.0));
            if balance > whole {
                findings.push(Finding::AboveCapacity {
                    shard: shard.id,
                    limit: limit.name.to_owned(),
                    balance,
                    capacity: whole,
                });
            }
            let (held, granted) = sums.entry(limit.name).or_insert((Millitokens::ZERO, capacity));
            held.0 = held.0.saturating_add(balance.0.max(0));
            // Shards learn of a new capacity one by one.
            granted.0 = granted.0.max(capacity.0).saturating_add(topped_up.0);
        }
    }
    let over = sums.into_iter().filter(|(_, (held, granted))| held > granted);
    findings.extend(over.map(|(limit, (held, granted))| Finding::OverGranted {
        limit: limit.to_owned(),
        held,
        granted,
    }));
}

fn drips(shards: &[Shard<'_>], highest: ShardCount, now: EpochMillis, findings: &mut Vec<Finding>) {
    for Shard { id, bucket, schedules } in shards {
        for limit in &bucket.limits {
            let Some(numbers) = NumericLimit::of(limit) else {
                continue;
            };
            let recovery = schedules.recovery(&bucket.fields, limit, &numbers.base);
            if recovery != Recovery::Drip {
                continue;
            }
            let Some(effective) = schedules.effective(&bucket.fields, limit, numbers.base, now) else {
                continue;
            };
            let ceiling = shard_share(limit, effective.capacity, highest);
            if numbers.balance > ceiling {
                findings.push(Finding::AboveCeiling {
                    shard: *id,
                    limit: limit.name.to_owned(),
                    balance: numbers.balance,
                    ceiling,
                });
            }
        }
    }
}

fn windows(shards: &[Shard<'_>], now: EpochMillis, findings: &mut Vec<Finding>) {
    let names: BTreeSet<&str> = shards
        .iter()
        .flat_map(|shard| &shard.bucket.limits)
        .filter(|limit| limit.window_length_s.is_some())
        .map(|limit| limit.name)
        .collect();
    for name in names {
        let live = |shard: &Shard<'_>| {
            let limit = shard.bucket.limit(name)?;
            let (start, length) = (limit.window_start?, limit.window_length_ms()?);
            (start.saturating_add(length) > now).then_some(start)
        };
        let Some(newest) = shards.iter().filter_map(live).max() else {
            continue;
        };
        for shard in shards {
            let Some(limit) = shard.bucket.limit(name) else {
                continue;
            };
            let limit_name = name.to_owned();
            if live(shard) != Some(newest) {
                findings.push(Finding::StaggeredWindow {
                    shard: shard.id,
                    limit: limit_name,
                });
            } else if !Period::Session.is_current(&shard.bucket.fields, limit, now) {
                findings.push(Finding::UnappliedWindow {
                    shard: shard.id,
                    limit: limit_name,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
