//! Stream aggregator for DynamoDB rate-limit buckets.

pub mod aggregate;
pub mod bucket;
pub mod clock;
pub mod config;
pub mod correlation;
#[cfg(feature = "replay")]
pub mod engine;
pub mod item;
pub mod key;
pub mod lambda;
pub mod plan;
pub mod record;
pub mod schedule;
pub mod table;
pub mod units;
pub mod write;
