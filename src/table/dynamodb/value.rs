//! Answers of the service as items. What must stay true: nothing the service sends can end in a panic, which the
//! ready-made conversion does on a type it does not know.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;

use crate::item::{AttributeValue, Item};

/// The item, or `None` if a value is of a type that this program does not know.
pub(super) fn item(attributes: HashMap<String, SdkValue>) -> Option<Item> {
    attributes
        .into_iter()
        .map(|(name, stored)| Some((name, value(stored)?)))
        .collect()
}

fn value(stored: SdkValue) -> Option<AttributeValue> {
    Some(match stored {
        SdkValue::N(number) => AttributeValue::N(number),
        SdkValue::S(text) => AttributeValue::S(text),
        SdkValue::Bool(flag) => AttributeValue::Bool(flag),
        SdkValue::B(bytes) => AttributeValue::B(bytes.into_inner()),
        SdkValue::Null(null) => AttributeValue::Null(null),
        SdkValue::M(members) => AttributeValue::M(
            members
                .into_iter()
                .map(|(name, member)| Some((name, value(member)?)))
                .collect::<Option<_>>()?,
        ),
        SdkValue::L(members) => AttributeValue::L(members.into_iter().map(value).collect::<Option<_>>()?),
        SdkValue::Ss(texts) => AttributeValue::Ss(texts),
        SdkValue::Ns(numbers) => AttributeValue::Ns(numbers),
        SdkValue::Bs(blobs) => AttributeValue::Bs(blobs.into_iter().map(|blob| blob.into_inner()).collect()),
        // The SDK's enum is open: what it calls unknown, and what it may come to know.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::primitives::Blob;

    #[test]
    fn every_type_comes_back_as_it_was_sent() {
        let members = [
            ("n", SdkValue::N("1".to_owned())),
            ("s", SdkValue::S("x".to_owned())),
            ("t", SdkValue::Bool(true)),
            ("b", SdkValue::B(Blob::new([0, 255]))),
            ("z", SdkValue::Null(true)),
            ("l", SdkValue::L(vec![SdkValue::N("2".to_owned())])),
            ("ss", SdkValue::Ss(vec!["a".to_owned()])),
            ("ns", SdkValue::Ns(vec!["3".to_owned()])),
            ("bs", SdkValue::Bs(vec![Blob::new([1])])),
        ];
        let mut attributes: HashMap<_, _> = members.into_iter().map(|(name, v)| (name.to_owned(), v)).collect();
        attributes.insert("m".to_owned(), SdkValue::M(attributes.clone()));
        let read = item(attributes.clone()).unwrap();
        let again: HashMap<String, SdkValue> = read.into_iter().map(|(name, v)| (name, v.into())).collect();
        assert_eq!(again, attributes);
    }
}
