//! Stream aggregator for DynamoDB rate-limit buckets.
//!
//! A batch of stream records goes through here in one direction:
//!
//! ```text
//! event text ── record ──> records ── plan::change ──> bucket changes ── plan::group ──> groups
//!     one odd record costs itself only                  (namespace, entity, resource)      │
//!                                                                                          │
//!        plan::{refill, doubling, propagation, windows}  <── one group at a time ──────────┘
//!                │  typed writes with their conditions (write), reasons for the log
//!                ▼
//!            aggregate ── does what was planned, in order ──> table ── UpdateItem, TransactWriteItems, BatchGetItem
//!                │
//!                ▼
//!        the lowest sequence number still owed, or nothing
//! ```
//!
//! - [`units`], [`key`], [`item`], [`mod@write`]: the words that everything else is written in.
//! - [`record`], [`bucket`]: what the stream says, decoded record by record and limit by limit.
//! - [`schedule`]: compact schedules, their zones, edges and boundaries.
//! - [`plan`]: the rules. Values in, values out; no store, no clock, no environment.
//! - [`table`]: the store as the rules need it, through the SDK and, for tests, in memory.
//! - [`archive`]: what is kept of audit records that expire, and where.
//! - [`aggregate`]: a batch from its text to its answer.
//! - [`report`], [`correlation`]: what is counted, logged and measured, and how buckets are named without their ids.
//! - [`lambda`]: the same as a Lambda function.
//! - `audit`: whether what is stored agrees with the rules.
//! - `redrive`: batches that the stream gave up, worked on afterwards.
//! - `release`: which releases of the client library this stands in for.
//! - `engine`, `stream`: for the replay program, an embedded table service and a reader of streams in Lambda's stead.
//! - [`config`], [`clock`]: what is read from outside, each in one place.
#![deny(missing_docs)]

pub mod aggregate;
pub mod archive;
#[cfg(feature = "replay")]
pub mod audit;
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
#[cfg(feature = "replay")]
pub mod redrive;
#[cfg(feature = "replay")]
pub mod release;
pub mod report;
pub mod schedule;
#[cfg(feature = "replay")]
pub mod stream;
pub mod table;
pub mod units;
pub mod write;
