//! Batch vectors: one stream event a line, the table before it and what differs after it.
//!
//! Each runs through the aggregator and the real SDK against the embedded engine, on a table of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::config::{Settings, UsageSettings};
use limiter_aggregator::engine::{Engine, create_table, put_items, scan_items};
use limiter_aggregator::item::{AttributeValue, Item, key_of};
use limiter_aggregator::key::STATE_SK;
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::units::EpochMillis;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Outcome;

/// How many differences of one case are shown.
const DIFFERENCES_SHOWN: usize = 6;

/// Which items are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code)] // One of the two is chosen at a time.
pub enum Scope {
    /// Bucket shards only.
    Buckets,
    /// Every item; of a usage snapshot the attributes that the vector names.
    Everything,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    kinds: Vec<String>,
    now_ms: i64,
    snapshot_windows: Vec<String>,
    snapshot_ttl_days: u32,
    event: Box<RawValue>,
    before: Vec<Item>,
    after_changed: Vec<Item>,
}

/// Runs every line of the file at `path`.
pub async fn check(path: &Path, scope: Scope) -> Outcome {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let engine = Engine::start().await.unwrap();
    let mut outcome = Outcome {
        passed: 0,
        failures: Vec::new(),
    };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: Case = serde_json::from_str(line).unwrap_or_else(|error| panic!("line {}: {error}", at + 1));
        let differences = run(&engine, &format!("case-{at}"), &case, scope).await;
        if differences.is_empty() {
            outcome.passed += 1;
        } else {
            let shown = differences.iter().take(DIFFERENCES_SHOWN);
            let shown: Vec<String> = shown.map(|difference| format!("\n    {difference}")).collect();
            let (id, kinds) = (&case.id, case.kinds.join(", "));
            outcome.failures.push(format!("{id} [{kinds}]:{}", shown.concat()));
        }
    }
    outcome
}

async fn run(engine: &Engine, table: &str, case: &Case, scope: Scope) -> Vec<String> {
    let client = engine.client();
    create_table(&client, table).await.unwrap();
    put_items(&client, table, &case.before).await.unwrap();
    let aggregator = Aggregator::new(DynamoDbTable::new(client.clone(), table), settings(case));
    let (event, now) = (case.event.get(), EpochMillis(case.now_ms));
    let answer = aggregator.handle(event, now, &Budget::unlimited(), &Unseen).await;
    match answer {
        Ok(BatchOutcome::Complete) => {}
        other => return vec![format!("the batch ended as {other:?}")],
    }
    let wanted = by_key(case.before.iter().chain(&case.after_changed).cloned());
    let found = by_key(scan_items(&client, table).await.unwrap());
    differences(&wanted, &found, scope)
}

fn settings(case: &Case) -> Settings {
    let variable = |name: &str| match name {
        "SNAPSHOT_WINDOWS" => Some(OsString::from(case.snapshot_windows.join(","))),
        "SNAPSHOT_TTL_DAYS" => Some(OsString::from(case.snapshot_ttl_days.to_string())),
        _ => None,
    };
    Settings {
        usage: UsageSettings::from_lookup(&variable).unwrap(),
        ..Settings::default()
    }
}

type Items = BTreeMap<(String, String), Item>;

/// Where two have one key the later one stays.
fn by_key(items: impl IntoIterator<Item = Item>) -> Items {
    let keyed = |item: Item| {
        let key = key_of(&item).unwrap();
        ((key.pk, key.sk), item)
    };
    items.into_iter().map(keyed).collect()
}

fn differences(wanted: &Items, found: &Items, scope: Scope) -> Vec<String> {
    let mut differences = Vec::new();
    let keys: BTreeSet<_> = wanted.keys().chain(found.keys()).collect();
    for key in keys
        .into_iter()
        .filter(|(_, sk)| scope == Scope::Everything || sk == STATE_SK)
    {
        let name = format!("{} {}", key.0, key.1);
        match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) => {
                let named_only = key.1.starts_with("#USAGE#");
                differences.extend(attribute_differences(&name, wanted, found, named_only));
            }
            (Some(_), None) => differences.push(format!("{name} is missing")),
            (None, _) => differences.push(format!("{name} is unexpected")),
        }
    }
    differences
}

fn attribute_differences(name: &str, wanted: &Item, found: &Item, named_only: bool) -> Vec<String> {
    let extra = found.keys().filter(|_| !named_only);
    let attributes: BTreeSet<_> = wanted.keys().chain(extra).collect();
    let differs = |attribute: &&String| {
        let [wanted, found] = [wanted, found].map(|item| item.get(*attribute).map(canonical));
        wanted != found
    };
    attributes
        .into_iter()
        .filter(differs)
        .map(|attribute| {
            let (wanted, found) = (wanted.get(attribute), found.get(attribute));
            format!("{name} {attribute}: want {wanted:?} got {found:?}")
        })
        .collect()
}

/// The value with numbers by what they count and sets in order.
fn canonical(value: &AttributeValue) -> AttributeValue {
    fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
        let mut values: Vec<T> = values.collect();
        values.sort();
        values
    }
    match value {
        AttributeValue::N(number) => AttributeValue::N(canonical_number(number)),
        AttributeValue::Ns(numbers) => {
            AttributeValue::Ns(sorted(numbers.iter().map(|number| canonical_number(number))))
        }
        AttributeValue::Ss(texts) => AttributeValue::Ss(sorted(texts.iter().cloned())),
        AttributeValue::Bs(blobs) => AttributeValue::Bs(sorted(blobs.iter().cloned())),
        AttributeValue::L(values) => AttributeValue::L(values.iter().map(canonical).collect()),
        AttributeValue::M(values) => {
            let member = |(name, value): (&String, &AttributeValue)| (name.clone(), canonical(value));
            AttributeValue::M(values.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

/// A decimal number as its significant digits and an exponent: `1.50`, `15e-1` and `1.5` are one.
fn canonical_number(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |digits| ("-", digits));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let exponent: i64 = exponent.parse().unwrap();
    let shift = exponent - i64::try_from(fraction.len()).unwrap() + i64::try_from(trailing).unwrap();
    format!("{sign}{significant}e{shift}")
}

#[test]
fn numbers_are_compared_by_value() {
    for (left, right) in [("1.50", "15e-1"), ("0", "-0.00"), ("1200", "12E2"), ("-007", "-7")] {
        assert_eq!(canonical_number(left), canonical_number(right), "{left} {right}");
    }
    assert_ne!(canonical_number("12"), canonical_number("120"));
    assert_ne!(canonical_number("1"), canonical_number("-1"));
}

/// The table shows what was decided.
struct Unseen;

impl Observer for Unseen {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, _read: &ReadRecord<'_>, _reason: &SkippedInput) {}
    fn step(&self, _group: &Group<'_>, _step: &Step<'_>) {}
}
