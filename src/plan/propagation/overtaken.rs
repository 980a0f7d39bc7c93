//! Whether an image is still what shard 0 holds, as far as a copy of it would carry it on (R8).

use std::collections::BTreeSet;

use super::{CreationRefusal, Propagation, Siblings};
use crate::bucket::{Bucket, LimitField, attribute};
use crate::item::Item;
use crate::record::{Image, Scalar, parse_integer, scalar_of};
use crate::units::ShardId;

/// Item attributes that an operator changes on every shard that exists; the last four are the owner stamp (01-table).
const ITEM_ATTRIBUTES: [&str; 9] = [
    "sched",
    "rsched",
    "sched_tz",
    "disabled",
    "bypass",
    "cascade",
    "parent_id",
    "pgen",
    "pinc",
];

/// Limit fields that an operator changes on every shard that exists.
const LIMIT_FIELDS: [LimitField; 7] = [
    LimitField::Cp,
    LimitField::Ra,
    LimitField::Rp,
    LimitField::Sched,
    LimitField::Rsched,
    LimitField::Rsa,
    LimitField::Soft,
];

pub(super) fn check(propagation: &Propagation<'_>, siblings: &Siblings) -> Result<(), CreationRefusal> {
    let item = match siblings.get(&ShardId::ZERO) {
        None => return Err(CreationRefusal::ReadFailed),
        Some(None) => return Err(CreationRefusal::ShardZeroGone),
        Some(Some(item)) => item,
    };
    let stored = Bucket::from_item(item).map_err(|_unreadable| CreationRefusal::Unreadable)?;
    let read = stored.fields.shard_count();
    if read != propagation.rise.to {
        return Err(CreationRefusal::CountMovedOn { read });
    }
    let image = &propagation.change.image;
    let limits: BTreeSet<&str> = [&stored, &propagation.change.new]
        .iter()
        .flat_map(|b| b.limits.iter().map(|l| l.name))
        .collect();
    let of_limit = |limit| LIMIT_FIELDS.iter().map(move |field| attribute(limit, *field));
    let mut attributes = ITEM_ATTRIBUTES
        .iter()
        .map(|name| (*name).to_owned())
        .chain(limits.into_iter().flat_map(of_limit));
    if let Some(attribute) = attributes.find(|attribute| !is_same(image, item, attribute)) {
        return Err(CreationRefusal::Overtaken { attribute });
    }
    if propagation.has_quota() {
        no_sibling_ahead(propagation, siblings)
    } else {
        Ok(())
    }
}

fn no_sibling_ahead(propagation: &Propagation<'_>, siblings: &Siblings) -> Result<(), CreationRefusal> {
    for (shard, item) in siblings {
        let Some(item) = item else { continue };
        let sibling = Bucket::from_item(item).map_err(|_unreadable| CreationRefusal::Unreadable)?;
        if sibling.fields.shard_count() > propagation.rise.to {
            return Err(CreationRefusal::SiblingAhead { shard: *shard });
        }
    }
    Ok(())
}

/// Whether image and item hold the same under a name; numbers by value.
fn is_same(image: &Image<'_>, item: &Item, name: &str) -> bool {
    match (image.get(name), item.get(name)) {
        (None, None) => true,
        (Some(seen), Some(stored)) => match (seen.scalar(), scalar_of(stored)) {
            (Scalar::N(left), Scalar::N(right)) => {
                left == right || parse_integer(left).is_some_and(|number| Some(number) == parse_integer(right))
            }
            (Scalar::Other, _) | (_, Scalar::Other) => seen.to_value().as_ref() == Some(stored),
            (left, right) => left == right,
        },
        _ => false,
    }
}
