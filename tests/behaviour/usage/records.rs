//! Stream records of bucket shards, as far as usage looks at them.

use std::fmt::Write;

pub const LABEL: &str = "2026-01-01T00:00:00.000";

/// One limit's consumption in one record.
#[derive(Clone, Debug)]
pub struct Used {
    pub limit: &'static str,
    /// `tc` before, in millitokens; `None` where the limit is new.
    pub before: Option<i64>,
    /// `tc` after.
    pub after: i64,
    /// Balance after.
    pub balance: i64,
    pub soft: bool,
}

/// A hard limit with tokens left.
pub fn used(limit: &'static str, before: i64, after: i64) -> Used {
    Used {
        limit,
        before: Some(before),
        after,
        balance: 0,
        soft: false,
    }
}

/// One record.
#[derive(Clone, Debug)]
pub struct Change {
    pub insert: bool,
    pub sequence: String,
    pub label: &'static str,
    pub entity: String,
    pub resource: &'static str,
    pub shard: u32,
    /// Epoch milliseconds; `None` leaves it out.
    pub created: Option<i64>,
    /// Epoch milliseconds.
    pub rf: i64,
    pub used: Vec<Used>,
}

/// A MODIFY of shard 0 of `e` and `gpt-4`.
pub fn change(sequence: u64, created: i64, used: Vec<Used>) -> Change {
    Change {
        insert: false,
        sequence: sequence.to_string(),
        label: LABEL,
        entity: "e".to_owned(),
        resource: "gpt-4",
        shard: 0,
        created: Some(created),
        rf: created,
        used,
    }
}

impl Change {
    /// The record as a member of an event's `Records`.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(1_500);
        let (name, label) = (if self.insert { "INSERT" } else { "MODIFY" }, self.label);
        write!(
            json,
            r#"{{"eventID":"{}","eventName":"{name}","eventSourceARN":"arn:aws:dynamodb:r:1:table/t/stream/{label}","#,
            self.sequence
        )
        .unwrap();
        write!(json, r#""dynamodb":{{"SequenceNumber":"{}","#, self.sequence).unwrap();
        if let Some(created) = self.created {
            write!(json, r#""ApproximateCreationDateTime":{created},"#).unwrap();
        }
        if !self.insert {
            self.image(&mut json, "OldImage", |used| used.before);
            json.push(',');
        }
        self.image(&mut json, "NewImage", |used| Some(used.after));
        json.push_str("}}");
        json
    }

    fn image(&self, json: &mut String, name: &str, consumed: impl Fn(&Used) -> Option<i64>) {
        let Self {
            entity,
            resource,
            shard,
            rf,
            ..
        } = self;
        write!(
            json,
            r##""{name}":{{"PK":{{"S":"ns/BUCKET#{entity}#{resource}#{shard}"}},"SK":{{"S":"#STATE"}},"##
        )
        .unwrap();
        write!(json, r#""entity_id":{{"S":"{entity}"}},"rf":{{"N":"{rf}"}}"#).unwrap();
        for used in &self.used {
            let limit = used.limit;
            write!(json, r#","b_{limit}_tk":{{"N":"{}"}}"#, used.balance).unwrap();
            if let Some(consumed) = consumed(used) {
                write!(json, r#","b_{limit}_tc":{{"N":"{consumed}"}}"#).unwrap();
            }
            if used.soft {
                write!(json, r#","b_{limit}_soft":{{"N":"1"}}"#).unwrap();
            }
        }
        json.push('}');
    }
}

/// Records as the event that a Lambda is invoked with.
pub fn event<'c>(changes: impl IntoIterator<Item = &'c Change>) -> String {
    let records: Vec<String> = changes.into_iter().map(Change::to_json).collect();
    format!(r#"{{"Records":[{}]}}"#, records.join(","))
}
