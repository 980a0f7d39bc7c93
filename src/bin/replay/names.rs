//! How buckets appear: as a short hash, or by name where a person asked for it.

use std::hash::{BuildHasher, RandomState};

use limiter_aggregator::key::BucketGroup;

/// Names buckets. The hash is keyed anew in each process: an unkeyed one of a guessable id could be reversed.
pub struct Names {
    show_ids: bool,
    key: RandomState,
}

impl Names {
    /// Hashes, or names where ids may be shown.
    pub fn new(show_ids: bool) -> Self {
        Self {
            show_ids,
            key: RandomState::new(),
        }
    }

    /// A bucket's name: eight hex digits, or `namespace/entity/resource`.
    pub fn bucket(&self, group: &BucketGroup<'_>) -> String {
        if self.show_ids {
            return printable(&format!("{}/{}/{}", group.namespace, group.entity, group.resource));
        }
        // The upper half: eight digits tell apart what one batch can hold.
        format!("{:08x}", self.key.hash_one(group) >> 32)
    }
}

/// Text from a record, without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect()
}
