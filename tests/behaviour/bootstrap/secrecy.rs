//! No entity id in anything that the program writes or sends, except to the table (03-delivery, Logs and metrics).

use std::time::Duration;

use super::{AMPLE, Stage};
use crate::support::captures::{Capture, event_of};
use crate::support::faults::every_fault;
use crate::support::proxy::Step;

const CANARY: &str = "sk-CANARY-7f3a";
/// Part of it, as a cut or escaped text would still show it.
const TRACE_OF_IT: &str = "CANARY";

async fn assert_silent(stage: Stage) {
    stage.lambda.terminate();
    let (status, output) = stage.lambda.ended().await;
    assert_eq!(status.code(), Some(0));
    let sent = stage.api.received();
    assert!(output.contains("\"batch\"") && !sent.is_empty());
    for line in output.lines().chain(sent.lines()) {
        assert!(!line.contains(TRACE_OF_IT), "{line}");
    }
}

#[tokio::test]
async fn every_event_and_every_failure_at_the_finest_log_level() {
    for capture in Capture::all() {
        let capture = capture.with_entity(CANARY);
        let stage = Stage::on(&capture, &[("RUST_LOG", "trace")]).await;
        for fault in [None].into_iter().chain(every_fault(CANARY).into_iter().map(Some)) {
            match fault {
                None => stage.scene.proxy.pass_all(),
                Some(fault) => stage.scene.proxy.script(move |_| fault.clone()),
            }
            stage.invoke(&capture.event, AMPLE).await;
        }
        assert_silent(stage).await;
    }
}

#[tokio::test]
async fn a_deadline_and_a_dry_run() {
    let capture = Capture::read("quota-doubling-2-4").with_entity(CANARY);
    for variables in [
        &[("RUST_LOG", "trace")][..],
        &[("RUST_LOG", "trace"), ("DRY_RUN", "true")][..],
    ] {
        let stage = Stage::on(&capture, variables).await;
        stage.scene.proxy.script(|_| Step::Stall);
        stage.invoke(&capture.event, Duration::from_millis(600)).await;
        assert_silent(stage).await;
    }
}

#[tokio::test]
async fn records_and_events_that_nobody_can_read() {
    let capture = Capture::read("hot-drip").with_entity(CANARY);
    let stage = Stage::on(&capture, &[("RUST_LOG", "trace")]).await;
    let record = capture.records().remove(0);
    for pointer in [
        "/eventID",
        "/eventName",
        "/dynamodb",
        "/eventSourceARN",
        "/dynamodb/SequenceNumber",
        "/dynamodb/StreamViewType",
        "/dynamodb/NewImage",
        "/dynamodb/OldImage",
        "/dynamodb/NewImage/PK",
        "/dynamodb/NewImage/PK/S",
        "/dynamodb/NewImage/shard_count",
        "/dynamodb/NewImage/rf",
    ] {
        for odd in [
            CANARY.into(),
            serde_json::json!({ CANARY: CANARY }),
            serde_json::json!([CANARY]),
            7.into(),
        ] {
            let mut broken = record.clone();
            let Some(place) = broken.pointer_mut(pointer) else {
                continue;
            };
            *place = odd;
            stage.invoke(&event_of(&[broken]), AMPLE).await;
        }
    }
    for text in [format!("\"{CANARY}\""), format!("{{\"Records\":\"{CANARY}\"}}")] {
        stage.invoke(&text, AMPLE).await;
    }
    // No JSON at all, which the runtime client refuses on its own.
    stage.api.invoke(&format!("{{\"Records\":{CANARY}}}"), AMPLE).await;
    assert_silent(stage).await;
}
