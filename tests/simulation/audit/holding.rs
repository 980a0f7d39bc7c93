//! A holding: one shard's grant of one period, and what is known of the shard since.

/// How a holding came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Fresh,
    Moved,
    Pending,
}

/// One shard's grant of one period.
#[derive(Clone, Copy, Debug)]
pub struct Holding {
    pub shard: u32,
    /// Of its period.
    pub start: i64,
    /// When it was granted, by its writer's clock, and not before the period: shards may be staggered (ADR-140), and a
    /// slot that one shard held until its window ended may be another's from then on.
    pub since: i64,
    pub end: i64,
    pub size: i128,
    pub granted: i128,
    pub capacity: i128,
    pub origin: Origin,
    pub admitted: i128,
    pub topped_up: i128,
    /// Taken by old writers while the reset was pending, and granted beyond the share (*refunded*).
    pub unheeded: i128,
    /// Another grant may overlap this one, for one of the reasons above.
    pub excused: bool,
    /// Made by a late request from tokens of a later period: the reset that this waits for replaces them.
    pub late: bool,
    /// An old writer took `rf` back before its period.
    pub taken_back: bool,
    pub alive: bool,
}

impl Holding {
    /// Whether another shard's grant began in this one's window, in a window of its own.
    pub fn is_staggered(&self, later: &Self) -> bool {
        self.shard != later.shard && self.alive && self.start < later.start && later.since < self.end
    }

    /// Whether it was held at an instant.
    pub fn at(&self, instant: i64) -> bool {
        self.since <= instant && instant < self.end
    }
}

/// What a shard saw since `rf` or the window last moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    pub least_consumed: i128,
    pub least_capacity: i128,
    pub most_capacity: i128,
    /// The lowest count since: an old writer does not pin it.
    pub least_count: i128,
    /// Given back by refunds.
    pub refunded: i128,
    /// Moved to new siblings.
    pub moved_out: i128,
    /// A client clamped and left no mark.
    pub unmarked: bool,
}
