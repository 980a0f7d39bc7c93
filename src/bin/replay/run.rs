//! The replay itself: every event on its table, at its instant, through the aggregator.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use limiter_aggregator::aggregate::{Aggregator, Budget};
use limiter_aggregator::clock;
use limiter_aggregator::config::{HashKey, Settings};
use limiter_aggregator::item::Item;
use limiter_aggregator::units::EpochMillis;

use crate::args::ReplayArguments;
use crate::failure::Failure;
use crate::input::{self, Input};
use crate::names::Names;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::Recorder;
use crate::target::{Place, Target};
use crate::totals::Totals;
use crate::{json_lines, text};

/// Which events find in the table what their records left in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FromImages {
    /// None: a real table is what it is.
    Never,
    /// Those that follow each other on a live table: between them clients wrote.
    Captured,
    /// All: nothing else says what the table held.
    Always,
}

/// A batch that failed, for the shell.
const FAILED_BATCH: u8 = 1;

/// One batch as it is named in the output.
pub struct Batch<'a> {
    /// The file that it comes from.
    pub path: &'a Path,
    /// Its place in the file, from 1, where there are several.
    pub number: Option<usize>,
    /// What it is, in words.
    pub about: Option<&'a str>,
    /// The instant that the rules saw.
    pub now: EpochMillis,
}

impl Batch<'_> {
    /// The file, and the place in it where it holds several events.
    pub fn name(&self) -> String {
        match self.number {
            None => self.path.display().to_string(),
            Some(number) => format!("{} event {number}", self.path.display()),
        }
    }
}

/// Replays every event and prints what was decided.
///
/// # Errors
/// Where an input, the engine or the output fails; a batch that reports failures is no error but another exit code.
pub async fn replay(arguments: &ReplayArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let inputs = input::read_events(&arguments.events)?;
    let items = arguments.items.as_deref().map(input::read_items).transpose()?;
    if arguments.dump.is_some() && inputs.len() != 1 {
        let message = format!("--dump needs a single event, and there are {}", inputs.len());
        return Err(Failure::new(message));
    }
    let (settings, hash_key) = settings()?;
    let mut run = Run {
        arguments,
        settings,
        names: Names::new(arguments.output.show_ids, hash_key.as_ref()),
        totals: Totals::default(),
    };
    let mut target = Target::of(arguments.table.as_deref(), arguments.endpoint_url.as_deref()).await?;
    let progress = Progress::of(inputs.len());
    for input in &inputs {
        let place = target.next_table().await?;
        match (&items, &arguments.items) {
            (Some(items), Some(path)) => place.put(items, path).await?,
            // A real table holds what it holds, unless somebody says otherwise.
            _ if target.is_real() => {}
            _ => {
                if let Some(sidecar) = &input.sidecar {
                    place.put(&sidecar.items, &input.sidecar_path()).await?;
                }
            }
        }
        let from_images = match target.is_real() {
            true => FromImages::Never,
            false if items.is_none() && input.sidecar.is_none() => FromImages::Always,
            false => FromImages::Captured,
        };
        run.replay_one(input, &place, from_images, output).await?;
        if let Some(path) = &arguments.dump {
            dump(path, &place.items().await?)?;
        }
        progress.one_more();
    }
    drop(progress);
    match arguments.output.json {
        true => json_lines::print_totals(output, &run.totals),
        false => text::print_totals(output, &run.totals),
    }
    Ok(match run.totals.has_failures() {
        true => ExitCode::from(FAILED_BATCH),
        false => ExitCode::SUCCESS,
    })
}

/// What the Lambda reads from its environment, as far as it concerns decisions and their names.
///
/// # Errors
/// Where a variable holds something else than what is allowed.
pub fn settings() -> Result<(Settings, Option<HashKey>), Failure> {
    #[expect(clippy::disallowed_methods, reason = "this is where the process starts")]
    let environment = |variable: &str| std::env::var_os(variable);
    let settings = Settings::from_lookup(&environment);
    let both = settings.and_then(|settings| Ok((settings, HashKey::from_lookup(&environment)?)));
    both.map_err(|error| Failure::new(error.to_string()))
}

struct Run<'a> {
    arguments: &'a ReplayArguments,
    settings: Settings,
    names: Names,
    totals: Totals,
}

impl Run<'_> {
    async fn replay_one(
        &mut self,
        input: &Input,
        place: &Place,
        from_images: FromImages,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let aggregator = Aggregator::new(place.table(), self.settings.clone());
        for (at, event) in input.events.iter().enumerate() {
            let at_its_time = event.captured_at.or_else(|| input.now());
            let batch = Batch {
                path: &input.path,
                number: (input.events.len() > 1).then_some(at + 1),
                about: input.sidecar.as_ref().and_then(|sidecar| sidecar.about.as_deref()),
                now: self.arguments.now.or(at_its_time).unwrap_or_else(clock::now),
            };
            let is_captured = event.captured_at.is_some();
            if from_images == FromImages::Always || from_images == FromImages::Captured && is_captured {
                place.put_images(&event.json, &input.path).await?;
            }
            let recorder = Recorder::new(&self.names);
            let outcome = aggregator
                .handle(&event.json, batch.now, &Budget::unlimited(), &recorder)
                .await
                .map_err(|error| Failure::about(&input.path, error))?;
            let report = recorder.into_report();
            self.totals.add(&report, &outcome);
            let print = if self.arguments.output.json {
                json_lines::print
            } else {
                text::print
            };
            print(output, &batch, &report, &outcome, self.arguments.explain);
        }
        Ok(())
    }
}

fn dump(path: &Path, items: &[Item]) -> Result<(), Failure> {
    let write = || {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        serde_json::to_writer_pretty(&mut file, items)?;
        writeln!(file)?;
        file.flush()
    };
    write().map_err(|error: std::io::Error| Failure::system(path, "write", &error))
}
