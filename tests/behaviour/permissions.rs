//! The role's policy against what is asked of the table: nothing is refused, and nothing is allowed that nobody needs.
//!
//! The policy is the one of `deploy/policy.json`, which the deployment's tests keep equal to the template's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use limiter_aggregator::aggregate::{Aggregator, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::config::Settings;
use limiter_aggregator::engine::{Engine, client, create_table, put_items};
use limiter_aggregator::item::Item;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::units::EpochMillis;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::proxy::{Proxy, Recorded};

const TABLES_OF_ONE_ENGINE: usize = 64;

/// A permission that was needed: an action on a partition.
type Need = (String, String);

/// An action of the policy with one of the partitions it may be used on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    action: String,
    partitions: String,
}

impl Grant {
    fn allows(&self, (action, partition): &Need) -> bool {
        self.action == *action && is_like(&self.partitions, partition)
    }
}

#[derive(Deserialize)]
struct Batch {
    now_ms: i64,
    event: Box<RawValue>,
    before: Vec<Item>,
}

#[derive(Deserialize)]
struct Captured {
    now_ms: i64,
    items: Vec<Item>,
}

#[tokio::test]
async fn the_role_may_do_what_is_asked_of_the_table_and_nothing_else() {
    let grants = grants();
    let needs = needs(&recorded_requests().await);
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
fn requests_leave_from_the_table_and_from_nowhere_else() {
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
    assert_eq!(product, ["table/dynamodb.rs"]);
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

/// Every request that the captured events and the conformance batches lead to.
async fn recorded_requests() -> Vec<Recorded> {
    let batches: Vec<Batch> = conformance_batches().into_iter().chain(captured_batches()).collect();
    let mut recorded = Vec::new();
    // An engine slows down with every table that it holds.
    for some in batches.chunks(TABLES_OF_ONE_ENGINE) {
        recorded.extend(recorded_requests_of(some).await);
    }
    recorded
}

async fn recorded_requests_of(batches: &[Batch]) -> Vec<Recorded> {
    let engine = Engine::start().await.unwrap();
    let proxy = Proxy::start(engine.address()).await;
    proxy.record();
    for (at, batch) in batches.iter().enumerate() {
        let table = format!("batch-{at}");
        create_table(&engine.client(), &table).await.unwrap();
        put_items(&engine.client(), &table, &batch.before).await.unwrap();
        let table = DynamoDbTable::new(client(&proxy.endpoint_url()), table);
        let aggregator = Aggregator::new(table, Settings::default());
        let now = EpochMillis(batch.now_ms);
        let done = aggregator
            .handle(batch.event.get(), now, &Budget::unlimited(), &Unseen)
            .await;
        done.unwrap();
    }
    proxy.recorded()
}

/// Every conformance vector that ends at the table.
fn conformance_batches() -> Vec<Batch> {
    let files = ["refills.jsonl", "batches.jsonl"];
    let texts = files.map(|file| fs::read_to_string(in_project(&format!("tests/conformance/{file}"))).unwrap());
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn captured_batches() -> Vec<Batch> {
    let events = fs::read_dir(in_project("events"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let tables = events.filter(|path| path.to_string_lossy().ends_with(".table.json"));
    let batch = |table: PathBuf| {
        let event = PathBuf::from(table.to_string_lossy().replace(".table.json", ".json"));
        let captured: Captured = serde_json::from_str(&fs::read_to_string(table).unwrap()).unwrap();
        Batch {
            now_ms: captured.now_ms,
            event: RawValue::from_string(fs::read_to_string(event).unwrap().trim().to_owned()).unwrap(),
            before: captured.items,
        }
    };
    tables.map(batch).collect()
}

fn needs(requests: &[Recorded]) -> BTreeSet<Need> {
    assert!(requests.len() > 1_000, "only {} requests", requests.len());
    requests.iter().flat_map(needs_of).collect()
}

/// What one request needs. A transaction needs what its members need.
fn needs_of(request: &Recorded) -> Vec<Need> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let need = |action: &str, key: &Value| (action.to_owned(), key["PK"]["S"].as_str().unwrap().to_owned());
    match request.operation.as_str() {
        "UpdateItem" => vec![need("UpdateItem", &body["Key"])],
        "BatchGetItem" => {
            let tables = body["RequestItems"].as_object().unwrap().values();
            let keys = tables.flat_map(|table| table["Keys"].as_array().unwrap());
            keys.map(|key| need("BatchGetItem", key)).collect()
        }
        "TransactWriteItems" => {
            let members = body["TransactItems"].as_array().unwrap().iter();
            let members = members.flat_map(|member| member.as_object().unwrap());
            members
                .map(|(kind, member)| match kind.as_str() {
                    "Put" => need("PutItem", &member["Item"]),
                    "Update" => need("UpdateItem", &member["Key"]),
                    "ConditionCheck" => need("ConditionCheckItem", &member["Key"]),
                    other => panic!("a member of a kind unknown here: {other}"),
                })
                .collect()
        }
        other => panic!("a request of a kind unknown here: {other}"),
    }
}

/// What the program itself may do: the statements on items.
fn grants() -> BTreeSet<Grant> {
    let policy: Value = serde_json::from_str(&fs::read_to_string(in_project("deploy/policy.json")).unwrap()).unwrap();
    let statements = policy["Statement"].as_array().unwrap().iter();
    let on_items = statements.filter(|statement| statement["Sid"].as_str().unwrap().starts_with("Items"));
    let grants = on_items.flat_map(|statement| {
        assert_eq!(
            (&statement["Effect"], &statement["Resource"]),
            (&"Allow".into(), &"@TABLE_ARN@".into())
        );
        let partitions = texts(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
        let grant = |action: &String, partitions: &String| Grant {
            action: action.strip_prefix("dynamodb:").unwrap().to_owned(),
            partitions: partitions.clone(),
        };
        let actions = texts(&statement["Action"]);
        actions
            .iter()
            .flat_map(|action| partitions.iter().map(move |partitions| grant(action, partitions)))
            .collect::<Vec<_>>()
    });
    let grants: BTreeSet<Grant> = grants.collect();
    assert!(!grants.is_empty());
    grants
}

/// A text, or a list of them.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(several) => several.iter().flat_map(texts).collect(),
        other => panic!("neither a text nor a list: {other}"),
    }
}

/// `StringLike`: `*` stands for any text, `?` for any one character.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .any(|at| is_like(rest, &text[at..])),
        '?' => text
            .chars()
            .next()
            .is_some_and(|one| is_like(rest, &text[one.len_utf8()..])),
        plain => text.strip_prefix(plain).is_some_and(|text| is_like(rest, text)),
    }
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
