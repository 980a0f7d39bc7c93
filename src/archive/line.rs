//! One audit record as a line: the stored attributes as plain JSON, without DynamoDB's type tags.
//!
//! Bytes stay the base64 text they came as, sets become arrays, and numbers keep every digit. What is no value of
//! DynamoDB stays as it came, tag and all, or becomes `null` where there is nothing to keep.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::expired::ExpiredAudit;
use crate::record::{Attribute, Text};

/// The fields of a line, in their order.
const FIELDS: [&str; 7] = [
    "event_id",
    "entity_id",
    "action",
    "timestamp",
    "principal",
    "resource",
    "details",
];

/// DynamoDB nests values up to 32 levels deep. What is deeper stays as it came.
const DEEPEST: usize = 40;

/// The line, without its end. A field that the record lacks is `null`.
pub(super) fn line(audit: &ExpiredAudit<'_>) -> Option<String> {
    struct Line<'a>(&'a ExpiredAudit<'a>);
    impl Serialize for Line<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut line = serializer.serialize_map(Some(FIELDS.len()))?;
            for field in FIELDS {
                let value = self.0.image.get(field).map(|value| Plain { value, depth: 0 });
                line.serialize_entry(field, &value)?;
            }
            line.end()
        }
    }
    serde_json::to_string(&Line(audit)).ok()
}

/// A value without its tag.
struct Plain<'v> {
    value: &'v Attribute<'v>,
    depth: usize,
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Attribute::S(text) => serializer.serialize_str(text),
            Attribute::N(digits) => Number(digits).serialize(serializer),
            Attribute::Malformed => serializer.serialize_unit(),
            Attribute::Other(tag, raw) => match (&**tag, Inner::read(tag, raw, self.depth)) {
                ("NULL", _) => serializer.serialize_unit(),
                (_, Some(inner)) => inner.serialize(serializer, self.depth + 1),
                (_, None) => {
                    let mut tagged = serializer.serialize_map(Some(1))?;
                    tagged.serialize_entry(tag, raw)?;
                    tagged.end()
                }
            },
        }
    }
}

/// What stands behind a tag.
enum Inner<'v> {
    /// Plain already.
    Whole(&'v RawValue),
    Numbers(Vec<Text<'v>>),
    List(Vec<Attribute<'v>>),
    /// By name, so that the same map gives the same text.
    Map(BTreeMap<Cow<'v, str>, Attribute<'v>>),
}

impl<'v> Inner<'v> {
    /// `None` for an unknown tag, and for a value that is not its tag's.
    fn read(tag: &str, raw: &'v RawValue, depth: usize) -> Option<Self> {
        if depth >= DEEPEST {
            return None;
        }
        let text = raw.get();
        match tag {
            "BOOL" => serde_json::from_str::<bool>(text).ok().map(|_| Self::Whole(raw)),
            "B" => serde_json::from_str::<Text<'_>>(text).ok().map(|_| Self::Whole(raw)),
            "SS" | "BS" => serde_json::from_str::<Vec<Text<'_>>>(text)
                .ok()
                .map(|_| Self::Whole(raw)),
            "NS" => serde_json::from_str(text).ok().map(Self::Numbers),
            "L" => serde_json::from_str(text).ok().map(Self::List),
            "M" => serde_json::from_str(text).ok().map(Self::Map),
            _ => None,
        }
    }

    fn serialize<S: Serializer>(&self, serializer: S, depth: usize) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(raw) => raw.serialize(serializer),
            Self::Numbers(numbers) => serializer.collect_seq(numbers.iter().map(|Text(digits)| Number(digits))),
            Self::List(values) => serializer.collect_seq(values.iter().map(|value| Plain { value, depth })),
            Self::Map(values) => {
                serializer.collect_map(values.iter().map(|(name, value)| (name, Plain { value, depth })))
            }
        }
    }
}

/// A number by its digits; a text where JSON does not spell numbers so.
struct Number<'v>(&'v str);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_number = self.0.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(digits) if is_number => digits.serialize(serializer),
            _ => serializer.serialize_str(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read_event;
    use crate::units::EpochMillis;
    use serde_json::{Value, json};

    fn line_of(attributes: Value) -> String {
        let mut image = json!({ "SK": { "S": "#AUDIT#01" }, "ttl": { "N": "1" } });
        image
            .as_object_mut()
            .unwrap()
            .extend(attributes.as_object().unwrap().clone());
        let event = json!({ "Records": [{ "eventName": "REMOVE", "dynamodb": { "OldImage": image } }] }).to_string();
        let read = read_event(&event).unwrap();
        let audit = ExpiredAudit::of(read[0].record.as_ref().unwrap(), EpochMillis(2000)).unwrap();
        line(&audit).unwrap()
    }

    fn details(value: Value) -> String {
        let line = line_of(json!({ "details": value }));
        let (_, details) = line.split_once("\"details\":").unwrap();
        details.strip_suffix('}').unwrap().to_owned()
    }

    #[test]
    fn the_fields_come_in_one_order_and_what_is_missing_is_null() {
        assert_eq!(
            line_of(
                json!({ "principal": { "S": "ad\"min" }, "entity_id": { "S": "e" }, "resource": { "NULL": true } })
            ),
            r#"{"event_id":null,"entity_id":"e","action":null,"timestamp":null,"principal":"ad\"min","resource":null,"details":null}"#
        );
    }

    #[test]
    fn values_lose_their_tags_and_nothing_else() {
        for (tagged, plain) in [
            (json!({ "BOOL": false }), "false"),
            (json!({ "B": "AAEC" }), r#""AAEC""#),
            (json!({ "SS": ["a", "b"] }), r#"["a","b"]"#),
            (json!({ "BS": ["AA=="] }), r#"["AA=="]"#),
            (json!({ "NS": ["1", "2.50"] }), "[1,2.50]"),
            (
                json!({ "L": [{ "S": "x" }, { "NULL": true }, { "L": [] }] }),
                r#"["x",null,[]]"#,
            ),
            (
                json!({ "M": { "b": { "N": "1" }, "a": { "M": {} } } }),
                r#"{"a":{},"b":1}"#,
            ),
        ] {
            assert_eq!(details(tagged.clone()), plain, "{tagged}");
        }
    }

    #[test]
    fn numbers_keep_every_digit() {
        for (digits, plain) in [
            (
                "99999999999999999999999999999999999999",
                "99999999999999999999999999999999999999",
            ),
            ("-1.50", "-1.50"),
            ("1E+125", "1E+125"),
            ("007", r#""007""#),
            ("true", r#""true""#),
            ("1]", r#""1]""#),
        ] {
            assert_eq!(details(json!({ "N": digits })), plain);
        }
    }

    #[test]
    fn what_dynamodb_does_not_know_stays_as_it_came() {
        for odd in [
            json!({ "Q": "?" }),
            json!({ "BOOL": "yes" }),
            json!({ "L": 7 }),
            json!({ "SS": [1] }),
        ] {
            assert_eq!(details(odd.clone()), odd.to_string());
        }
        for nothing in [json!({}), json!({ "S": "x", "N": "1" })] {
            assert_eq!(details(nothing), "null");
        }
    }

    #[test]
    fn no_depth_overflows_the_stack() {
        let mut value = json!({ "S": "deep" });
        for _ in 0..60 {
            value = json!({ "L": [value] });
        }
        assert!(details(value).contains("deep"));
    }
}
