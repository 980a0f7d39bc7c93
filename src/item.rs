//! Items as they are stored: ordered, so that what is built from them is the same every time.

use std::collections::BTreeMap;

pub use serde_dynamo::AttributeValue;

use crate::key::ItemKey;

/// A whole item, by attribute name.
pub type Item = BTreeMap<String, AttributeValue>;

/// A number attribute.
pub fn number(value: i128) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A text attribute.
pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// The item's primary key; `None` if it lacks a text `PK` or `SK`.
pub fn key_of(item: &Item) -> Option<ItemKey> {
    match (item.get("PK")?, item.get("SK")?) {
        (AttributeValue::S(pk), AttributeValue::S(sk)) => Some(ItemKey {
            pk: pk.clone(),
            sk: sk.clone(),
        }),
        _ => None,
    }
}
