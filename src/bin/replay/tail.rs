//! `replay tail`: the aggregator on a live stream, without Lambda.
//!
//! Decides when to look again and when to end. What must stay true: a signal ends it between two batches, never within
//! one, and what was done by then is in the checkpoints.

mod capture;
mod handler;
mod view;

use std::time::Duration;

use limiter_aggregator::clock;
use limiter_aggregator::stream::{Checkpoints, Consumer, DynamoDbStream, Limits, Options, Turn};
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::TailArguments;
use crate::failure::{self, Failure};
use crate::output::Output;
use crate::run::settings;
use crate::target::{service, streams_client, table_client};
use capture::Capture;
use handler::Handler;
use view::View;

/// The pause after a look that found nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// Works on the stream until a signal, or until it is idle.
///
/// # Errors
/// Where the table has no stream, the stream cannot be read or has lost records, or the checkpoints or captured events cannot be
/// kept.
pub async fn tail(arguments: &TailArguments, output: &mut Output) -> Result<(), Failure> {
    warnings_to_stderr()?;
    let (settings, hash_key) = settings()?;
    let service = service(arguments.place.endpoint_url.as_deref()).await;
    let table = table_client(&service);
    let arn = match &arguments.stream_arn {
        Some(arn) => arn.clone(),
        None => latest_stream(&table, &arguments.place.table).await?,
    };
    let checkpoints = match &arguments.checkpoints {
        None => Checkpoints::in_memory(&arn),
        Some(path) => Checkpoints::in_file(&arn, path.clone()).map_err(|error| Failure::new(error.to_string()))?,
    };
    let options = Options {
        limits: Limits {
            size: usize::from(arguments.batch_size),
            window: Duration::from_secs(arguments.window.into()),
        },
        from_latest: arguments.from_latest,
        skip_expired: arguments.skip_expired,
    };
    let table = DynamoDbTable::new(table, arguments.place.table.clone());
    let handler = Handler::new(table, settings, hash_key.as_ref(), arn.clone());
    let source = DynamoDbStream::new(streams_client(&service), arn);
    let mut consumer = Consumer::new(source, handler, checkpoints, options);
    let capture = arguments.capture.as_deref().map(Capture::append_to).transpose()?;
    let mut signals = Signals::new()?;
    let mut view = View::new(output);
    let mut busy = clock::monotonic_now();
    loop {
        let turn = consumer.turn().await.map_err(|error| Failure::new(error.to_string()))?;
        for batch in consumer.handler_mut().take_done() {
            if let Some(capture) = &capture {
                capture.keep(&batch)?;
            }
            view.batch(&batch);
        }
        view.turn(&turn);
        let pause = if is_idle(&turn) {
            let idle = clock::monotonic_now().duration_since(busy);
            let patience = arguments.until_idle.map(|seconds| Duration::from_secs(seconds.into()));
            if turn.waiting == 0 && patience.is_some_and(|patience| idle >= patience) {
                break;
            }
            PAUSE
        } else {
            busy = clock::monotonic_now();
            Duration::ZERO
        };
        if signals.within(pause).await {
            break;
        }
    }
    view.end();
    Ok(())
}

/// What goes wrong with requests, as the Lambda would log it. Standard output is the view's.
fn warnings_to_stderr() -> Result<(), Failure> {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::WARN)
        .with_writer(std::io::stderr)
        .try_init()
        .map_err(|error| Failure::new(format!("cannot log: {error}")))
}

fn is_idle(turn: &Turn) -> bool {
    turn.fetched == 0 && turn.batches == 0
}

async fn latest_stream(client: &aws_sdk_dynamodb::Client, table: &str) -> Result<String, Failure> {
    let answer = client.describe_table().table_name(table).send().await;
    let described = answer.map_err(|error| failure::refused("DescribeTable", table, &error))?;
    let arn = described.table.and_then(|table| table.latest_stream_arn);
    arn.ok_or_else(|| Failure::new(format!("table {table} has no stream")))
}

/// What a person or a supervisor ends a program with.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::new(format!("cannot wait for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Whether one came before the pause was over.
    async fn within(&mut self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => true,
            () = tokio::time::sleep(pause) => false,
        }
    }
}
