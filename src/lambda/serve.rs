//! The loop over invocations, until Lambda ends the process.

use aws_lambda_events::event::streams::DynamoDbEventResponse;
use lambda_runtime::{LambdaEvent, Runtime, service_fn};
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};
use tracing::Instrument;

use super::function::{Function, InvocationError};
use crate::table::Table;
use crate::units::EpochMillis;

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
pub async fn serve<T: Table>(function: Function<T>) -> Result<(), ServeError> {
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

async fn answer<T: Table>(
    function: &Function<T>,
    event: LambdaEvent<Box<RawValue>>,
) -> Result<DynamoDbEventResponse, InvocationError> {
    let (payload, context) = event.into_parts();
    let deadline = EpochMillis(i64::try_from(context.deadline).unwrap_or(i64::MAX));
    // At the highest level, so that no log level takes the request's id off the lines that are left.
    let span = tracing::error_span!("invocation", requestId = context.request_id);
    function
        .invoke(payload.get(), deadline, &context.request_id)
        .instrument(span)
        .await
}
