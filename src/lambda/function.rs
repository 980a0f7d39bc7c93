//! One invocation: the event's text in, the batch response or an error out, and what is said about it.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use futures::FutureExt;
use lambda_runtime::Diagnostic;

use crate::aggregate::{Aggregator, BatchOutcome, Budget};
use crate::archive::{Archive, NoArchive};
use crate::clock;
use crate::config::FunctionSettings;
use crate::correlation::Correlator;
use crate::key::BucketGroup;
use crate::record::EventError;
use crate::report::{Counts, Invocation, MetricsTarget, Report, metrics_line};
use crate::table::counted::CountedTable;
use crate::table::{Consistency, Table};
use crate::units::{EpochMillis, ShardId};

/// Longest wait for the warm-up: init as a whole has ten seconds.
const WARM_UP_PATIENCE: Duration = Duration::from_secs(3);

/// A bucket that no client makes. The warm-up may be refused for want of permission as little as any other read.
const NO_BUCKET: BucketGroup<'static> = BucketGroup {
    namespace: "_",
    entity: "_",
    resource: "_",
};

/// Why an invocation fails as a whole; the stream then sends the whole batch again.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// The event is no stream event.
    #[error(transparent)]
    NotAnEvent(#[from] EventError),
    /// Work failed whose record carries no sequence number to rewind to.
    #[error("a record without a sequence number has to be delivered again")]
    Unnumbered,
    /// A panic outside the work on any group.
    #[error("the invocation panicked")]
    Panicked,
}

impl From<InvocationError> for Diagnostic {
    fn from(error: InvocationError) -> Self {
        let error_type = match error {
            InvocationError::NotAnEvent(_) => "NotAnEvent",
            InvocationError::Unnumbered => "Unnumbered",
            InvocationError::Panicked => "Panicked",
        };
        Self {
            error_type: error_type.to_owned(),
            error_message: error.to_string(),
        }
    }
}

/// What answers invocations.
pub struct Function<T, A = NoArchive> {
    aggregator: Aggregator<CountedTable<T>, A>,
    correlator: Correlator,
    metrics: MetricsTarget,
    dry_run: bool,
}

impl<T: Table> Function<T> {
    /// A function that works on a table.
    pub fn new(table: T, settings: FunctionSettings) -> Self {
        Self {
            correlator: Correlator::of(settings.log_hash_key.as_ref()),
            metrics: settings.metrics,
            dry_run: settings.aggregator.dry_run,
            aggregator: Aggregator::new(CountedTable::new(table), settings.aggregator),
        }
    }
}

impl<T: Table, A: Archive> Function<T, A> {
    /// The same with an archive for audit records that expire.
    pub fn archiving_to<B: Archive>(self, archive: Option<B>) -> Function<T, B> {
        Function {
            aggregator: self.aggregator.archiving_to(archive),
            correlator: self.correlator,
            metrics: self.metrics,
            dry_run: self.dry_run,
        }
    }

    /// Opens a connection by one cheap read. Whatever comes of it, the function can answer invocations.
    pub async fn warm_up(&self) {
        let key = [NO_BUCKET.bucket(ShardId::ZERO)];
        let read = self.aggregator.table().read(&key, Consistency::Eventual);
        match tokio::time::timeout(WARM_UP_PATIENCE, read).await {
            Ok(Ok(_)) => tracing::debug!("the connection is warm"),
            Ok(Err(fault)) => tracing::warn!(operation = fault.operation, code = fault.code, "the first read failed"),
            Err(_) => tracing::warn!("the first read took too long"),
        }
    }

    /// Works on one event until shortly before the deadline, and answers what the stream has to send again.
    ///
    /// # Errors
    /// [`InvocationError`]; no message of it carries anything from the event.
    pub async fn invoke(
        &self,
        event: &str,
        deadline: EpochMillis,
        request_id: &str,
    ) -> Result<DynamoDbEventResponse, InvocationError> {
        let (now, started) = (clock::now(), clock::monotonic_now());
        let calls_before = self.aggregator.table().calls();
        let budget = Budget::until(deadline, now);
        let report = Report::new(&self.correlator, self.dry_run);
        // Lambda's runtime client would put a panic's message into the error that it sends.
        let work = AssertUnwindSafe(self.aggregator.handle(event, now, &budget, &report)).catch_unwind();
        let response = match work.await {
            Ok(Ok(outcome)) => response(&outcome),
            Ok(Err(error)) => Err(error.into()),
            Err(_payload) => Err(InvocationError::Panicked),
        };
        let counts = report.close();
        let invocation = Invocation {
            request_id,
            at: clock::now(),
            calls: self.aggregator.table().calls().saturating_sub(calls_before),
            duration: clock::monotonic_now().duration_since(started),
            is_incomplete: !matches!(&response, Ok(response) if response.batch_item_failures.is_empty()),
        };
        self.summarise(&counts, &invocation, &response);
        write_out(&metrics_line(&self.metrics, &counts, &invocation));
        response
    }

    fn summarise(
        &self,
        counts: &Counts,
        invocation: &Invocation<'_>,
        response: &Result<DynamoDbEventResponse, InvocationError>,
    ) {
        let (outcome, retry_from) = match response {
            Err(_) => ("failed", None),
            Ok(response) => match response.batch_item_failures.first() {
                Some(failure) => ("incomplete", failure.item_identifier.as_deref()),
                None => ("complete", None),
            },
        };
        tracing::info!(
            outcome,
            retry_from,
            dry_run = self.dry_run,
            records = counts.records,
            groups = counts.groups,
            refills = counts.refills,
            resets = counts.resets,
            rolls = counts.rolls,
            doublings = counts.doublings,
            shards_raised = counts.shards_raised,
            shards_created = counts.shards_created,
            windows_propagated = counts.windows_propagated,
            snapshots = counts.snapshots,
            archived = counts.archived,
            left_out_repeats = counts.left_out_repeats,
            left_out_out_of_order = counts.left_out_out_of_order,
            usage_uncounted = counts.uncounted,
            skipped = %counts.skipped,
            lost_races = counts.lost_races,
            missing_images = counts.missing_images,
            refused_counts = counts.refused_counts,
            unreadable = counts.unreadable,
            permanent = counts.permanent,
            retryable = counts.retryable,
            cut_short = counts.cut_short,
            panics = counts.panics,
            calls = invocation.calls,
            duration_ms = invocation.duration_ms(),
            "batch"
        );
    }
}

/// Writes a line and flushes it: nothing is left to be lost when the process ends.
fn write_out(line: &str) {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
    if let Err(error) = written {
        tracing::warn!(kind = ?error.kind(), "a metrics line could not be written");
    }
}

/// The answer for an outcome. An empty list is full success to the stream, an empty identifier full failure.
fn response(outcome: &BatchOutcome) -> Result<DynamoDbEventResponse, InvocationError> {
    let mut response = DynamoDbEventResponse::default();
    match outcome {
        BatchOutcome::Complete => {}
        BatchOutcome::RetryFrom(sequence) => {
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(sequence.as_str().to_owned());
            response.batch_item_failures.push(failure);
        }
        BatchOutcome::RetryAll => return Err(InvocationError::Unnumbered),
    }
    Ok(response)
}
