//! JSON text taken apart, every fault with its place and without its content.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::value::RawValue;

/// What is wrong with a text, and where.
#[derive(Debug)]
pub struct Fault {
    line: usize,
    column: usize,
    what: String,
}

impl Fault {
    fn empty() -> Self {
        Self {
            line: 1,
            column: 1,
            what: "the file is empty".to_owned(),
        }
    }

    /// What serde found, moved to where its text begins. `wanted` says what should have been there.
    fn of(error: &serde_json::Error, begins: (usize, usize), wanted: &str) -> Self {
        let (line, column) = (error.line().max(1), error.column());
        let (line, column) = if line == 1 {
            (begins.0, begins.1 + column.saturating_sub(1))
        } else {
            (begins.0 + line - 1, column)
        };
        let what = match error.classify() {
            // Only these messages are known to repeat nothing: they name the JSON that is missing.
            Category::Syntax => format!("malformed JSON: {}", without_place(&error.to_string())),
            Category::Eof => "malformed JSON: the text ends in the middle of a value".to_owned(),
            Category::Data | Category::Io => format!("expected {wanted}"),
        };
        Self { line, column, what }
    }
}

fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(what, _)| what)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

/// Line and column of a byte, from 1; the column counts bytes, as serde's does.
pub fn place(text: &[u8], offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

/// Reads the whole text as one value.
///
/// # Errors
/// A [`Fault`] at the first thing that does not belong.
pub fn parse<T: DeserializeOwned>(text: &str, wanted: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::of(&error, (1, 1), wanted))
}

const WANTED: &str = "a Lambda event, an array of records, or one record or event a line";

/// The Lambda events that a text holds. Each event and each array of records is one; records that follow each other
/// are one together.
///
/// # Errors
/// A [`Fault`] at the first thing that is none of these.
pub fn batches(text: &str) -> Result<Vec<String>, Fault> {
    let mut batches = Vec::new();
    let mut records: Vec<&str> = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    while let Some(value) = values.next() {
        let value = value.map_err(|error| Fault::of(&error, (1, 1), WANTED))?.get();
        let begins = place(text.as_bytes(), values.byte_offset().saturating_sub(value.len()));
        match kind_of(value).map_err(|error| Fault::of(&error, begins, WANTED))? {
            Kind::Record => records.push(value),
            Kind::Event => {
                batches.extend(collected(&mut records));
                batches.push(value.to_owned());
            }
            Kind::Records => {
                batches.extend(collected(&mut records));
                batches.push(event_of(&[value]));
            }
        }
    }
    batches.extend(collected(&mut records));
    if batches.is_empty() {
        return Err(Fault::empty());
    }
    Ok(batches)
}

/// The values that a text holds, one after the other.
///
/// # Errors
/// A [`Fault`] at the first thing that is none, or where there is nothing.
pub fn values(text: &str) -> Result<Vec<String>, Fault> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let values: Vec<String> = values
        .map(|value| value.map(|value| value.get().to_owned()))
        .collect::<Result<_, _>>()
        .map_err(|error| Fault::of(&error, (1, 1), "JSON"))?;
    if values.is_empty() {
        Err(Fault::empty())
    } else {
        Ok(values)
    }
}

fn collected(records: &mut Vec<&str>) -> Option<String> {
    if records.is_empty() {
        return None;
    }
    let list = format!("[{}]", records.join(","));
    records.clear();
    Some(event_of(&[&list]))
}

fn event_of(records: &[&str]) -> String {
    format!("{{\"Records\":{}}}", records.concat())
}

enum Kind {
    Event,
    Records,
    Record,
}

fn kind_of(value: &str) -> Result<Kind, serde_json::Error> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(rename = "Records", borrow)]
        _records: Vec<&'a RawValue>,
    }
    /// Told by its members; what they hold is the record's own affair.
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(rename = "Records", borrow)]
        records: Option<&'a RawValue>,
        #[serde(rename = "eventName", borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        dynamodb: Option<&'a RawValue>,
    }
    if value.starts_with('[') {
        return serde_json::from_str::<Vec<&RawValue>>(value).map(|_| Kind::Records);
    }
    let members: Members<'_> = serde_json::from_str(value)?;
    if members.records.is_none() && (members.name.is_some() || members.dynamodb.is_some()) {
        return Ok(Kind::Record);
    }
    serde_json::from_str::<Event<'_>>(value).map(|_| Kind::Event)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"eventName":"REMOVE","dynamodb":{}}"#;

    #[test]
    fn every_form_of_input_comes_to_events() {
        let event = format!(r#"{{"Records":[{RECORD}]}}"#);
        for text in [
            event.clone(),
            format!("[{RECORD}]"),
            RECORD.to_owned(),
            format!("\n {RECORD}\n"),
        ] {
            assert_eq!(batches(&text).unwrap(), std::slice::from_ref(&event), "{text}");
        }
        let lines = format!("{RECORD}\n{RECORD}\n{event}\n\n{RECORD}\n");
        let two = format!(r#"{{"Records":[{RECORD},{RECORD}]}}"#);
        assert_eq!(batches(&lines).unwrap(), [two, event.clone(), event]);
    }

    #[test]
    fn a_fault_names_its_place_and_repeats_nothing() {
        let second_line = format!("{RECORD}\n{{\"Records\":\n \"secret\"}}\n");
        for (text, place) in [
            ("{\"Records\":[\n{]}", "line 2, column 2"),
            ("[1, 2", "line 1, column 5"),
            ("  17", "line 1, column 4"),
            ("\"secret\"", "line 1, column 8"),
            ("{\"secret\":1}", "line 1, column 12"),
            (&*second_line, "line 3, column 9"),
            ("", "line 1, column 1"),
        ] {
            let message = batches(text).unwrap_err().to_string();
            assert!(message.starts_with(place), "{text}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
