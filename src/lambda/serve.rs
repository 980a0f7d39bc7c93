//! The loop over invocations, until Lambda ends the process.

use aws_lambda_events::event::streams::DynamoDbEventResponse;
use lambda_runtime::{LambdaEvent, Runtime, service_fn};
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};
use tracing::Instrument;

use super::function::{Function, InvocationError};
use crate::archive::Archive;
use crate::clock;
use crate::table::Table;
use crate::units::EpochMillis;

/// September 2001 in epoch milliseconds. No smaller number is the instant of a deadline.
const FIRST_DEADLINE: i64 = 1_000_000_000_000;

/// Why the loop ended other than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Signals cannot be listened for.
    #[error("cannot listen for SIGTERM: {0}")]
    Signal(std::io::Error),
    /// Lambda's runtime API cannot be spoken to.
    #[error("the runtime API failed: {0}")]
    Runtime(lambda_runtime::Error),
}

/// Answers invocations until SIGTERM.
///
/// Nothing has to be saved at the end, because every line is out before its invocation is answered. So no extension
/// is registered to be told of it, which would cost init time: where nobody tells, Lambda just ends the process.
///
/// # Errors
/// [`ServeError`]
pub async fn serve<T: Table, A: Archive>(function: Function<T, A>) -> Result<(), ServeError> {
    let mut terminated = signal(SignalKind::terminate()).map_err(ServeError::Signal)?;
    let function = &function;
    let runtime = Runtime::new(service_fn(move |event| answer(function, event)));
    tokio::select! {
        ended = runtime.run() => ended.map_err(ServeError::Runtime),
        _ = terminated.recv() => {
            tracing::info!("asked to end");
            Ok(())
        }
    }
}

async fn answer<T: Table, A: Archive>(
    function: &Function<T, A>,
    event: LambdaEvent<Box<RawValue>>,
) -> Result<DynamoDbEventResponse, InvocationError> {
    let (payload, context) = event.into_parts();
    let deadline = deadline(context.deadline, clock::now());
    // At the highest level, so that no log level takes the request's id off the lines that are left.
    let span = tracing::error_span!("invocation", requestId = context.request_id);
    function
        .invoke(payload.get(), deadline, &context.request_id)
        .instrument(span)
        .await
}

/// Lambda gives an instant. cargo-lambda's emulator of it gives the milliseconds that are left, always 600,000.
fn deadline(given: u64, now: EpochMillis) -> EpochMillis {
    let given = i64::try_from(given).unwrap_or(i64::MAX);
    EpochMillis(if given < FIRST_DEADLINE {
        now.0.saturating_add(given)
    } else {
        given
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_an_instant_and_from_the_emulator_a_time_that_is_left() {
        let now = EpochMillis(1_796_083_200_000);
        assert_eq!(deadline(1_796_083_260_000, now), EpochMillis(1_796_083_260_000));
        assert_eq!(deadline(600_000, now), EpochMillis(1_796_083_800_000));
        assert_eq!(deadline(u64::MAX, now), EpochMillis(i64::MAX));
    }
}
