//! A stream's event source mapping: it sends a batch again from the sequence number that it is answered.

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, Observer};
use limiter_aggregator::table::Table;
use limiter_aggregator::units::EpochMillis;
use serde_json::Value;

use crate::support::captures::event_of;

/// What it took until everything was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Invocations.
    pub batches: usize,
    /// Records delivered more than once, each time counted.
    pub repeated: usize,
}

/// Delivers records until the answer is complete, within `most` deliveries. `between` runs after each.
pub async fn deliver<T: Table>(
    aggregator: &Aggregator<T>,
    records: &[Value],
    now: EpochMillis,
    budget: impl Fn() -> Budget,
    most: usize,
    observer: &impl Observer,
    mut between: impl FnMut(),
) -> Deliveries {
    let mut rest = records;
    let mut deliveries = Deliveries::default();
    loop {
        deliveries.batches += 1;
        let outcome = aggregator
            .handle(&event_of(rest), now, &budget(), observer)
            .await
            .unwrap();
        between();
        rest = match outcome {
            BatchOutcome::Complete => return deliveries,
            BatchOutcome::RetryAll => rest,
            BatchOutcome::RetryFrom(sequence) => {
                let number = |record: &Value| record["dynamodb"]["SequenceNumber"].as_str() == Some(sequence.as_str());
                let place = rest.iter().position(number).expect("a number that was delivered");
                &rest[place..]
            }
        };
        assert!(deliveries.batches < most, "not done after {most} deliveries");
        deliveries.repeated += rest.len();
    }
}
