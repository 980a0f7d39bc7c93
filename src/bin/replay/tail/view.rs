//! How the reading is doing: one line that is kept up to date on a terminal, JSON lines otherwise.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use limiter_aggregator::clock;
use limiter_aggregator::stream::{Delivered, Notice, Turn};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::handler::Batch;
use crate::output::Output;

/// Shows batches and notices.
pub struct View<'o> {
    output: &'o mut Output,
    /// `None` where nobody watches.
    line: Option<ProgressBar>,
    since: Instant,
    sums: Sums,
}

#[derive(Default)]
struct Sums {
    records: u64,
    batches: u64,
    incomplete: u64,
    refills: u64,
    shards: u64,
    snapshots: u64,
    failures: u64,
    waiting: usize,
    lag_ms: i64,
}

impl<'o> View<'o> {
    /// A view on whatever standard output is.
    pub fn new(output: &'o mut Output) -> Self {
        let line = std::io::stdout().is_terminal().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            line.set_style(ProgressStyle::default_spinner());
            line.set_message("waiting for records");
            line
        });
        Self {
            output,
            line,
            since: clock::monotonic_now(),
            sums: Sums::default(),
        }
    }

    /// A batch that was worked on.
    pub fn batch(&mut self, batch: &Batch) {
        let counts = &batch.counts;
        let sums = &mut self.sums;
        sums.records += counts.records;
        sums.batches += 1;
        sums.incomplete += u64::from(batch.delivered != Delivered::Complete);
        sums.refills += counts.refills;
        sums.shards += counts.shards_created + counts.shards_raised;
        sums.snapshots += counts.snapshots;
        sums.failures += counts.permanent + counts.retryable + counts.unreadable;
        sums.lag_ms = batch.lag_ms;
        if self.line.is_none() {
            let line = batch_line(batch);
            self.say(&line);
        }
    }

    /// A look at the stream.
    pub fn turn(&mut self, turn: &Turn) {
        self.sums.waiting = turn.waiting;
        for notice in &turn.notices {
            match &self.line {
                Some(line) => line.println(in_words(notice)),
                None => {
                    let line = notice_line(notice);
                    self.say(&line);
                }
            }
        }
        if let Some(line) = &self.line {
            line.set_message(self.sums.in_words(self.since));
            line.tick();
        }
    }

    /// The last word.
    pub fn end(&mut self) {
        match &self.line {
            Some(line) => line.finish_with_message(self.sums.in_words(self.since)),
            None => {
                let sums = &self.sums;
                let line = json!({
                    "end": true, "records": sums.records, "batches": sums.batches, "incomplete": sums.incomplete,
                    "refills": sums.refills, "shards": sums.shards, "snapshots": sums.snapshots,
                    "failures": sums.failures,
                });
                self.say(&line);
            }
        }
    }

    fn say(&mut self, line: &Value) {
        self.output.line(line.to_string());
        self.output.flush();
    }
}

impl Sums {
    fn in_words(&self, since: Instant) -> String {
        let seconds = clock::monotonic_now().duration_since(since).as_secs_f64().max(0.001);
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let (rate, lag) = (self.records as f64 / seconds, self.lag_ms as f64 / 1e3);
        format!(
            "{} records ({rate:.1}/s), lag {lag:.1} s, {} waiting; {} refills, {} shards, {} snapshots; {} failures",
            self.records, self.waiting, self.refills, self.shards, self.snapshots, self.failures
        )
    }
}

fn batch_line(batch: &Batch) -> Value {
    let counts = &batch.counts;
    let (outcome, retry_from) = match &batch.delivered {
        Delivered::Complete => ("complete", None),
        Delivered::RetryFrom(sequence) => ("incomplete", Some(sequence)),
        Delivered::RetryAll => ("failed", None),
    };
    json!({
        "shard": batch.shard, "outcome": outcome, "retry_from": retry_from, "records": counts.records,
        "lag_ms": batch.lag_ms, "duration_ms": u64::try_from(batch.duration_ms).unwrap_or(u64::MAX),
        "groups": counts.groups, "refills": counts.refills, "resets": counts.resets, "rolls": counts.rolls,
        "doublings": counts.doublings, "shards_raised": counts.shards_raised, "shards_created": counts.shards_created,
        "windows_propagated": counts.windows_propagated, "snapshots": counts.snapshots,
        "lost_races": counts.lost_races, "unreadable": counts.unreadable, "permanent": counts.permanent,
        "retryable": counts.retryable,
    })
}

fn notice_line(notice: &Notice) -> Value {
    match notice {
        Notice::ShardOpened { shard } => json!({ "notice": "shard_opened", "shard": shard }),
        Notice::ShardFinished { shard } => json!({ "notice": "shard_finished", "shard": shard }),
        Notice::RecordsLost { shard, after } => {
            json!({ "notice": "records_lost", "shard": shard, "after": after, "explanation": in_words(notice) })
        }
        Notice::SourceFailed(error) => json!({ "notice": "source_failed", "error": error.to_string() }),
    }
}

fn in_words(notice: &Notice) -> String {
    match notice {
        Notice::ShardOpened { shard } => format!("reading shard {shard}"),
        Notice::ShardFinished { shard } => format!("done with shard {shard}"),
        Notice::RecordsLost { shard, after } => format!(
            "RECORDS LOST in shard {shard} after {}: they expired before they were read; their usage is not counted",
            after.as_deref().unwrap_or("its beginning")
        ),
        Notice::SourceFailed(error) => format!("the stream: {error}; trying again"),
    }
}
