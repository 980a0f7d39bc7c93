//! Reports for programs: one JSON object a line. Amounts are in tokens, exact to the millitoken.

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::units::Millitokens;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::describe::{Decision, LimitLine, Verdict};
use crate::instant;
use crate::output::Output;
use crate::report::Report;
use crate::run::Batch;
use crate::totals::Totals;

#[derive(Serialize)]
struct DecisionLine<'a> {
    event: String,
    bucket: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<u32>,
    rule: &'a str,
    verdict: Verdict,
    why: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<Limit<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    changes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    conditions: &'a [String],
}

#[derive(Serialize)]
struct Limit<'a> {
    limit: &'a str,
    kind: &'a str,
    #[serde(serialize_with = "tokens")]
    before: Millitokens,
    #[serde(serialize_with = "tokens")]
    after: Millitokens,
    #[serde(serialize_with = "tokens")]
    ceiling: Millitokens,
    #[serde(serialize_with = "tokens")]
    consumed: Millitokens,
    reason: bool,
    why: &'a str,
}

#[derive(Serialize)]
struct LeftOutLine<'a> {
    event: String,
    record: usize,
    rule: &'a str,
    verdict: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct BatchLine<'a> {
    event: String,
    rule: &'a str,
    verdict: &'a str,
    now: String,
    records: usize,
    buckets: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_from: Option<&'a str>,
}

#[derive(Serialize)]
struct TotalsLine<'a> {
    totals: &'a Totals,
}

/// Prints one batch: its decisions, what was left out, and how it ended.
pub fn print(output: &mut Output, batch: &Batch<'_>, report: &Report, outcome: &BatchOutcome, explain: bool) {
    for left in &report.left_out {
        let (event, record, why) = (batch.name(), left.record, left.why.as_str());
        let (rule, verdict) = ("record", "left_out");
        print_line(
            output,
            &LeftOutLine {
                event,
                record,
                rule,
                verdict,
                why,
            },
        );
    }
    for bucket in &report.buckets {
        for decision in &bucket.decisions {
            print_line(output, &decision_line(batch.name(), &bucket.name, decision, explain));
        }
    }
    let (verdict, retry_from) = match outcome {
        BatchOutcome::Complete => ("complete", None),
        BatchOutcome::RetryFrom(sequence) => ("failed", Some(sequence.as_str())),
        BatchOutcome::RetryAll => ("failed", None),
    };
    let line = BatchLine {
        event: batch.name(),
        rule: "batch",
        verdict,
        now: instant::show(batch.now),
        records: report.records,
        buckets: report.buckets.len(),
        retry_from,
    };
    print_line(output, &line);
    output.flush();
}

/// Prints what all batches came to.
pub fn print_totals(output: &mut Output, totals: &Totals) {
    print_line(output, &TotalsLine { totals });
}

fn decision_line<'a>(event: String, bucket: &'a str, decision: &'a Decision, explain: bool) -> DecisionLine<'a> {
    DecisionLine {
        event,
        bucket,
        shard: decision.shard.map(|shard| shard.0),
        rule: decision.rule,
        verdict: decision.verdict,
        why: &decision.why,
        limits: decision.limits.iter().map(limit).collect(),
        changes: if explain { &decision.changes } else { &[] },
        conditions: if explain { &decision.conditions } else { &[] },
    }
}

fn limit(line: &LimitLine) -> Limit<'_> {
    Limit {
        limit: &line.limit,
        kind: line.kind,
        before: line.before,
        after: line.after,
        ceiling: line.ceiling,
        consumed: line.consumed,
        reason: line.is_reason,
        why: &line.why,
    }
}

/// An exact decimal: its text is a JSON number.
fn tokens<S: Serializer>(amount: &Millitokens, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(amount.to_string())
        .map_err(serde::ser::Error::custom)?
        .serialize(serializer)
}

fn print_line(output: &mut Output, line: &impl Serialize) {
    // Fails for maps with odd keys and for writers that fail: there are none here.
    if let Ok(json) = serde_json::to_string(line) {
        output.line(json);
    }
}
