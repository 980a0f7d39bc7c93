//! Attribute values as DynamoDB takes, keeps and compares them.

use std::cmp::Ordering;

use super::{Invalid, number};
use crate::item::AttributeValue;

/// The value as it is stored: numbers in their one spelling. `Invalid` for what DynamoDB refuses: text that is no
/// number, empty sets, repeated members, a NULL that is false.
pub(super) fn stored(value: &AttributeValue) -> Result<AttributeValue, Invalid> {
    Ok(match value {
        AttributeValue::N(text) => AttributeValue::N(number::stored(text)?),
        AttributeValue::Null(false) => return Err(Invalid),
        AttributeValue::S(_) | AttributeValue::B(_) | AttributeValue::Bool(_) | AttributeValue::Null(true) => {
            value.clone()
        }
        AttributeValue::L(members) => AttributeValue::L(members.iter().map(stored).collect::<Result<_, _>>()?),
        AttributeValue::M(members) => {
            let member = |(name, value): (&String, &AttributeValue)| Ok((name.clone(), stored(value)?));
            AttributeValue::M(members.iter().map(member).collect::<Result<_, _>>()?)
        }
        AttributeValue::Ss(members) => AttributeValue::Ss(set(members.clone())?),
        AttributeValue::Bs(members) => AttributeValue::Bs(set(members.clone())?),
        AttributeValue::Ns(members) => {
            let members = members
                .iter()
                .map(|text| number::stored(text))
                .collect::<Result<_, _>>()?;
            AttributeValue::Ns(set(members)?)
        }
    })
}

/// [`stored`] where only the refusal matters.
pub(super) fn check(value: &AttributeValue) -> Result<(), Invalid> {
    match value {
        AttributeValue::N(text) => number::check(text),
        AttributeValue::S(_) | AttributeValue::B(_) | AttributeValue::Bool(_) | AttributeValue::Null(true) => Ok(()),
        AttributeValue::Null(false)
        | AttributeValue::L(_)
        | AttributeValue::M(_)
        | AttributeValue::Ss(_)
        | AttributeValue::Ns(_)
        | AttributeValue::Bs(_) => stored(value).map(drop),
    }
}

/// Sets come back in no particular order; here, sorted.
fn set<T: Ord>(mut members: Vec<T>) -> Result<Vec<T>, Invalid> {
    members.sort_unstable();
    let repeated = members.windows(2).any(|pair| pair[0] == pair[1]);
    if members.is_empty() || repeated {
        Err(Invalid)
    } else {
        Ok(members)
    }
}

/// Whether `<` and its kin can be asked of a value of this type at all.
pub(super) fn is_ordered(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::N(_) | AttributeValue::S(_) | AttributeValue::B(_) => true,
        AttributeValue::Bool(_)
        | AttributeValue::Null(_)
        | AttributeValue::L(_)
        | AttributeValue::M(_)
        | AttributeValue::Ss(_)
        | AttributeValue::Ns(_)
        | AttributeValue::Bs(_) => false,
    }
}

/// How a stored value compares with another. `None`: not at all, as values of different types, or equal or not at
/// all, for types without an order.
pub(super) fn compare(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::N(left), AttributeValue::N(right)) => number::compare(left, right),
        (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
        // The other types, and mixed ones: what is stored has one spelling, so it only takes the other side's.
        (left, right) => stored(right)
            .is_ok_and(|right| *left == right)
            .then_some(Ordering::Equal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{number, text};

    #[test]
    fn invalid_values_are_refused_at_any_depth() {
        let invalid = [
            AttributeValue::N("one".to_owned()),
            AttributeValue::Null(false),
            AttributeValue::Ss(vec![]),
            AttributeValue::Ss(vec!["a".to_owned(), "a".to_owned()]),
            AttributeValue::Ns(vec!["1".to_owned(), "1.0".to_owned()]),
            AttributeValue::Bs(vec![vec![1], vec![1]]),
        ];
        for value in invalid {
            assert_eq!(stored(&value), Err(Invalid));
            assert_eq!(check(&value), Err(Invalid));
            assert_eq!(stored(&AttributeValue::L(vec![value.clone()])), Err(Invalid));
            assert_eq!(
                stored(&AttributeValue::M([("k".to_owned(), value)].into())),
                Err(Invalid)
            );
        }
    }

    #[test]
    fn numbers_get_one_spelling_at_any_depth() {
        let spelled = AttributeValue::L(vec![
            AttributeValue::N("1.0".to_owned()),
            AttributeValue::Ns(vec!["2e1".to_owned()]),
        ]);
        let expected = AttributeValue::L(vec![number(1), AttributeValue::Ns(vec!["20".to_owned()])]);
        assert_eq!(stored(&spelled), Ok(expected.clone()));
        assert_eq!(compare(&expected, &spelled), Some(Ordering::Equal));
    }

    #[test]
    fn different_types_do_not_compare() {
        let values = [
            number(1),
            text("1"),
            AttributeValue::Bool(true),
            AttributeValue::Null(true),
            AttributeValue::B(vec![49]),
        ];
        for (i, left) in values.iter().enumerate() {
            for (j, right) in values.iter().enumerate() {
                assert_eq!(compare(left, right), (i == j).then_some(Ordering::Equal));
            }
        }
    }
}
