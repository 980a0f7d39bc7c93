//! A quota's grant: how large it was, and whether it is this period's (R9, ADR-145, ADR-140).
//!
//! One home for both questions: funding, raises, the refill's ceilings and every test that reasons about
//! conservation ask here.

use super::recovery::{ItemSchedules, NumericLimit, Recovery, window_applied};
use crate::bucket::{Bucket, ItemFields, Limit};
use crate::units::{EpochMillis, Millitokens, ShardCount};

/// What ends a quota's period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Reset edges; the latest one at or before now, if any lies within reach.
    Calendar {
        /// First instant of the current period.
        edge: Option<EpochMillis>,
    },
    /// A session window.
    Session,
}

impl Period {
    /// Whether a shard's grant belongs to the current period, that is, no reset is pending on it. `fields` and
    /// `limit` are the shard's own. Calendar: the edge is not after `rf`, or there is none. Session: a window is
    /// open at `now`, and the balance reflects it.
    pub fn is_current(&self, fields: &ItemFields<'_>, limit: &Limit<'_>, now: EpochMillis) -> bool {
        let last_refill = fields.last_refill;
        match *self {
            Self::Calendar { edge: None } => true,
            Self::Calendar { edge: Some(edge) } => last_refill.is_some_and(|last_refill| edge <= last_refill),
            Self::Session => {
                let (Some(start), Some(length)) = (limit.window_start, limit.window_length_ms()) else {
                    return false;
                };
                let applied = window_applied(limit, last_refill.unwrap_or(EpochMillis(i64::MIN)));
                start.saturating_add(length) > now && start <= applied
            }
        }
    }
}

/// A quota as an item carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota<'s> {
    /// The limit as stored.
    pub limit: &'s Limit<'s>,
    /// Its capacity for the whole entity now, scaled by schedule, in millitokens.
    pub capacity: Millitokens,
    /// What ends its period.
    pub period: Period,
}

/// Every quota on an item, by name. `None` when a capacity leaves 128 bits.
pub fn quotas_of<'s>(
    bucket: &'s Bucket<'s>,
    schedules: &ItemSchedules<'_>,
    now: EpochMillis,
) -> Option<Vec<Quota<'s>>> {
    let fields = &bucket.fields;
    let mut quotas = Vec::new();
    for limit in &bucket.limits {
        let Some(numbers) = NumericLimit::of(limit) else {
            continue;
        };
        let period = match schedules.recovery(fields, limit, &numbers.base) {
            Recovery::Calendar => {
                let edge = schedules
                    .resets(fields, limit)
                    .and_then(|resets| resets.previous_edge(now));
                Period::Calendar { edge }
            }
            Recovery::Session => Period::Session,
            Recovery::Drip | Recovery::Never => continue,
        };
        let capacity = schedules.effective(fields, limit, numbers.base, now)?.capacity;
        quotas.push(Quota {
            limit,
            capacity,
            period,
        });
    }
    Some(quotas)
}

/// The shard count that a grant was sized at: the recorded `gc`; below 1, the item's own count. An item written
/// before grants were recorded was granted at its count, or at a lower one where it holds more than that allows:
/// the count is halved until the balance fits.
pub fn grant_size(limit: &Limit<'_>, item_count: ShardCount, capacity: Millitokens) -> ShardCount {
    match limit.grant_count {
        Some(stored) if stored >= 1 => ShardCount::from_stored(Some(stored)),
        Some(_) => item_count,
        None => {
            let mut size = item_count;
            while size > ShardCount::ONE && limit.balance.is_some_and(|balance| balance > capacity.share(size)) {
                size = size.halved();
            }
            size
        }
    }
}
