//! What Lambda leaves at an event source's on-failure destination.
//!
//! Decides which of the two forms a text has: a bucket receives the batch with the whole event as its `payload` (text, or
//! JSON as it is), a queue or topic only where it lies in the stream. Refuses everything else, and a payload without
//! records. What must stay true: a message never repeats content.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::record::{SequenceNumber, read_event};
use crate::stream::Range;

/// Where a discarded batch lies in its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchInfo {
    /// The stream's ARN.
    pub stream_arn: String,
    /// Shard, first and last record.
    pub range: Range,
    /// How many records Lambda counted in it, where it says so.
    pub records: Option<usize>,
}

impl BatchInfo {
    /// The table's name, by the stream's ARN.
    pub fn table_name(&self) -> Option<&str> {
        let (_, rest) = self.stream_arn.split_once(":table/")?;
        rest.split('/').next()
    }
}

/// One discarded batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// With its records.
    Whole {
        /// The event that the function was invoked with; it has at least one record.
        event: String,
        /// Where it came from, where that is told.
        info: Option<BatchInfo>,
    },
    /// Without its records.
    Range(BatchInfo),
}

/// Why a text is no discarded batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscardedError {
    /// It is no JSON object, or its members are of another kind.
    #[error("no on-failure record: unexpected content at line {line}, column {column}")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// Column within the line.
        column: usize,
    },
    /// It holds neither records nor where they are.
    #[error("no on-failure record of a table's stream: neither payload nor DDBStreamBatchInfo")]
    Neither,
    /// Its place in the stream is incomplete.
    #[error("DDBStreamBatchInfo lacks streamArn, shardId or a sequence number, or one of them is malformed")]
    Info,
    /// The payload is no stream event.
    #[error("the payload is no stream event")]
    Payload,
    /// The payload holds no record.
    #[error("the payload holds no records")]
    Empty,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(rename = "DDBStreamBatchInfo", default)]
    info: Option<RawInfo>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawInfo {
    stream_arn: Option<String>,
    shard_id: Option<String>,
    start_sequence_number: Option<String>,
    end_sequence_number: Option<String>,
    batch_size: Option<usize>,
}

impl Discarded {
    /// Reads one on-failure record.
    ///
    /// # Errors
    /// See [`DiscardedError`].
    pub fn parse(json: &str) -> Result<Self, DiscardedError> {
        let raw: Raw<'_> = serde_json::from_str(json).map_err(|error| DiscardedError::Shape {
            line: error.line(),
            column: error.column(),
        })?;
        let info = raw
            .info
            .map(|info| info.checked().ok_or(DiscardedError::Info))
            .transpose()?;
        match (raw.payload.map(event_of).transpose()?, info) {
            (Some(event), info) => Ok(Self::Whole { event, info }),
            (None, Some(info)) => Ok(Self::Range(info)),
            (None, None) => Err(DiscardedError::Neither),
        }
    }
}

impl RawInfo {
    fn checked(self) -> Option<BatchInfo> {
        let number = |text: Option<String>| SequenceNumber::parse(Cow::Owned(text?));
        let range = Range {
            shard: self.shard_id.filter(|id| !id.is_empty())?,
            first: number(self.start_sequence_number)?,
            last: number(self.end_sequence_number)?,
        };
        Some(BatchInfo {
            stream_arn: self.stream_arn.filter(|arn| arn.contains("/stream/"))?,
            range,
            records: self.batch_size,
        })
        .filter(|info| info.range.first <= info.range.last)
    }
}

/// The event in a payload: as text, or as it is.
fn event_of(payload: &RawValue) -> Result<String, DiscardedError> {
    let payload = payload.get();
    let event = match payload.as_bytes().first() {
        Some(b'"') => serde_json::from_str(payload).map_err(|_| DiscardedError::Payload)?,
        _ => payload.to_owned(),
    };
    let is_empty = read_event(&event).map_err(|_| DiscardedError::Payload)?.is_empty();
    if is_empty {
        Err(DiscardedError::Empty)
    } else {
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ARN: &str = "arn:aws:dynamodb:us-east-2:123456789012:table/rate-limits/stream/2026-11-14T00:04:06.388";

    fn message() -> Value {
        json!({
            "requestContext": {
                "requestId": "316aa6d0-8154-4c5f-9af7-85d5f4a6bc81",
                "functionArn": "arn:aws:lambda:us-east-2:123456789012:function:limiter-aggregator",
                "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1,
            },
            "responseContext": { "statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled" },
            "version": "1.0", "timestamp": "2026-11-14T00:13:49.717Z",
            "DDBStreamBatchInfo": {
                "shardId": "shardId-00000001573689847184-864758bb",
                "startSequenceNumber": "800000000003126276362", "endSequenceNumber": "800000000003126276380",
                "approximateArrivalOfFirstRecord": "2026-11-14T00:13:19Z",
                "approximateArrivalOfLastRecord": "2026-11-14T00:13:19Z",
                "batchSize": 2, "streamArn": ARN,
            },
        })
    }

    fn parse(message: &Value) -> Result<Discarded, DiscardedError> {
        Discarded::parse(&message.to_string())
    }

    #[test]
    fn a_queues_message_says_where_the_records_are() {
        let Ok(Discarded::Range(info)) = parse(&message()) else {
            panic!("not a range");
        };
        assert_eq!((info.table_name(), info.records), (Some("rate-limits"), Some(2)));
        let place = "shard shardId-00000001573689847184-864758bb, 800000000003126276362 to 800000000003126276380";
        assert_eq!(info.range.to_string(), place);
    }

    #[test]
    fn a_buckets_object_holds_the_event_as_text_or_as_it_is() {
        let event = json!({ "Records": [{ "eventName": "MODIFY", "dynamodb": { "SequenceNumber": "1" } }] });
        for payload in [json!(event.to_string()), event.clone()] {
            let mut object = message();
            object["payload"] = payload;
            let Ok(Discarded::Whole { event: found, info }) = parse(&object) else {
                panic!("not whole");
            };
            assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), event);
            assert_eq!(info.unwrap().stream_arn, ARN);
        }
    }

    #[test]
    fn what_holds_no_records_is_refused_and_not_repeated() {
        let with = |name: &str, value: Value| {
            let mut object = message();
            object[name] = value;
            parse(&object).unwrap_err()
        };
        assert_eq!(with("payload", json!("{\"Records\":[]}")), DiscardedError::Empty);
        assert_eq!(with("payload", json!({ "Records": [] })), DiscardedError::Empty);
        assert_eq!(with("payload", json!("secret")), DiscardedError::Payload);
        assert_eq!(with("payload", json!(17)), DiscardedError::Payload);
        assert_eq!(with("DDBStreamBatchInfo", Value::Null), DiscardedError::Neither);
        assert_eq!(parse(&json!({ "KinesisBatchInfo": {} })), Err(DiscardedError::Neither));
        assert_eq!(parse(&json!({ "Records": [] })), Err(DiscardedError::Neither));
        let shape = Discarded::parse("{\"DDBStreamBatchInfo\": \"secret\"}").unwrap_err();
        assert!(matches!(shape, DiscardedError::Shape { line: 1, .. }) && !shape.to_string().contains("secret"));
        for (member, value) in [
            ("shardId", json!("")),
            ("streamArn", json!("arn:aws:kinesis:us-east-2:123456789012:stream/x")),
            ("startSequenceNumber", json!("800000000003126276381")),
            ("endSequenceNumber", json!("x")),
            ("endSequenceNumber", Value::Null),
        ] {
            let mut object = message();
            object["DDBStreamBatchInfo"][member] = value;
            assert_eq!(parse(&object), Err(DiscardedError::Info), "{member}");
        }
    }
}
