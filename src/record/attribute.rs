//! One attribute of an image: strings and numbers decoded, everything else left as the text it was.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_dynamo::AttributeValue;
use serde_json::value::RawValue;

use super::text::Text;

/// An attribute as the stream carries it.
#[derive(Clone, Debug)]
pub enum Attribute<'a> {
    /// Text.
    S(Cow<'a, str>),
    /// A number, with every digit.
    N(Cow<'a, str>),
    /// Any other type: its tag and the undecoded value.
    Other(Cow<'a, str>, &'a RawValue),
    /// No tag, or several: no attribute of DynamoDB. Readable by nobody, and no reason to lose its neighbours.
    Malformed,
}

/// What a rule may look at in an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// Text.
    S(&'a str),
    /// A number.
    N(&'a str),
    /// A boolean.
    Bool(bool),
    /// Anything else.
    Other,
}

impl Attribute<'_> {
    /// The attribute as a rule sees it.
    pub fn scalar(&self) -> Scalar<'_> {
        match self {
            Self::S(text) => Scalar::S(text),
            Self::N(number) => Scalar::N(number),
            Self::Other(tag, raw) if tag == "BOOL" => match raw.get() {
                "true" => Scalar::Bool(true),
                "false" => Scalar::Bool(false),
                _ => Scalar::Other,
            },
            Self::Other(..) | Self::Malformed => Scalar::Other,
        }
    }

    /// The whole value, to be stored again exactly. `None` if it is no value of DynamoDB.
    pub fn to_value(&self) -> Option<AttributeValue> {
        match self {
            Self::S(text) => Some(AttributeValue::S(text.clone().into_owned())),
            Self::N(number) => Some(AttributeValue::N(number.clone().into_owned())),
            Self::Other(tag, raw) => {
                let tag = serde_json::to_string(tag).ok()?;
                serde_json::from_str(&format!("{{{tag}:{}}}", raw.get())).ok()
            }
            Self::Malformed => None,
        }
    }
}

/// [`Scalar`] of a stored value, so that images and items are read by the same rules.
pub fn scalar_of(value: &AttributeValue) -> Scalar<'_> {
    match value {
        AttributeValue::S(text) => Scalar::S(text),
        AttributeValue::N(number) => Scalar::N(number),
        AttributeValue::Bool(flag) => Scalar::Bool(*flag),
        _ => Scalar::Other,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attribute<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributeVisitor)
    }
}

struct AttributeVisitor;

impl<'de> Visitor<'de> for AttributeVisitor {
    type Value = Attribute<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tagged attribute value")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Attribute<'de>, M::Error> {
        let Some(Text(tag)) = map.next_key()? else {
            return Ok(Attribute::Malformed);
        };
        let attribute = match &*tag {
            "S" => Attribute::S(map.next_value::<Text<'de>>()?.0),
            "N" => Attribute::N(map.next_value::<Text<'de>>()?.0),
            _ => Attribute::Other(tag, map.next_value()?),
        };
        if map.next_key::<IgnoredAny>()?.is_none() {
            return Ok(attribute);
        }
        map.next_value::<IgnoredAny>()?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Attribute::Malformed)
    }
}
