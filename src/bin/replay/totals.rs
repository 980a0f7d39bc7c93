//! What all batches of a run came to.

use std::collections::BTreeMap;

use limiter_aggregator::aggregate::BatchOutcome;
use serde::Serialize;

use crate::describe::Verdict;
use crate::report::Report;

/// Counts over a run.
#[derive(Debug, Default, Serialize)]
pub struct Totals {
    batches: usize,
    failed_batches: usize,
    records: usize,
    left_out: usize,
    buckets: usize,
    decisions: BTreeMap<&'static str, BTreeMap<Verdict, usize>>,
}

impl Totals {
    /// Adds one batch.
    pub fn add(&mut self, report: &Report, outcome: &BatchOutcome) {
        self.batches += 1;
        self.failed_batches += usize::from(*outcome != BatchOutcome::Complete);
        self.records += report.records;
        self.left_out += report.left_out.len();
        self.buckets += report.buckets.len();
        for decision in report.buckets.iter().flat_map(|bucket| &bucket.decisions) {
            let verdicts = self.decisions.entry(decision.rule).or_default();
            *verdicts.entry(decision.verdict).or_default() += 1;
        }
    }

    /// Whether any batch reports failures.
    pub fn has_failures(&self) -> bool {
        self.failed_batches > 0
    }

    /// One line for people.
    pub fn in_words(&self) -> String {
        let mut parts = vec![format!(
            "{}, {} ({} left out), {}",
            counted(self.batches, "event"),
            counted(self.records, "record"),
            self.left_out,
            counted(self.buckets, "bucket")
        )];
        for (rule, verdicts) in &self.decisions {
            let each = verdicts
                .iter()
                .map(|(verdict, count)| format!("{count} {}", words(*verdict)));
            parts.push(format!("{rule}: {}", each.collect::<Vec<_>>().join(", ")));
        }
        parts.push(match self.failed_batches {
            0 => "nothing to be delivered again".to_owned(),
            failed => format!("{} to be delivered again", counted(failed, "event")),
        });
        parts.join("; ")
    }
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Written => "written",
        Verdict::Dropped => "dropped",
        Verdict::DryRun => "not sent",
        Verdict::Failed => "failed",
        Verdict::None => "not called for",
    }
}

/// A number with its noun.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
