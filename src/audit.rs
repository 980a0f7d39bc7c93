//! Whether the shards of a bucket agree with each other and with the rules, from what is stored alone.
//!
//! Decides what is a broken invariant and what only waits for the next write. Refuses to guess: a shard that cannot be
//! read is a finding, and is left out of every sum. What must stay true: a table on which only clients and
//! aggregators have worked has no broken invariant, whatever is under way on it.

use std::collections::{BTreeMap, BTreeSet};

use crate::bucket::Bucket;
use crate::item::Item;
use crate::plan::quota::{Period, Quota, quotas_of};
use crate::plan::recovery::{ItemSchedules, NumericLimit, Recovery, shard_share};
use crate::units::{EpochMillis, Millitokens, ShardCount, ShardId};

/// Something that was found on one bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The shard cannot be read: a consumption counter is no number.
    Unreadable {
        /// Which.
        shard: ShardId,
    },
    /// A schedule on the shard cannot be decoded: no rule materialises it (R1).
    UndecodableSchedule {
        /// Which.
        shard: ShardId,
    },
    /// The shards of a quota's period hold more than its capacity and what was topped up (ADR-145).
    OverGranted {
        /// The quota's name.
        limit: String,
        /// Held by the shards of the current period together.
        held: Millitokens,
        /// Capacity now, and what was topped up.
        granted: Millitokens,
    },
    /// A shard holds more than the whole entity may (R1).
    AboveCapacity {
        /// Which.
        shard: ShardId,
        /// The limit's name.
        limit: String,
        /// Held.
        balance: Millitokens,
        /// Capacity of the entity, and what was topped up.
        capacity: Millitokens,
    },
    /// A dripping limit holds more than the shard's share: the next refill clamps it (R6).
    AboveCeiling {
        /// Which.
        shard: ShardId,
        /// The limit's name.
        limit: String,
        /// Held.
        balance: Millitokens,
        /// The share at the highest count.
        ceiling: Millitokens,
    },
    /// The shard knows a lower count than another one (R8).
    LaggingCount {
        /// Which.
        shard: ShardId,
        /// What it knows.
        count: ShardCount,
        /// The highest that is known.
        highest: ShardCount,
    },
    /// The shard has no live window, or an older one, where a sibling has a live one (R11).
    StaggeredWindow {
        /// Which.
        shard: ShardId,
        /// The limit's name.
        limit: String,
    },
    /// The shard's window is live and its balance is not of it yet (R4).
    UnappliedWindow {
        /// Which.
        shard: ShardId,
        /// The limit's name.
        limit: String,
    },
    /// A shard below the highest count does not exist: the first client that draws it creates it (R8).
    MissingShard {
        /// Which.
        shard: ShardId,
    },
    /// `vu` has passed: the next client evaluates the shard before it spends.
    DeadValidUntil {
        /// Which.
        shard: ShardId,
    },
}

impl Finding {
    /// A word for the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::UndecodableSchedule { .. } => "undecodable_schedule",
            Self::OverGranted { .. } => "over_granted",
            Self::AboveCapacity { .. } => "above_capacity",
            Self::AboveCeiling { .. } => "above_ceiling",
            Self::LaggingCount { .. } => "lagging_count",
            Self::StaggeredWindow { .. } => "staggered_window",
            Self::UnappliedWindow { .. } => "unapplied_window",
            Self::MissingShard { .. } => "missing_shard",
            Self::DeadValidUntil { .. } => "dead_valid_until",
        }
    }

    /// Whether no writer may leave this behind. Everything else mends itself with the next write or record.
    pub fn is_broken_invariant(&self) -> bool {
        matches!(
            self,
            Self::Unreadable { .. }
                | Self::UndecodableSchedule { .. }
                | Self::OverGranted { .. }
                | Self::AboveCapacity { .. }
        )
    }

    /// The shard that it is about, if it is about one.
    pub fn shard(&self) -> Option<ShardId> {
        match self {
            Self::OverGranted { .. } => None,
            Self::Unreadable { shard }
            | Self::UndecodableSchedule { shard }
            | Self::AboveCapacity { shard, .. }
            | Self::AboveCeiling { shard, .. }
            | Self::LaggingCount { shard, .. }
            | Self::StaggeredWindow { shard, .. }
            | Self::UnappliedWindow { shard, .. }
            | Self::MissingShard { shard }
            | Self::DeadValidUntil { shard } => Some(*shard),
        }
    }

    /// The limit that it is about, if it is about one.
    pub fn limit(&self) -> Option<&str> {
        match self {
            Self::OverGranted { limit, .. }
            | Self::AboveCapacity { limit, .. }
            | Self::AboveCeiling { limit, .. }
            | Self::StaggeredWindow { limit, .. }
            | Self::UnappliedWindow { limit, .. } => Some(limit),
            Self::Unreadable { .. }
            | Self::UndecodableSchedule { .. }
            | Self::LaggingCount { .. }
            | Self::MissingShard { .. }
            | Self::DeadValidUntil { .. } => None,
        }
    }
}

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
mod tests {
    use super::*;
    use crate::item::{number, text};

    const NOW: EpochMillis = EpochMillis(1_796_000_000_000);

    /// A clean shard of a session quota of 1,024 tokens and a drip of 1,000, in a window that began an hour ago.
    fn shard(count: i128, held: i128) -> Item {
        let start = i128::from(NOW.0) - 3_600_000;
        let numbers = [
            ("rf", start),
            ("shard_count", count),
            ("b_q_tk", held * 1_000),
            ("b_q_cp", 1_024_000),
            ("b_q_ra", 0),
            ("b_q_rp", 0),
            ("b_q_tc", 0),
            ("b_q_gc", count),
            ("b_q_rsa", 18_000),
            ("b_q_ws", start),
            ("b_q_wa", start),
            ("b_d_tk", 1_000_000 / count),
            ("b_d_cp", 1_000_000),
            ("b_d_ra", 1_000_000),
            ("b_d_rp", 60_000),
            ("b_d_tc", 0),
        ];
        numbers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), number(value)))
            .collect()
    }

    fn bucket(shards: impl IntoIterator<Item = Item>) -> BTreeMap<ShardId, Item> {
        (0..).map(ShardId).zip(shards).collect()
    }

    fn with(mut item: Item, name: &str, value: i128) -> Item {
        item.insert(name.to_owned(), number(value));
        item
    }

    fn kinds(shards: impl IntoIterator<Item = Item>) -> Vec<(&'static str, Option<u32>)> {
        let found = audit_bucket(&bucket(shards), NOW);
        found
            .iter()
            .map(|finding| (finding.kind(), finding.shard().map(|shard| shard.0)))
            .collect()
    }

    #[test]
    fn nothing_is_found_on_a_clean_bucket() {
        assert_eq!(kinds([shard(1, 1_024)]), []);
        assert_eq!(kinds([shard(2, 512), shard(2, 512)]), []);
        // Moved tokens: the donor keeps the count that its grant was sized at, and 1/gc adds up to more than one.
        assert_eq!(kinds([with(shard(2, 700), "b_q_gc", 1), shard(2, 324)]), []);
        // In debt.
        assert_eq!(kinds([shard(2, -5), shard(2, 512)]), []);
    }

    #[test]
    fn overlapping_grants_are_found_by_what_they_hold_together() {
        assert_eq!(kinds([shard(2, 1_000), shard(2, 25)]), [("over_granted", None)]);
        let topped_up = with(shard(2, 1_000), "b_q_tu", 1_000);
        assert_eq!(kinds([topped_up, shard(2, 25)]), []);
    }

    #[test]
    fn a_share_above_the_whole_is_found() {
        let found = kinds([shard(2, 1_025), shard(2, 0)]);
        assert_eq!(found, [("over_granted", None), ("above_capacity", Some(0))]);
    }

    #[test]
    fn what_waits_for_its_reset_or_its_evaluation_is_no_overlap() {
        let ended = EpochMillis(NOW.0 - 20_000_000).0;
        let old = |item| with(with(item, "b_q_ws", ended.into()), "b_q_wa", ended.into());
        assert_eq!(kinds([old(shard(2, 1_024)), old(shard(2, 1_024))]), []);
        let waiting = |item| with(item, "vu", 0);
        let found = kinds([waiting(shard(2, 1_024)), waiting(shard(2, 1_024))]);
        assert_eq!(found, [("dead_valid_until", Some(0)), ("dead_valid_until", Some(1))]);
    }

    #[test]
    fn shards_that_lag_or_lack_are_found() {
        let found = kinds([with(shard(1, 100), "b_q_gc", 2), shard(4, 100)]);
        let drip_above = ("above_ceiling", Some(0));
        let wanted = [
            drip_above,
            ("lagging_count", Some(0)),
            ("missing_shard", Some(2)),
            ("missing_shard", Some(3)),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn windows_that_differ_or_wait_are_found() {
        let start = i128::from(NOW.0) - 60_000;
        let newer = |item| with(item, "b_q_ws", start);
        let opened = with(newer(shard(2, 512)), "b_q_wa", start);
        assert_eq!(kinds([opened.clone(), shard(2, 512)]), [("staggered_window", Some(1))]);
        assert_eq!(kinds([opened, newer(shard(2, 512))]), [("unapplied_window", Some(1))]);
    }

    #[test]
    fn shards_that_cannot_be_read_are_found() {
        let mut unreadable = shard(2, 512);
        unreadable.insert("b_q_tc".to_owned(), text("x"));
        let mut undecodable = shard(2, 512);
        undecodable.insert("rsched".to_owned(), text("not a schedule"));
        let found = kinds([unreadable, undecodable]);
        assert_eq!(found, [("unreadable", Some(0)), ("undecodable_schedule", Some(1))]);
    }
}
