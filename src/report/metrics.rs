//! Metrics as CloudWatch reads them off the log: one line of embedded metric format for each batch.
//!
//! The format is one JSON object with a description of itself; writing it takes less than a metrics crate would bring,
//! and nothing is buffered that an ended process could lose. Refuses dimensions other than the function: a dimension
//! per entity would be an entity id in the metrics, and a price per entity.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::counts::Counts;
use crate::units::EpochMillis;

/// Where metrics belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsTarget {
    /// CloudWatch namespace.
    pub namespace: String,
    /// Value of the one dimension, `FunctionName`.
    pub function_name: String,
}

/// What a batch's metrics hold beside its counts.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'i> {
    /// The invocation's id, to be searched for.
    pub request_id: &'i str,
    /// When it was over.
    pub at: EpochMillis,
    /// Calls to the table; repeats by the SDK are not seen.
    pub calls: u64,
    /// How long it took.
    pub duration: Duration,
    /// Whether the stream must send something again.
    pub is_incomplete: bool,
}

impl Invocation<'_> {
    /// How long it took, in whole milliseconds.
    pub fn duration_ms(&self) -> u64 {
        u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The line, with its end.
pub fn metrics_line(target: &MetricsTarget, counts: &Counts, invocation: &Invocation<'_>) -> String {
    let counted = counts.metrics().into_iter().chain([
        ("Calls", invocation.calls),
        ("IncompleteBatches", u64::from(invocation.is_incomplete)),
    ]);
    let mut definitions: Vec<Value> = Vec::new();
    let mut line = Map::new();
    for (name, value) in counted {
        definitions.push(json!({ "Name": name, "Unit": "Count" }));
        line.insert(name.to_owned(), value.into());
    }
    definitions.push(json!({ "Name": "BatchDuration", "Unit": "Milliseconds" }));
    line.insert("BatchDuration".to_owned(), invocation.duration_ms().into());
    line.insert("FunctionName".to_owned(), target.function_name.as_str().into());
    line.insert("requestId".to_owned(), invocation.request_id.into());
    // Without these two Lambda's level filter takes the line for one of its own making.
    line.insert("level".to_owned(), "INFO".into());
    line.insert("timestamp".to_owned(), rfc_3339(invocation.at).into());
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": invocation.at.0,
            "CloudWatchMetrics": [{
                "Namespace": target.namespace,
                "Dimensions": [["FunctionName"]],
                "Metrics": definitions,
            }],
        }),
    );
    format!("{}\n", Value::Object(line))
}

fn rfc_3339(instant: EpochMillis) -> String {
    let utc = chrono::DateTime::from_timestamp_millis(instant.0).unwrap_or_default();
    utc.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_describes_every_number_that_it_holds() {
        let target = MetricsTarget {
            namespace: "N".to_owned(),
            function_name: "f".to_owned(),
        };
        let counts = Counts {
            records: 7,
            ..Counts::default()
        };
        let invocation = Invocation {
            request_id: "r-1",
            at: EpochMillis(1_796_083_200_050),
            calls: 3,
            duration: Duration::from_micros(12_900),
            is_incomplete: true,
        };
        let line = metrics_line(&target, &counts, &invocation);
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1);
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&line["Records"], &line["Calls"], &line["BatchDuration"]),
            (&7.into(), &3.into(), &12.into())
        );
        assert_eq!(
            (&line["timestamp"], &line["level"]),
            (&"2026-12-01T00:00:00.050Z".into(), &"INFO".into())
        );
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"], json!([["FunctionName"]]));
        assert_eq!(line["_aws"]["Timestamp"], 1_796_083_200_050_i64);
        let described: Vec<_> = directive["Metrics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["Name"].as_str())
            .collect();
        let numbers = line.as_object().unwrap().iter().filter(|(_, value)| value.is_number());
        assert_eq!(numbers.count(), described.len());
        assert!(described.into_iter().all(|name| line[name.unwrap()].is_number()));
    }
}
