//! Who pays for a new quota shard (R9, ADR-145): one function decides who covers a slot and what moves.
//!
//! With `count` shards a period's allowance falls into `count` slots. A grant sized at g on shard i covers the slots
//! j with j mod g = i mod g. What must stay true: no slot is paid twice in a period, and a move takes no more than
//! the donor holds.

use crate::units::{Millitokens, ShardCount, ShardId};

/// A current grant of one quota on one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who holds it.
    pub shard: ShardId,
    /// The count that it was sized at.
    pub size: ShardCount,
    /// What is left of it, in millitokens; negative is debt.
    pub balance: Millitokens,
}

impl Grant {
    /// Whether the grant includes a slot.
    pub fn covers(&self, slot: ShardId) -> bool {
        slot.0 % self.size.get() == self.shard.0 % self.size.get()
    }
}

/// Where a new shard's tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funding {
    /// Nobody was granted the slot in this period.
    Fresh {
        /// What it gets, in millitokens.
        share: Millitokens,
    },
    /// A sibling was, and hands over what it can.
    Move {
        /// The sibling's grant before the move.
        donor: Grant,
        /// What moves, in millitokens; may be 0.
        amount: Millitokens,
    },
}

impl Funding {
    /// What the new shard starts with, in millitokens.
    pub fn amount(&self) -> Millitokens {
        match *self {
            Self::Fresh { share } => share,
            Self::Move { amount, .. } => amount,
        }
    }
}

/// Funds a slot of a quota of `capacity` millitokens at `count` shards, given every current grant. The donor is the
/// one with the largest size (the smallest grant), then the lowest shard.
pub fn fund(slot: ShardId, count: ShardCount, capacity: Millitokens, current: &[Grant]) -> Funding {
    let share = capacity.share(count);
    let covering = current.iter().filter(|grant| grant.covers(slot));
    match covering.min_by_key(|grant| (std::cmp::Reverse(grant.size), grant.shard)) {
        None => Funding::Fresh { share },
        Some(donor) => Funding::Move {
            donor: *donor,
            amount: share.min(donor.balance).max(Millitokens::ZERO),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(n: u32) -> ShardCount {
        ShardCount::from_stored(Some(n.into()))
    }

    fn grant(shard: u32, size: u32, balance: i128) -> Grant {
        Grant {
            shard: ShardId(shard),
            size: count(size),
            balance: Millitokens(balance),
        }
    }

    #[test]
    fn a_slot_that_nobody_holds_gets_a_fresh_share_rounded_down() {
        let funding = fund(
            ShardId(3),
            count(4),
            Millitokens(1003),
            &[grant(0, 4, 250), grant(1, 2, 0).with_size(4)],
        );
        assert_eq!(
            funding,
            Funding::Fresh {
                share: Millitokens(250)
            }
        );
    }

    #[test]
    fn the_smallest_covering_grant_pays_then_the_lowest_shard() {
        let current = [grant(0, 1, 900), grant(1, 2, 400), grant(3, 2, 400)];
        assert_eq!(
            fund(ShardId(7), count(8), Millitokens(1000), &current),
            Funding::Move {
                donor: current[1],
                amount: Millitokens(125)
            }
        );
    }

    #[test]
    fn an_empty_or_indebted_donor_still_covers_its_slots() {
        for balance in [0, -500] {
            let current = [grant(0, 1, balance)];
            let funding = fund(ShardId(1), count(2), Millitokens(1000), &current);
            assert_eq!(
                funding,
                Funding::Move {
                    donor: current[0],
                    amount: Millitokens::ZERO
                }
            );
        }
    }

    #[test]
    fn slots_follow_the_size_of_the_grant_not_twice_it() {
        // A grant sized at 2 on shard 1 covers every odd slot, not only those congruent to 1 mod 4.
        assert!(grant(1, 2, 0).covers(ShardId(3)));
        assert!(!grant(1, 2, 0).covers(ShardId(2)));
    }

    impl Grant {
        fn with_size(self, size: u32) -> Self {
            Self {
                size: count(size),
                ..self
            }
        }
    }
}
