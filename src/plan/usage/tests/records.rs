//! Stream records of one bucket, as far as usage looks at them.

use serde_json::{Value, json};

pub const LABEL: &str = "2026-01-01T00:00:00.000";
/// 2026-11-30T14:20:00Z.
pub const CREATED: i64 = 1_796_048_400_000;

/// A MODIFY of a shard; `limits` are (name, `tc` before, `tc` after).
pub fn modify(sequence: u64, shard: u32, limits: &[(&str, Option<i128>, i128)]) -> Value {
    let image = |is_new: bool| {
        let mut image = json!({
            "PK": {"S": format!("ns/BUCKET#e#gpt-4#{shard}")}, "SK": {"S": "#STATE"}, "entity_id": {"S": "e"},
            "rf": {"N": CREATED.to_string()},
        });
        for (limit, before, after) in limits {
            image[format!("b_{limit}_tk")] = json!({"N": "0"});
            if let Some(tc) = if is_new { Some(*after) } else { *before } {
                image[format!("b_{limit}_tc")] = json!({"N": tc.to_string()});
            }
        }
        image
    };
    json!({
        "eventID": format!("id-{sequence}"), "eventName": "MODIFY",
        "eventSourceARN": format!("arn:aws:dynamodb:r:1:table/t/stream/{LABEL}"),
        "dynamodb": {
            "ApproximateCreationDateTime": CREATED / 1000, "SequenceNumber": sequence.to_string(),
            "OldImage": image(false), "NewImage": image(true),
        },
    })
}

pub fn insert(sequence: u64, shard: u32, limits: &[(&str, i128)]) -> Value {
    let limits: Vec<_> = limits.iter().map(|(name, after)| (*name, None, *after)).collect();
    let mut record = modify(sequence, shard, &limits);
    record["eventName"] = json!("INSERT");
    record["dynamodb"].as_object_mut().unwrap().remove("OldImage");
    record
}
