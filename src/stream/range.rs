//! A known range of one shard, read once more.
//!
//! Refuses to answer with less than the whole range: what has expired, or never was there, is an error that names the
//! shard and the range. What must stay true: the first and the last record are the ones asked for.

use std::borrow::Cow;
use std::fmt;

use aws_sdk_dynamodbstreams::types::Record;

use super::source::From;
use super::{DynamoDbStream, SourceError};
use crate::record::SequenceNumber;

/// Pages without a record that are passed over in a row: a shard's history has gaps, but not such long ones.
const MOST_EMPTY_PAGES: usize = 1_000;

/// Records of one shard, from the first to the last, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The shard's id.
    pub shard: String,
    /// Sequence number of the first record.
    pub first: SequenceNumber<'static>,
    /// Sequence number of the last record.
    pub last: SequenceNumber<'static>,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, first, last } = self;
        write!(f, "shard {shard}, {} to {}", first.as_str(), last.as_str())
    }
}

/// Why a range could not be read whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The stream holds the beginning of it no longer, or never did.
    #[error("{range}: the stream holds these records no longer (it keeps 24 hours), or has no such shard")]
    Expired {
        /// The range.
        range: Range,
    },
    /// The shard was read, and the range's first or last record is not in it.
    #[error("{range}: the shard does not hold this range from end to end")]
    Incomplete {
        /// The range.
        range: Range,
    },
    /// The stream did not answer.
    #[error("{range}: {error}")]
    Source {
        /// The range.
        range: Range,
        /// What it said instead.
        error: SourceError,
    },
}

/// Every record of the range, in the shard's order.
///
/// # Errors
/// See [`RangeError`]; an answer is never a part of the range.
pub async fn read_range(source: &DynamoDbStream, range: &Range) -> Result<Vec<Record>, RangeError> {
    let incomplete = || RangeError::Incomplete { range: range.clone() };
    let failed = |error| sort_error(range, error);
    let (mut records, mut empty_pages) = (Vec::new(), 0);
    let from = From::At(range.first.as_str().to_owned());
    let mut next = Some(source.iterator(&range.shard, &from).await.map_err(failed)?);
    while let Some(iterator) = next {
        let page = source.records(&iterator).await.map_err(failed)?;
        empty_pages = if page.records.is_empty() { empty_pages + 1 } else { 0 };
        for record in page.records {
            let sequence = sequence_of(&record).ok_or_else(incomplete)?;
            let is_last = sequence.same_place(&range.last);
            if records.is_empty() && !sequence.same_place(&range.first) || !is_last && sequence > range.last {
                return Err(incomplete());
            }
            records.push(record);
            if is_last {
                return Ok(records);
            }
        }
        if empty_pages == MOST_EMPTY_PAGES {
            break;
        }
        next = page.next;
    }
    Err(incomplete())
}

fn sort_error(range: &Range, error: SourceError) -> RangeError {
    let range = range.clone();
    match error {
        SourceError::Trimmed { .. } => RangeError::Expired { range },
        // A shard is forgotten once all of its records have expired.
        SourceError::Lasting { ref code, .. } if code == "ResourceNotFoundException" => RangeError::Expired { range },
        error => RangeError::Source { range, error },
    }
}

fn sequence_of(record: &Record) -> Option<SequenceNumber<'static>> {
    let digits = record.dynamodb()?.sequence_number()?;
    SequenceNumber::parse(Cow::Owned(digits.to_owned()))
}
