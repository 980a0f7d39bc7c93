//! A stream's records in batches, as Lambda's event source mapping would deliver them, for whoever runs without Lambda.
//!
//! Decides which shards are read and in which order, what a batch is, and where to go on after a failure. Refuses to
//! pass over records: a shard whose next record has expired ends the reading, unless the caller has said beforehand
//! that what is lost may be lost. What must stay true: a shard is read only after its parent is done with; the
//! records of a shard are delivered in their order; a checkpoint never moves past a record whose work is not done.

mod batch;
mod checkpoint;
mod consumer;
mod event;
mod lineage;
mod range;
mod reader;
mod source;

pub use batch::Limits;
pub use checkpoint::{CheckpointError, Checkpoints, Progress};
pub use consumer::{Consumer, ConsumerError, Deliver, Delivered, Notice, Options, Turn};
pub use event::lambda_event;
pub use range::{Range, RangeError, read_range};
pub use source::{DynamoDbStream, SourceError};
