//! Shard counts, funded shards and window starts (R8 to R11): what the rules promise, tried from every side.

mod captures;
mod conservation;
mod copies;
mod cost;
mod crash_points;
mod creation;
mod donors;
pub mod interposed;
mod ledger;
mod operator_changes;
mod owner;
mod quota;
mod races;
mod raises;
mod requests;
pub mod scene;
mod two_aggregators;
mod windows;
mod wire;
