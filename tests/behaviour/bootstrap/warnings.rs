//! Trouble is said once per kind and batch, and measured.

use serde_json::Value;

use super::{AMPLE, Stage, of_message};
use crate::support::captures::{Capture, event_of};

fn metrics(lines: &[Value]) -> &Value {
    lines.iter().rfind(|line| line["_aws"].is_object()).unwrap()
}

/// The capture's records over and over, each with an event id of its own.
fn many(capture: &Capture, count: usize) -> Vec<Value> {
    let mut records: Vec<_> = capture.records().into_iter().cycle().take(count).collect();
    for (place, record) in records.iter_mut().enumerate() {
        record["eventID"] = format!("id-{place:03}").into();
    }
    records
}

#[tokio::test]
async fn one_bad_record_among_a_hundred_is_named_once() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    let mut records = many(&capture, 100);
    records[42]["dynamodb"]["NewImage"]["PK"] = 7.into();
    assert!(stage.invoke(&event_of(&records), AMPLE).await.failures().is_empty());
    assert_eq!(stage.lambda.output().matches("id-042").count(), 1);
    let lines = stage.lambda.lines();
    let [warning] = of_message(&lines, "records left out as unreadable")[..] else {
        panic!("one warning")
    };
    assert_eq!((&warning["count"], &warning["events"]), (&1.into(), &"id-042".into()));
    assert!(warning["detail"].as_str().unwrap().contains("unexpected shape"));
    assert_eq!(metrics(&lines)["UnreadableRecords"], 1);
    assert_eq!(metrics(&lines)["Snapshots"], 2, "the other 99 were counted");
}

#[tokio::test]
async fn a_hundred_bad_records_are_one_line() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    let mut records = many(&capture, 100);
    records
        .iter_mut()
        .for_each(|record| record["eventName"] = "UPSERT".into());
    assert!(stage.invoke(&event_of(&records), AMPLE).await.failures().is_empty());
    let lines = stage.lambda.lines();
    let [warning] = of_message(&lines, "records left out as unreadable")[..] else {
        panic!("one warning")
    };
    assert_eq!(warning["count"], 100);
    assert_eq!(metrics(&lines)["UnreadableRecords"], 100);
}

#[tokio::test]
async fn a_stream_of_another_view_type_is_warned_about_once_and_measured() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    for (view, gone, message) in [
        (
            "KEYS_ONLY",
            &["OldImage", "NewImage"][..],
            "the stream's view type is KEYS_ONLY",
        ),
        ("NEW_IMAGE", &["OldImage"], "the stream's view type is NEW_IMAGE"),
        ("OLD_IMAGE", &["NewImage"], "the stream's view type is OLD_IMAGE"),
        (
            "NEW_AND_OLD_IMAGES",
            &["OldImage"],
            "an image is missing although the view type is NEW_AND_OLD_IMAGES",
        ),
    ] {
        let mut records = many(&capture, 50);
        for record in &mut records {
            let change = record["dynamodb"].as_object_mut().unwrap();
            change.insert("StreamViewType".to_owned(), view.into());
            gone.iter().for_each(|image| drop(change.remove(*image)));
        }
        assert!(stage.invoke(&event_of(&records), AMPLE).await.failures().is_empty());
        let lines = stage.lambda.lines();
        let warnings = of_message(&lines, "records without the images needed");
        let of_view: Vec<_> = warnings.into_iter().filter(|line| line["detail"] == message).collect();
        assert_eq!(of_view.len(), 1, "{view}");
        assert_eq!(of_view[0]["count"], 50);
        assert_eq!(metrics(&lines)["MissingImages"], 50);
    }
}

#[tokio::test]
async fn a_bucket_has_one_name_wherever_the_key_is() {
    let capture = Capture::read("hot-drip");
    let mut names = Vec::new();
    for key in ["one key", "one key", "another", "", ""] {
        let stage = Stage::on(
            &capture,
            &[("LOG_HASH_KEY", key), ("RUST_LOG", "limiter_aggregator=debug")],
        )
        .await;
        stage.invoke(&capture.event, AMPLE).await;
        let lines = stage.lambda.lines();
        let decided = of_message(&lines, "decided")
            .into_iter()
            .find(|line| line["rule"] == "refill")
            .unwrap();
        names.push(decided["bucket"].as_str().unwrap().to_owned());
    }
    assert_eq!(names[0], names[1]);
    let different: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), 4, "{names:?}");
}

#[tokio::test]
async fn a_level_above_info_leaves_metrics_and_the_request_id() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[("AWS_LAMBDA_LOG_LEVEL", "WARN")]).await;
    let mut records = capture.records();
    records[0]["eventName"] = "UPSERT".into();
    stage.invoke(&event_of(&records), AMPLE).await;
    let lines = stage.lambda.lines();
    assert!(of_message(&lines, "batch").is_empty());
    assert_eq!(metrics(&lines)["Records"], 61);
    let warning = of_message(&lines, "records left out as unreadable")[0];
    assert_eq!(warning["span"]["requestId"], "request-1");
}
