//! What can be found on a bucket, and how bad each is.

use crate::units::{Millitokens, ShardCount, ShardId};

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
