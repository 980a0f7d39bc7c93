//! The Lambda: start, one invocation after another, and the end.
//!
//! Decides nothing about records; it turns what Lambda gives into what [`crate::aggregate`] takes, and the outcome
//! into Lambda's answer. What must stay true: an outcome that asks for redelivery is never answered with success; no
//! text that came with an event reaches an answer, an error or a line of the log; and nothing but connections is
//! kept from one invocation to the next, since the process may be frozen or ended between any two.

mod function;
mod logging;
mod serve;

pub use function::{Function, InvocationError};
pub use logging::{init_logging, silence_panics};
pub use serve::{ServeError, serve};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::Client;

use crate::archive::Archive;
use crate::config::FunctionSettings;
use crate::table::dynamodb::{DynamoDbTable, client_config};

/// Builds the client from the surroundings and warms its connection up: Lambda gives init more CPU than it gives
/// small functions afterwards, and the first TLS handshake is the most expensive part of the first call.
pub async fn start(settings: FunctionSettings) -> Function<DynamoDbTable, impl Archive> {
    let base = aws_config::defaults(BehaviorVersion::latest()).load().await;
    let client = Client::from_conf(client_config(&base, None).build());
    let table = DynamoDbTable::new(client, &settings.table_name);
    let duties = &settings.aggregator;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        dry_run = duties.dry_run,
        usage = duties.enable_usage,
        refill = duties.enable_refill,
        propagation = duties.enable_propagation,
        archival = settings.archive_bucket.is_some(),
        max_in_flight = duties.max_in_flight,
        "starting"
    );
    if let Some(warning) = settings.aggregator.usage.warning() {
        tracing::warn!("{warning}");
    }
    let archive = archive(&base, settings.archive_bucket.as_deref());
    let function = Function::new(table, settings).archiving_to(archive);
    function.warm_up().await;
    function
}

/// Its connection is not warmed up: audit records expire too rarely.
#[cfg(feature = "archive")]
fn archive(base: &SdkConfig, bucket: Option<&str>) -> Option<crate::archive::s3::S3Archive> {
    bucket.map(|bucket| crate::archive::s3::S3Archive::new(base, bucket))
}

/// The configuration has refused to be asked for one.
#[cfg(not(feature = "archive"))]
fn archive(_base: &SdkConfig, _bucket: Option<&str>) -> Option<crate::archive::NoArchive> {
    None
}
