//! Siblings whose reset is pending while a slot of theirs is granted anew.
//!
//! A sibling that was not reset in this period covers no slot, so a new shard gets a fresh share. But until its raise
//! lands, the sibling can still be reset at the count before the rise, and is then granted the new shard's slot too.
//! Decides what must hold of such siblings when the new shard is created: not reset since they were read, or reset
//! at a count that leaves the slot out.

use crate::bucket::{Bucket, LimitField, attribute};
use crate::item::number;
use crate::plan::funding::Grant;
use crate::plan::quota::Quota;
use crate::units::{EpochMillis, Millitokens, ShardCount, ShardId};
use crate::write::{Comparison, Condition};

/// The grant that a sibling would be given by a reset at the count that was read.
#[derive(Debug)]
pub(super) struct PendingGrant {
    grant: Grant,
    /// That it has not been.
    condition: Condition,
}

impl PendingGrant {
    /// The pending grants of one quota, given the siblings as read and the count that they are raised to.
    pub(super) fn all(
        quota: &Quota<'_>,
        siblings: &[(ShardId, Bucket<'_>)],
        to: ShardCount,
        now: EpochMillis,
    ) -> Vec<Self> {
        let pending = |(shard, bucket): &(ShardId, Bucket<'_>)| {
            let fields = &bucket.fields;
            let limit = bucket.limit(quota.limit.name)?;
            if quota.period.is_current(fields, limit, now) {
                return None;
            }
            let grant = Grant {
                shard: *shard,
                size: fields.shard_count(),
                balance: Millitokens::ZERO,
            };
            let as_read = Condition::as_read("rf", fields.last_refill.map(|last_refill| number(last_refill.0.into())));
            let grant_count = attribute(limit.name, LimitField::Gc);
            let raised = Condition::compare(grant_count, Comparison::AtLeast, to.get().into());
            Some(Self {
                grant,
                condition: Condition::Any(vec![as_read, raised]),
            })
        };
        siblings.iter().filter_map(pending).collect()
    }

    /// What must hold of which sibling if a slot is granted anew.
    pub(super) fn guard(&self, slot: ShardId) -> Option<(ShardId, &Condition)> {
        self.grant.covers(slot).then_some((self.grant.shard, &self.condition))
    }
}
