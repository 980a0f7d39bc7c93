//! One batch through the aggregator, and what it came to.

use aws_sdk_dynamodbstreams::types::Record;
use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::clock;
use limiter_aggregator::config::{HashKey, Settings};
use limiter_aggregator::correlation::Correlator;
use limiter_aggregator::report::{Counts, Report};
use limiter_aggregator::stream::{Deliver, Delivered, lambda_event};
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::units::EpochMillis;

/// The aggregator behind a stream.
pub struct Handler {
    aggregator: Aggregator<DynamoDbTable>,
    correlator: Correlator,
    dry_run: bool,
    stream_arn: String,
    done: Vec<Batch>,
}

/// What one batch came to.
pub struct Batch {
    /// The event, as the Lambda would be given it.
    pub event: String,
    /// The instant that the rules saw.
    pub now: EpochMillis,
    /// The stream shard.
    pub shard: String,
    /// The answer.
    pub delivered: Delivered,
    /// What was done.
    pub counts: Counts,
    /// From the last record's creation, known to the second, to the batch's end.
    pub lag_ms: i64,
    /// What the work took.
    pub duration_ms: u128,
}

impl Handler {
    /// An aggregator on this table.
    pub fn new(table: DynamoDbTable, settings: Settings, hash_key: Option<&HashKey>, stream_arn: String) -> Self {
        Self {
            correlator: Correlator::of(hash_key),
            dry_run: settings.dry_run,
            aggregator: Aggregator::new(table, settings),
            stream_arn,
            done: Vec::new(),
        }
    }

    /// The batches since the last time.
    pub fn take_done(&mut self) -> Vec<Batch> {
        std::mem::take(&mut self.done)
    }
}

impl Deliver for Handler {
    async fn deliver(&mut self, shard: &str, records: &[Record]) -> Delivered {
        let (now, started) = (clock::now(), clock::monotonic_now());
        let event = lambda_event(records, &self.stream_arn);
        let report = Report::new(&self.correlator, self.dry_run);
        let outcome = self.aggregator.handle(&event, now, &Budget::unlimited(), &report).await;
        let delivered = match outcome {
            Ok(BatchOutcome::Complete) => Delivered::Complete,
            Ok(BatchOutcome::RetryFrom(sequence)) => Delivered::RetryFrom(sequence.as_str().to_owned()),
            // An event that cannot be read would stop Lambda's reading as well: the whole batch comes again.
            Ok(BatchOutcome::RetryAll) | Err(_) => Delivered::RetryAll,
        };
        let created = records
            .last()
            .and_then(|record| record.dynamodb()?.approximate_creation_date_time());
        let created_ms = created.map_or(now.0, |at| at.secs().saturating_mul(1_000));
        self.done.push(Batch {
            event,
            now,
            shard: shard.to_owned(),
            delivered: delivered.clone(),
            counts: report.close(),
            lag_ms: clock::now().0.saturating_sub(created_ms),
            duration_ms: clock::monotonic_now().duration_since(started).as_millis(),
        });
        delivered
    }
}
