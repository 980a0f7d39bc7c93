//! Reports for people.

use std::collections::BTreeMap;

use limiter_aggregator::aggregate::BatchOutcome;

use crate::describe::{Decision, LimitLine, Verdict};
use crate::names::printable;
use crate::output::Output;
use crate::report::{LeftOut, Report};
use crate::run::Batch;
use crate::totals::{Totals, counted};

/// How many places of left-out records are named.
const PLACES_NAMED: usize = 5;

/// Prints one batch.
pub fn print(output: &mut Output, batch: &Batch<'_>, report: &Report, outcome: &BatchOutcome, explain: bool) {
    let about = batch
        .about
        .map(|about| format!(": {}", printable(about)))
        .unwrap_or_default();
    output.line(format!("{}{about}", batch.name()));
    output.line(format!(
        "  at {}: {} about {}",
        crate::instant::show(batch.now),
        counted(report.records, "record"),
        counted(report.buckets.len(), "bucket")
    ));
    print_left_out(output, &report.left_out);
    for bucket in &report.buckets {
        let mut shown: Vec<&Decision> = bucket.decisions.iter().filter(|d| explain || !d.is_detail).collect();
        // By shard; what concerns all of them comes last.
        shown.sort_by_key(|decision| (decision.shard.is_none(), decision.shard));
        let mut headed = None;
        for decision in shown {
            if headed != Some(decision.shard) {
                let shard = decision
                    .shard
                    .map(|shard| format!(" shard {shard}"))
                    .unwrap_or_default();
                output.line(format!("  bucket {}{shard}", bucket.name));
                headed = Some(decision.shard);
            }
            print_decision(output, decision, explain);
        }
    }
    match outcome {
        BatchOutcome::Complete => {}
        BatchOutcome::RetryFrom(sequence) => {
            let number = sequence.as_str();
            output.line(format!("  failed: to be delivered again from sequence number {number}"));
        }
        BatchOutcome::RetryAll => output.line("  failed: to be delivered again as a whole"),
    }
    output.line("");
    output.flush();
}

/// Prints what all batches came to.
pub fn print_totals(output: &mut Output, totals: &Totals) {
    output.line(format!("totals: {}", totals.in_words()));
}

fn print_left_out(output: &mut Output, left_out: &[LeftOut]) {
    let mut by_reason: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for left in left_out {
        by_reason.entry(&left.why).or_default().push(left.record);
    }
    for (why, records) in by_reason {
        let named: Vec<String> = records.iter().take(PLACES_NAMED).map(ToString::to_string).collect();
        let more = match records.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let noun = if records.len() == 1 { "record" } else { "records" };
        output.line(format!("  {noun} {}{more} left out: {why}", named.join(", ")));
    }
}

fn print_decision(output: &mut Output, decision: &Decision, explain: bool) {
    let Decision { rule, why, .. } = decision;
    output.line(match decision.verdict {
        Verdict::Written => format!("    {rule} written: {why}"),
        Verdict::Dropped => format!("    {rule} dropped: {why}"),
        Verdict::DryRun => format!("    {rule} decided, not sent: {why}"),
        Verdict::Failed => format!("    {rule} failed: {why}"),
        Verdict::None => format!("    no {rule}: {why}"),
    });
    let moves = |limit: &&LimitLine| explain || decision.verdict != Verdict::None && limit.before != limit.after;
    for limit in decision.limits.iter().filter(moves) {
        print_limit(output, limit, explain);
    }
    if explain {
        for change in &decision.changes {
            output.line(format!("      change: {change}"));
        }
        for condition in &decision.conditions {
            output.line(format!("      only if: {condition}"));
        }
    }
}

fn print_limit(output: &mut Output, limit: &LimitLine, explain: bool) {
    let LimitLine {
        limit: name,
        before,
        after,
        ceiling,
        why,
        ..
    } = limit;
    let detail = if explain {
        let role = if limit.is_reason {
            "a reason to write"
        } else {
            "no reason to write"
        };
        format!(" ({}; used {} in this batch; {role})", limit.kind, limit.consumed)
    } else {
        String::new()
    };
    let balance = if before == after {
        format!("stays at {before}")
    } else {
        format!("{before} -> {after}")
    };
    output.line(format!(
        "      {name}: {balance} of {ceiling} tokens; {name} {why}{detail}"
    ));
}
