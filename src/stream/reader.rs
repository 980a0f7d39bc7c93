//! One shard's place: what was fetched of it and waits, and where to fetch more.

use std::collections::VecDeque;
use std::time::Duration;

use aws_sdk_dynamodbstreams::types::Record;
use tokio::time::Instant;

use super::Progress;
use super::source::{DynamoDbStream, From, SourceError};
use crate::clock;

/// The wait before a failed batch is delivered again, or a failed request sent again; doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The place in one shard.
#[derive(Default)]
pub struct Reader {
    /// `None` before the first request, and after an iterator has expired.
    iterator: Option<String>,
    /// Whether the shard has nothing more to read.
    pub has_ended: bool,
    /// Fetched and not yet delivered to the end.
    pub waiting: VecDeque<Record>,
    /// When the first of the waiting records came.
    pub since: Option<Instant>,
    /// The pause after a failed request.
    pub read_wait: Wait,
    /// The pause after a failed batch.
    pub delivery_wait: Wait,
}

impl Reader {
    /// A reader that begins at an iterator.
    pub fn at(iterator: String) -> Self {
        Self {
            iterator: Some(iterator),
            ..Self::default()
        }
    }

    /// Fetches one page. Answers how many records it held: none where the iterator has expired, and the next call asks
    /// for another.
    ///
    /// # Errors
    /// [`SourceError`], but for an expired iterator. One that may pass leaves the place as it is.
    pub async fn fetch(
        &mut self,
        source: &DynamoDbStream,
        shard: &str,
        progress: Option<&Progress>,
    ) -> Result<usize, SourceError> {
        let iterator = match self.iterator.take() {
            Some(iterator) => iterator,
            None => source.iterator(shard, &self.position(progress)).await?,
        };
        let page = match source.records(&iterator).await {
            Ok(page) => page,
            Err(SourceError::IteratorExpired) => return Ok(0),
            Err(error) => {
                if matches!(error, SourceError::Passing { .. }) {
                    self.iterator = Some(iterator);
                }
                return Err(error);
            }
        };
        let records = page.records.len();
        self.has_ended = page.next.is_none();
        self.iterator = page.next;
        if self.waiting.is_empty() && records > 0 {
            self.since = Some(clock::monotonic_now());
        }
        self.waiting.extend(page.records);
        Ok(records)
    }

    /// Goes on with the oldest record that is left.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn restart(&mut self, source: &DynamoDbStream, shard: &str) -> Result<(), SourceError> {
        self.iterator = Some(source.iterator(shard, &From::Oldest).await?);
        Ok(())
    }

    /// The last record that was read of the shard, if there was one.
    pub fn last_read(&self, progress: Option<&Progress>) -> Option<String> {
        match self.position(progress) {
            From::At(sequence) | From::After(sequence) => Some(sequence),
            From::Oldest | From::Latest => None,
        }
    }

    /// Where the shard goes on: behind what waits, or else behind its checkpoint. A shard that appears later, or whose
    /// parent has ended, begins with its oldest record however the reading began.
    fn position(&self, progress: Option<&Progress>) -> From {
        let waiting = self.waiting.back().and_then(sequence_of).map(str::to_owned);
        match (waiting, progress) {
            (Some(sequence), _) => From::After(sequence),
            (None, Some(Progress::After(sequence))) => From::After(sequence.clone()),
            (None, Some(Progress::Finished) | None) => From::Oldest,
        }
    }
}

/// A pause that doubles with every failure in a row.
#[derive(Default)]
pub struct Wait {
    failures: u32,
    until: Option<Instant>,
}

impl Wait {
    /// Whether nothing is to be waited for.
    pub fn is_over(&self) -> bool {
        self.until.is_none_or(|until| clock::monotonic_now() >= until)
    }

    /// Whether the last try failed.
    pub fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// A try failed.
    pub fn longer(&mut self) {
        let wait = FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(self.failures))
            .min(LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(clock::monotonic_now() + wait);
    }

    /// A try succeeded.
    pub fn none(&mut self) {
        *self = Self::default();
    }
}

/// A record's sequence number.
pub fn sequence_of(record: &Record) -> Option<&str> {
    record.dynamodb()?.sequence_number()
}
