//! Conditions, asked of an item as it is before the write.

use std::cmp::Ordering;

use super::{Invalid, value};
use crate::item::Item;
use crate::write::{Comparison, Condition};

/// Refuses conditions that DynamoDB refuses whatever is stored: attributes without a name, values that are none, an
/// order asked of a type without one.
pub(super) fn check(conditions: &[Condition]) -> Result<(), Invalid> {
    conditions.iter().try_for_each(|condition| match condition {
        Condition::Exists(name) | Condition::Absent(name) | Condition::Compare(name, ..) if name.is_empty() => {
            Err(Invalid)
        }
        Condition::Exists(_) | Condition::Absent(_) => Ok(()),
        Condition::Compare(_, Comparison::Equal, operand) => value::check(operand),
        Condition::Compare(_, _, operand) if value::is_ordered(operand) => value::check(operand),
        Condition::Compare(..) => Err(Invalid),
        Condition::Any(members) | Condition::All(members) => check(members),
    })
}

/// Whether all of these hold of the item, or of its absence.
pub(super) fn hold(conditions: &[Condition], item: Option<&Item>) -> bool {
    conditions.iter().all(|condition| holds(condition, item))
}

fn holds(condition: &Condition, item: Option<&Item>) -> bool {
    let stored = |attribute: &String| item.and_then(|item| item.get(attribute));
    match condition {
        Condition::Exists(attribute) => stored(attribute).is_some(),
        Condition::Absent(attribute) => stored(attribute).is_none(),
        Condition::Compare(attribute, comparison, operand) => stored(attribute)
            .and_then(|stored| value::compare(stored, operand))
            .is_some_and(|ordering| satisfies(ordering, *comparison)),
        Condition::Any(members) => members.iter().any(|member| holds(member, item)),
        Condition::All(members) => hold(members, item),
    }
}

fn satisfies(ordering: Ordering, comparison: Comparison) -> bool {
    match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::Less => ordering.is_lt(),
        Comparison::AtMost => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::AtLeast => ordering.is_ge(),
    }
}
