//! What each record of a group adds to the snapshots of its windows, and what is not counted, with the reason (R12).

use std::collections::BTreeSet;

use super::guard::Guard;
use super::settings::UsageSettings;
use super::window::{Window, WindowKind};
use crate::bucket::Limit;
use crate::plan::{BucketChange, Group};
use crate::record::SequenceNumber;
use crate::units::{EpochMillis, Millitokens, ShardId};

/// Names that the snapshot item uses itself. The table's key and index attributes are recognised by their form.
const OWN_ATTRIBUTES: [&str; 6] = ["ttl", "window", "resource", "entity_id", "window_start", "total_events"];

/// What a limit consumed in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitUsage<'i> {
    /// The limit's name.
    pub limit: &'i str,
    /// Whole tokens, rounded down; negative for a refund.
    pub tokens: i128,
    /// Whether a soft limit went below zero by it.
    pub overdrawn: bool,
}

/// What one record adds to each of its snapshots.
#[derive(Clone, Debug)]
pub struct RecordUsage<'i> {
    /// The bucket shard that changed.
    pub shard: ShardId,
    /// Position in the stream.
    pub sequence: &'i SequenceNumber<'i>,
    /// The same position, as a snapshot stores it.
    pub guard: Guard,
    /// When the consumption happened, in epoch milliseconds.
    pub instant: EpochMillis,
    /// One entry per limit that changed; never empty.
    pub limits: Vec<LimitUsage<'i>>,
}

/// Why consumption is not counted although the record shows some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UncountedReason {
    /// Created before `USAGE_NOT_BEFORE`: another aggregator counted it.
    BeforeTakeover,
    /// No sequence number: a second delivery could not be told from the first.
    NoSequence,
    /// A shard beyond the 32 that may exist: the item has no place for its guard.
    ShardBeyondLimit,
    /// Neither a creation time nor an `rf`, or one outside the calendar: there is no window to count it in.
    NoInstant,
    /// An amount beyond 128 bits.
    AmountBeyondRange,
}

/// A record that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncounted<'i> {
    /// The record's id.
    pub event_id: Option<&'i str>,
    /// The bucket shard that changed.
    pub shard: ShardId,
    /// Why.
    pub reason: UncountedReason,
}

/// The usage of a group's records.
#[derive(Clone, Debug, Default)]
pub struct Tally<'i> {
    /// What is counted, in the order of the group's changes.
    pub records: Vec<RecordUsage<'i>>,
    /// What is not.
    pub uncounted: Vec<Uncounted<'i>>,
    /// Limits left out because the snapshot itself has an attribute of their name.
    pub reserved: BTreeSet<&'i str>,
}

impl<'i> Tally<'i> {
    /// Reads the usage off a group's changes.
    pub fn of(group: &Group<'i>, settings: &UsageSettings) -> Self {
        let mut tally = Self::default();
        for change in &group.changes {
            let limits = tally.limits_of(change);
            if limits.is_empty() {
                // Nothing to add, so nothing to guard: a write only to move the guard would be wasted.
                continue;
            }
            match place(change, settings) {
                Ok((instant, sequence)) => tally.records.push(RecordUsage {
                    shard: change.shard(),
                    sequence,
                    guard: Guard::of(change.stream_label, sequence),
                    instant,
                    limits,
                }),
                Err(reason) => tally.leave_out(change, reason),
            }
        }
        tally
    }

    fn limits_of(&mut self, change: &BucketChange<'i>) -> Vec<LimitUsage<'i>> {
        let mut limits = Vec::new();
        for limit in &change.new.limits {
            let delta = match consumption(change, limit) {
                Consumption::None => continue,
                Consumption::BeyondRange => {
                    self.leave_out(change, UncountedReason::AmountBeyondRange);
                    continue;
                }
                Consumption::Of(delta) => delta,
            };
            if is_reserved(limit.name) {
                self.reserved.insert(limit.name);
                continue;
            }
            let in_debt = limit.balance.is_some_and(|balance| balance < Millitokens::ZERO);
            limits.push(LimitUsage {
                limit: limit.name,
                // Down, not towards zero: a refund of half a token takes one off (R12).
                tokens: delta.floor_tokens(),
                overdrawn: limit.soft.is_some() && delta > Millitokens::ZERO && in_debt,
            });
        }
        limits
    }

    fn leave_out(&mut self, change: &BucketChange<'i>, reason: UncountedReason) {
        self.uncounted.push(Uncounted {
            event_id: change.event_id,
            shard: change.shard(),
            reason,
        });
    }
}

enum Consumption {
    /// Nothing, or nothing that R12 counts.
    None,
    /// This much, never zero.
    Of(Millitokens),
    /// More than can be said.
    BeyondRange,
}

/// R12: an INSERT counts from 0, because the first use of a shard is usage too. A limit that is new on an existing
/// item is not counted in the record that brings it: its `tc` may have been copied from anywhere.
fn consumption(change: &BucketChange<'_>, limit: &Limit<'_>) -> Consumption {
    let Some(after) = limit.consumed.filter(|_| !limit.is_wcu()) else {
        return Consumption::None;
    };
    let before = match &change.old {
        None => Some(Millitokens::ZERO),
        Some(old) => old.limit(limit.name).and_then(|limit| limit.consumed),
    };
    match before.map(|before| after.checked_sub(before)) {
        None | Some(Some(Millitokens::ZERO)) => Consumption::None,
        Some(Some(delta)) => Consumption::Of(delta),
        Some(None) => Consumption::BeyondRange,
    }
}

/// When and where in the stream a record's consumption happened, or why it cannot be counted.
fn place<'i>(
    change: &BucketChange<'i>,
    settings: &UsageSettings,
) -> Result<(EpochMillis, &'i SequenceNumber<'i>), UncountedReason> {
    let instant = change.created.or(change.new.fields.last_refill);
    let instant = instant
        .filter(|&instant| WindowKind::Hourly.start_of(instant).is_some())
        .ok_or(UncountedReason::NoInstant)?;
    if settings.not_before.is_some_and(|takeover| instant < takeover) {
        return Err(UncountedReason::BeforeTakeover);
    }
    if !Guard::has_place_for(change.shard()) {
        return Err(UncountedReason::ShardBeyondLimit);
    }
    let sequence = change.sequence.ok_or(UncountedReason::NoSequence)?;
    Ok((instant, sequence))
}

/// Whether the snapshot item has an attribute of this name itself. `#` stands in every name that is derived from a
/// shard or from another limit, and in no proper limit's.
fn is_reserved(name: &str) -> bool {
    OWN_ATTRIBUTES.contains(&name) || name.contains('#') || is_key_attribute(name)
}

/// `PK`, `SK`, `GSI1PK` to `GSI4SK`, `LSI1SK` to `LSI5SK`.
fn is_key_attribute(name: &str) -> bool {
    let numbered = |prefix: &str, indexes: std::ops::RangeInclusive<u8>, suffixes: &[&str]| {
        let Some(rest) = name.strip_prefix(prefix) else {
            return false;
        };
        let index = rest.bytes().next().filter(|digit| indexes.contains(digit));
        index.is_some() && suffixes.contains(&&rest[1..])
    };
    matches!(name, "PK" | "SK") || numbered("GSI", b'1'..=b'4', &["PK", "SK"]) || numbered("LSI", b'1'..=b'5', &["SK"])
}

impl RecordUsage<'_> {
    /// The windows that the record belongs to, finest first.
    pub fn windows(&self, settings: &UsageSettings) -> impl Iterator<Item = Window> {
        settings.windows.at(self.instant)
    }
}

#[cfg(test)]
mod tests {
    use super::is_reserved;

    #[test]
    fn names_of_the_snapshots_own_attributes_are_reserved() {
        for name in [
            "ttl",
            "window",
            "resource",
            "entity_id",
            "window_start",
            "total_events",
            "PK",
            "SK",
            "GSI1PK",
            "GSI2SK",
            "GSI3PK",
            "GSI4SK",
            "LSI1SK",
            "LSI5SK",
            "#seq0",
            "rpm#od",
        ] {
            assert!(is_reserved(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "rpm", "TTL", "windows", "total", "GSI5PK", "GSI0SK", "GSIPK", "GSI1", "LSI1PK", "LSI6SK", "pk", "GSIé",
        ] {
            assert!(!is_reserved(name), "{name}");
        }
    }
}
