//! One record as a change of one bucket shard: what it was, what it is, and why other records are left out.

use std::borrow::Cow;

use crate::bucket::{Bucket, BucketError, Limit};
use crate::key::{BucketKey, STATE_SK};
use crate::record::{ChangeKind, Image, Record, SequenceNumber};
use crate::units::{EpochMillis, Millitokens, ShardId};

/// A readable change of a bucket shard.
#[derive(Clone, Debug)]
pub struct BucketChange<'i> {
    /// Which shard of whose bucket.
    pub key: BucketKey<'i>,
    /// Place in the event, from 0.
    pub position: usize,
    /// The record's id, for the log.
    pub event_id: Option<&'i str>,
    /// Position in the stream.
    pub sequence: Option<&'i SequenceNumber<'i>>,
    /// When the change was made, where the stream says so.
    pub created: Option<EpochMillis>,
    /// The stream's label (R12).
    pub stream_label: &'i str,
    /// The shard before; `None` for an INSERT.
    pub old: Option<Bucket<'i>>,
    /// The shard after.
    pub new: Bucket<'i>,
    /// The shard after, whole.
    pub image: &'i Image<'i>,
}

/// Why a record changes nothing that any bucket rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkippedRecord {
    /// Another kind of item.
    NotABucket,
    /// A bucket that is gone.
    Removed,
    /// A bucket without `entity_id`.
    NoEntity,
    /// A record without the image that its kind must have: the stream's view type is not NEW_AND_OLD_IMAGES.
    MissingImage,
    /// A consumption counter is no integer: unreadable as a whole.
    Unreadable(BucketError),
}

impl<'i> BucketChange<'i> {
    /// Reads a record as a bucket change.
    ///
    /// # Errors
    /// [`SkippedRecord`] says why the record is none.
    pub fn read(position: usize, record: &'i Record<'i>) -> Result<Self, SkippedRecord> {
        let Some(image) = &record.new else {
            return Err(match record.kind {
                ChangeKind::Remove => SkippedRecord::Removed,
                ChangeKind::Insert | ChangeKind::Modify => SkippedRecord::MissingImage,
            });
        };
        if image.text("SK") != Some(STATE_SK) {
            return Err(SkippedRecord::NotABucket);
        }
        let key = image
            .text("PK")
            .and_then(BucketKey::parse)
            .ok_or(SkippedRecord::NotABucket)?;
        let old = match (record.kind, &record.old) {
            (ChangeKind::Insert, _) => None,
            (ChangeKind::Modify, Some(old)) => Some(Bucket::from_image(old).map_err(SkippedRecord::Unreadable)?),
            (ChangeKind::Modify, None) => return Err(SkippedRecord::MissingImage),
            (ChangeKind::Remove, _) => return Err(SkippedRecord::Removed),
        };
        let new = Bucket::from_image(image).map_err(SkippedRecord::Unreadable)?;
        if new.fields.entity_id.is_none_or(str::is_empty) {
            return Err(SkippedRecord::NoEntity);
        }
        Ok(Self {
            key,
            position,
            event_id: record.event_id.as_ref().map(Cow::as_ref),
            sequence: record.sequence.as_ref(),
            created: record.created,
            stream_label: record.stream_label,
            old,
            new,
            image,
        })
    }

    /// The shard that changed.
    pub fn shard(&self) -> ShardId {
        self.key.shard
    }

    /// Consumption of a limit by this change. `None` where the old image lacks the limit's `tc`: such a limit is
    /// invisible to R2 to R6.
    pub fn consumed(&self, limit: &Limit<'_>) -> Option<Millitokens> {
        let before = self.old.as_ref()?.limit(limit.name)?.consumed?;
        limit.consumed?.checked_sub(before)
    }
}
