//! Records of the stream's own interface as the event that Lambda makes of them.

use std::collections::HashMap;

use aws_sdk_dynamodbstreams::types::{AttributeValue, Record, StreamRecord};
use serde_json::{Map, Value, json};

use crate::item;

/// Lambda's event for these records of a stream.
pub fn lambda_event(records: &[Record], stream_arn: &str) -> String {
    let records: Vec<Value> = records.iter().map(|record| lambda_record(record, stream_arn)).collect();
    json!({ "Records": records }).to_string()
}

fn lambda_record(record: &Record, stream_arn: &str) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    set("eventID", record.event_id().map(Value::from));
    set("eventName", record.event_name().map(|name| name.as_str().into()));
    set("eventVersion", record.event_version().map(Value::from));
    set("eventSource", record.event_source().map(Value::from));
    set("awsRegion", record.aws_region().map(Value::from));
    set("dynamodb", record.dynamodb().map(change));
    // Here, other than in the stream's interface, both members begin with a small letter.
    set(
        "userIdentity",
        record
            .user_identity()
            .map(|identity| json!({ "type": identity.r#type(), "principalId": identity.principal_id() })),
    );
    set("eventSourceARN", Some(stream_arn.into()));
    Value::Object(fields)
}

fn change(record: &StreamRecord) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    let created = record.approximate_creation_date_time();
    set("ApproximateCreationDateTime", created.map(|at| at.as_secs_f64().into()));
    set("Keys", record.keys().and_then(image));
    set("NewImage", record.new_image().and_then(image));
    set("OldImage", record.old_image().and_then(image));
    set("SequenceNumber", record.sequence_number().map(Value::from));
    set("SizeBytes", record.size_bytes().map(Value::from));
    set(
        "StreamViewType",
        record.stream_view_type().map(|kind| kind.as_str().into()),
    );
    Value::Object(fields)
}

/// `None` for an image with a value of a kind that this SDK does not know.
fn image(attributes: &HashMap<String, AttributeValue>) -> Option<Value> {
    let convert = |(name, value): (&String, &AttributeValue)| {
        is_known(value).then(|| (name.clone(), item::AttributeValue::from(value.clone())))
    };
    let item: Option<item::Item> = attributes.iter().map(convert).collect();
    serde_json::to_value(item?).ok()
}

fn is_known(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::L(values) => values.iter().all(is_known),
        AttributeValue::M(values) => values.values().all(is_known),
        value => !value.is_unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodbstreams::primitives::DateTime;
    use aws_sdk_dynamodbstreams::types::{Identity, OperationType, StreamViewType};

    #[test]
    fn a_record_becomes_what_lambda_would_deliver() {
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let record = Record::builder()
            .event_id("1")
            .event_name(OperationType::Remove)
            .dynamodb(
                StreamRecord::builder()
                    .approximate_creation_date_time(DateTime::from_secs(1_796_000_000))
                    .keys("PK", text("p"))
                    .old_image("PK", text("p"))
                    .old_image("n", AttributeValue::N("1".to_owned()))
                    .old_image(
                        "m",
                        AttributeValue::M([("x".to_owned(), AttributeValue::Null(true))].into()),
                    )
                    .sequence_number("7")
                    .size_bytes(12)
                    .stream_view_type(StreamViewType::NewAndOldImages)
                    .build(),
            )
            .user_identity(
                Identity::builder()
                    .r#type("Service")
                    .principal_id("dynamodb.amazonaws.com")
                    .build(),
            )
            .build();
        let event: Value = serde_json::from_str(&lambda_event(&[record], "arn")).unwrap();
        let expected = json!({ "Records": [{
            "eventID": "1",
            "eventName": "REMOVE",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_796_000_000.0,
                "Keys": { "PK": { "S": "p" } },
                "OldImage": { "PK": { "S": "p" }, "n": { "N": "1" }, "m": { "M": { "x": { "NULL": true } } } },
                "SequenceNumber": "7",
                "SizeBytes": 12,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "userIdentity": { "type": "Service", "principalId": "dynamodb.amazonaws.com" },
            "eventSourceARN": "arn",
        }]});
        assert_eq!(event, expected);
    }
}
