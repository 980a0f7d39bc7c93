//! A Lambda event split into records, each of which succeeds or fails alone.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::creation_time::parse_creation_time;
use super::image::Image;
use super::sequence::SequenceNumber;
use super::text::Text;
use super::{ChangeKind, Record};

/// The view type without which no change can be told.
const NEEDED_VIEW: &str = "NEW_AND_OLD_IMAGES";

/// The event as a whole is no stream event: nothing in it can be worked on. Says where, never what.
#[derive(Debug, thiserror::Error)]
#[error("not a stream event: unexpected content at line {line}, column {column}")]
pub struct EventError {
    line: usize,
    column: usize,
}

/// Why one record cannot be read. A message never repeats content: it may hold an entity id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The record's JSON has a shape that no rule knows.
    #[error("unexpected shape at line {line}, column {column} of the record")]
    Shape {
        /// Line within the record, from 1.
        line: usize,
        /// Column within the line.
        column: usize,
    },
    /// `eventName` is none of INSERT, MODIFY and REMOVE.
    #[error("unknown or missing event name")]
    EventName,
    /// The `dynamodb` part is missing.
    #[error("no change in the record")]
    NoChange,
}

/// Who made a change, where the stream tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserIdentity<'a> {
    /// `type`, for example `Service`.
    pub kind: Cow<'a, str>,
    /// `principalId`, also spelled `PrincipalId`.
    pub principal: Cow<'a, str>,
}

/// One record of an event, read or not.
#[derive(Debug)]
pub struct ReadRecord<'a> {
    /// Place in the event, from 0.
    pub position: usize,
    /// The event id, where it could be read.
    pub event_id: Option<Cow<'a, str>>,
    /// The view type, where it could be read.
    pub view_type: Option<Cow<'a, str>>,
    /// The record, or why there is none.
    pub record: Result<Record<'a>, RecordError>,
}

impl ReadRecord<'_> {
    /// Whether the stream says that it carries something else than both images.
    pub fn has_other_view(&self) -> bool {
        self.view_type.as_deref().is_some_and(|view| view != NEEDED_VIEW)
    }
}

/// Splits a Lambda event's JSON text and reads each record on its own.
///
/// # Errors
/// Only when the text as a whole is not an object with a list of `Records`.
pub fn read_event(json: &str) -> Result<Vec<ReadRecord<'_>>, EventError> {
    #[derive(Deserialize)]
    struct RawEvent<R> {
        #[serde(rename = "Records")]
        records: Vec<R>,
    }
    // Mostly every record is readable, and then one pass over the text is enough. A single one that is not fails the
    // whole pass, so a second one finds it, record by record.
    if let Ok(event) = serde_json::from_str::<RawEvent<RawRecord<'_>>>(json) {
        let records = event.records.into_iter().enumerate();
        return Ok(records.map(|(position, raw)| sort_record(position, raw)).collect());
    }
    let event: RawEvent<&RawValue> = serde_json::from_str(json).map_err(|error| EventError {
        line: error.line(),
        column: error.column(),
    })?;
    let records = event.records.into_iter().enumerate();
    Ok(records
        .map(|(position, raw)| read_record(position, raw.get()))
        .collect())
}

#[derive(Deserialize)]
struct RawRecord<'a> {
    #[serde(rename = "eventID", borrow, default)]
    event_id: Option<Text<'a>>,
    #[serde(rename = "eventName", borrow, default)]
    event_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    dynamodb: Option<RawChange<'a>>,
    #[serde(rename = "eventSourceARN", borrow, default)]
    source_arn: Option<Text<'a>>,
    #[serde(rename = "userIdentity", borrow, default)]
    user_identity: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawChange<'a> {
    #[serde(rename = "ApproximateCreationDateTime", borrow, default)]
    created: Option<&'a RawValue>,
    #[serde(rename = "SequenceNumber", borrow, default)]
    sequence: Option<Text<'a>>,
    #[serde(rename = "StreamViewType", borrow, default)]
    view_type: Option<Text<'a>>,
    #[serde(rename = "OldImage", borrow, default)]
    old: Option<Image<'a>>,
    #[serde(rename = "NewImage", borrow, default)]
    new: Option<Image<'a>>,
}

fn read_record(position: usize, json: &str) -> ReadRecord<'_> {
    match serde_json::from_str(json) {
        Ok(raw) => sort_record(position, raw),
        Err(error) => ReadRecord {
            position,
            event_id: salvage_event_id(json),
            view_type: None,
            record: Err(RecordError::Shape {
                line: error.line(),
                column: error.column(),
            }),
        },
    }
}

/// A record whose JSON has the known shape, as what it means.
fn sort_record(position: usize, raw: RawRecord<'_>) -> ReadRecord<'_> {
    let event_id = raw.event_id.map(|text| text.0);
    let fail = |event_id, error| ReadRecord {
        position,
        event_id,
        view_type: None,
        record: Err(error),
    };
    let kind = match raw.event_name.as_ref().map(|name| &*name.0) {
        Some("INSERT") => ChangeKind::Insert,
        Some("MODIFY") => ChangeKind::Modify,
        Some("REMOVE") => ChangeKind::Remove,
        _ => return fail(event_id, RecordError::EventName),
    };
    let Some(change) = raw.dynamodb else {
        return fail(event_id, RecordError::NoChange);
    };
    let record = Record {
        event_id: event_id.clone(),
        kind,
        sequence: change.sequence.and_then(|text| SequenceNumber::parse(text.0)),
        created: change.created.and_then(|raw| parse_creation_time(raw.get())),
        old: change.old,
        new: change.new,
        stream_label: raw.source_arn.map_or("", |arn| stream_label(arn.0)),
        user_identity: raw.user_identity.and_then(read_user_identity),
    };
    ReadRecord {
        position,
        event_id,
        view_type: change.view_type.map(|text| text.0),
        record: Ok(record),
    }
}

/// What follows the last `/` of a stream's ARN. An ARN that needed unescaping has no label anybody could store.
fn stream_label(arn: Cow<'_, str>) -> &str {
    match arn {
        Cow::Borrowed(arn) => arn.rsplit_once('/').map_or("", |(_, label)| label),
        Cow::Owned(_) => "",
    }
}

fn read_user_identity(raw: &RawValue) -> Option<UserIdentity<'_>> {
    #[derive(Deserialize)]
    struct RawIdentity<'a> {
        #[serde(rename = "type", alias = "Type", borrow)]
        kind: Text<'a>,
        #[serde(rename = "principalId", alias = "PrincipalId", borrow)]
        principal: Text<'a>,
    }
    let identity: RawIdentity<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(UserIdentity {
        kind: identity.kind.0,
        principal: identity.principal.0,
    })
}

/// The event id of a record that could not be read otherwise, so that the log can name it.
fn salvage_event_id(json: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(rename = "eventID", borrow)]
        event_id: Text<'a>,
    }
    serde_json::from_str::<OnlyId<'_>>(json)
        .ok()
        .map(|only| only.event_id.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Scalar;
    use crate::units::EpochMillis;

    fn one(json: &str) -> ReadRecord<'_> {
        let mut records = read_event(json).unwrap();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    #[test]
    fn one_odd_record_leaves_its_neighbours_alone() {
        let json = r#"{"Records":[
            {"eventID":"a","eventName":"MODIFY","dynamodb":{"SequenceNumber":"7","NewImage":{"PK":{"S":"x"}}}},
            {"eventID":"b","eventName":"MODIFY","dynamodb":{"NewImage":{"PK":7}}},
            17, null, {}, {"eventID":"c","eventName":"UPSERT"},
            {"eventID":"d","eventName":"REMOVE","dynamodb":{}}]}"#;
        let read = read_event(json).unwrap();
        let ok: Vec<_> = read.iter().map(|r| r.record.is_ok()).collect();
        assert_eq!(ok, [true, false, false, false, false, false, true]);
        assert_eq!(
            read[1].event_id.as_deref(),
            Some("b"),
            "an unreadable record is still named"
        );
        assert_eq!(read[5].event_id.as_deref(), Some("c"));
    }

    #[test]
    fn a_message_never_repeats_content() {
        let read =
            one(r#"{"Records":[{"eventID":"b","eventName":"MODIFY","dynamodb":{"NewImage":{"PK":"sk-secret"}}}]}"#);
        let error = read.record.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }

    #[test]
    fn numbers_keep_every_digit_and_unknown_types_their_text() {
        let json = r#"{"Records":[{"eventName":"INSERT","dynamodb":{"NewImage":{
            "n":{"N":"99999999999999999999999999999999999999"},"m":{"M":{"a":{"N":"1.50"},"b":{"NULL":true}}},
            "b":{"B":"AAEC"},"ns":{"NS":["1","2.5"]},"t":{"BOOL":true},"empty":{},"two":{"S":"x","N":"1"},"new":{"Q":"?"}}}}]}"#;
        let record = one(json).record.unwrap();
        let image = record.new.unwrap();
        assert_eq!(
            image.get("n").unwrap().scalar(),
            Scalar::N("99999999999999999999999999999999999999")
        );
        assert_eq!(image.get("t").unwrap().scalar(), Scalar::Bool(true));
        let map = serde_json::to_value(image.get("m").unwrap().to_value().unwrap()).unwrap();
        assert_eq!(map, serde_json::json!({"M": {"a": {"N": "1.50"}, "b": {"NULL": true}}}));
        for name in ["empty", "two", "new"] {
            assert_eq!(image.get(name).unwrap().to_value(), None, "{name}");
        }
        assert!(
            image.to_item().is_none(),
            "an image with such an attribute cannot be copied"
        );
    }

    #[test]
    fn optional_fields_may_be_missing_or_null() {
        let record = one(
            r#"{"Records":[{"eventName":"MODIFY","dynamodb":{"SequenceNumber":null,"OldImage":null,"NewImage":{}}}]}"#,
        )
        .record
        .unwrap();
        assert!(record.sequence.is_none() && record.old.is_none() && record.new.is_some() && record.created.is_none());
        assert_eq!(record.stream_label, "");
    }

    #[test]
    fn both_spellings_of_the_principal_are_read() {
        for key in ["principalId", "PrincipalId"] {
            let json = format!(
                r#"{{"Records":[{{"eventName":"REMOVE","dynamodb":{{"ApproximateCreationDateTime":5}},"userIdentity":{{"type":"Service","{key}":"dynamodb.amazonaws.com"}},
                "eventSourceARN":"arn:aws:dynamodb:r:1:table/t/stream/2026-01-01T00:00:00.000"}}]}}"#
            );
            let record = one(&json).record.unwrap();
            assert_eq!(record.user_identity.unwrap().principal, "dynamodb.amazonaws.com");
            assert_eq!(record.created, Some(EpochMillis(5000)));
            assert_eq!(record.stream_label, "2026-01-01T00:00:00.000");
        }
    }

    #[test]
    fn text_that_is_no_event_says_where_not_what() {
        let error = read_event(r#"{"Records": "sk-secret"}"#).unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert!(read_event("[]").is_err() && read_event("{}").is_err() && read_event("").is_err());
    }
}
