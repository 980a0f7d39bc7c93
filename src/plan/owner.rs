//! The owner check of a shard creation (R10): buckets of an entity that was deleted, or deleted and made again, must
//! not come back to life.

use crate::bucket::ItemFields;
use crate::item::{number, text};
use crate::key::BucketGroup;
use crate::write::{Check, Comparison, Condition};

/// The stamp of an image whose owner record had no creation time.
const NO_CREATION_TIME: &str = "-";

/// The check that the owner's record still carries the stamp on an image.
pub fn owner_check(group: &BucketGroup<'_>, image: &ItemFields<'_>) -> Check {
    let mut conditions = vec![
        generation(image.parent_generation),
        incarnation(image.parent_incarnation),
    ];
    if image.parent_generation.is_some() || image.parent_incarnation.is_some() {
        conditions.push(Condition::item_exists());
    }
    Check {
        key: group.meta(),
        conditions,
    }
}

fn generation(stamp: Option<i128>) -> Condition {
    match stamp {
        None => Condition::Absent("pgen".to_owned()),
        Some(0) => Condition::Any(vec![
            Condition::Absent("pgen".to_owned()),
            Condition::Compare("pgen".to_owned(), Comparison::Equal, number(0)),
        ]),
        Some(generation) => Condition::compare("pgen", Comparison::Equal, generation),
    }
}

fn incarnation(stamp: Option<&str>) -> Condition {
    let absent = || Condition::Absent("pinc".to_owned());
    let Some(stamp) = stamp else { return absent() };
    let equals = |attribute: &str| Condition::Compare(attribute.to_owned(), Comparison::Equal, text(stamp));
    let mut any = vec![equals("pinc"), Condition::All(vec![absent(), equals("created_at")])];
    if stamp == NO_CREATION_TIME {
        any.push(Condition::All(vec![
            absent(),
            Condition::Absent("created_at".to_owned()),
        ]));
    }
    Condition::Any(any)
}
