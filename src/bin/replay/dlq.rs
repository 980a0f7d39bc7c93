//! `replay dlq`: batches that the event source has discarded.
//!
//! Decides what is shown and what a run exits with: 2 where a record could not be worked on at all, 1 where something
//! is left to do, usage that nobody may have counted included, else 0. What must stay true: a record whose batch was
//! not worked on, whole, is never told of as if it had been.

mod usage;

use std::process::ExitCode;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::clock;
use limiter_aggregator::config::Settings;
use limiter_aggregator::key::BucketGroup;
use limiter_aggregator::redrive::{BatchInfo, Choice, Discarded, SnapshotUsage, count_usage};
use limiter_aggregator::stream::{DynamoDbStream, lambda_event, read_range};

use crate::args::DlqArguments;
use crate::failure::{self, Failure};
use crate::names::Names;
use crate::output::Output;
use crate::report::Recorder;
use crate::run::{Batch, settings};
use crate::target::{Place, Target, service, streams_client};
use crate::{input, json_lines, text};

/// Something is left to do, for the shell.
const LEFT: u8 = 1;

/// Works on every on-failure record of the file.
///
/// # Errors
/// Where the file holds anything else, before a table is touched; what goes wrong with one record afterwards is said, and
/// the others are worked on.
pub async fn dlq(arguments: &DlqArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let discarded = read(arguments)?;
    let (settings, hash_key) = settings()?;
    let items = arguments.items.as_deref().map(input::read_items).transpose()?;
    let mut target = Target::of(arguments.table.as_deref(), arguments.endpoint_url.as_deref()).await?;
    let place = target.next_table().await?;
    if let (Some(items), Some(path)) = (&items, &arguments.items) {
        place.put(items, path).await?;
    }
    let mut run = Run {
        arguments,
        settings,
        names: Names::new(arguments.output.show_ids, hash_key.as_ref()),
        place,
        is_left: false,
        named: Vec::new(),
    };
    let mut has_failed = false;
    for (at, record) in discarded.iter().enumerate() {
        let number = (discarded.len() > 1).then_some(at + 1);
        if let Err(failure) = run.work_on(record, number, output).await {
            failure::complain(&failure.to_string());
            has_failed = true;
        }
    }
    if let Some(unknown) = arguments.bucket.iter().find(|bucket| !run.named.contains(bucket)) {
        return Err(Failure::new(format!(
            "no usage of a bucket {unknown}: names are as shown, and without LOG_HASH_KEY or --show-ids new in each run"
        )));
    }
    Ok(match (has_failed, run.is_left) {
        (true, _) => ExitCode::from(failure::EXIT_CODE),
        (false, true) => ExitCode::from(LEFT),
        (false, false) => ExitCode::SUCCESS,
    })
}

fn read(arguments: &DlqArguments) -> Result<Vec<Discarded>, Failure> {
    let values = input::read_values(&arguments.file)?;
    let several = values.len() > 1;
    let parse = |(at, value): (usize, &String)| {
        Discarded::parse(value).map_err(|error| match several {
            true => Failure::about(&arguments.file, format_args!("record {}: {error}", at + 1)),
            false => Failure::about(&arguments.file, error),
        })
    };
    values.iter().enumerate().map(parse).collect()
}

struct Run<'a> {
    arguments: &'a DlqArguments,
    settings: Settings,
    names: Names,
    place: Place,
    is_left: bool,
    /// Buckets that usage was seen of.
    named: Vec<String>,
}

impl Run<'_> {
    async fn work_on(
        &mut self,
        discarded: &Discarded,
        number: Option<usize>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let about = |error: &dyn std::fmt::Display| match number {
            Some(number) => Failure::about(&self.arguments.file, format_args!("record {number}: {error}")),
            None => Failure::about(&self.arguments.file, error),
        };
        let (event, said) = self.event(discarded).await.map_err(|error| about(&error))?;
        let batch = Batch {
            path: &self.arguments.file,
            number,
            about: Some(&said),
            now: self.arguments.now.unwrap_or_else(clock::now),
        };
        if self.arguments.table.is_none() && self.arguments.items.is_none() {
            self.place.put_images(&event, &self.arguments.file).await?;
        }
        let table = self.place.table();
        let mut counted = None;
        if self.settings.enable_usage {
            let counting = count_usage(&table, &self.settings, &event, batch.now, self).await;
            counted = Some(counting.map_err(|error| about(&error))?);
        }
        // Usage is counted above, where it is told what had been counted before.
        let rules = Settings {
            enable_usage: false,
            ..self.settings.clone()
        };
        let recorder = Recorder::new(&self.names);
        let outcome = Aggregator::new(table, rules)
            .handle(&event, batch.now, &Budget::unlimited(), &recorder)
            .await
            .map_err(|error| about(&error))?;
        let report = recorder.into_report();
        let explain = self.arguments.explain;
        match self.arguments.output.json {
            true => {
                if let Some(counted) = &counted {
                    usage::print_json(output, &batch, counted);
                }
                json_lines::print(output, &batch, &report, &outcome, explain);
            }
            false => {
                text::print(output, &batch, &report, &outcome, explain);
                if let Some(counted) = &counted {
                    usage::print_text(output, counted);
                }
            }
        }
        let is_left = |usage: &SnapshotUsage| usage.has_failed() || usage.is_open();
        let snapshots = counted.map(|usage| usage.snapshots).unwrap_or_default();
        self.is_left |= outcome != BatchOutcome::Complete || snapshots.iter().any(is_left);
        self.named.extend(snapshots.into_iter().map(|usage| usage.bucket));
        Ok(())
    }

    /// The batch as the function would be given it, and where it comes from, in words.
    async fn event(&self, discarded: &Discarded) -> Result<(String, String), Failure> {
        match discarded {
            Discarded::Whole { event, info } => {
                let place = match info {
                    None => "records as they were discarded".to_owned(),
                    Some(info) => {
                        self.check_table(info)?;
                        format!("records as they were discarded; {}", info.range)
                    }
                };
                Ok((event.clone(), place))
            }
            Discarded::Range(info) => {
                self.check_table(info)?;
                let range = &info.range;
                if self.arguments.table.is_none() {
                    let message = format!("{range}: the records are in the stream of a table; name it with --table");
                    return Err(Failure::new(message));
                }
                let service = service(self.arguments.endpoint_url.as_deref()).await;
                let stream = DynamoDbStream::new(streams_client(&service), &info.stream_arn);
                let read = read_range(&stream, range).await;
                let records = read.map_err(|error| Failure::new(error.to_string()))?;
                if let Some(wanted) = info.records.filter(|wanted| records.len() < *wanted) {
                    let message = format!("{range}: the stream holds {} of {wanted} records", records.len());
                    return Err(Failure::new(message));
                }
                Ok((
                    lambda_event(&records, &info.stream_arn),
                    format!("records read from the stream; {range}"),
                ))
            }
        }
    }

    /// What was discarded from one table's stream has no business on another.
    fn check_table(&self, info: &BatchInfo) -> Result<(), Failure> {
        match (&self.arguments.table, info.table_name()) {
            (Some(table), Some(its)) if table != its => Err(Failure::new(format!(
                "{}: the records are of table {its}, not of {table}",
                info.range
            ))),
            _ => Ok(()),
        }
    }
}

impl Choice for Run<'_> {
    fn name(&self, bucket: &BucketGroup<'_>) -> String {
        self.names.bucket(bucket)
    }

    fn counts_overtaken(&self, bucket: &BucketGroup<'_>) -> bool {
        let only = &self.arguments.bucket;
        self.arguments.count_anyway && (only.is_empty() || only.contains(&self.names.bucket(bucket)))
    }
}
