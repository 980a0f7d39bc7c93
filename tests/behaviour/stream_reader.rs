//! The reader of streams against a scripted service: order of shards, batches, rewinds, expiry, checkpoints.

mod endpoint;
mod ranges;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_dynamodbstreams::types::Record;
use limiter_aggregator::stream::{
    CheckpointError, Checkpoints, Consumer, ConsumerError, Deliver, Delivered, DynamoDbStream, Limits, Notice, Options,
    Progress,
};

use endpoint::{Endpoint, Shard};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/1";
const OPTIONS: Options = Options {
    limits: Limits {
        size: 3,
        window: Duration::ZERO,
    },
    from_latest: false,
    skip_expired: false,
};

/// Notes what comes, and answers from a list; then with success.
#[derive(Default)]
struct Noting {
    delivered: Vec<(String, Vec<u64>)>,
    answers: VecDeque<Delivered>,
}

impl Deliver for Noting {
    async fn deliver(&mut self, shard: &str, records: &[Record]) -> Delivered {
        let number = |record: &Record| record.dynamodb()?.sequence_number()?.parse().ok();
        let numbers = records.iter().map(|record| number(record).unwrap()).collect();
        self.delivered.push((shard.to_owned(), numbers));
        self.answers.pop_front().unwrap_or(Delivered::Complete)
    }
}

type Reader = Consumer<Noting>;

fn reader(endpoint: &Endpoint, options: Options) -> Reader {
    reader_from(endpoint, options, Checkpoints::in_memory(ARN))
}

fn reader_from(endpoint: &Endpoint, options: Options, checkpoints: Checkpoints) -> Reader {
    let source = DynamoDbStream::new(endpoint.client(), ARN);
    Consumer::new(source, Noting::default(), checkpoints, options)
}

/// Turns until nothing more comes, at least as many as any of the scripts needs.
async fn read(reader: &mut Reader) -> Result<Vec<Notice>, ConsumerError> {
    let mut notices = Vec::new();
    for _ in 0..20 {
        notices.extend(reader.turn().await?.notices);
    }
    Ok(notices)
}

fn delivered(reader: &mut Reader) -> Vec<(String, Vec<u64>)> {
    std::mem::take(&mut reader.handler_mut().delivered)
}

fn of(shard: &str, records: &[u64]) -> (String, Vec<u64>) {
    (shard.to_owned(), records.to_vec())
}

fn open(id: &'static str, parent: Option<&'static str>, records: &[u64]) -> Shard {
    Shard {
        id,
        parent,
        records: records.to_vec(),
        ..Shard::default()
    }
}

fn closed(id: &'static str, parent: Option<&'static str>, records: &[u64]) -> Shard {
    Shard {
        is_closed: true,
        ..open(id, parent, records)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stream-reader-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn a_child_is_read_after_all_of_its_parent_over_pages_of_shards_and_records() {
    let endpoint = Endpoint::start(vec![
        open("d", Some("c"), &[90]),
        closed("c", Some("a"), &[50, 60]),
        open("b", Some("a"), &[51]),
        closed("a", Some("expired long ago"), &[1, 2, 3, 4]),
    ])
    .await;
    let mut reader = reader(&endpoint, OPTIONS);
    read(&mut reader).await.unwrap();
    let seen = delivered(&mut reader);
    let flat = |id: &str| -> Vec<u64> {
        let of_it = seen.iter().filter(|(shard, _)| shard == id);
        of_it.flat_map(|(_, records)| records.clone()).collect()
    };
    assert_eq!(flat("a"), [1, 2, 3, 4]);
    assert_eq!((flat("b"), flat("c"), flat("d")), (vec![51], vec![50, 60], vec![90]));
    let place = |id: &str| seen.iter().position(|(shard, _)| shard == id).unwrap();
    let last_of_a = seen.iter().rposition(|(shard, _)| shard == "a").unwrap();
    assert!(
        last_of_a < place("b") && last_of_a < place("c") && place("c") < place("d"),
        "{seen:?}"
    );
    assert!(reader.checkpoints().is_finished("c"));
    assert_eq!(reader.checkpoints().of("d"), Some(&Progress::After("90".to_owned())));
}

#[tokio::test]
async fn a_shard_that_splits_under_way_is_followed_into_its_children() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1])]).await;
    let mut reader = reader(&endpoint, OPTIONS);
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[1])]);
    {
        let mut script = endpoint.script();
        script.shards[0].is_closed = true;
        script.shards[0].records.push(2);
        script.shards.push(open("b", Some("a"), &[3]));
    }
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[2]), of("b", &[3])]);
}

#[tokio::test]
async fn a_failed_batch_comes_again_from_the_failed_record_and_nothing_is_passed_over() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1, 2, 3, 4])]).await;
    endpoint.script().page = 10;
    let mut reader = reader(&endpoint, OPTIONS);
    reader.handler_mut().answers = [
        Delivered::RetryFrom("2".to_owned()),
        Delivered::RetryAll,
        Delivered::RetryFrom("not in the batch".to_owned()),
    ]
    .into();
    reader.turn().await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[1, 2, 3])]);
    assert_eq!(reader.checkpoints().of("a"), Some(&Progress::After("1".to_owned())));
    reader.turn().await.unwrap();
    assert_eq!(
        delivered(&mut reader),
        [],
        "a failed batch is not delivered again at once"
    );
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        reader.turn().await.unwrap();
    }
    let again = of("a", &[2, 3, 4]);
    assert_eq!(delivered(&mut reader), [again.clone(), again.clone(), again]);
    assert_eq!(reader.checkpoints().of("a"), Some(&Progress::After("4".to_owned())));
}

#[tokio::test]
async fn an_expired_iterator_is_replaced_where_it_stood() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1, 2, 3, 4, 5])]).await;
    let mut reader = reader(&endpoint, OPTIONS);
    reader.turn().await.unwrap();
    endpoint
        .script()
        .refusals
        .push_back(("GetRecords", "ExpiredIteratorException"));
    read(&mut reader).await.unwrap();
    let records: Vec<u64> = delivered(&mut reader)
        .into_iter()
        .flat_map(|(_, records)| records)
        .collect();
    assert_eq!(records, [1, 2, 3, 4, 5]);
    assert_eq!(
        endpoint.asked("GetShardIterator"),
        ["a TRIM_HORIZON", "a AFTER_SEQUENCE_NUMBER 2"]
    );
}

#[tokio::test]
async fn records_that_expired_end_the_reading_unless_it_was_said_that_they_may_be_lost() {
    let shards = vec![Shard {
        expired: 6,
        ..open("a", None, &[7, 8])
    }];
    let endpoint = Endpoint::start(shards).await;
    let stopped = || {
        let mut checkpoints = Checkpoints::in_memory(ARN);
        checkpoints.set("a", Progress::After("3".to_owned())).unwrap();
        checkpoints
    };
    let error = read(&mut reader_from(&endpoint, OPTIONS, stopped())).await.unwrap_err();
    assert_eq!(error.to_string(), "shard a: the records after 3 have expired");
    let options = Options {
        skip_expired: true,
        ..OPTIONS
    };
    let mut reader = reader_from(&endpoint, options, stopped());
    let notices = read(&mut reader).await.unwrap();
    let lost = Notice::RecordsLost {
        shard: "a".to_owned(),
        after: Some("3".to_owned()),
    };
    assert!(notices.contains(&lost), "{notices:?}");
    assert_eq!(delivered(&mut reader), [of("a", &[7, 8])]);
}

#[tokio::test]
async fn a_stream_that_does_not_answer_for_a_while_is_asked_again_and_loses_nothing() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1, 2])]).await;
    for operation in ["DescribeStream", "GetShardIterator", "GetRecords"] {
        endpoint.script().refusals.push_back((operation, "InternalServerError"));
    }
    let mut reader = reader(&endpoint, OPTIONS);
    let mut failures = 0;
    for _ in 0..40 {
        let turn = reader.turn().await.unwrap();
        failures += turn
            .notices
            .iter()
            .filter(|notice| matches!(notice, Notice::SourceFailed(_)))
            .count();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(failures, 3);
    assert_eq!(delivered(&mut reader), [of("a", &[1, 2])]);
}

#[tokio::test]
async fn a_shard_that_cannot_be_read_for_a_while_does_not_hold_up_the_others() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1]), open("b", None, &[2])]).await;
    for _ in 0..20 {
        let refusal = ("GetShardIterator a", "InternalServerError");
        endpoint.script().refusals.push_back(refusal);
    }
    let mut reader = reader(&endpoint, OPTIONS);
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("b", &[2])]);
    endpoint.script().refusals.clear();
    tokio::time::sleep(Duration::from_millis(500)).await;
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[1])]);
}

#[tokio::test]
async fn a_stream_that_is_not_there_ends_the_reading() {
    let endpoint = Endpoint::start(Vec::new()).await;
    endpoint
        .script()
        .refusals
        .push_back(("DescribeStream", "ResourceNotFoundException"));
    let error = reader(&endpoint, OPTIONS).turn().await.unwrap_err();
    assert_eq!(error.to_string(), "DescribeStream failed: ResourceNotFoundException");
}

#[tokio::test]
async fn beginning_with_the_latest_leaves_out_what_is_there_and_nothing_that_comes() {
    let endpoint = Endpoint::start(vec![closed("a", None, &[1]), open("b", Some("a"), &[2, 3])]).await;
    let options = Options {
        from_latest: true,
        ..OPTIONS
    };
    let mut reader = reader(&endpoint, options);
    reader.turn().await.unwrap();
    {
        let mut script = endpoint.script();
        script.shards[1].records.push(4);
        script.shards[1].is_closed = true;
        script.shards.push(open("c", Some("b"), &[5]));
    }
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("b", &[4]), of("c", &[5])]);
}

#[tokio::test]
async fn beginning_with_the_latest_stays_so_when_the_stream_does_not_answer_at_first() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1, 2])]).await;
    endpoint
        .script()
        .refusals
        .push_back(("GetShardIterator", "InternalServerError"));
    let options = Options {
        from_latest: true,
        ..OPTIONS
    };
    let mut reader = reader(&endpoint, options);
    reader.turn().await.unwrap();
    tokio::time::sleep(Duration::from_millis(250)).await;
    reader.turn().await.unwrap();
    endpoint.script().shards[0].records.push(3);
    read(&mut reader).await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[3])]);
}

#[tokio::test]
async fn a_batch_waits_for_more_as_long_as_its_window() {
    let endpoint = Endpoint::start(vec![open("a", None, &[1])]).await;
    let limits = Limits {
        size: 3,
        window: Duration::from_millis(500),
    };
    let mut reader = reader(&endpoint, Options { limits, ..OPTIONS });
    assert_eq!(reader.turn().await.unwrap().waiting, 1);
    endpoint.script().shards[0].records.push(2);
    reader.turn().await.unwrap();
    assert_eq!(delivered(&mut reader), []);
    tokio::time::sleep(limits.window).await;
    reader.turn().await.unwrap();
    assert_eq!(delivered(&mut reader), [of("a", &[1, 2])]);
}

#[tokio::test]
async fn another_process_goes_on_behind_the_checkpoints_of_the_first() {
    let folder = folder("file");
    let path = folder.join("checkpoints.json");
    let endpoint = Endpoint::start(vec![closed("a", None, &[1, 2]), open("b", Some("a"), &[3])]).await;
    let mut first = reader_from(&endpoint, OPTIONS, Checkpoints::in_file(ARN, path.clone()).unwrap());
    read(&mut first).await.unwrap();
    assert_eq!(delivered(&mut first), [of("a", &[1, 2]), of("b", &[3])]);
    endpoint.script().shards[1].records.push(4);
    let mut second = reader_from(&endpoint, OPTIONS, Checkpoints::in_file(ARN, path.clone()).unwrap());
    read(&mut second).await.unwrap();
    assert_eq!(delivered(&mut second), [of("b", &[4])]);
    let other = Checkpoints::in_file("another stream", path.clone()).unwrap_err();
    assert!(matches!(other, CheckpointError::OtherStream { .. }), "{other}");
    std::fs::write(&path, "{").unwrap();
    let spoilt = Checkpoints::in_file(ARN, path).unwrap_err();
    assert!(matches!(spoilt, CheckpointError::Unreadable { .. }), "{spoilt}");
    std::fs::remove_dir_all(folder).unwrap();
}
