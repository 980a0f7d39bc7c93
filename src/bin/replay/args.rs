//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgGroup, Args, Parser, Subcommand};
use limiter_aggregator::release::Version;
use limiter_aggregator::units::EpochMillis;

use crate::failure;
use crate::instant;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 something is left: a batch to be delivered again, usage to be counted, \
a broken invariant; 2 bad arguments or input, or a table that does not answer";

const AFTER: &str = "\
Exit codes:
  0  done
  1  something is left: a batch to be delivered again, usage that `dlq` did not count, an invariant that `audit` finds broken
  2  bad arguments, an unreadable file, or a table or stream that does not answer; one line on standard error says which

Examples:
  replay events/                                     what is decided for the captured events, and why
  replay --explain --items items.json events.jsonl   why did a bucket not refill? every limit, change and condition
  replay tail --table rate-limits --capture events.jsonl --until-idle 10    with DRY_RUN=true: capture, write nothing
  replay audit --table rate-limits                   does the table agree with itself?

Entity ids are shown as short hashes; LOG_HASH_KEY makes them the log's, --show-ids shows the ids themselves.";

/// Run stream events of a rate-limit table through the aggregator and say what it decides for each shard, and why.
///
/// By default every event runs on a fresh table of an embedded engine. Beside EVENT `NAME.json`, a file
/// `NAME.table.json` supplies the table's items and the instant. Without one, and without --items, the table holds what
/// the event's records left in it. Events that `replay tail --capture` wrote bring their instants along.
#[derive(Debug, Parser)]
#[command(
    name = "replay",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXIT_CODES,
    after_long_help = AFTER
)]
pub struct Arguments {
    /// What else to do than to replay.
    #[command(subcommand)]
    pub task: Option<Task>,
    /// What to replay.
    #[command(flatten)]
    pub replay: ReplayArguments,
}

/// What `replay` can do besides.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Explain a compact schedule: the crontab lines it stands for, what is in force, last and next change
    Schedule(ScheduleArguments),
    /// Serve the embedded engine with the table, for other clients, until Ctrl-C
    Serve(ServeArguments),
    /// Read a table's stream (of new and old images) and work on its batches as the Lambda would, until Ctrl-C
    Tail(TailArguments),
    /// Work on what the Lambda's event source has discarded: the usage that is missing, and every other rule again
    Dlq(DlqArguments),
    /// Read all of a table, consistently and page by page, and say which buckets do not agree; writes nothing, exit
    /// code 1 for broken invariants
    Audit(AuditArguments),
    /// Show which release of the client library a table says its aggregator is, or raise it
    Version(VersionArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
}

/// Arguments of a replay.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Events: a Lambda event, an array of records, or JSON lines; a folder stands for its *.json and *.jsonl
    #[arg(value_name = "EVENT", required = true)]
    pub events: Vec<PathBuf>,
    /// Items to put into the table first: a JSON array in DynamoDB JSON, or an event's NAME.table.json
    #[arg(long, value_name = "FILE")]
    pub items: Option<PathBuf>,
    /// The instant that the rules see: epoch milliseconds or RFC 3339 [default: when the event was captured, or its table
    /// file's, else now]
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, allow_hyphen_values = true)]
    pub now: Option<EpochMillis>,
    /// Write every item of the table afterwards, as a JSON array in DynamoDB JSON; needs a single event
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
    /// Every limit with its balance, ceiling and reason, every change and every condition
    #[arg(long)]
    pub explain: bool,
    /// In which form to report.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Work on a table behind this endpoint instead of the embedded engine
    #[arg(long, value_name = "URL", requires = "table", value_parser = endpoint)]
    pub endpoint_url: Option<String>,
    /// Work on this table; without --endpoint-url the one that the AWS environment leads to
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
}

/// Arguments of `replay schedule`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("schedules").args(["sched", "rsched"]).required(true).multiple(true))]
pub struct ScheduleArguments {
    /// A parameter schedule, as stored
    #[arg(long, value_name = "SCHEDULE", allow_hyphen_values = true)]
    pub sched: Option<String>,
    /// A reset schedule, as stored
    #[arg(long, value_name = "SCHEDULE", allow_hyphen_values = true)]
    pub rsched: Option<String>,
    /// The IANA time zone of both
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub tz: String,
    /// The instant to look from: epoch milliseconds or RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, allow_hyphen_values = true)]
    pub now: Option<EpochMillis>,
    /// Base capacity as stored, in millitokens
    #[arg(long, value_name = "MILLITOKENS", allow_hyphen_values = true)]
    pub cp: Option<i64>,
    /// Base refill amount as stored, in millitokens
    #[arg(long, value_name = "MILLITOKENS", allow_hyphen_values = true)]
    pub ra: Option<i64>,
    /// Base refill period as stored, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", allow_hyphen_values = true)]
    pub rp: Option<i64>,
}

/// Arguments of `replay serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Loopback port; 0 for any that is free
    #[arg(long, default_value_t = 8000)]
    pub port: u16,
    /// Items to put into the table first: a JSON array in DynamoDB JSON, or an event's NAME.table.json
    #[arg(long, value_name = "FILE")]
    pub items: Option<PathBuf>,
}

/// In which form a task reports.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// One JSON object a line instead of text
    #[arg(long)]
    pub json: bool,
    /// Show namespace, entity and resource instead of a short hash
    #[arg(long)]
    pub show_ids: bool,
}

/// A table that exists, and where.
#[derive(Debug, Args)]
pub struct PlaceArguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// Where the table, and its stream, are served [default: where the AWS environment leads to]
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub endpoint_url: Option<String>,
}

/// Arguments of `replay tail`.
#[derive(Debug, Args)]
pub struct TailArguments {
    /// Which table.
    #[command(flatten)]
    pub place: PlaceArguments,
    /// The stream [default: the table's latest]
    #[arg(long, value_name = "ARN")]
    pub stream_arn: Option<String>,
    /// Most records in a batch
    #[arg(long, value_name = "RECORDS", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub batch_size: u16,
    /// Seconds that the first record of a batch waits for others
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=300))]
    pub window: u16,
    /// Begin with what is written from now on, instead of the oldest record that the stream still holds
    #[arg(long)]
    pub from_latest: bool,
    /// Keep in this file how far each stream shard is, and go on from there
    #[arg(long, value_name = "FILE")]
    pub checkpoints: Option<PathBuf>,
    /// Where records have expired before they were read, go on without them; their usage and refills are lost
    #[arg(long)]
    pub skip_expired: bool,
    /// Append every batch to this file as an event that can be replayed, with its instant; it holds entity ids
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// End once nothing has come for so many seconds, and nothing waits
    #[arg(long, value_name = "SECONDS")]
    pub until_idle: Option<u16>,
}

/// Arguments of `replay dlq`.
#[derive(Debug, Args)]
pub struct DlqArguments {
    /// On-failure records, one or several: objects of the bucket, or messages of the queue or topic; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The table that the records are of [default: a fresh one of the embedded engine, to look at what would be done]
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Where the table and its stream are served [default: where the AWS environment leads to]
    #[arg(long, value_name = "URL", requires = "table", value_parser = endpoint)]
    pub endpoint_url: Option<String>,
    /// Items to put into the embedded engine's table first: a JSON array in DynamoDB JSON, or an event's NAME.table.json
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub items: Option<PathBuf>,
    /// The instant that the rules see: epoch milliseconds or RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, allow_hyphen_values = true)]
    pub now: Option<EpochMillis>,
    /// Count usage that later changes have overtaken too, once; look at the table that is shown without this first
    #[arg(long)]
    pub count_anyway: bool,
    /// Of the overtaken usage count this bucket's only, named as it is shown; may be repeated
    #[arg(long, value_name = "BUCKET", requires = "count_anyway")]
    pub bucket: Vec<String>,
    /// Every limit with its balance, ceiling and reason, every change and every condition
    #[arg(long)]
    pub explain: bool,
    /// In which form to report.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Arguments of `replay audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Which table.
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Report on this entity only
    #[arg(long, value_name = "ID")]
    pub entity: Option<String>,
    /// The instant to judge at: epoch milliseconds or RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse, allow_hyphen_values = true)]
    pub now: Option<EpochMillis>,
    /// In which form to report.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Arguments of `replay version`.
#[derive(Debug, Args)]
pub struct VersionArguments {
    /// Which table.
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Raise the record to this release, so that clients may store its kinds of limits
    #[arg(long, value_name = "VERSION")]
    pub set: Option<Version>,
}

/// Arguments of `replay completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}

impl Arguments {
    /// Reads the command line. Help and version are printed here, and so is what is wrong, on one line.
    ///
    /// # Errors
    /// The code to exit with.
    pub fn from_command_line() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // Nobody is left to tell if this fails.
                let _ = error.print();
                ExitCode::SUCCESS
            }
            _ => {
                failure::complain(&first_paragraph(&error.render().to_string()));
                ExitCode::from(failure::EXIT_CODE)
            }
        })
    }
}

/// What clap says, without its usage text, on one line.
fn first_paragraph(message: &str) -> String {
    let paragraph = message.split("\n\n").next().unwrap_or(message);
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line} (try --help)")
}

fn endpoint(text: &str) -> Result<String, String> {
    if text.starts_with("http://") || text.starts_with("https://") {
        Ok(text.to_owned())
    } else {
        Err("an endpoint starts with http:// or https://".to_owned())
    }
}
