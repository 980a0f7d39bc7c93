//! The records of one shard folded into one state.
//!
//! Item fields come from the last image; each limit comes whole from the last record in which it was visible, that
//! is, whose old image knew it; consumption adds up over those records. An INSERT begins another item,
//! and forgets the one before. What must stay true: the state is the same however the batch was cut.

use super::change::BucketChange;
use crate::bucket::{Bucket, ItemFields, Limit};
use crate::key::BucketKey;
use crate::units::Millitokens;

/// A limit as R2 to R6 see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedLimit<'s> {
    /// The limit in the last image that showed it.
    pub limit: &'s Limit<'s>,
    /// Consumption over the batch, refunds included; saturates at the end of the range.
    pub consumed: Millitokens,
}

/// One shard after a batch.
#[derive(Clone, Debug)]
pub struct ShardState<'s> {
    /// Which shard.
    pub key: BucketKey<'s>,
    /// The last image, whole: what R7, R8 and R12 see.
    pub last: &'s Bucket<'s>,
    /// What R2 to R6 see, by name.
    pub limits: Vec<FoldedLimit<'s>>,
}

impl<'s> ShardState<'s> {
    /// The state after a shard's first change.
    pub fn first(change: &'s BucketChange<'s>) -> Self {
        let mut state = Self {
            key: change.key,
            last: &change.new,
            limits: Vec::with_capacity(change.new.limits.len()),
        };
        state.fold(change);
        state
    }

    /// Folds a later change of the same shard in. An item that was made anew starts anew: what the item before it held
    /// must not be written under the new one's `rf`.
    pub fn fold(&mut self, change: &'s BucketChange<'s>) {
        self.last = &change.new;
        if change.old.is_none() {
            self.limits.clear();
        }
        for limit in &change.new.limits {
            let Some(consumed) = change.consumed(limit) else {
                continue;
            };
            match self
                .limits
                .binary_search_by_key(&limit.name, |folded| folded.limit.name)
            {
                Ok(at) => {
                    let folded = &mut self.limits[at];
                    folded.limit = limit;
                    folded.consumed = Millitokens(folded.consumed.0.saturating_add(consumed.0));
                }
                Err(at) => self.limits.insert(at, FoldedLimit { limit, consumed }),
            }
        }
    }

    /// The item-level fields of the last image.
    pub fn fields(&self) -> &'s ItemFields<'s> {
        &self.last.fields
    }
}
