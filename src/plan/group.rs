//! Changes grouped by (namespace, entity, resource), in the order in which the rules see them.

use std::collections::{BTreeMap, BTreeSet};

use super::change::BucketChange;
use super::shard_state::ShardState;
use crate::key::BucketGroup;
use crate::record::SequenceNumber;
use crate::units::ShardId;

/// Everything a batch says about one (namespace, entity, resource). Groups are independent of each other.
#[derive(Clone, Debug)]
pub struct Group<'i> {
    /// Whose buckets.
    pub key: BucketGroup<'i>,
    /// The changes by sequence number, exact repeats removed.
    pub changes: Vec<BucketChange<'i>>,
}

impl<'i> Group<'i> {
    /// The lowest sequence number among the group's changes.
    pub fn lowest_sequence(&self) -> Option<&'i SequenceNumber<'i>> {
        self.changes.iter().filter_map(|change| change.sequence).min()
    }

    /// The state of every shard seen, by shard.
    pub fn shard_states(&self) -> BTreeMap<ShardId, ShardState<'_>> {
        let mut states: BTreeMap<ShardId, ShardState<'_>> = BTreeMap::new();
        for change in &self.changes {
            match states.get_mut(&change.shard()) {
                Some(state) => state.fold(change),
                None => {
                    states.insert(change.shard(), ShardState::first(change));
                }
            }
        }
        states
    }
}

/// Groups changes. The groups come in the order of their lowest sequence number, so that what a deadline leaves
/// undone is close to a suffix of the batch (03-delivery).
pub fn group_changes<'i>(changes: impl IntoIterator<Item = BucketChange<'i>>) -> Vec<Group<'i>> {
    let mut by_key: BTreeMap<BucketGroup<'i>, Vec<BucketChange<'i>>> = BTreeMap::new();
    for change in changes {
        by_key.entry(change.key.group).or_default().push(change);
    }
    let mut groups: Vec<Group<'i>> = by_key
        .into_iter()
        .map(|(key, changes)| Group {
            key,
            changes: in_sequence(changes),
        })
        .collect();
    groups.sort_by_key(|group| {
        (
            group.lowest_sequence(),
            group.changes.first().map(|change| change.position),
        )
    });
    groups
}

/// Sorts by sequence number and removes exact repeats: what is delivered again may come out of order. A record
/// without a sequence number stays behind the one that it arrived after.
fn in_sequence(changes: Vec<BucketChange<'_>>) -> Vec<BucketChange<'_>> {
    let mut keyed = Vec::with_capacity(changes.len());
    let mut last = None;
    for change in changes {
        last = change.sequence.or(last);
        keyed.push((last, change));
    }
    keyed.sort_by_key(|(sequence, _)| *sequence);
    let mut seen = BTreeSet::new();
    keyed
        .into_iter()
        .map(|(_, change)| change)
        .filter(|change| {
            change
                .sequence
                .is_none_or(|sequence| seen.insert((change.shard(), sequence)))
        })
        .collect()
}
