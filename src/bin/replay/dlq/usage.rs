//! The reconciliation table: what became of the usage of each bucket shard in each snapshot.

use std::collections::BTreeMap;

use limiter_aggregator::aggregate::WriteResult;
use limiter_aggregator::plan::usage::{Fate, LimitTotal};
use limiter_aggregator::redrive::{BatchUsage, Line, SnapshotUsage};
use serde_json::json;

use crate::describe::{fault_words, uncounted_words};
use crate::names::printable;
use crate::output::Output;
use crate::run::Batch;
use crate::totals::counted as of;

const TITLES: [&str; 7] = [
    "bucket",
    "shard",
    "window",
    "from",
    "records",
    "usage",
    "what became of it",
];

/// Prints the table, and what is left to do.
pub fn print_text(output: &mut Output, counted: &BatchUsage) {
    let rows: Vec<[String; 7]> = counted.snapshots.iter().flat_map(rows).collect();
    if rows.is_empty() {
        output.line("  no usage in these records");
    } else {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([TITLES[column].len()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
        for row in [TITLES.map(str::to_owned)].iter().chain(&rows) {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            output.line(format!("  {}", line.trim_end()));
        }
    }
    for (reason, records) in &counted.uncounted {
        let (records, why) = (of(*records, "record"), uncounted_words(*reason));
        output.line(format!("  not counted: {records}, each because {why}"));
    }
    if counted.snapshots.iter().any(SnapshotUsage::is_open) {
        output.line("  overtaken usage is counted with --count-anyway, once; first make sure that it was not counted");
    }
    output.line("");
    output.flush();
}

fn rows(usage: &SnapshotUsage) -> Vec<[String; 7]> {
    let row = |line: &Line| {
        [
            usage.bucket.clone(),
            line.shard.to_string(),
            usage.kind.as_str().to_owned(),
            usage.start.clone(),
            line.records.to_string(),
            amounts(&line.limits),
            end(usage, line.fate).1,
        ]
    };
    let lines: Vec<_> = usage.lines.iter().map(row).collect();
    if !lines.is_empty() {
        return lines;
    }
    // The snapshot could not even be looked at.
    let [mut unread, why] = [(); 2].map(|()| end(usage, Fate::Due).1);
    unread.clear();
    let window = usage.kind.as_str().to_owned();
    vec![[
        usage.bucket.clone(),
        unread.clone(),
        window,
        usage.start.clone(),
        unread.clone(),
        unread,
        why,
    ]]
}

fn amounts(limits: &BTreeMap<String, LimitTotal>) -> String {
    let amount = |(limit, total): (&String, &LimitTotal)| match total.overdrafts {
        0 => format!("{} {:+}", printable(limit), total.tokens),
        times => format!("{} {:+} ({times} into debt)", printable(limit), total.tokens),
    };
    limits.iter().map(amount).collect::<Vec<_>>().join(", ")
}

/// What became of records, as a word for programs and in words for people.
fn end(usage: &SnapshotUsage, fate: Fate) -> (&'static str, String) {
    let told = |word: &'static str, words: &str| (word, words.to_owned());
    match (fate, &usage.result) {
        (Fate::Counted, _) => told("counted_before", "had been counted before"),
        (Fate::Redriven, _) => told("redriven_before", "was counted by an earlier run of this command"),
        (Fate::Overtaken, _) if !usage.counts_overtaken => told(
            "overtaken",
            "overtaken by later changes, so it may have been counted: NOT COUNTED",
        ),
        (_, Some(Ok(WriteResult::DryRun))) => told("dry_run", "to be counted; not sent"),
        (_, Some(Ok(WriteResult::LostRace))) => told("failed", "NOT COUNTED: somebody else kept changing the snapshot"),
        (_, Some(Ok(WriteResult::Failed(fault)))) => ("failed", format!("NOT COUNTED: {}", fault_words(fault))),
        (_, Some(Err(unreadable))) => ("failed", format!("NOT COUNTED: {unreadable}")),
        (Fate::Due, _) => told("counted", "counted"),
        (Fate::Overtaken, _) => told("counted_anyway", "overtaken by later changes; counted"),
    }
}

/// One line for each row of the table.
pub fn print_json(output: &mut Output, batch: &Batch<'_>, counted: &BatchUsage) {
    for usage in &counted.snapshots {
        let head = |verdict: &str, why: String| {
            json!({
                "event": batch.name(), "bucket": usage.bucket, "rule": "usage", "verdict": verdict, "why": why,
                "window": usage.kind.as_str(), "window_start": usage.start,
            })
        };
        if usage.lines.is_empty() {
            let (verdict, why) = end(usage, Fate::Due);
            output.line(head(verdict, why).to_string());
        }
        for line in &usage.lines {
            let (verdict, why) = end(usage, line.fate);
            let mut told = head(verdict, why);
            let tokens =
                |total: &LimitTotal| i64::try_from(total.tokens).map_or(json!(total.tokens.to_string()), |n| json!(n));
            let by_limit = |of: &dyn Fn(&LimitTotal) -> serde_json::Value| {
                let each = line.limits.iter().map(|(limit, total)| (limit.clone(), of(total)));
                serde_json::Value::Object(each.collect())
            };
            told["shard"] = line.shard.0.into();
            told["records"] = line.records.into();
            told["tokens"] = by_limit(&tokens);
            told["overdrafts"] = by_limit(&|total| total.overdrafts.into());
            told["first"] = line.range.0.clone().into();
            told["last"] = line.range.1.clone().into();
            output.line(told.to_string());
        }
    }
    for (reason, records) in &counted.uncounted {
        let line = json!({
            "event": batch.name(), "rule": "usage", "verdict": "uncounted", "records": records,
            "why": uncounted_words(*reason),
        });
        output.line(line.to_string());
    }
}
