//! Stream records of the in-memory table, as a Lambda gets them from a stream with view `NEW_AND_OLD_IMAGES`.
//!
//! What must stay true: sequence numbers increase from record to record and their width varies, with crossings at
//! every scale where text order is not the order of the numbers; nothing depends on a real clock.

use serde_json::{Value, json};

use crate::item::{AttributeValue, Item};
use crate::key::ItemKey;
use crate::record::ChangeKind;
use crate::units::EpochMillis;

/// Narrowest and widest sequence number (platform facts).
const MIN_WIDTH: usize = 21;
const MAX_WIDTH: usize = 40;

/// One change of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// What happened.
    pub kind: ChangeKind,
    /// Position in the stream: 21 to 40 digits.
    pub sequence: String,
    /// When it happened, by the table's clock.
    pub created: EpochMillis,
    /// Which item.
    pub key: ItemKey,
    /// The item before; none on INSERT.
    pub old: Option<Item>,
    /// The item after; none on REMOVE.
    pub new: Option<Item>,
    /// Whether time to live removed the item, and not a request.
    pub expired: bool,
    /// The stream's ARN.
    pub source_arn: String,
}

impl StreamRecord {
    /// The record as a member of an event's `Records`. `ApproximateCreationDateTime` is in whole seconds, rounded
    /// down as DynamoDB rounds it; there is no `SizeBytes`.
    pub fn to_json(&self) -> Value {
        let mut change = json!({
            "ApproximateCreationDateTime": self.created.0.div_euclid(1000),
            "Keys": {"PK": AttributeValue::S(self.key.pk.clone()), "SK": AttributeValue::S(self.key.sk.clone())},
            "SequenceNumber": self.sequence,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        });
        for (name, image) in [("OldImage", &self.old), ("NewImage", &self.new)] {
            if let Some(image) = image {
                change[name] = json!(image);
            }
        }
        let name = match self.kind {
            ChangeKind::Insert => "INSERT",
            ChangeKind::Modify => "MODIFY",
            ChangeKind::Remove => "REMOVE",
        };
        let mut record = json!({
            // Unique within the stream, and 32 hexadecimal digits like a real one.
            "eventID": format!("{:0>32}", &self.sequence[self.sequence.len().saturating_sub(32)..]),
            "eventName": name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-west-1",
            "eventSourceARN": self.source_arn,
            "dynamodb": change,
        });
        if self.expired {
            record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
        }
        record
    }

    /// Records as the event that a Lambda is invoked with.
    pub fn to_event_json(records: &[Self]) -> String {
        json!({"Records": records.iter().map(Self::to_json).collect::<Vec<_>>()}).to_string()
    }
}

/// The stream of one table.
pub(super) struct Stream {
    source_arn: String,
    emitted: u64,
    records: Vec<StreamRecord>,
}

impl Stream {
    /// A stream without records. The label is what its ARN ends in, an ISO date.
    pub(super) fn new(label: &str) -> Self {
        Self {
            source_arn: format!("arn:aws:dynamodb:eu-west-1:123456789012:table/buckets/stream/{label}"),
            emitted: 0,
            records: Vec::new(),
        }
    }

    /// Adds what a change of an item says; nothing if there is no item on either side.
    pub(super) fn emit(&mut self, key: ItemKey, old: Option<Item>, new: Option<Item>, expired: bool, now: EpochMillis) {
        let kind = match (&old, &new) {
            (None, Some(_)) => ChangeKind::Insert,
            (Some(_), Some(_)) => ChangeKind::Modify,
            (Some(_), None) => ChangeKind::Remove,
            (None, None) => return,
        };
        self.emitted += 1;
        self.records.push(StreamRecord {
            kind,
            sequence: sequence(self.emitted),
            created: now,
            key,
            old,
            new,
            expired,
            source_arn: self.source_arn.clone(),
        });
    }

    /// The records since last time, in order.
    pub(super) fn take(&mut self) -> Vec<StreamRecord> {
        std::mem::take(&mut self.records)
    }
}

/// Sequence number of the n-th record, from 1. Each power of two is one digit wider than the last, and within it
/// the leading digit climbs from 1 to 9: at each crossing `9…` is followed by a longer `1…`.
fn sequence(n: u64) -> String {
    let octave = n.max(1).ilog2();
    let start = 1_u64 << octave;
    let leading = 1 + u128::from(n - start) * 9 / u128::from(start);
    let width = (MIN_WIDTH + octave as usize).min(MAX_WIDTH);
    // Once the widest is reached, the leading digit must not start again.
    let leading = if MIN_WIDTH + octave as usize > MAX_WIDTH {
        9
    } else {
        leading
    };
    format!("{leading}{n:0>rest$}", rest = width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::number;
    use crate::record::{SequenceNumber, read_event};

    #[test]
    fn sequence_numbers_increase_as_numbers_and_not_as_text() {
        let numbers: Vec<String> = (1..5000)
            .chain([1 << 19, (1 << 20) - 1, 1 << 20, u64::MAX])
            .map(sequence)
            .collect();
        let parsed: Vec<_> = numbers
            .iter()
            .map(|text| SequenceNumber::parse(text.into()).unwrap())
            .collect();
        assert!(parsed.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(numbers.iter().all(|text| (21..=40).contains(&text.len())));
        assert_eq!(numbers.windows(2).filter(|pair| pair[0] > pair[1]).count(), 13);
    }

    #[test]
    fn a_record_is_read_back_as_what_happened() {
        let key = ItemKey {
            pk: "ns/BUCKET#e#r#0".to_owned(),
            sk: "#STATE".to_owned(),
        };
        let item = super::super::change::bare_item(&key);
        let mut changed = item.clone();
        changed.insert("rf".to_owned(), number(7));
        let mut stream = Stream::new("2026-01-01T00:00:00.000");
        let now = EpochMillis(1_778_079_608_999);
        stream.emit(key.clone(), None, Some(item.clone()), false, now);
        stream.emit(key.clone(), Some(item), Some(changed.clone()), false, now);
        stream.emit(key.clone(), Some(changed), None, true, now);
        stream.emit(key, None, None, false, now);
        let json = StreamRecord::to_event_json(&stream.take());
        let records: Vec<_> = read_event(&json)
            .unwrap()
            .into_iter()
            .map(|read| read.record.unwrap())
            .collect();
        assert_eq!(
            records.iter().map(|record| record.kind).collect::<Vec<_>>(),
            [ChangeKind::Insert, ChangeKind::Modify, ChangeKind::Remove]
        );
        let modify = &records[1];
        assert_eq!(modify.created, Some(EpochMillis(1_778_079_608_000)));
        assert_eq!(modify.stream_label, "2026-01-01T00:00:00.000");
        assert_eq!(modify.new.as_ref().unwrap().to_item().unwrap()["rf"], number(7));
        assert!(modify.user_identity.is_none());
        let removed_by = records[2].user_identity.as_ref().unwrap();
        assert_eq!(
            (&*removed_by.kind, &*removed_by.principal),
            ("Service", "dynamodb.amazonaws.com")
        );
        assert!(stream.take().is_empty());
    }
}
