//! Records of the stream's own interface as the event that Lambda makes of them.

use std::collections::HashMap;

use aws_sdk_dynamodbstreams::types::{AttributeValue, Record, StreamRecord};
use serde_json::{Value, json};

use crate::item;

/// Lambda's event for these records of a stream.
pub fn lambda_event(records: &[Record], stream_arn: &str) -> String {
    let records: Vec<Value> = records.iter().map(|record| lambda_record(record, stream_arn)).collect();
    json!({ "Records": records }).to_string()
}

fn lambda_record(record: &Record, stream_arn: &str) -> Value {
    // Here, other than in the stream's interface, both members begin with a small letter.
    let identity = record
        .user_identity()
        .map(|identity| json!({ "type": identity.r#type(), "principalId": identity.principal_id() }));
    object([
        ("eventID", record.event_id().map(Value::from)),
        ("eventName", record.event_name().map(|name| name.as_str().into())),
        ("eventVersion", record.event_version().map(Value::from)),
        ("eventSource", record.event_source().map(Value::from)),
        ("awsRegion", record.aws_region().map(Value::from)),
        ("dynamodb", record.dynamodb().map(change)),
        ("userIdentity", identity),
        ("eventSourceARN", Some(stream_arn.into())),
    ])
}

fn change(record: &StreamRecord) -> Value {
    let created = record.approximate_creation_date_time();
    object([
        ("ApproximateCreationDateTime", created.map(|at| at.as_secs_f64().into())),
        ("Keys", record.keys().and_then(image)),
        ("NewImage", record.new_image().and_then(image)),
        ("OldImage", record.old_image().and_then(image)),
        ("SequenceNumber", record.sequence_number().map(Value::from)),
        ("SizeBytes", record.size_bytes().map(Value::from)),
        (
            "StreamViewType",
            record.stream_view_type().map(|kind| kind.as_str().into()),
        ),
    ])
}

/// The fields that there are.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect())
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
