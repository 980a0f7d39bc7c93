//! Usage snapshots (R12): what a group's records add to which snapshot, each record exactly once.
//!
//! Decides what a record adds ([`tally`]), which windows it belongs to ([`window`]), what of it a snapshot has counted
//! already ([`guard`]) and the one write per snapshot ([`snapshot`]). Refuses to count what cannot be guarded against
//! a second delivery: a record without a sequence number, or of a shard beyond the 32 that exist. An invoice that
//! lacks a record nobody could place is explained by a warning; one that holds it twice is simply wrong.
//!
//! What must stay true: whatever a snapshot's guard of a shard says was counted, was counted exactly once, and nothing
//! above it was. Records of one shard reach a snapshot in the order of their numbers the first time, every write
//! requires that all of its records lie above the guard, and moves the guard to the last of them, in one item.

pub mod guard;
pub mod settings;
pub mod snapshot;
pub mod tally;
pub mod window;

pub use guard::{Guard, Guards};
pub use settings::UsageSettings;
#[cfg(feature = "replay")]
pub use snapshot::{Fate, RedrivePlan, RedriveRow, RedriveWrite, UnreadableMarker, redriven_attribute};
pub use snapshot::{LeftOut, LimitTotal, Snapshot, SnapshotPlan, SnapshotWrite};
pub use tally::{RecordUsage, Tally, Uncounted, UncountedReason};
pub use window::{Window, WindowKind, Windows};

#[cfg(test)]
mod tests;
