//! Schedule vectors: one JSON object a line, `fn` names the question, further members hold arguments and answer.

use std::path::Path;

use limiter_aggregator::schedule::{ParameterSchedule, Parameters, ResetSchedule, next_boundary};
use limiter_aggregator::units::{EpochMillis, Millitokens};
use serde_json::{Value, json};

use crate::Outcome;

/// Checks every line of the file at `path`.
pub fn check(path: &Path) -> Outcome {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut outcome = Outcome {
        passed: 0,
        failures: Vec::new(),
    };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("line {}: {error}", at + 1));
        match compare(&case) {
            Ok(()) => outcome.passed += 1,
            Err(got) => outcome.failures.push(format!("line {}: got {got} for {line}", at + 1)),
        }
    }
    outcome
}

fn compare(case: &Value) -> Result<(), String> {
    let (want, got) = match case["fn"].as_str().unwrap_or_default() {
        "decode" => {
            let decoded = ParameterSchedule::decode(text(case, "compact"), text(case, "tz"));
            let count = decoded.map(|schedule| schedule.map_or(0, |schedule| schedule.entry_count()));
            (json!([case["ok"], case["entries"]]), json!([count.is_ok(), count.ok()]))
        }
        "decode_reset" => {
            let decoded = ResetSchedule::decode(text(case, "compact"), text(case, "tz"));
            let count = decoded.map(|schedule| schedule.map_or(0, |schedule| schedule.entry_count()));
            (json!([case["ok"], case["entries"]]), json!([count.is_ok(), count.ok()]))
        }
        "effective_params" => (case["effective"].clone(), effective(case)?),
        "prev_reset_edge" => {
            let edge = resets(case)?.and_then(|schedule| schedule.previous_edge(now(case)));
            (case["edge_ms"].clone(), json!(edge.map(|edge| edge.0)))
        }
        "next_boundary" => {
            let boundary = next_boundary(parameters(case)?.as_ref(), resets(case)?.as_ref(), now(case));
            (case["boundary_ms"].clone(), json!(boundary.map(|boundary| boundary.0)))
        }
        other => return Err(format!("an unknown question {other:?}")),
    };
    if want == got { Ok(()) } else { Err(got.to_string()) }
}

fn effective(case: &Value) -> Result<Value, String> {
    let amount = |name: &str| case[name].as_i64().map(i128::from).ok_or(format!("no number {name}"));
    let base = Parameters {
        capacity: Millitokens(amount("cp")?),
        refill: Millitokens(amount("ra")?),
        period_ms: amount("rp")?,
    };
    let in_force = match parameters(case)? {
        Some(schedule) => schedule.effective(base, now(case)).ok_or("an overflow")?,
        None => base,
    };
    let values = [in_force.capacity.0, in_force.refill.0, in_force.period_ms];
    Ok(json!(values.map(|value| i64::try_from(value).unwrap_or(i64::MAX))))
}

fn parameters(case: &Value) -> Result<Option<ParameterSchedule>, String> {
    ParameterSchedule::decode(text(case, "sched"), text(case, "tz")).map_err(|error| error.to_string())
}

fn resets(case: &Value) -> Result<Option<ResetSchedule>, String> {
    ResetSchedule::decode(text(case, "rsched"), text(case, "tz")).map_err(|error| error.to_string())
}

/// A member's text; an absent or null one reads as empty, which is no schedule.
fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap_or_default()
}

fn now(case: &Value) -> EpochMillis {
    EpochMillis(case["now_ms"].as_i64().expect("an instant"))
}
