//! One snapshot of one batch: all of its records in one write, on the condition that none of them was counted (R12).

#[cfg(feature = "replay")]
mod redrive;

#[cfg(feature = "replay")]
pub use redrive::{Fate, RedrivePlan, RedriveRow, RedriveWrite, UnreadableMarker, redriven_attribute};

use std::collections::BTreeMap;
use std::fmt;

use super::guard::{Guards, guard_attribute};
use super::settings::UsageSettings;
use super::tally::{RecordUsage, Tally};
use super::window::Window;
use crate::item::{number, text};
use crate::key::{BucketGroup, ItemKey, window_start_text};
use crate::record::SequenceNumber;
use crate::units::{EpochMillis, ShardId};
use crate::write::{Action, Condition, Update};

type ByShard<'t, 'i> = BTreeMap<ShardId, Vec<&'t RecordUsage<'i>>>;

/// What a batch adds to one snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot<'t, 'i> {
    /// Whose usage of what.
    pub group: BucketGroup<'i>,
    /// In which window.
    pub window: Window,
    /// `window_start` as it is stored.
    pub start: String,
    /// When an item made by this batch expires, in epoch seconds.
    expires: i128,
    /// The records by shard, in the order of the stream, each number once; no shard is empty.
    shards: ByShard<'t, 'i>,
}

/// Records that a snapshot had counted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The guard lies within this batch: what an ordinary repeat, or a lost answer of one's own, looks like.
    pub repeats: usize,
    /// The guard lies beyond this batch's last record of the shard: a longer rewind, a replaced stream, or, if it
    /// goes on, a broken order.
    pub beyond: usize,
}

/// What a write adds for one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitTotal {
    /// Whole tokens, net of refunds.
    pub tokens: i128,
    /// Records that left a soft limit in debt.
    pub overdrafts: u64,
}

/// One write of a snapshot.
#[derive(Clone, PartialEq, Eq)]
pub struct SnapshotWrite<'i> {
    /// The write.
    pub update: Update,
    /// Records in it.
    pub records: usize,
    /// What `total_events` rises by: one per (record, limit).
    pub events: u64,
    /// What it adds, by limit.
    pub limits: BTreeMap<&'i str, LimitTotal>,
    /// The lowest of its records: where the stream must go back to if the write fails.
    pub lowest: &'i SequenceNumber<'i>,
}

impl fmt::Debug for SnapshotWrite<'_> {
    /// Without the update: it holds the entity id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotWrite")
            .field("records", &self.records)
            .field("events", &self.events)
            .field("limits", &self.limits)
            .field("lowest", &self.lowest)
            .finish_non_exhaustive()
    }
}

/// What is left to do for a snapshot, by what is known of its guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPlan<'i> {
    /// The write; `None` where everything was counted before.
    pub write: Option<SnapshotWrite<'i>>,
    /// What was counted before.
    pub left_out: LeftOut,
}

impl<'i> Tally<'i> {
    /// The snapshots that the counted records belong to, in the order of their windows.
    pub fn snapshots(
        &self,
        group: BucketGroup<'i>,
        settings: &UsageSettings,
        now: EpochMillis,
    ) -> Vec<Snapshot<'_, 'i>> {
        let mut by_window: BTreeMap<Window, ByShard<'_, 'i>> = BTreeMap::new();
        for record in &self.records {
            for window in record.windows(settings) {
                let shards = by_window.entry(window).or_default();
                shards.entry(record.shard).or_default().push(record);
            }
        }
        let expires = settings.expiry(now);
        let snapshot = |(window, shards)| Snapshot::new(group, window, expires, shards);
        by_window.into_iter().filter_map(snapshot).collect()
    }
}

impl<'t, 'i> Snapshot<'t, 'i> {
    /// `None` for a window whose start cannot be stored; [`Window`]s of records have none such.
    fn new(group: BucketGroup<'i>, window: Window, expires: i128, mut shards: ByShard<'t, 'i>) -> Option<Self> {
        for records in shards.values_mut() {
            // By guard, because that is what the condition compares; a number spelled twice is one record.
            records.sort_by(|left, right| left.guard.cmp(&right.guard));
            records.dedup_by(|next, first| next.guard == first.guard);
        }
        let start = window_start_text(window.start)?;
        Some(Self {
            group,
            window,
            start,
            expires,
            shards,
        })
    }

    /// The bucket shards that the batch adds for.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.shards.keys().copied()
    }

    /// The snapshot's key.
    pub fn key(&self) -> ItemKey {
        self.group.usage_snapshot(&self.start, self.window.key_suffix())
    }

    /// The lowest sequence number among the records.
    pub fn lowest(&self) -> Option<&'i SequenceNumber<'i>> {
        self.shards.values().flatten().map(|record| record.sequence).min()
    }

    /// What is left to write.
    pub fn plan(&self, guards: &Guards) -> SnapshotPlan<'i> {
        let mut left_out = LeftOut::default();
        let mut rest: BTreeMap<ShardId, &[&'t RecordUsage<'i>]> = BTreeMap::new();
        for (&shard, records) in &self.shards {
            let new = match guards.counted(shard) {
                None => records.as_slice(),
                Some(counted) => {
                    let known = records.partition_point(|record| record.guard.as_str() <= counted);
                    match records.last() {
                        Some(last) if last.guard.as_str() < counted => left_out.beyond += known,
                        _ => left_out.repeats += known,
                    }
                    &records[known..]
                }
            };
            if !new.is_empty() {
                rest.insert(shard, new);
            }
        }
        SnapshotPlan {
            write: self.write(&rest, guards),
            left_out,
        }
    }

    fn write(&self, shards: &BTreeMap<ShardId, &[&'t RecordUsage<'i>]>, guards: &Guards) -> Option<SnapshotWrite<'i>> {
        let mut sum = Sum::default();
        let mut guarded = (Vec::new(), Vec::new());
        for (&shard, new) in shards {
            new.iter().for_each(|record| sum.add(record));
            if let (Some(first), Some(last)) = (new.first(), new.last()) {
                guarded.0.push(guards.condition(shard, &first.guard));
                guarded.1.push(Action::Set {
                    attribute: guard_attribute(shard),
                    value: text(last.guard.as_str()),
                });
            }
        }
        let lowest = shards.values().copied().flatten().map(|record| record.sequence).min()?;
        let (conditions, moves) = guarded;
        Some(SnapshotWrite {
            update: self.update(sum.additions().chain(moves), conditions),
            records: sum.records,
            events: sum.events,
            limits: sum.limits,
            lowest,
        })
    }

    /// One write: these changes, and what the item says of itself.
    fn update(&self, changes: impl Iterator<Item = Action>, conditions: Vec<Condition>) -> Update {
        Update {
            key: self.key(),
            actions: changes.chain(self.description()).collect(),
            conditions,
            // A duplicate then costs no read: the failed condition shows what was counted.
            return_item_on_failure: true,
        }
    }

    /// What the item says of itself. Everything but `ttl` is the same in every write of the snapshot.
    fn description(&self) -> impl Iterator<Item = Action> {
        let index_keys = self.group.usage_index_keys(&self.start, self.window.key_suffix());
        let own = [
            ("entity_id", self.group.entity.to_owned()),
            ("resource", self.group.resource.to_owned()),
            ("window", self.window.kind.as_str().to_owned()),
            ("window_start", self.start.clone()),
        ];
        let ttl = Action::SetFrom {
            attribute: "ttl".to_owned(),
            source: "ttl".to_owned(),
            default: number(self.expires),
        };
        own.into_iter()
            .chain(index_keys)
            .map(|(attribute, value)| Action::Set {
                attribute: attribute.to_owned(),
                value: text(value),
            })
            .chain([ttl])
    }
}

/// What records add together.
#[derive(Clone, Debug, Default)]
struct Sum<'i> {
    records: usize,
    events: u64,
    limits: BTreeMap<&'i str, LimitTotal>,
}

impl<'i> Sum<'i> {
    fn add(&mut self, record: &RecordUsage<'i>) {
        for usage in &record.limits {
            let total = self.limits.entry(usage.limit).or_default();
            // At the end of the range the store refuses the number: a fault that is counted, never a wrong sum.
            total.tokens = total.tokens.saturating_add(usage.tokens);
            total.overdrafts += u64::from(usage.overdrawn);
            self.events += 1;
        }
        self.records += 1;
    }

    fn additions(&self) -> impl Iterator<Item = Action> {
        let add = |attribute: String, delta: i128| Action::Add { attribute, delta };
        let mut actions = Vec::new();
        for (limit, total) in &self.limits {
            // Even where it is 0: a limit that was used is named on the snapshot.
            actions.push(add((*limit).to_owned(), total.tokens));
            if total.overdrafts > 0 {
                actions.push(add(format!("{limit}#od"), total.overdrafts.into()));
            }
        }
        actions.push(add("total_events".to_owned(), self.events.into()));
        actions.into_iter()
    }
}
