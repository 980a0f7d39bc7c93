//! Decides; never does. Values in (changes of one group, siblings as read, `now`), typed writes out.
//!
//! No store, no async runtime, no clock and no environment may appear in this module or below it; a test over the
//! sources keeps it so. What must stay true: the same input gives the same writes, every write carries the
//! conditions that make a repeat harmless, and every decision carries its reason.

pub mod accrual;
pub mod change;
pub mod doubling;
pub mod funding;
pub mod group;
pub mod owner;
pub mod propagation;
pub mod quota;
pub mod recovery;
pub mod refill;
pub mod shard_state;
pub mod usage;
pub mod windows;

pub use change::{BucketChange, SkippedRecord};
pub use group::{Group, group_changes};
pub use shard_state::{FoldedLimit, ShardState};
