//! The stream itself: its shards and their records, through the SDK.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};

use super::lineage::Shard;

/// Where to begin in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Its oldest record.
    Oldest,
    /// What will be written from now on.
    Latest,
    /// This record.
    At(String),
    /// The record after this one.
    After(String),
}

/// Some records of a shard, and where the next ones are.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// In their order.
    pub(super) records: Vec<Record>,
    /// The iterator to go on with; `None` at the end of a closed shard.
    pub(super) next: Option<String>,
}

/// Why the stream did not answer. Holds codes, never messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The records asked for have expired.
    #[error("{operation}: the records have expired")]
    Trimmed {
        /// The operation that found out.
        operation: &'static str,
    },
    /// The iterator is too old; another one goes on where it stood.
    #[error("the iterator has expired")]
    IteratorExpired,
    /// It may work later.
    #[error("{operation} failed: {code}")]
    Passing {
        /// The operation.
        operation: &'static str,
        /// The service's code, or what happened on the way to it.
        code: String,
    },
    /// It will not work later either.
    #[error("{operation} failed: {code}")]
    Lasting {
        /// The operation.
        operation: &'static str,
        /// The service's code.
        code: String,
    },
}

/// A stream of DynamoDB, or of what speaks like it.
#[derive(Clone, Debug)]
pub struct DynamoDbStream {
    client: Client,
    arn: String,
}

impl DynamoDbStream {
    /// The stream of this ARN.
    pub fn new(client: Client, arn: impl Into<String>) -> Self {
        Self {
            client,
            arn: arn.into(),
        }
    }

    /// Every shard that the stream still describes.
    pub(super) async fn shards(&self) -> Result<Vec<Shard>, SourceError> {
        let (mut shards, mut from) = (Vec::new(), None);
        loop {
            let request = self.client.describe_stream().stream_arn(&self.arn);
            let answer = request.set_exclusive_start_shard_id(from).send().await;
            let described = answer
                .map_err(|error| source_error("DescribeStream", &error))?
                .stream_description
                .ok_or_else(|| unreadable("DescribeStream"))?;
            let named = described.shards.unwrap_or_default().into_iter();
            shards.extend(named.filter_map(|shard| {
                let end = shard
                    .sequence_number_range
                    .and_then(|range| range.ending_sequence_number);
                Some(Shard {
                    id: shard.shard_id?,
                    parent: shard.parent_shard_id,
                    is_closed: end.is_some(),
                })
            }));
            from = described.last_evaluated_shard_id;
            if from.is_none() {
                return Ok(shards);
            }
        }
    }

    /// An iterator into a shard.
    pub(super) async fn iterator(&self, shard: &str, from: &From) -> Result<String, SourceError> {
        let (kind, sequence) = match from {
            From::Oldest => (ShardIteratorType::TrimHorizon, None),
            From::Latest => (ShardIteratorType::Latest, None),
            From::At(sequence) => (ShardIteratorType::AtSequenceNumber, Some(sequence.clone())),
            From::After(sequence) => (ShardIteratorType::AfterSequenceNumber, Some(sequence.clone())),
        };
        let request = self.client.get_shard_iterator().stream_arn(&self.arn).shard_id(shard);
        let answer = request
            .shard_iterator_type(kind)
            .set_sequence_number(sequence)
            .send()
            .await;
        let found = answer.map_err(|error| source_error("GetShardIterator", &error))?;
        found.shard_iterator.ok_or_else(|| unreadable("GetShardIterator"))
    }

    /// The records at an iterator.
    pub(super) async fn records(&self, iterator: &str) -> Result<Page, SourceError> {
        let answer = self.client.get_records().shard_iterator(iterator).send().await;
        let found = answer.map_err(|error| source_error("GetRecords", &error))?;
        Ok(Page {
            records: found.records.unwrap_or_default(),
            next: found.next_shard_iterator,
        })
    }
}

fn unreadable(operation: &'static str) -> SourceError {
    SourceError::Lasting {
        operation,
        code: "unreadable answer".to_owned(),
    }
}

fn source_error<E: ProvideErrorMetadata, R>(operation: &'static str, error: &SdkError<E, R>) -> SourceError {
    let passing = |code: &str| SourceError::Passing {
        operation,
        code: code.to_owned(),
    };
    let SdkError::ServiceError(refusal) = error else {
        return passing("no answer");
    };
    match refusal.err().code() {
        Some("TrimmedDataAccessException") => SourceError::Trimmed { operation },
        Some("ExpiredIteratorException") => SourceError::IteratorExpired,
        Some(code @ ("ResourceNotFoundException" | "ValidationException" | "AccessDeniedException")) => {
            SourceError::Lasting {
                operation,
                code: code.to_owned(),
            }
        }
        code => passing(code.unwrap_or("an answer without a code")),
    }
}
