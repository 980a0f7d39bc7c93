//! The guard of a snapshot: per bucket shard the highest sequence number that it has counted (R12).
//!
//! Stored as text that compares as the numbers do, and across streams: label, `/`, two digits of length, the number
//! without leading zeros. A later stream of the same table has a later date as its label, so an earlier stream's
//! records are never counted once a later one's were.

use std::collections::BTreeMap;
use std::fmt;

use crate::item::{AttributeValue, Item, text};
use crate::record::SequenceNumber;
use crate::units::{MAX_SHARD_COUNT, ShardId};
use crate::write::{Comparison, Condition};

/// A position in the stream in the form in which a snapshot stores it; ordered as the store orders text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard(String);

impl Guard {
    /// The guard that says that everything up to this record was counted.
    pub fn of(stream_label: &str, sequence: &SequenceNumber<'_>) -> Self {
        let digits = sequence.significant();
        Self(format!("{stream_label}/{:02}{digits}", digits.len()))
    }

    /// The stored text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a snapshot has a place for this shard's guard. Items stay bounded: 32 shards are all there can be.
    pub fn has_place_for(shard: ShardId) -> bool {
        shard.0 < MAX_SHARD_COUNT.get()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The attribute that holds a shard's guard. No limit has such a name, and the clients read numbers only.
pub fn guard_attribute(shard: ShardId) -> String {
    format!("#seq{shard}")
}

/// What is known of a snapshot's guards: nothing before the first write, then what failed conditions have shown.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// The highest guard ever seen of a shard. Kept when the item expires meanwhile: what was counted stays counted.
    counted: BTreeMap<ShardId, String>,
    /// The guards of the item as it was last seen; `None` before it was.
    stored: Option<BTreeMap<ShardId, AttributeValue>>,
}

impl Guards {
    /// Takes in an item that failed a condition, `None` where there was none any more: it expired, and whoever
    /// writes next starts it anew.
    pub fn learn(&mut self, found: Option<&Item>, shards: impl IntoIterator<Item = ShardId>) {
        let mut stored = BTreeMap::new();
        for shard in shards {
            let Some(value) = found.and_then(|item| item.get(&guard_attribute(shard))) else {
                continue;
            };
            // A guard that is no text says nothing about what was counted; the write replaces it.
            if let AttributeValue::S(guard) = value {
                let counted = self.counted.entry(shard).or_default();
                if guard > counted {
                    counted.clone_from(guard);
                }
            }
            stored.insert(shard, value.clone());
        }
        self.stored = Some(stored);
    }

    /// The highest position of a shard known to be counted.
    pub fn counted(&self, shard: ShardId) -> Option<&str> {
        self.counted.get(&shard).map(String::as_str)
    }

    /// What must hold for records of a shard to be added, of which `lowest` is the first: unseen, that none of them
    /// was counted yet; afterwards, that the guard is still the one that was seen.
    pub fn condition(&self, shard: ShardId, lowest: &Guard) -> Condition {
        let attribute = guard_attribute(shard);
        match &self.stored {
            Some(stored) => Condition::as_read(attribute, stored.get(&shard).cloned()),
            None => Condition::Any(vec![
                Condition::Absent(attribute.clone()),
                Condition::Compare(attribute, Comparison::Less, text(lowest.as_str())),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn guard(label: &str, digits: &str) -> Guard {
        Guard::of(label, &SequenceNumber::parse(Cow::Borrowed(digits)).unwrap())
    }

    fn item(shard: u32, value: AttributeValue) -> Item {
        [(guard_attribute(ShardId(shard)), value)].into()
    }

    #[test]
    fn the_text_has_the_documented_form() {
        let guard = guard("2026-11-02T00:00:00.000", "000100001796089552995897");
        assert_eq!(guard.as_str(), "2026-11-02T00:00:00.000/21100001796089552995897");
        assert_eq!(guard_attribute(ShardId(31)), "#seq31");
    }

    #[test]
    fn guards_compare_as_the_numbers_do_whatever_their_width() {
        let numbers = ["0", "9", "10", "99999999999999999999", "100000000000000000000"];
        for pair in numbers.windows(2) {
            assert!(guard("a", pair[0]) < guard("a", pair[1]), "{pair:?}");
        }
        assert!(guard("a", &"9".repeat(40)) > guard("a", &"9".repeat(39)));
        assert_eq!(guard("a", "007"), guard("a", "7"));
    }

    #[test]
    fn a_later_stream_is_above_an_earlier_one_and_no_label_below_all() {
        let high = "9".repeat(40);
        let (none, old) = (guard("", &high), guard("2026-01-01T00:00:00.000", &high));
        let new = guard("2026-01-02T00:00:00.000", "1");
        assert!(none < old && old < new);
    }

    #[test]
    fn an_item_that_expired_meanwhile_does_not_uncount_what_was_counted() {
        let mut guards = Guards::default();
        guards.learn(Some(&item(0, text("a/015"))), [ShardId::ZERO]);
        guards.learn(None, [ShardId::ZERO]);
        assert_eq!(guards.counted(ShardId::ZERO), Some("a/015"));
        let condition = guards.condition(ShardId::ZERO, &guard("a", "6"));
        assert_eq!(condition, Condition::Absent("#seq0".to_owned()));
    }

    #[test]
    fn a_guard_that_is_no_text_is_replaced_on_its_own_value() {
        let mut guards = Guards::default();
        let odd = AttributeValue::N("7".to_owned());
        guards.learn(Some(&item(3, odd.clone())), [ShardId(3)]);
        assert_eq!(guards.counted(ShardId(3)), None);
        let condition = guards.condition(ShardId(3), &guard("a", "6"));
        assert_eq!(
            condition,
            Condition::Compare("#seq3".to_owned(), Comparison::Equal, odd)
        );
    }

    #[test]
    fn only_thirty_two_guards_have_a_place() {
        assert!(Guard::has_place_for(ShardId(31)) && !Guard::has_place_for(ShardId(32)));
    }
}
