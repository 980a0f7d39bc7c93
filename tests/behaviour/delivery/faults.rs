//! Every fault at every call of a delivery, through the SDK and the wire: after Lambda's redelivery the table is what
//! it would have been, but for what is dropped by design: refills, doublings, creations.

use std::collections::{BTreeMap, BTreeSet};

use limiter_aggregator::aggregate::Budget;
use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use serde_json::Value;

use super::source::deliver;
use super::{Nobody, aggregator};
use crate::support::captures::Capture;
use crate::support::proxy::{Answer, Recorded, Step};
use crate::support::scene::Scene;

type Items = BTreeMap<ItemKey, Item>;

/// Faults that the next attempt of the same request may not meet again.
fn faults() -> Vec<(&'static str, Step)> {
    vec![
        ("throughput exceeded", Step::Answer(Answer::throughput_exceeded())),
        (
            "throttled",
            Step::Answer(Answer::throttling(&["TableWriteKeyRangeThroughputExceeded"])),
        ),
        ("request limit", Step::Answer(Answer::request_limit_exceeded())),
        ("conflict", Step::Answer(Answer::transaction_conflict())),
        ("server error", Step::Answer(Answer::internal_server_error())),
        (
            "server error after the write",
            Step::AnswerAfter(Answer::internal_server_error()),
        ),
        ("unavailable", Step::Answer(Answer::unavailable())),
        ("unknown", Step::Answer(Answer::unknown_error("NewException"))),
        ("access denied", Step::Answer(Answer::access_denied())),
        (
            "access denied after the write",
            Step::AnswerAfter(Answer::access_denied()),
        ),
        ("no table", Step::Answer(Answer::resource_not_found())),
        ("expired", Step::Answer(Answer::expired_token())),
        ("no JSON", Step::Answer(Answer::success("no JSON"))),
        ("no JSON after the write", Step::AnswerAfter(Answer::success("no JSON"))),
        (
            "cancelled without reasons",
            Step::Answer(Answer::cancelled_without_reasons()),
        ),
        ("reset", Step::ResetBefore),
        ("reset after the write", Step::ResetAfter),
        ("closed", Step::CloseBefore),
        ("kept back", Step::keep_back_all()),
    ]
}

/// How long a fault stays.
#[derive(Clone, Copy, Debug)]
enum Stay {
    /// One attempt meets it.
    OneAttempt,
    /// Every attempt of the one request meets it, until the batch is answered.
    OneRequest,
    /// Every request from there on meets it, until the batch is answered.
    Outage,
}

/// What a delivery without faults does.
struct Clean {
    calls: Vec<Recorded>,
    before: Items,
    after: Items,
}

async fn clean_run(capture: &Capture) -> Clean {
    let scene = Scene::with(&capture.items).await;
    let before = scene.items().await;
    scene.proxy.record();
    let deliveries = run(&scene, capture).await;
    assert_eq!(deliveries, 1);
    Clean {
        calls: scene.proxy.recorded(),
        before,
        after: scene.items().await,
    }
}

/// Delivers until done; faults end with the first answer.
async fn run(scene: &Scene, capture: &Capture) -> usize {
    let aggregator = aggregator(scene.table());
    let records = capture.records();
    let end_of_faults = || scene.proxy.pass_all();
    let delivered = deliver(
        &aggregator,
        &records,
        capture.now,
        Budget::unlimited,
        5,
        &Nobody,
        end_of_faults,
    );
    delivered.await.batches
}

async fn run_with(capture: &Capture, call: &Recorded, nth: usize, fault: &Step, stay: Stay) -> (usize, Items) {
    let scene = Scene::with(&capture.items).await;
    let (fault, body) = (fault.clone(), call.body.clone());
    // Each logical call before this one is one request: the first `nth` requests pass.
    scene.proxy.script(move |request| {
        let meets = match stay {
            Stay::OneAttempt => request.overall == nth + 1,
            Stay::OneRequest => request.overall > nth && request.body == body,
            Stay::Outage => request.overall > nth,
        };
        match &fault {
            Step::KeepBack(_) if request.operation != "BatchGetItem" => Step::Pass,
            fault if meets => fault.clone(),
            _ => Step::Pass,
        }
    });
    let deliveries = run(&scene, capture).await;
    (deliveries, scene.items().await)
}

/// Items that a call alone would change and that no redelivery is asked for.
fn dropped(call: &Recorded) -> BTreeSet<ItemKey> {
    let body: Value = serde_json::from_slice(&call.body).unwrap();
    let key = |item: &Value| ItemKey {
        pk: item["PK"]["S"].as_str().unwrap().to_owned(),
        sk: item["SK"]["S"].as_str().unwrap().to_owned(),
    };
    match call.operation.as_str() {
        "TransactWriteItems" => {
            let members = body["TransactItems"].as_array().unwrap().iter();
            let changed = members.filter_map(|member| match (member["Put"]["Item"].as_object(), &member["Update"]) {
                (Some(_), _) => Some(key(&member["Put"]["Item"])),
                (None, update) => update["Key"].is_object().then(|| key(&update["Key"])),
            });
            changed.collect()
        }
        // A refill has to do with `rf`, as has a window's start, which alone sets `wtc`; a doubling sets nothing but the
        // count and is told from a raise by its shard.
        "UpdateItem" => {
            let names = body["ExpressionAttributeNames"].to_string();
            let key = key(&body["Key"]);
            let refills = key.sk == "#STATE" && names.contains("\"rf\"") && !names.contains("_wtc\"");
            let doubles = key.sk == "#STATE" && key.pk.ends_with("#0") && names.contains("\"shard_count\"");
            if refills || doubles {
                [key].into()
            } else {
                BTreeSet::new()
            }
        }
        _ => BTreeSet::new(),
    }
}

/// The table is the clean run's, except that what dropped work would have changed may be as it was before.
fn assert_nothing_lost(found: &Items, clean: &Clean, may_miss: &BTreeSet<ItemKey>, case: &str) {
    let keys: BTreeSet<_> = found.keys().chain(clean.after.keys()).collect();
    for key in keys {
        let (found, after, before) = (found.get(key), clean.after.get(key), clean.before.get(key));
        let missing = found == before || found.zip(before).zip(after).is_some_and(lies_between);
        let is_missing = may_miss.contains(key) && missing;
        assert!(
            found == after || is_missing,
            "{case}: {key:?} is {found:?}, not {after:?}"
        );
    }
}

/// Whether each attribute is as in the clean run or as before it.
fn lies_between(((found, before), after): ((&Item, &Item), &Item)) -> bool {
    let names: BTreeSet<_> = found.keys().chain(after.keys()).collect();
    let is_known = |name: &&String| found.get(*name) == after.get(*name) || found.get(*name) == before.get(*name);
    names.iter().all(is_known)
}

async fn every_fault_at_every_call(name: &str, stays: &[Stay]) {
    let capture = Capture::read(name);
    let clean = clean_run(&capture).await;
    assert!(clean.calls.len() >= 3, "{name} is worth it");
    for (nth, call) in clean.calls.iter().enumerate() {
        // Only a batch can be answered in part.
        let apply = |fault: &&(_, Step)| !matches!(fault.1, Step::KeepBack(_)) || call.operation == "BatchGetItem";
        for (fault_name, fault) in faults().iter().filter(apply) {
            for stay in stays {
                let may_miss: BTreeSet<ItemKey> = match stay {
                    Stay::OneAttempt | Stay::OneRequest => dropped(call),
                    Stay::Outage => clean.calls[nth..].iter().flat_map(dropped).collect(),
                };
                let (_, found) = run_with(&capture, call, nth, fault, *stay).await;
                let case = format!("{name}, call {nth} ({}), {fault_name}, {stay:?}", call.operation);
                assert_nothing_lost(&found, &clean, &may_miss, &case);
            }
        }
    }
}

#[tokio::test]
async fn hot_drip() {
    every_fault_at_every_call("hot-drip", &[Stay::OneAttempt, Stay::OneRequest, Stay::Outage]).await;
}

#[tokio::test]
async fn quota_doubling() {
    every_fault_at_every_call("quota-doubling-2-4", &[Stay::OneAttempt, Stay::OneRequest]).await;
}

#[tokio::test]
async fn session_rollover() {
    every_fault_at_every_call("session-rollover", &[Stay::OneAttempt, Stay::OneRequest, Stay::Outage]).await;
}

#[tokio::test]
async fn session_rollover_with_a_lost_fan_out() {
    every_fault_at_every_call(
        "session-rollover-lost-fanout",
        &[Stay::OneAttempt, Stay::OneRequest, Stay::Outage],
    )
    .await;
}
