//! Stream records as they arrive: each decoded on its own, borrowing from the event's text (03-delivery, Records).
//!
//! Decides what a record is; refuses a single record, never its neighbours. Unknown attributes stay the text
//! they were, so that a copy of an image is exact. What must stay true: nothing here drops a digit.

mod attribute;
mod creation_time;
mod event;
mod image;
mod number;
mod sequence;
mod text;

pub use attribute::{Attribute, Scalar, scalar_of};
pub use creation_time::{parse_creation_time, parse_instant_text};
pub use event::{EventError, ReadRecord, RecordError, UserIdentity, read_event};
pub use image::Image;
pub use number::parse_integer;
pub use sequence::SequenceNumber;
pub use text::Text;

use std::borrow::Cow;

use crate::units::EpochMillis;

/// What happened to the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The item is new.
    Insert,
    /// The item changed.
    Modify,
    /// The item is gone.
    Remove,
}

/// One change of one item.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// The event's id, unique per record; carries no entity id.
    pub event_id: Option<Cow<'a, str>>,
    /// What happened.
    pub kind: ChangeKind,
    /// Position in the stream shard.
    pub sequence: Option<SequenceNumber<'a>>,
    /// `ApproximateCreationDateTime`.
    pub created: Option<EpochMillis>,
    /// The item before.
    pub old: Option<Image<'a>>,
    /// The item after.
    pub new: Option<Image<'a>>,
    /// The stream's label: what follows the last `/` of its ARN, an ISO date; empty where there is none (R12).
    pub stream_label: &'a str,
    /// Who removed the item, where the stream says so.
    pub user_identity: Option<UserIdentity<'a>>,
}
