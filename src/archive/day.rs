//! A batch's expired records by the day of their event, and the object that each day becomes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, NaiveDate};
use sha2::{Digest, Sha256};

use super::expired::ExpiredAudit;
use super::line::line;
use crate::record::SequenceNumber;
use crate::units::EpochMillis;

/// The years that a prefix of four digits can name.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;
/// Bytes of the digest in a key: as many as make two different contents under one key unthinkable.
const DIGEST_BYTES: usize = 16;

/// The expired records of one batch and one day (UTC).
#[derive(Clone, Debug)]
pub struct Day<'i> {
    date: NaiveDate,
    records: Vec<ExpiredAudit<'i>>,
}

/// What is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    /// Where: `audit/year=YYYY/month=MM/day=DD/` and a name made of the content's digest.
    pub key: String,
    /// JSON lines, each with its end. They hold entity ids.
    pub lines: String,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The records by day, earlier days first.
pub fn days<'i>(records: impl IntoIterator<Item = ExpiredAudit<'i>>) -> Vec<Day<'i>> {
    let mut by_date: BTreeMap<NaiveDate, Vec<ExpiredAudit<'i>>> = BTreeMap::new();
    for record in records {
        let date = record.instants().find_map(date).unwrap_or_default();
        by_date.entry(date).or_default().push(record);
    }
    let days = by_date.into_iter();
    days.map(|(date, records)| Day { date, records }).collect()
}

/// The day of an instant, where a key can name it.
fn date(instant: EpochMillis) -> Option<NaiveDate> {
    let date = DateTime::from_timestamp_millis(instant.0)?.date_naive();
    YEARS.contains(&date.year()).then_some(date)
}

impl<'i> Day<'i> {
    /// How many records it has, repeats included.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// Each record's place in the stream.
    pub fn sequences(&self) -> impl Iterator<Item = Option<&'i SequenceNumber<'i>>> {
        self.records.iter().map(|record| record.sequence)
    }

    /// The object. Records come in the order of the stream, repeats once; so the same records make the same object,
    /// whatever the order and number of their deliveries.
    ///
    /// A later delivery may hold a part of these records, since the stream goes back to the middle of a batch. That
    /// part becomes an object of its own: what is overwritten must never be more than what it is overwritten with.
    pub fn object(&self) -> Object {
        let lines: BTreeSet<_> = self
            .records
            .iter()
            .filter_map(|record| Some((record.sequence, line(record)?)))
            .collect();
        let lines: String = lines
            .into_iter()
            .flat_map(|(_, line)| [line, "\n".to_owned()])
            .collect();
        let digest = Sha256::digest(lines.as_bytes());
        let name: String = digest
            .iter()
            .take(DIGEST_BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Object {
            key: format!("audit/{}/{name}.jsonl.gz", self.date.format("year=%Y/month=%m/day=%d")),
            lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read_event;
    use serde_json::{Value, json};

    /// An expiry with a sequence number and the text of `timestamp`.
    fn expiry(sequence: &str, timestamp: &str) -> Value {
        json!({
            "eventName": "REMOVE",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_796_083_200,
                "SequenceNumber": sequence,
                "OldImage": {
                    "SK": { "S": "#AUDIT#01" },
                    "event_id": { "S": sequence },
                    "timestamp": { "S": timestamp },
                    "ttl": { "N": "1" },
                },
            },
        })
    }

    fn objects(records: &[Value]) -> Vec<Object> {
        let event = json!({ "Records": records }).to_string();
        let read = read_event(&event).unwrap();
        let records = read.iter().map(|read| read.record.as_ref().unwrap());
        let expired = records.filter_map(|record| ExpiredAudit::of(record, EpochMillis(2000)));
        days(expired).iter().map(Day::object).collect()
    }

    fn places(records: &[Value]) -> Vec<String> {
        let places = objects(records).into_iter();
        places
            .map(|object| object.key.rsplit_once('/').unwrap().0.to_owned())
            .collect()
    }

    #[test]
    fn each_day_is_an_object_under_its_own_prefix() {
        let records = [
            expiry("1", "2026-12-01T01:45:57Z"),
            expiry("2", "2026-11-30T23:59:59.999999Z"),
            expiry("3", "2026-12-01T00:30:00+02:00"),
        ];
        assert_eq!(
            places(&records),
            ["audit/year=2026/month=11/day=30", "audit/year=2026/month=12/day=01"]
        );
        let lines: Vec<_> = objects(&records)
            .iter()
            .map(|object| object.lines.lines().count())
            .collect();
        assert_eq!(lines, [2, 1]);
    }

    #[test]
    fn an_event_without_a_readable_time_lies_on_the_day_of_its_removal_or_expiry() {
        for timestamp in ["", "soon", "+12026-01-01T00:00:00Z"] {
            assert_eq!(places(&[expiry("1", timestamp)]), ["audit/year=2026/month=12/day=01"]);
        }
        let mut record = expiry("1", "soon");
        record["dynamodb"]["ApproximateCreationDateTime"] = Value::Null;
        assert_eq!(places(&[record]), ["audit/year=1970/month=01/day=01"]);
    }

    #[test]
    fn the_same_records_make_the_same_object_in_any_order_and_number() {
        let (one, two) = (
            expiry("99", "2026-12-01T00:00:00Z"),
            expiry("100", "2026-12-01T01:00:00Z"),
        );
        let made = objects(&[one.clone(), two.clone()]);
        assert_eq!(made, objects(&[two.clone(), one.clone(), two.clone()]));
        let ids: Vec<_> = made[0].lines.lines().map(|line| &line[..17]).collect();
        assert_eq!(ids, [r#"{"event_id":"99","#, r#"{"event_id":"100""#]);
    }

    #[test]
    fn other_records_never_take_an_objects_place() {
        let (one, two) = (expiry("1", "2026-12-01T00:00:00Z"), expiry("2", "2026-12-01T01:00:00Z"));
        let both = objects(&[one.clone(), two.clone()]);
        for part in [objects(&[one]), objects(&[two])] {
            assert_ne!(part[0].key, both[0].key);
        }
    }

    #[test]
    fn debug_output_hides_the_lines() {
        let object = &objects(&[expiry("1", "2026-12-01T00:00:00Z")])[0];
        assert!(!format!("{object:?}").contains("event_id"));
    }
}
