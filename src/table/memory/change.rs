//! Actions, worked out against the item as it is before the write and then stored.

use super::{Invalid, condition, number, value};
use crate::item::{AttributeValue, Item, number as number_value};
use crate::key::ItemKey;
use crate::write::{Action, Update};

/// What one action comes to: the attribute's new value, or `None` where it goes.
pub(super) struct Change<'a> {
    attribute: &'a str,
    value: Option<AttributeValue>,
}

/// Refuses an update that DynamoDB refuses whatever is stored.
pub(super) fn check(update: &Update) -> Result<(), Invalid> {
    check_key(&update.key)?;
    condition::check(&update.conditions)?;
    for (place, action) in update.actions.iter().enumerate() {
        let attribute = action.attribute();
        let repeated = update.actions[..place]
            .iter()
            .any(|earlier| earlier.attribute() == attribute);
        if repeated || is_key(attribute) || attribute.is_empty() {
            return Err(Invalid);
        }
        match action {
            Action::Set { value, .. } => value::check(value)?,
            Action::SetFrom { default, .. } => value::check(default)?,
            Action::Add { delta, .. } => number::check_delta(*delta)?,
            Action::Remove { .. } => {}
        }
    }
    Ok(())
}

/// Refuses a key that cannot be stored.
pub(super) fn check_key(key: &ItemKey) -> Result<(), Invalid> {
    if key.pk.is_empty() || key.sk.is_empty() {
        Err(Invalid)
    } else {
        Ok(())
    }
}

fn is_key(attribute: &str) -> bool {
    matches!(attribute, "PK" | "SK")
}

/// What a checked update's actions come to. `Invalid` where an addition meets something that is no number, or a sum
/// has too many digits.
pub(super) fn work_out<'a>(actions: &'a [Action], item: Option<&Item>) -> Result<Vec<Change<'a>>, Invalid> {
    let stored = |attribute: &String| item.and_then(|item| item.get(attribute));
    let change = |action: &'a Action| {
        let value = match action {
            Action::Set { value, .. } => Some(value::stored(value)?),
            Action::SetFrom { source, default, .. } => match stored(source) {
                Some(value) => Some(value.clone()),
                None => Some(value::stored(default)?),
            },
            Action::Add { attribute, delta } => match stored(attribute) {
                Some(AttributeValue::N(before)) => Some(AttributeValue::N(number::sum(before, *delta)?)),
                Some(_) => return Err(Invalid),
                None => Some(number_value(*delta)),
            },
            Action::Remove { .. } => None,
        };
        Ok(Change {
            attribute: action.attribute(),
            value,
        })
    };
    actions.iter().map(change).collect()
}

/// Stores changes in an item. Whether anything is different now.
pub(super) fn store(changes: Vec<Change<'_>>, item: &mut Item) -> bool {
    let mut different = false;
    for Change { attribute, value } in changes {
        different |= match (value, item.get_mut(attribute)) {
            (Some(value), Some(stored)) => std::mem::replace(stored, value) != *stored,
            (Some(value), None) => item.insert(attribute.to_owned(), value).is_none(),
            (None, Some(_)) => item.remove(attribute).is_some(),
            (None, None) => false,
        };
    }
    different
}

/// An item of nothing but its key.
pub(super) fn bare_item(key: &ItemKey) -> Item {
    Item::from([
        ("PK".to_owned(), AttributeValue::S(key.pk.clone())),
        ("SK".to_owned(), AttributeValue::S(key.sk.clone())),
    ])
}
