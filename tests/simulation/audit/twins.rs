//! Items that cannot be told from one that was there before.
//!
//! R6 holds on to its image by `rf` and `vu`. An item that was removed and made again with the very `rf` of an image of
//! the former one passes for it: a write that was planned before may then take from it what lay above the former's
//! ceiling, or grant it less than a share. Never more: balances that are raised are pinned. Zero where nothing is
//! removed, and wherever the two were made in different milliseconds.

use std::collections::{BTreeMap, BTreeSet};

use super::Change;

/// Which shards are such items now.
#[derive(Clone, Debug, Default)]
pub struct Twins {
    /// Every `rf` of the item that is there.
    instants: BTreeMap<u32, BTreeSet<i64>>,
    /// Every `rf` of those that were removed.
    former: BTreeMap<u32, BTreeSet<i64>>,
    shards: BTreeSet<u32>,
}

impl Twins {
    /// The shards whose `rf` a removed item had too.
    pub fn shards(&self) -> &BTreeSet<u32> {
        &self.shards
    }

    /// Takes note of a change.
    pub fn enter(&mut self, change: &Change) {
        let id = change.shard;
        let Some(new) = &change.new else {
            let gone = self.instants.remove(&id).unwrap_or_default();
            self.former.entry(id).or_default().extend(gone);
            self.shards.remove(&id);
            return;
        };
        self.instants.entry(id).or_default().insert(new.rf);
        if self.former.get(&id).is_some_and(|former| former.contains(&new.rf)) {
            self.shards.insert(id);
        } else {
            self.shards.remove(&id);
        }
    }
}
