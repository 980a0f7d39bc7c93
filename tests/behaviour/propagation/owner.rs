//! The owner check of a creation (R10): met and missed, on the stored owner.

use limiter_aggregator::item::Item;
use limiter_aggregator::table::memory::MemoryTable;

use super::scene::{Shard, double, group, key, owner, propagate, world};

type Change = fn(Shard) -> Shard;

/// Whether a shard is created from an image and an owner changed so; `None` for no owner at all.
fn is_created(image: Change, meta: Option<Change>) -> bool {
    let table: MemoryTable = world([image(Shard::new(0, 1).drip("rpm", 60_000, 0))]);
    table.delete_item(&group().meta());
    if let Some(change) = meta {
        table.put_item(&change(Shard(owner())).0).unwrap();
    }
    let event = double(&table);
    let notes = propagate(&table, &event);
    let created = table.get(&key(1)).is_some();
    let expected = if created {
        "shard 1 created"
    } else {
        "shard 1 lost, exists: false"
    };
    assert_eq!(notes, [expected]);
    created
}

const AS_IT_IS: Change = |shard| shard;
const NO_PGEN: Change = |shard| shard.without("pgen");
const NO_PINC: Change = |shard| shard.without("pinc");
const UNSTAMPED: Change = |shard| shard.without("pgen").without("pinc");

#[test]
fn the_stamp_of_the_image_must_be_the_owners() {
    assert!(is_created(AS_IT_IS, Some(AS_IT_IS)));
    assert!(!is_created(AS_IT_IS, Some(|meta| meta.n("pgen", 8))));
    assert!(!is_created(AS_IT_IS, Some(|meta| meta.n("pgen", 0))));
    assert!(!is_created(AS_IT_IS, Some(NO_PGEN)));
    assert!(!is_created(AS_IT_IS, Some(|meta| meta.s("pinc", "made-2"))));
}

#[test]
fn a_stamped_image_needs_an_owner() {
    assert!(!is_created(AS_IT_IS, None));
    assert!(!is_created(NO_PGEN, None));
    assert!(!is_created(NO_PINC, None));
    assert!(
        !is_created(|image| image.without("pinc").n("pgen", 0), None),
        "0 matches no generation, but not no owner"
    );
    assert!(!is_created(|image| image.without("pgen").s("pinc", "-"), None));
}

#[test]
fn an_unstamped_image_needs_an_unstamped_owner_or_none() {
    assert!(is_created(UNSTAMPED, None));
    assert!(is_created(UNSTAMPED, Some(UNSTAMPED)));
    assert!(!is_created(UNSTAMPED, Some(NO_PINC)));
    assert!(!is_created(UNSTAMPED, Some(NO_PGEN)));
}

#[test]
fn generation_zero_is_none_or_zero() {
    let zero: Change = |image| image.n("pgen", 0);
    assert!(is_created(zero, Some(zero)));
    assert!(is_created(zero, Some(NO_PGEN)));
    assert!(!is_created(zero, Some(AS_IT_IS)));
}

#[test]
fn an_owner_without_incarnation_counts_by_when_it_was_made() {
    let made: Change = |meta| meta.without("pinc").s("created_at", "made-1");
    assert!(is_created(AS_IT_IS, Some(made)));
    assert!(!is_created(
        AS_IT_IS,
        Some(|meta| meta.without("pinc").s("created_at", "made-2"))
    ));
    assert!(!is_created(AS_IT_IS, Some(NO_PINC)));
    // Where it has an incarnation, only that counts.
    assert!(!is_created(
        AS_IT_IS,
        Some(|meta| meta.s("pinc", "made-2").s("created_at", "made-1"))
    ));
}

#[test]
fn an_image_whose_owner_had_no_time_of_making_needs_one_without() {
    let dash: Change = |image| image.s("pinc", "-");
    assert!(is_created(dash, Some(NO_PINC)));
    assert!(!is_created(
        dash,
        Some(|meta| meta.without("pinc").s("created_at", "made-1"))
    ));
    assert!(!is_created(dash, Some(AS_IT_IS)));
    assert!(is_created(dash, Some(|meta| meta.s("pinc", "-"))));
    // Any other stamp needs what it says.
    assert!(!is_created(AS_IT_IS, Some(NO_PINC)));
}

#[test]
fn an_owner_made_again_meanwhile_gets_no_shard_of_the_old_one() {
    let table = world([Shard::new(0, 1).calendar("day", 1000, 1000, 1)]);
    let event = double(&table);
    let again: Item = Shard(owner()).s("pinc", "made-2").0;
    table.put_item(&again).unwrap();
    assert_eq!(propagate(&table, &event), ["shard 1 lost, exists: false"]);
    assert_eq!(
        super::scene::stored(&table, 0, "b_day_tk"),
        Some(1000),
        "and its donor pays nothing"
    );
}
