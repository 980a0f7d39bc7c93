//! Typed writes: what the planner wants stored and under which conditions, as plain values.
//!
//! Planning builds them, [`crate::table`] carries them out. Nothing here knows how a store spells them. What must
//! stay true: the same decision gives an equal value, so that a repeat is byte for byte the same request.

use crate::item::{AttributeValue, Item};
use crate::key::ItemKey;

/// One change of one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Adds to a number, which counts from 0 where absent. Commutes with other additions.
    Add {
        /// Attribute name.
        attribute: String,
        /// What is added; may be negative.
        delta: i128,
    },
    /// Stores a value.
    Set {
        /// Attribute name.
        attribute: String,
        /// The new value.
        value: AttributeValue,
    },
    /// Stores what `source` holds at the moment of the write, else `default`. With `source` equal to `attribute`
    /// this keeps a value that is already there.
    SetFrom {
        /// Attribute name.
        attribute: String,
        /// The attribute that is read.
        source: String,
        /// Used where `source` is absent.
        default: AttributeValue,
    },
    /// Removes an attribute; nothing happens where it is absent.
    Remove {
        /// Attribute name.
        attribute: String,
    },
}

impl Action {
    /// The attribute that changes.
    pub fn attribute(&self) -> &str {
        match self {
            Self::Add { attribute, .. }
            | Self::Set { attribute, .. }
            | Self::SetFrom { attribute, .. }
            | Self::Remove { attribute } => attribute,
        }
    }
}

/// How an attribute is compared with a value. A comparison with an absent attribute, or with one of another type,
/// is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// `=`; numbers by value.
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// Something that must hold of the stored item at the moment of the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The attribute exists.
    Exists(String),
    /// The attribute does not exist (nor, therefore, need the item).
    Absent(String),
    /// The attribute compares so with the value.
    Compare(String, Comparison, AttributeValue),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// All of these hold.
    All(Vec<Condition>),
}

impl Condition {
    /// The attribute holds exactly this, or is absent where nothing was read.
    pub fn as_read(attribute: impl Into<String>, read: Option<AttributeValue>) -> Self {
        match read {
            Some(value) => Self::Compare(attribute.into(), Comparison::Equal, value),
            None => Self::Absent(attribute.into()),
        }
    }

    /// The attribute compares so with the number.
    pub fn compare(attribute: impl Into<String>, comparison: Comparison, value: i128) -> Self {
        Self::Compare(attribute.into(), comparison, crate::item::number(value))
    }

    /// The item exists.
    pub fn item_exists() -> Self {
        Self::Exists("PK".to_owned())
    }

    /// The item does not exist.
    pub fn item_absent() -> Self {
        Self::Absent("PK".to_owned())
    }
}

/// An update of one item: every action, or nothing if a condition fails. Without a condition that the item exists
/// it creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Which item.
    pub key: ItemKey,
    /// What changes; each attribute at most once.
    pub actions: Vec<Action>,
    /// What must hold, all of it.
    pub conditions: Vec<Condition>,
    /// Whether a failed condition should bring the item back. Inside a transaction there is no place for it.
    pub return_item_on_failure: bool,
}

/// A whole item, stored if the conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The item, key included.
    pub item: Item,
    /// What must hold of the item that is there now, all of it.
    pub conditions: Vec<Condition>,
}

/// A condition on an item that is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Which item.
    pub key: ItemKey,
    /// What must hold, all of it.
    pub conditions: Vec<Condition>,
}

/// One member of a [`Transaction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionAction {
    /// Stores a whole item.
    Put(Put),
    /// Changes an item.
    Update(Update),
    /// Only checks an item.
    Check(Check),
}

/// Several writes of different items: all of them, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The members, in order; each item at most once.
    pub actions: Vec<TransactionAction>,
    /// Client request token, 1 to 36 characters: for ten minutes after the transaction took effect, a repeat is
    /// answered the same and does nothing. One that did not take effect is judged anew.
    pub token: String,
}
