//! From init to SIGTERM.

use std::time::Duration;

use serde_json::Value;

use super::{AMPLE, Stage, of_message};
use crate::support::captures::Capture;
use crate::support::proxy::{Answer, Step};

#[tokio::test]
async fn an_event_is_worked_on_answered_summed_up_and_measured() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    let before = stage.scene.items().await;
    let answer = stage.invoke(&capture.event, AMPLE).await;
    assert!(answer.failures().is_empty());
    let after = stage.scene.items().await;
    assert_ne!(before, after);

    let lines = stage.lambda.lines();
    for line in &lines {
        let timestamp = line["timestamp"].as_str().unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(timestamp).is_ok(), "{line}");
        assert!(line["level"].is_string(), "{line}");
    }
    let [summary] = &of_message(&lines, "batch")[..] else {
        panic!("one summary: {lines:?}")
    };
    assert_eq!((&summary["records"], &summary["groups"]), (&61.into(), &1.into()));
    assert_eq!(
        (&summary["outcome"], &summary["refills"]),
        (&"complete".into(), &1.into())
    );
    assert_eq!(summary["snapshots"], 2);
    assert_eq!(summary["span"]["requestId"], "request-1");
    let metrics: Vec<_> = lines.iter().filter(|line| line["_aws"].is_object()).collect();
    let [metrics] = metrics[..] else {
        panic!("one line of metrics")
    };
    assert_eq!((&metrics["Records"], &metrics["Snapshots"]), (&61.into(), &2.into()));
    assert_eq!(metrics["Calls"], summary["calls"]);
    assert_eq!(
        (&metrics["FunctionName"], &metrics["requestId"]),
        (&"f".into(), &"request-1".into())
    );
}

#[tokio::test]
async fn sigterm_after_an_invocation_ends_with_success_and_the_last_line_is_written() {
    let capture = Capture::read("first-use");
    let stage = Stage::on(&capture, &[]).await;
    stage.invoke(&capture.event, AMPLE).await;
    stage.lambda.terminate();
    let (status, output) = stage.lambda.ended().await;
    assert_eq!(status.code(), Some(0), "{output}");
    let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(of_message(&lines, "batch").len(), 1);
    assert_eq!(lines.last().unwrap()["message"], "asked to end");
}

#[tokio::test]
async fn init_opens_the_connection_that_the_first_invocation_uses() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    assert_eq!((stage.scene.proxy.connections(), stage.scene.proxy.requests()), (1, 1));
    stage.invoke(&capture.event, AMPLE).await;
    assert_eq!(stage.scene.proxy.connections(), 1);
}

#[tokio::test]
async fn a_warm_up_that_fails_does_no_harm() {
    let capture = Capture::read("hot-drip");
    let scene = crate::support::scene::Scene::with(&capture.items).await;
    scene.proxy.on("BatchGetItem", [Step::Answer(Answer::access_denied())]);
    let api = crate::support::runtime_api::RuntimeApi::start().await;
    let lambda = crate::support::lambda::Lambda::start(&scene.proxy.endpoint_url(), &api, &[]);
    assert!(api.invoke(&capture.event, AMPLE).await.failures().is_empty());
    lambda.has_written("\"_aws\"", 1).await;
    assert_eq!(
        of_message(&lambda.lines(), "the first read failed")[0]["code"],
        "AccessDeniedException"
    );
}

#[tokio::test]
async fn what_is_no_event_fails_the_invocation_and_not_the_process() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    for text in ["[]", r#"{"detail":"scheduled"}"#, "17"] {
        let error = stage.invoke(text, AMPLE).await.result.unwrap_err();
        assert_eq!(error["errorType"], "NotAnEvent");
    }
    assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
}

#[tokio::test]
async fn a_service_that_fails_is_answered_with_the_sequence_number() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    stage
        .scene
        .proxy
        .always("UpdateItem", Step::Answer(Answer::access_denied()));
    let first = capture.records()[0]["dynamodb"]["SequenceNumber"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(stage.invoke(&capture.event, AMPLE).await.failures(), [first]);
    stage.scene.proxy.pass_all();
    assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
}

#[tokio::test]
async fn constant_throttling_is_answered_before_a_deadline_of_three_seconds() {
    let capture = Capture::read("quota-doubling-2-4");
    let stage = Stage::on(&capture, &[]).await;
    stage
        .scene
        .proxy
        .script(|_| Step::Answer(Answer::throughput_exceeded()));
    let limit = Duration::from_secs(3);
    let first = capture.records()[0]["dynamodb"]["SequenceNumber"]
        .as_str()
        .unwrap()
        .to_owned();
    for _ in 0..3 {
        let answer = stage.invoke(&capture.event, limit).await;
        assert_eq!(answer.failures(), std::slice::from_ref(&first));
        assert!(answer.took < limit, "{:?}", answer.took);
    }
}

#[tokio::test]
async fn silence_is_answered_before_a_deadline_of_three_seconds() {
    let capture = Capture::read("quota-doubling-2-4");
    let stage = Stage::on(&capture, &[]).await;
    stage.scene.proxy.script(|_| Step::Stall);
    let limit = Duration::from_secs(3);
    let first = capture.records()[0]["dynamodb"]["SequenceNumber"]
        .as_str()
        .unwrap()
        .to_owned();
    let answer = stage.invoke(&capture.event, limit).await;
    assert_eq!(answer.failures(), [first]);
    assert!(answer.took < limit, "{:?}", answer.took);
}

#[tokio::test]
async fn connections_that_died_while_the_process_was_frozen_are_replaced() {
    let capture = Capture::read("hot-drip");
    let stage = Stage::on(&capture, &[]).await;
    assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
    // A frozen process finds out only when it uses them.
    stage.scene.proxy.close_idle_connections();
    assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
    for step in [Step::CloseBefore, Step::ResetBefore, Step::ResetAfter] {
        stage.scene.proxy.next([step]);
        assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_says_what_it_would_have_written() {
    let capture = Capture::read("quota-doubling-2-4");
    let stage = Stage::on(&capture, &[("DRY_RUN", "true")]).await;
    let before = stage.scene.items().await;
    assert!(stage.invoke(&capture.event, AMPLE).await.failures().is_empty());
    assert_eq!(stage.scene.items().await, before);
    let operations: Vec<_> = stage.scene.proxy.counts().into_keys().collect();
    assert_eq!(operations, ["BatchGetItem"], "reads alone");
    let lines = stage.lambda.lines();
    let rules: std::collections::BTreeSet<_> = of_message(&lines, "would write")
        .iter()
        .map(|line| line["rule"].as_str().unwrap().to_owned())
        .collect();
    assert!(rules.contains("refill") && rules.contains("creation"), "{rules:?}");
    let summary = of_message(&lines, "batch")[0];
    assert_eq!(
        (&summary["dry_run"], &summary["shards_created"]),
        (&true.into(), &2.into())
    );
}
