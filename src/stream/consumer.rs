//! Reading on: one turn after the other over the shards that may be read.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodbstreams::types::Record;
use tokio::time::Instant;

use super::lineage::{Shard, readable};
use super::reader::{Reader, Wait, sequence_of};
use super::source::{DynamoDbStream, From, SourceError};
use super::{CheckpointError, Checkpoints, Limits, Progress};
use crate::clock;

/// How often the shards are described anew, beside whenever one of them ends.
const DESCRIBE_EVERY: Duration = Duration::from_secs(10);

/// What a handler made of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// Everything is done.
    Complete,
    /// Deliver again from this sequence number on.
    RetryFrom(String),
    /// Deliver all of it again.
    RetryAll,
}

/// Takes batches.
#[expect(async_fn_in_trait, reason = "the program delivers in one task")]
pub trait Deliver {
    /// Works on the records of one batch, all of one shard.
    async fn deliver(&mut self, shard: &str, records: &[Record]) -> Delivered;
}

/// What a person should know about, beside the batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A shard is read from here on.
    ShardOpened {
        /// The shard's id.
        shard: String,
    },
    /// All of a shard is done.
    ShardFinished {
        /// The shard's id.
        shard: String,
    },
    /// Records have expired before they were delivered, and reading goes on with the oldest that are left.
    RecordsLost {
        /// The shard's id.
        shard: String,
        /// The last record that was delivered, if there was one.
        after: Option<String>,
    },
    /// The stream refused, and is asked again later.
    SourceFailed(SourceError),
}

/// Why reading ends.
#[derive(Debug, thiserror::Error)]
pub enum ConsumerError {
    /// The next records of a shard have expired.
    #[error("shard {shard}: the records after {} have expired", after.as_deref().unwrap_or("its beginning"))]
    Trimmed {
        /// The shard's id.
        shard: String,
        /// The last record that was delivered, if there was one.
        after: Option<String>,
    },
    /// The stream cannot be read.
    #[error(transparent)]
    Source(SourceError),
    /// The checkpoints cannot be kept.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// How to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What a batch is.
    pub limits: Limits,
    /// Begin with what is written from now on; shards with a checkpoint go on behind it all the same.
    pub from_latest: bool,
    /// Go on with the oldest records where the next ones have expired.
    pub skip_expired: bool,
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Records that were fetched.
    pub fetched: usize,
    /// Batches that were delivered.
    pub batches: usize,
    /// Records that wait for others, or for their next delivery.
    pub waiting: usize,
    /// What else happened.
    pub notices: Vec<Notice>,
}

/// A reader of all shards of a stream.
pub struct Consumer<D> {
    source: DynamoDbStream,
    handler: D,
    checkpoints: Checkpoints,
    options: Options,
    shards: Vec<Shard>,
    /// When the shards were described last; `None` if they are to be described anew.
    described: Option<Instant>,
    has_begun: bool,
    readers: BTreeMap<String, Reader>,
    describe_wait: Wait,
}

impl<D: Deliver> Consumer<D> {
    /// A consumer that has read nothing yet.
    pub fn new(source: DynamoDbStream, handler: D, checkpoints: Checkpoints, options: Options) -> Self {
        Self {
            source,
            handler,
            checkpoints,
            options,
            shards: Vec::new(),
            described: None,
            has_begun: false,
            readers: BTreeMap::new(),
            describe_wait: Wait::default(),
        }
    }

    /// The handler.
    pub fn handler_mut(&mut self) -> &mut D {
        &mut self.handler
    }

    /// How far each shard is.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// One look at every shard that may be read: at most one page is fetched of each and one batch delivered. A batch
    /// that is under way is worked on to its end, so that between two turns is where to stop.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn turn(&mut self) -> Result<Turn, ConsumerError> {
        let mut turn = Turn::default();
        if self.describe_wait.is_over() {
            let described = self.describe().await;
            wait_if_passing(described, &mut self.describe_wait, &mut turn)?;
        }
        self.read(&mut turn).await?;
        let ids: Vec<String> = self.readers.keys().cloned().collect();
        for id in ids {
            self.deliver(&id, &mut turn).await?;
        }
        turn.waiting = self.readers.values().map(|reader| reader.waiting.len()).sum();
        Ok(turn)
    }

    async fn read(&mut self, turn: &mut Turn) -> Result<(), ConsumerError> {
        let finished = |id: &str| self.checkpoints.is_finished(id);
        let ids: Vec<String> = readable(&self.shards, finished)
            .iter()
            .map(|shard| shard.id.clone())
            .collect();
        for id in ids {
            let mut reader = self.readers.remove(&id).unwrap_or_else(|| {
                turn.notices.push(Notice::ShardOpened { shard: id.clone() });
                Reader::default()
            });
            if reader.read_wait.is_over() {
                let fetched = self.fetch(&id, &mut reader, turn).await;
                // Other shards are read on meanwhile.
                wait_if_passing(fetched, &mut reader.read_wait, turn)?;
            }
            self.readers.insert(id, reader);
        }
        Ok(())
    }

    async fn describe(&mut self) -> Result<(), ConsumerError> {
        let now = clock::monotonic_now();
        if self.described.is_some_and(|at| now.duration_since(at) < DESCRIBE_EVERY) {
            return Ok(());
        }
        let shards = self.source.shards().await.map_err(ConsumerError::Source)?;
        if !self.has_begun && self.options.from_latest {
            self.begin_with_the_latest(&shards).await?;
        }
        self.shards = shards;
        self.has_begun = true;
        self.described = Some(now);
        Ok(())
    }

    /// Takes the iterators of all open shards at once: a later turn would find a later "latest". Whoever begins so
    /// wants none of the shards that have ended already.
    async fn begin_with_the_latest(&mut self, shards: &[Shard]) -> Result<(), ConsumerError> {
        let is_fresh =
            |shard: &&Shard| self.checkpoints.of(&shard.id).is_none() && !self.readers.contains_key(&shard.id);
        let fresh: Vec<Shard> = shards.iter().filter(is_fresh).cloned().collect();
        for Shard { id, is_closed, .. } in fresh {
            if is_closed {
                self.checkpoints.set(&id, Progress::Finished)?;
                continue;
            }
            let iterator = self.source.iterator(&id, &From::Latest).await;
            let reader = Reader::at(iterator.map_err(ConsumerError::Source)?);
            self.readers.insert(id, reader);
        }
        Ok(())
    }

    async fn fetch(&self, id: &str, reader: &mut Reader, turn: &mut Turn) -> Result<(), ConsumerError> {
        if reader.has_ended || reader.waiting.len() >= self.options.limits.size {
            return Ok(());
        }
        let progress = self.checkpoints.of(id);
        match reader.fetch(&self.source, id, progress).await {
            Ok(records) => turn.fetched += records,
            Err(SourceError::Trimmed { .. }) => {
                let (shard, after) = (id.to_owned(), reader.last_read(progress));
                if !self.options.skip_expired {
                    return Err(ConsumerError::Trimmed { shard, after });
                }
                let restarted = reader.restart(&self.source, id).await;
                restarted.map_err(ConsumerError::Source)?;
                turn.notices.push(Notice::RecordsLost { shard, after });
            }
            Err(error) => return Err(ConsumerError::Source(error)),
        }
        Ok(())
    }

    async fn deliver(&mut self, id: &str, turn: &mut Turn) -> Result<(), ConsumerError> {
        let Some(reader) = self.readers.get_mut(id) else {
            return Ok(());
        };
        if !reader.delivery_wait.is_over() {
            return Ok(());
        }
        let age = reader
            .since
            .map_or(Duration::ZERO, |since| clock::monotonic_now().duration_since(since));
        let size = self.options.limits.due(reader.waiting.len(), age, reader.has_ended);
        if size > 0 {
            turn.batches += 1;
            let batch = reader.waiting.make_contiguous().get(..size).unwrap_or_default();
            let delivered = self.handler.deliver(id, batch).await;
            let done = done_of(batch, &delivered);
            match delivered {
                Delivered::Complete => reader.delivery_wait.none(),
                Delivered::RetryFrom(_) | Delivered::RetryAll => reader.delivery_wait.longer(),
            }
            let last = reader.waiting.drain(..done).next_back();
            if done > 0 && !reader.delivery_wait.has_failed() {
                reader.since = (!reader.waiting.is_empty()).then(clock::monotonic_now);
            }
            if let Some(sequence) = last.as_ref().and_then(sequence_of) {
                self.checkpoints.set(id, Progress::After(sequence.to_owned()))?;
            }
        }
        if reader.has_ended && reader.waiting.is_empty() {
            self.readers.remove(id);
            self.checkpoints.set(id, Progress::Finished)?;
            self.described = None;
            turn.notices.push(Notice::ShardFinished { shard: id.to_owned() });
        }
        Ok(())
    }
}

/// Leaves what may pass for later, with a notice.
fn wait_if_passing(done: Result<(), ConsumerError>, wait: &mut Wait, turn: &mut Turn) -> Result<(), ConsumerError> {
    match done {
        Ok(()) => wait.none(),
        Err(ConsumerError::Source(error @ SourceError::Passing { .. })) => {
            wait.longer();
            turn.notices.push(Notice::SourceFailed(error));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// How many records of the batch need no other delivery. A number that is not in the batch asks for all of it.
fn done_of(batch: &[Record], delivered: &Delivered) -> usize {
    match delivered {
        Delivered::Complete => batch.len(),
        Delivered::RetryAll => 0,
        Delivered::RetryFrom(sequence) => {
            let is_first = |record: &Record| sequence_of(record) == Some(sequence.as_str());
            batch.iter().position(is_first).unwrap_or(0)
        }
    }
}
