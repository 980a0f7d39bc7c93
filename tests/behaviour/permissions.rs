//! The role's policy against everything that the function asks of its table and its archive, over every conformance
//! batch and every captured event: nothing is refused, and nothing is allowed that nobody needs.
//!
//! Beside these, every scene of the other tests refuses requests that the policy would refuse.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::config::{FunctionSettings, Settings};
use limiter_aggregator::engine::{Engine, client, create_table, put_items};
use limiter_aggregator::item::Item;
use limiter_aggregator::lambda::Function;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::support::captures::Capture;
use crate::support::object_store::{BUCKET, ObjectStore};
use crate::support::policy::{Grant, Need, archive_grants, is_like, item_grants, needs_of};
use crate::support::proxy::{Proxy, Recorded};

/// Batches are shared out among so many runtimes, each with an engine of its own.
const RUNTIMES: usize = 4;
#[derive(Deserialize)]
struct Batch {
    now_ms: i64,
    event: Box<RawValue>,
    before: Vec<Item>,
}

#[test]
fn the_role_may_do_what_is_asked_of_the_table_and_nothing_else() {
    let requests = recorded_requests();
    assert!(requests.len() > 1000, "only {} requests", requests.len());
    let needs = requests
        .iter()
        .flat_map(|request| needs_of(&request.operation, &request.body))
        .collect();
    assert_equal(&item_grants("policy.json"), &needs);
    // The archive needs nothing more of the table.
    assert_eq!(item_grants("policy.json"), item_grants("policy-archive.json"));
}

#[tokio::test]
async fn the_role_may_upload_what_is_archived_and_nothing_else() {
    let store = ObjectStore::start().await;
    store.proxy.record();
    let capture = Capture::read("audit-expired");
    let aggregator = Aggregator::new(MemoryTable::new(), Settings::default()).archiving_to(Some(store.archive()));
    let budget = Budget::unlimited();
    let done = aggregator.handle(&capture.event, capture.now, &budget, &Unseen);
    assert_eq!(done.await.unwrap(), BatchOutcome::Complete);
    let uploads = store.proxy.recorded();
    let needs: BTreeSet<Need> = uploads.iter().map(upload_need).collect();
    assert_equal(&archive_grants(), &needs);
}

/// Both ways.
fn assert_equal(grants: &BTreeSet<Grant>, needs: &BTreeSet<Need>) {
    assert!(!grants.is_empty() && !needs.is_empty());
    let refused: Vec<&Need> = needs
        .iter()
        .filter(|need| !grants.iter().any(|grant| grant.allows(need)))
        .collect();
    assert!(refused.is_empty(), "the policy refuses {refused:?}");
    let idle: Vec<&Grant> = grants
        .iter()
        .filter(|grant| !needs.iter().any(|need| grant.allows(need)))
        .collect();
    assert!(idle.is_empty(), "nothing needs {idle:?}");
}

#[test]
fn requests_leave_from_the_table_and_the_archive_and_from_nowhere_else() {
    let calling = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        [".send()", ".send_with(", "aws_sdk_s3", "aws_sdk_sts"]
            .iter()
            .any(|call| product.contains(call))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let calls: BTreeSet<String> = sources(&root)
        .iter()
        .filter(|path| calling(path))
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .collect();
    // The engine, the reader of streams and the replay program are no part of the Lambda build.
    let elsewhere = |path: &String| {
        ["engine", "stream", "bin/replay"]
            .iter()
            .any(|part| path.starts_with(part))
    };
    let (others, product): (Vec<_>, Vec<_>) = calls.into_iter().partition(elsewhere);
    assert!(!others.is_empty());
    assert_eq!(product, ["archive/s3.rs", "table/dynamodb.rs"]);
}

#[test]
fn a_partition_is_compared_as_iam_does() {
    for (pattern, text, expected) in [
        ("*/BUCKET#*", "ns/BUCKET#e#r#0", true),
        ("*/BUCKET#*", "ns/ENTITY#a/BUCKET", false),
        ("*/BUCKET#*", "BUCKET#e", false),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*", "", true),
    ] {
        assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
    }
}

/// Every request that a function's start, the captured events and the conformance batches lead to.
fn recorded_requests() -> Vec<Recorded> {
    let batches: Vec<Batch> = conformance_batches().into_iter().chain(captured_batches()).collect();
    let share = batches.len().div_ceil(RUNTIMES);
    std::thread::scope(|scope| {
        let workers: Vec<_> = batches
            .chunks(share)
            .map(|share| scope.spawn(|| requests_of(share)))
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[tokio::main(flavor = "current_thread")]
async fn requests_of(batches: &[Batch]) -> Vec<Recorded> {
    let engine = Engine::start().await.unwrap();
    let proxy = Proxy::start(engine.address()).await;
    proxy.record();
    for (at, batch) in batches.iter().enumerate() {
        let name = format!("batch-{at}");
        create_table(&engine.client(), &name).await.unwrap();
        put_items(&engine.client(), &name, &batch.before).await.unwrap();
        let table = DynamoDbTable::new(client(&proxy.endpoint_url()), name);
        if at == 0 {
            function(table.clone()).warm_up().await;
        }
        let aggregator = Aggregator::new(table, Settings::default());
        let (now, budget) = (EpochMillis(batch.now_ms), Budget::unlimited());
        aggregator
            .handle(batch.event.get(), now, &budget, &Unseen)
            .await
            .unwrap();
    }
    proxy.recorded()
}

/// A function as Lambda starts it.
fn function(table: DynamoDbTable) -> Function<DynamoDbTable> {
    let settings = FunctionSettings::from_lookup(&|variable: &str| {
        let set = variable == "TABLE_NAME" || variable.starts_with("AWS_LAMBDA_");
        set.then(|| "batch-0".into())
    });
    Function::new(table, settings.unwrap())
}

/// Every conformance vector that ends at the table.
fn conformance_batches() -> Vec<Batch> {
    let files = ["refills.jsonl", "batches.jsonl"];
    let texts = files.map(|file| fs::read_to_string(in_project("tests/conformance").join(file)).unwrap());
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn captured_batches() -> Vec<Batch> {
    let batch = |capture: Capture| Batch {
        now_ms: capture.now.0,
        event: RawValue::from_string(capture.event.trim().to_owned()).unwrap(),
        before: capture.items,
    };
    Capture::all().into_iter().map(batch).collect()
}

/// What an upload needs: S3's action on the object.
fn upload_need(request: &Recorded) -> Need {
    assert_eq!(request.operation, "PutObject");
    let key = request.path.strip_prefix(&format!("/{BUCKET}/")).unwrap();
    ("PutObject".to_owned(), key.replace("%3D", "="))
}

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let each = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = entries.flat_map(each).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

struct Unseen;

impl Observer for Unseen {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, _reason: &SkippedInput) {}
    fn step(&self, _group: &Group<'_>, _step: &Step<'_>) {}
}
