//! Which removals are expiries of audit records.

use crate::key::AUDIT_SK_PREFIX;
use crate::record::{ChangeKind, Image, Record, Scalar, SequenceNumber, parse_instant_text, parse_integer};
use crate::units::EpochMillis;

const SERVICE: &str = "Service";
const DYNAMODB: &str = "dynamodb.amazonaws.com";
const MILLIS_PER_SECOND: i128 = 1000;

/// An audit record that its time to live has removed.
#[derive(Clone, Copy, Debug)]
pub struct ExpiredAudit<'i> {
    /// What it was.
    pub(super) image: &'i Image<'i>,
    /// Its removal's place in the stream.
    pub sequence: Option<&'i SequenceNumber<'i>>,
    /// When it was removed, where the stream says so.
    removed: Option<EpochMillis>,
}

impl<'i> ExpiredAudit<'i> {
    /// `None` for every other change: other items, and audit records that somebody deleted.
    ///
    /// Where the stream does not say who removed a record, its `ttl` (epoch seconds) does: it must lie before `now`.
    pub fn of(record: &'i Record<'i>, now: EpochMillis) -> Option<Self> {
        let image = match (record.kind, &record.old) {
            (ChangeKind::Remove, Some(image)) => image,
            _ => return None,
        };
        if !image.text("SK")?.starts_with(AUDIT_SK_PREFIX) {
            return None;
        }
        let has_expired = match &record.user_identity {
            Some(identity) => identity.kind == SERVICE && identity.principal == DYNAMODB,
            None => expiry_millis(image).is_some_and(|expiry| expiry < i128::from(now.0)),
        };
        has_expired.then_some(Self {
            image,
            sequence: record.sequence.as_ref(),
            removed: record.created,
        })
    }

    /// When the event happened; else when its record was removed, or was to be. All of them are the same in every
    /// delivery, unlike the current time.
    pub(super) fn instants(&self) -> impl Iterator<Item = EpochMillis> {
        let happened = match self.image.get("timestamp").map(|attribute| attribute.scalar()) {
            Some(Scalar::S(text) | Scalar::N(text)) => parse_instant_text(text),
            _ => None,
        };
        let expiry = expiry_millis(self.image).and_then(|millis| i64::try_from(millis).ok());
        [happened, self.removed, expiry.map(EpochMillis)].into_iter().flatten()
    }
}

/// The image's `ttl`, in epoch milliseconds.
fn expiry_millis(image: &Image<'_>) -> Option<i128> {
    match image.get("ttl")?.scalar() {
        Scalar::N(seconds) => parse_integer(seconds)?.checked_mul(MILLIS_PER_SECOND),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read_event;
    use serde_json::{Value, json};

    const NOW: EpochMillis = EpochMillis(1_796_083_200_000);

    fn removal() -> Value {
        json!({
            "eventName": "REMOVE",
            "dynamodb": {
                "SequenceNumber": "7",
                "OldImage": { "SK": { "S": "#AUDIT#01" }, "ttl": { "N": "1796083199" } },
            },
            "userIdentity": { "type": "Service", "principalId": "dynamodb.amazonaws.com" },
        })
    }

    fn has_expired(change: impl FnOnce(&mut Value)) -> bool {
        let mut record = removal();
        change(&mut record);
        let event = json!({ "Records": [record] }).to_string();
        let read = read_event(&event).unwrap();
        ExpiredAudit::of(read[0].record.as_ref().unwrap(), NOW).is_some()
    }

    #[test]
    fn the_service_says_what_has_expired_in_either_spelling() {
        assert!(has_expired(|_| {}));
        assert!(has_expired(|record| {
            record["userIdentity"] = json!({ "type": "Service", "PrincipalId": "dynamodb.amazonaws.com" });
            record["dynamodb"]["OldImage"]["ttl"] = json!({ "N": "9999999999" });
        }));
    }

    #[test]
    fn what_somebody_else_removed_has_not_expired() {
        for identity in [
            json!({ "type": "Root", "principalId": "dynamodb.amazonaws.com" }),
            json!({ "type": "Service", "principalId": "replication.dynamodb.amazonaws.com" }),
        ] {
            assert!(!has_expired(|record| record["userIdentity"] = identity));
        }
    }

    #[test]
    fn where_nobody_is_named_the_time_to_live_must_be_over() {
        for (ttl, expected) in [
            (json!({ "N": "1796083199" }), true),
            (json!({ "N": "1796083200" }), false),
            (json!({ "N": "99999999999999999999999999999999999999" }), false),
            (json!({ "S": "1796083199" }), false),
            (json!({ "N": "soon" }), false),
        ] {
            let unnamed = |record: &mut Value| {
                record["userIdentity"] = Value::Null;
                record["dynamodb"]["OldImage"]["ttl"] = ttl.clone();
            };
            assert_eq!(has_expired(unnamed), expected, "{ttl}");
        }
    }

    #[test]
    fn other_items_and_other_changes_are_none() {
        for sk in ["#STATE", "#USAGE#r#AUDIT#", "AUDIT#1"] {
            assert!(!has_expired(
                |record| record["dynamodb"]["OldImage"]["SK"] = json!({ "S": sk })
            ));
        }
        assert!(!has_expired(|record| record["eventName"] = "MODIFY".into()));
        assert!(!has_expired(|record| record["dynamodb"]["OldImage"] = Value::Null));
    }
}
