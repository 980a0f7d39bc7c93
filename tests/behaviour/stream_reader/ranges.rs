//! A range of one shard, read whole or not at all.

use std::borrow::Cow;

use limiter_aggregator::record::SequenceNumber;
use limiter_aggregator::stream::{DynamoDbStream, Range, RangeError, read_range};

use super::endpoint::{Endpoint, Shard};
use super::{ARN, closed, open};

fn range(shard: &str, first: &'static str, last: &'static str) -> Range {
    let number = |digits| SequenceNumber::parse(Cow::Borrowed(digits)).unwrap();
    Range {
        shard: shard.to_owned(),
        first: number(first),
        last: number(last),
    }
}

async fn read(endpoint: &Endpoint, range: &Range) -> Result<Vec<u64>, RangeError> {
    let stream = DynamoDbStream::new(endpoint.client(), ARN);
    let records = read_range(&stream, range).await?;
    let number = |record: &aws_sdk_dynamodbstreams::types::Record| {
        record.dynamodb().unwrap().sequence_number().unwrap().parse().unwrap()
    };
    Ok(records.iter().map(number).collect())
}

async fn shards() -> Endpoint {
    let kept = closed("kept", None, &[5, 9, 10, 100, 101]);
    let begun = Shard {
        expired: 9,
        ..kept.clone()
    };
    Endpoint::start(vec![
        kept,
        Shard { id: "begun", ..begun },
        open("live", None, &[200, 201]),
    ])
    .await
}

#[tokio::test]
async fn a_range_is_read_from_its_first_to_its_last_record_over_pages() {
    let endpoint = shards().await;
    for (first, last, records) in [
        ("5", "101", &[5, 9, 10, 100, 101][..]),
        ("9", "100", &[9, 10, 100]),
        ("10", "10", &[10]),
        ("0009", "010", &[9, 10]),
    ] {
        assert_eq!(
            read(&endpoint, &range("kept", first, last)).await.as_deref(),
            Ok(records)
        );
    }
    assert_eq!(read(&endpoint, &range("live", "200", "201")).await, Ok(vec![200, 201]));
}

#[tokio::test]
async fn what_has_expired_is_an_error_that_names_shard_and_range() {
    let endpoint = shards().await;
    for shard in ["begun", "forgotten"] {
        let range = range(shard, "5", "10");
        let error = read(&endpoint, &range).await.unwrap_err();
        assert_eq!(error, RangeError::Expired { range });
        let said = error.to_string();
        assert!(
            said.contains(&format!("shard {shard}, 5 to 10")) && said.contains("24 hours"),
            "{said}"
        );
    }
    assert_eq!(
        read(&endpoint, &range("begun", "10", "101")).await,
        Ok(vec![10, 100, 101])
    );
    // Between the iterator and the read.
    endpoint
        .script()
        .refusals
        .push_back(("GetRecords", "TrimmedDataAccessException"));
    assert!(matches!(
        read(&endpoint, &range("kept", "5", "9")).await,
        Err(RangeError::Expired { .. })
    ));
}

#[tokio::test]
async fn a_range_that_is_not_there_from_end_to_end_is_no_answer() {
    let endpoint = shards().await;
    for (shard, first, last) in [
        // Neither the first nor the last is a record of the shard.
        ("kept", "6", "10"),
        ("kept", "9", "50"),
        ("kept", "9", "102"),
        // An open shard goes on with empty pages.
        ("live", "201", "300"),
        ("live", "300", "301"),
    ] {
        let range = range(shard, first, last);
        assert_eq!(read(&endpoint, &range).await, Err(RangeError::Incomplete { range }));
    }
}

#[tokio::test]
async fn a_refusal_is_told_with_the_range() {
    let endpoint = shards().await;
    endpoint
        .script()
        .refusals
        .push_back(("GetShardIterator", "AccessDeniedException"));
    let said = read(&endpoint, &range("kept", "5", "9")).await.unwrap_err().to_string();
    assert!(
        said.contains("shard kept, 5 to 9") && said.contains("AccessDeniedException"),
        "{said}"
    );
}
