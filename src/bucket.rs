//! One bucket shard as a rule sees it: item fields and limits, decoded from an image or a stored item (01-table).
//!
//! Decides what a stored attribute means; refuses an item whose consumption counters are no numbers, because
//! nothing could be billed from it. What must stay true: a field that cannot be read is absent, and a write
//! conditional on its absence then fails instead of guessing.

mod limit;

pub use limit::{Limit, LimitField, WCU, attribute, parse_attribute};

use crate::item::Item;
use crate::record::{Image, Scalar, parse_integer, scalar_of};
use crate::units::{EpochMillis, ShardCount};

/// Why an item is no readable bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum BucketError {
    /// A `tc` that is no integer: the whole record is unreadable (R12).
    #[error("a consumption counter is not an integer")]
    ConsumptionNotNumeric,
}

/// The item-level attributes of a bucket shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemFields<'i> {
    /// `entity_id`; a record without it is skipped.
    pub entity_id: Option<&'i str>,
    /// `rf`: the last refill instant, the optimistic lock of every materialising write.
    pub last_refill: Option<EpochMillis>,
    /// `shard_count` as stored, whatever it is.
    pub stored_count: Option<i128>,
    /// `vu`: until when a client may spend without evaluating anything.
    pub valid_until: Option<EpochMillis>,
    /// `sched`: the item's default parameter schedule.
    pub sched: Option<&'i str>,
    /// `rsched`: the item's default reset schedule.
    pub rsched: Option<&'i str>,
    /// `sched_tz`: the zone of every schedule on the item.
    pub sched_tz: Option<&'i str>,
    /// `pgen` of the owner stamp.
    pub parent_generation: Option<i128>,
    /// `pinc` of the owner stamp.
    pub parent_incarnation: Option<&'i str>,
    /// `disabled`, as far as it can be compared.
    pub disabled: Option<Scalar<'i>>,
    /// `bypass`, as far as it can be compared.
    pub bypass: Option<Scalar<'i>>,
}

impl ItemFields<'_> {
    /// The count that the item's writer knew of; absent or below 1 reads as 1.
    pub fn shard_count(&self) -> ShardCount {
        ShardCount::from_stored(self.stored_count)
    }

    /// The zone's name: UTC where the item names none.
    pub fn zone(&self) -> &str {
        self.sched_tz.unwrap_or("UTC")
    }
}

/// One decoded bucket shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucket<'i> {
    /// What concerns the whole item.
    pub fields: ItemFields<'i>,
    /// Every limit named on the item, by name. One without `tc` is not a discovered limit, but may be copied.
    pub limits: Vec<Limit<'i>>,
}

impl<'i> Bucket<'i> {
    /// Decodes a stream image.
    ///
    /// # Errors
    /// [`BucketError::ConsumptionNotNumeric`].
    pub fn from_image(image: &'i Image<'_>) -> Result<Self, BucketError> {
        Self::decode(image.scalars())
    }

    /// Decodes a stored item.
    ///
    /// # Errors
    /// [`BucketError::ConsumptionNotNumeric`].
    pub fn from_item(item: &'i Item) -> Result<Self, BucketError> {
        Self::decode(item.iter().map(|(name, value)| (name.as_str(), scalar_of(value))))
    }

    fn decode(attributes: impl Iterator<Item = (&'i str, Scalar<'i>)>) -> Result<Self, BucketError> {
        let mut bucket = Self {
            fields: ItemFields::default(),
            limits: Vec::with_capacity(4),
        };
        for (name, value) in attributes {
            if let Some((limit, field)) = parse_attribute(name) {
                bucket.limit_mut(limit).set(field, value)?;
            } else {
                bucket.fields.set(name, value);
            }
        }
        bucket.limits.sort_unstable_by_key(|limit| limit.name);
        Ok(bucket)
    }

    /// The limit of this name, new if the item has not named it before.
    fn limit_mut(&mut self, name: &'i str) -> &mut Limit<'i> {
        // Attributes of one limit mostly come together, so the last one is the likeliest.
        match self.limits.iter().rposition(|limit| limit.name == name) {
            Some(at) => &mut self.limits[at],
            None => {
                self.limits.push(Limit::new(name));
                let last = self.limits.len() - 1;
                &mut self.limits[last]
            }
        }
    }

    /// The limit of this name.
    pub fn limit(&self, name: &str) -> Option<&Limit<'i>> {
        self.limits.iter().find(|limit| limit.name == name)
    }
}

impl<'i> ItemFields<'i> {
    fn set(&mut self, name: &str, value: Scalar<'i>) {
        match name {
            "entity_id" => self.entity_id = text(value),
            "rf" => self.last_refill = instant(value),
            "shard_count" => self.stored_count = integer(value),
            "vu" => self.valid_until = instant(value),
            "sched" => self.sched = text(value),
            "rsched" => self.rsched = text(value),
            "sched_tz" => self.sched_tz = text(value),
            "pgen" => self.parent_generation = integer(value),
            "pinc" => self.parent_incarnation = text(value),
            "disabled" => self.disabled = Some(value),
            "bypass" => self.bypass = Some(value),
            _ => {}
        }
    }
}

fn text(value: Scalar<'_>) -> Option<&str> {
    match value {
        Scalar::S(text) => Some(text),
        _ => None,
    }
}

fn integer(value: Scalar<'_>) -> Option<i128> {
    match value {
        Scalar::N(digits) => parse_integer(digits),
        _ => None,
    }
}

fn instant(value: Scalar<'_>) -> Option<EpochMillis> {
    integer(value)
        .and_then(|millis| i64::try_from(millis).ok())
        .map(EpochMillis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{number, text};
    use crate::units::Millitokens;

    fn item(attributes: &[(&str, serde_dynamo::AttributeValue)]) -> Item {
        attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    #[test]
    fn limit_names_may_hold_underscores_dots_and_dashes() {
        let item = item(&[
            ("b_in_tokens.v2-x_tk", number(5)),
            ("b_in_tokens.v2-x_tc", number(7)),
            ("b_a_b_unknown", number(1)),
        ]);
        let bucket = Bucket::from_item(&item).unwrap();
        let limit = bucket.limit("in_tokens.v2-x").unwrap();
        assert_eq!(
            (limit.balance, limit.consumed),
            (Some(Millitokens(5)), Some(Millitokens(7)))
        );
        assert_eq!(bucket.limits.len(), 1, "an unknown field makes no limit");
    }

    #[test]
    fn a_field_that_is_no_number_is_absent() {
        let item = item(&[
            ("rf", text("soon")),
            ("shard_count", text("2")),
            ("vu", number(i128::MAX)),
            ("b_a_tk", text("x")),
            ("b_a_tc", number(0)),
        ]);
        let bucket = Bucket::from_item(&item).unwrap();
        assert_eq!(bucket.fields, ItemFields::default());
        assert_eq!(bucket.limit("a").unwrap().balance, None);
    }

    #[test]
    fn a_counter_that_is_no_number_makes_the_item_unreadable() {
        for value in [
            text("abc"),
            serde_dynamo::AttributeValue::N("1.5".to_owned()),
            serde_dynamo::AttributeValue::Null(true),
        ] {
            assert_eq!(
                Bucket::from_item(&item(&[("b_a_tc", value)])),
                Err(BucketError::ConsumptionNotNumeric)
            );
        }
    }
}
