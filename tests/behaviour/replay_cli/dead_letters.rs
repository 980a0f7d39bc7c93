//! `replay dlq` on the table and the stream of a `replay serve`.

use std::io::Write;
use std::process::Stdio;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use limiter_aggregator::engine;
use limiter_aggregator::stream::lambda_event;
use serde_json::{Value, json};

use crate::support::streams::streams_client;

use super::serving::{Served, serve};
use super::{CANARY, Folder, Ran, program, ran, replay};

const WINDOWS: (&str, &str) = ("SNAPSHOT_WINDOWS", "daily");

/// A table on which one bucket was used, a token at a time, and where its records are.
struct Used {
    served: Served,
    client: aws_sdk_dynamodb::Client,
    records: Vec<Record>,
    stream: String,
    shard: String,
}

impl Used {
    async fn times(folder: &Folder, times: usize) -> Self {
        let mut item = json!({
            "PK": { "S": format!("ns/BUCKET#{CANARY}#api#0") }, "SK": { "S": "#STATE" },
            "entity_id": { "S": CANARY }, "resource": { "S": "api" },
        });
        for (name, value) in [
            ("rf", 1_796_000_000_000_i64),
            ("shard_count", 1),
            ("b_rpm_tk", 900_000),
            ("b_rpm_cp", 1_000_000),
            ("b_rpm_ra", 1_000_000),
            ("b_rpm_rp", 60_000),
            ("b_rpm_tc", 0),
        ] {
            item[name] = json!({ "N": value.to_string() });
        }
        let items = folder.write("items.json", json!([item]).to_string());
        let served = serve(&["--items", &items]);
        let client = engine::client(&served.endpoint);
        for _ in 0..times {
            let spend = client.update_item().table_name(&served.table);
            spend
                .key("PK", AttributeValue::S(format!("ns/BUCKET#{CANARY}#api#0")))
                .key("SK", AttributeValue::S("#STATE".to_owned()))
                .update_expression("ADD b_rpm_tk :out, b_rpm_tc :in")
                .expression_attribute_values(":out", AttributeValue::N("-1000".to_owned()))
                .expression_attribute_values(":in", AttributeValue::N("1000".to_owned()))
                .send()
                .await
                .unwrap();
        }
        let described = client.describe_table().table_name(&served.table).send().await.unwrap();
        let stream = described.table.unwrap().latest_stream_arn.unwrap();
        let streams = streams_client(&served.endpoint);
        let shards = streams.describe_stream().stream_arn(&stream).send().await.unwrap();
        let shard = shards
            .stream_description
            .unwrap()
            .shards
            .unwrap()
            .remove(0)
            .shard_id
            .unwrap();
        let iterator = streams
            .get_shard_iterator()
            .stream_arn(&stream)
            .shard_id(&shard)
            .shard_iterator_type(ShardIteratorType::TrimHorizon)
            .send()
            .await
            .unwrap();
        let page = streams
            .get_records()
            .set_shard_iterator(iterator.shard_iterator)
            .send()
            .await
            .unwrap();
        // The first is the item's own insertion, which used nothing.
        let records = page.records.unwrap().split_off(1);
        assert_eq!(records.len(), times);
        Self {
            served,
            client,
            records,
            stream,
            shard,
        }
    }

    fn number(&self, at: usize) -> &str {
        self.records[at].dynamodb().unwrap().sequence_number().unwrap()
    }

    /// What a queue is told of these records.
    fn message(&self, first: usize, last: usize) -> Value {
        json!({
            "requestContext": { "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 3 },
            "version": "1.0",
            "DDBStreamBatchInfo": {
                "shardId": self.shard, "startSequenceNumber": self.number(first), "endSequenceNumber": self.number(last),
                "batchSize": last - first + 1, "streamArn": self.stream,
            },
        })
    }

    /// What a bucket is given.
    fn object(&self, first: usize, last: usize) -> Value {
        let mut object = self.message(first, last);
        object["payload"] = lambda_event(&self.records[first..=last], &self.stream).into();
        object
    }

    /// Runs the program on a file with this content.
    fn run(&self, folder: &Folder, content: &str, more: &[&str]) -> Ran {
        let file = folder.write("dlq.json", content);
        let command = [
            "dlq",
            &file,
            "--endpoint-url",
            &self.served.endpoint,
            "--table",
            &self.served.table,
        ];
        let mut program = program();
        program.env(WINDOWS.0, WINDOWS.1).args(command).args(more);
        ran(program.output().unwrap())
    }

    /// Delivers records as the stream would.
    fn deliver(&self, folder: &Folder, first: usize, last: usize) {
        let event = folder.write("event.json", lambda_event(&self.records[first..=last], &self.stream));
        let command = [
            &event,
            "--endpoint-url",
            &self.served.endpoint,
            "--table",
            &self.served.table,
        ];
        let delivered = ran(program().env(WINDOWS.0, WINDOWS.1).args(command).output().unwrap());
        assert_eq!(delivered.code, Some(0), "{}", delivered.err);
    }

    /// Tokens in the day's snapshot.
    async fn counted(&self) -> i64 {
        let items = engine::scan_items(&self.client, &self.served.table).await.unwrap();
        let usage = items.iter().filter_map(|item| {
            let item = serde_json::to_value(item).unwrap();
            item["window"]
                .is_object()
                .then(|| item["rpm"]["N"].as_str().unwrap().parse::<i64>().unwrap())
        });
        usage.sum()
    }
}

fn verdicts(ran: &Ran) -> Vec<(String, i64)> {
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let usage = lines.filter(|line| line["rule"] == "usage");
    usage
        .map(|line| {
            (
                line["verdict"].as_str().unwrap().to_owned(),
                line["tokens"]["rpm"].as_i64().unwrap_or_default(),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_range_is_read_from_the_stream_shown_and_counted_on_request_once() {
    let folder = Folder::new();
    let used = Used::times(&folder, 5).await;
    used.deliver(&folder, 3, 4);
    let message = used.message(0, 2).to_string();
    let shown = used.run(&folder, &message, &[]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(1), ""), "{}", shown.out);
    for words in [
        "3 records",
        "rpm +3",
        "NOT COUNTED",
        "--count-anyway",
        "read from the stream",
    ] {
        assert!(shown.out.contains(words), "{words} is missing in\n{}", shown.out);
    }
    assert!(!shown.out.contains(CANARY));
    assert_eq!(used.counted().await, 2);
    let counted = used.run(&folder, &message, &["--count-anyway", "--json"]);
    assert_eq!(counted.code, Some(0), "{}", counted.err);
    assert_eq!(verdicts(&counted), [("counted_anyway".to_owned(), 3)]);
    assert_eq!(used.counted().await, 5);
    // The same again, and the same range in the other form.
    for content in [message, used.object(0, 2).to_string()] {
        let again = used.run(&folder, &content, &["--count-anyway", "--json"]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        assert_eq!(verdicts(&again), [("redriven_before".to_owned(), 3)]);
    }
    assert_eq!(used.counted().await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_batch_is_worked_on_as_it_is_and_every_other_rule_runs() {
    let folder = Folder::new();
    let used = Used::times(&folder, 3).await;
    let several = format!("{}\n{}\n", used.object(0, 1), used.message(2, 2));
    let done = used.run(&folder, &several, &[]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    assert!(done.out.contains("refill"), "{}", done.out);
    assert!(
        done.out.contains("event 2") && done.out.contains("rpm +2"),
        "{}",
        done.out
    );
    assert_eq!(used.counted().await, 3);
    let names = used.run(&folder, &several, &["--show-ids"]);
    assert!(names.out.contains(CANARY));
}

#[tokio::test(flavor = "multi_thread")]
async fn overtaken_usage_is_counted_bucket_by_bucket_by_the_name_that_is_shown() {
    let folder = Folder::new();
    let used = Used::times(&folder, 3).await;
    used.deliver(&folder, 2, 2);
    let object = used.object(0, 1).to_string();
    let name = format!("ns/{CANARY}/api");
    let other = used.run(&folder, &object, &["--count-anyway", "--bucket", "9f2c01ab34de"]);
    assert_eq!(other.code, Some(2));
    assert!(other.err.contains("no usage of a bucket 9f2c01ab34de"), "{}", other.err);
    assert_eq!(used.counted().await, 1);
    let one = used.run(&folder, &object, &["--count-anyway", "--show-ids", "--bucket", &name]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    assert_eq!(used.counted().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_the_stream_does_not_hold_is_an_error_and_the_others_are_done() {
    let folder = Folder::new();
    let used = Used::times(&folder, 2).await;
    let mut gone = used.message(0, 0);
    gone["DDBStreamBatchInfo"]["shardId"] = "shardId-gone".into();
    let done = used.run(&folder, &format!("{gone}\n{}", used.message(1, 1)), &[]);
    assert_eq!(done.code, Some(2));
    let place = format!("shard shardId-gone, {} to", used.number(0));
    assert!(
        done.err.contains("record 1") && done.err.contains(&place),
        "{}",
        done.err
    );
    assert_eq!(used.counted().await, 1);
    // Lambda says how many there were.
    let mut more = used.message(0, 0);
    more["DDBStreamBatchInfo"]["batchSize"] = 4.into();
    let fewer = used.run(&folder, &more.to_string(), &[]);
    assert_eq!(fewer.code, Some(2));
    assert!(fewer.err.contains("holds 1 of 4 records"), "{}", fewer.err);
    assert_eq!(used.counted().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tables_records_and_what_holds_none_are_refused() {
    let folder = Folder::new();
    let used = Used::times(&folder, 1).await;
    for form in [used.message(0, 0), used.object(0, 0)] {
        let elsewhere = form.to_string().replace(":table/rate-limits", ":table/other");
        let refused = used.run(&folder, &elsewhere, &[]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.err.contains("of table other"), "{}", refused.err);
    }
    let mut empty = used.object(0, 0);
    empty["payload"] = "{\"Records\":[]}".into();
    for (content, words) in [
        (empty.to_string(), "the payload holds no records"),
        ("{}".to_owned(), "neither payload nor DDBStreamBatchInfo"),
        (format!("{} 17", used.object(0, 0)), "record 2: no on-failure record"),
        (String::new(), "the file is empty"),
    ] {
        let refused = used.run(&folder, &content, &[]);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{content}");
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    assert_eq!(used.counted().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_table_what_would_be_done_is_shown_for_whole_batches_only() {
    let folder = Folder::new();
    let used = Used::times(&folder, 2).await;
    let mut child = program()
        .args(["dlq", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(used.object(0, 1).to_string().as_bytes())
        .unwrap();
    let shown = ran(child.wait_with_output().unwrap());
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    assert!(shown.out.contains("rpm +2"), "{}", shown.out);
    let path = folder.write("message.json", used.message(0, 1).to_string());
    let refused = replay(["dlq", &path]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--table"), "{}", refused.err);
}
