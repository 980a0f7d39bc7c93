//! How buckets appear: as a short hash, or by name where a person asked for it.

use limiter_aggregator::config::HashKey;
use limiter_aggregator::correlation::Correlator;
use limiter_aggregator::key::BucketGroup;

/// Names buckets.
pub struct Names {
    show_ids: bool,
    correlator: Correlator,
}

impl Names {
    /// Hashes, or names where ids may be shown. With the Lambda's `LOG_HASH_KEY` the hashes are those of its log.
    pub fn new(show_ids: bool, key: Option<&HashKey>) -> Self {
        Self {
            show_ids,
            correlator: Correlator::of(key),
        }
    }

    /// A bucket's name: twelve hex digits, or `namespace/entity/resource`.
    pub fn bucket(&self, group: &BucketGroup<'_>) -> String {
        if self.show_ids {
            return printable(&format!("{}/{}/{}", group.namespace, group.entity, group.resource));
        }
        self.correlator.tag(group).to_string()
    }
}

/// Text from a record, without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect()
}
