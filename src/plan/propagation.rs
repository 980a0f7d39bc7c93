//! Shard-count propagation (R8, ADR-133, ADR-145): every shard learns a doubling, and new shards exist before anyone
//! needs them.
//!
//! Decides which shards to read, whom to raise and with which grant recorded, and whether the new shards may be
//! created at all. Refuses counts above 32, and creations from an image that somebody overtook: what cannot be known
//! for certain is left to the clients, who create lazily. What must stay true: a raise never lowers a count, and a
//! grant's size is recorded no later than the count that would change its reading.
//!
//! The steps are read, raise, create, repair, in this order; the reads and writes themselves happen elsewhere.

mod creation;
mod overtaken;
mod pending;

pub use creation::{Creation, NewShard, QuotaFunding, ShardRefusal};

use std::collections::BTreeMap;

use super::change::BucketChange;
use super::quota::{Quota, grant_size, quotas_of};
use super::recovery::ItemSchedules;
use crate::bucket::{Bucket, LimitField, attribute};
use crate::item::{Item, number};
use crate::key::{BucketGroup, ItemKey};
use crate::schedule::ScheduleError;
use crate::units::{EpochMillis, MAX_SHARD_COUNT, ShardCount, ShardId};
use crate::write::{Action, Comparison, Condition, Update};

/// Shards as read, `None` for one that does not exist.
pub type Siblings = BTreeMap<ShardId, Option<Item>>;

/// A rise of the shard count on shard 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The count before.
    pub from: ShardCount,
    /// The count after.
    pub to: ShardCount,
}

impl Rise {
    /// The rise that a change shows: a MODIFY of shard 0 with a count on both images.
    pub fn of(change: &BucketChange<'_>) -> Option<Self> {
        let old = change.old.as_ref()?;
        if change.shard() != ShardId::ZERO {
            return None;
        }
        old.fields.stored_count.and(change.new.fields.stored_count)?;
        let (from, to) = (old.fields.shard_count(), change.new.fields.shard_count());
        (to > from).then_some(Self { from, to })
    }

    /// Whether the count is one that no table should hold: nothing is propagated.
    pub fn is_above_maximum(&self) -> bool {
        self.to > MAX_SHARD_COUNT
    }

    /// The shards that the rise adds.
    pub fn new_shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (self.from.get()..self.to.get()).map(ShardId)
    }

    /// The shards that must learn the rise.
    pub fn raised_shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (1..self.from.get()).map(ShardId)
    }
}

/// Why no shard is created after a rise. The clients create them on first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreationRefusal {
    /// A schedule or reset rule on the image will not decode.
    Undecodable(ScheduleError),
    /// The siblings could not be read.
    ReadFailed,
    /// A raise failed: a shard that still counts by the old number would be granted too much at its next reset.
    RaiseFailed,
    /// Shard 0 is gone.
    ShardZeroGone,
    /// Shard 0's count has moved on.
    CountMovedOn {
        /// The count as read.
        read: ShardCount,
    },
    /// An operator's change reached shard 0 after the image: it could not reach a shard that did not exist yet.
    Overtaken {
        /// The attribute that differs.
        attribute: String,
    },
    /// With a quota on the image, a sibling counts more shards than the image.
    SiblingAhead {
        /// The sibling.
        shard: ShardId,
    },
    /// The image, or a sibling as read, holds something that cannot be read or copied.
    Unreadable,
    /// Some amount leaves 128 bits.
    AmountOutOfRange,
}

/// A raise of one shard's count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The shard.
    pub shard: ShardId,
    /// Whether the grant sizes of its quotas are recorded with it.
    pub freezes: bool,
    /// The typed write.
    pub update: Update,
}

/// A rise to be propagated.
#[derive(Debug)]
pub struct Propagation<'s> {
    /// The change that shows it.
    pub change: &'s BucketChange<'s>,
    /// The rise.
    pub rise: Rise,
    now: EpochMillis,
    rules: Result<ImageRules<'s>, CreationRefusal>,
}

/// What the image says about its limits.
#[derive(Debug)]
struct ImageRules<'s> {
    schedules: ItemSchedules<'s>,
    quotas: Vec<Quota<'s>>,
}

impl<'s> Propagation<'s> {
    /// Begins the propagation of a rise.
    pub fn new(change: &'s BucketChange<'s>, rise: Rise, now: EpochMillis) -> Self {
        let bucket = &change.new;
        let rules = match ItemSchedules::decode(&bucket.fields, &bucket.limits) {
            Err(error) => Err(CreationRefusal::Undecodable(error)),
            Ok(schedules) => match quotas_of(bucket, &schedules, now) {
                Some(quotas) => Ok(ImageRules { schedules, quotas }),
                None => Err(CreationRefusal::AmountOutOfRange),
            },
        };
        Self {
            change,
            rise,
            now,
            rules,
        }
    }

    /// Whether the image carries a quota.
    pub fn has_quota(&self) -> bool {
        self.rules.as_ref().is_ok_and(|rules| !rules.quotas.is_empty())
    }

    /// What must be read, strongly consistently and before anything else: shard 0, and with a quota every shard that
    /// existed before. Nothing where the image's rules will not decode: nothing will be created then.
    pub fn reads(&self) -> Vec<ShardId> {
        match &self.rules {
            Err(_) => Vec::new(),
            Ok(rules) if rules.quotas.is_empty() => vec![ShardId::ZERO],
            Ok(_) => (0..self.rise.from.get()).map(ShardId).collect(),
        }
    }

    /// The raises of the shards that existed before. With siblings as read, the grant sizes of every quota that a
    /// sibling carries are recorded by the same write; a sibling that already counts as many shards is left alone.
    pub fn raises(&self, siblings: Option<&Siblings>) -> Vec<Raise> {
        let group = &self.change.key.group;
        let raise = |shard| match siblings
            .and_then(|siblings| siblings.get(&shard))
            .and_then(Option::as_ref)
        {
            None => Some(raise_shard(group, shard, self.rise.to, Vec::new())),
            Some(item) => raise_as_read(group, shard, item, self.rise.to, self.now),
        };
        self.rise.raised_shards().filter_map(raise).collect()
    }

    /// The creation of the new shards, given the siblings as read.
    ///
    /// # Errors
    /// [`CreationRefusal`] says why none may be created.
    pub fn creation(&self, siblings: &'s Siblings) -> Result<Creation<'s, '_>, CreationRefusal> {
        let rules = self.rules.as_ref().map_err(CreationRefusal::clone)?;
        overtaken::check(self, siblings)?;
        Creation::new(self, rules, siblings)
    }

    /// Why nothing can be created whatever a read would say.
    pub fn refused_from_the_start(&self) -> Option<&CreationRefusal> {
        self.rules.as_ref().err()
    }
}

/// The repair after creations: a doubling that landed meanwhile could not reach shards that did not exist yet, so
/// each of them is raised to the count as read, with the size of its grant recorded (ADR-145).
pub fn repairs(
    group: &BucketGroup<'_>,
    created: &[NewShard<'_>],
    sized_at: ShardCount,
    read: ShardCount,
) -> Vec<Raise> {
    if read <= sized_at || read > MAX_SHARD_COUNT {
        return Vec::new();
    }
    let repair = |new: &NewShard<'_>| {
        let sizes = new.fundings.iter().map(|funding| (funding.limit, sized_at)).collect();
        raise_shard(group, new.shard, read, sizes)
    };
    created.iter().map(repair).collect()
}

/// The key of shard 0, whose count is read again after creations.
pub fn shard_zero(group: &BucketGroup<'_>) -> ItemKey {
    group.bucket(ShardId::ZERO)
}

fn raise_as_read(
    group: &BucketGroup<'_>,
    shard: ShardId,
    item: &Item,
    to: ShardCount,
    now: EpochMillis,
) -> Option<Raise> {
    let Ok(bucket) = Bucket::from_item(item) else {
        return Some(raise_shard(group, shard, to, Vec::new()));
    };
    if bucket.fields.shard_count() >= to && bucket.fields.stored_count.is_some() {
        return None;
    }
    Some(raise_shard(group, shard, to, own_grant_sizes(&bucket, now)))
}

/// The size of every quota's grant on a sibling, by its own rules. Nothing where those will not decode.
fn own_grant_sizes<'b>(bucket: &'b Bucket<'b>, now: EpochMillis) -> Vec<(&'b str, ShardCount)> {
    let schedules = ItemSchedules::decode(&bucket.fields, &bucket.limits).ok();
    let quotas = schedules
        .and_then(|schedules| quotas_of(bucket, &schedules, now))
        .unwrap_or_default();
    let count = bucket.fields.shard_count();
    quotas
        .iter()
        .map(|quota| (quota.limit.name, grant_size(quota.limit, count, quota.capacity)))
        .collect()
}

fn raise_shard(group: &BucketGroup<'_>, shard: ShardId, to: ShardCount, sizes: Vec<(&str, ShardCount)>) -> Raise {
    let count = "shard_count".to_owned();
    let freezes = !sizes.is_empty();
    let mut actions = vec![Action::Set {
        attribute: count.clone(),
        value: number(to.get().into()),
    }];
    for (limit, size) in sizes {
        let grant_count = attribute(limit, LimitField::Gc);
        actions.push(Action::SetFrom {
            attribute: grant_count.clone(),
            source: grant_count,
            default: number(size.get().into()),
        });
    }
    let lower = Condition::compare(count.clone(), Comparison::Less, to.get().into());
    let conditions = vec![
        Condition::item_exists(),
        Condition::Any(vec![Condition::Absent(count), lower]),
    ];
    let update = Update {
        key: group.bucket(shard),
        actions,
        conditions,
        return_item_on_failure: false,
    };
    Raise { shard, freezes, update }
}
