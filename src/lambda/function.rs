//! One invocation: the event's text in, the batch response or an error out.

use std::panic::AssertUnwindSafe;

use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use futures::FutureExt;
use lambda_runtime::Diagnostic;

use crate::aggregate::{Aggregator, BatchOutcome, Budget, Observer, SkippedInput, Step};
use crate::clock;
use crate::config::FunctionSettings;
use crate::plan::Group;
use crate::record::{EventError, ReadRecord};
use crate::table::Table;
use crate::units::EpochMillis;

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
        Self { error_type: error_type.to_owned(), error_message: error.to_string() }
    }
}

/// What answers invocations.
pub struct Function<T> {
    aggregator: Aggregator<T>,
}

impl<T: Table> Function<T> {
    /// A function that works on a table.
    pub fn new(table: T, settings: FunctionSettings) -> Self {
        Self { aggregator: Aggregator::new(table, settings.aggregator) }
    }

    /// Works on one event until shortly before the deadline, and answers what the stream has to send again.
    ///
    /// # Errors
    /// [`InvocationError`]; no message of it carries anything from the event.
    pub async fn invoke(&self, event: &str, deadline: EpochMillis) -> Result<DynamoDbEventResponse, InvocationError> {
        let now = clock::now();
        let budget = Budget::until(deadline, now);
        let observer = Nobody;
        // Lambda's runtime client would put a panic's message into the error that it sends.
        let work = AssertUnwindSafe(self.aggregator.handle(event, now, &budget, &observer)).catch_unwind();
        let outcome = work.await.map_err(|_payload| InvocationError::Panicked)??;
        response(outcome)
    }
}

/// The answer for an outcome. An empty list is full success to the stream, an empty identifier full failure.
fn response(outcome: BatchOutcome) -> Result<DynamoDbEventResponse, InvocationError> {
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

struct Nobody;
impl Observer for Nobody {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, _reason: &SkippedInput) {}
    fn step(&self, _group: &Group<'_>, _step: &Step<'_>) {}
}
