//! Decoding and planning, record by record, over the records of `batches.jsonl` that carry two limits or more.
//!
//! Prints the median over records of each record's own median, because a batch's average hides the dear ones; then
//! lets criterion measure passes over all of them.
#![allow(clippy::disallowed_methods)] // A benchmark measures time.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use limiter_aggregator::plan::refill::plan_refill;
use limiter_aggregator::plan::{BucketChange, ShardState};
use limiter_aggregator::record::{ReadRecord, read_event};
use limiter_aggregator::units::EpochMillis;
use serde_json::Value;

const BATCHES: usize = 15;
const CALLS_PER_BATCH: u32 = 40;

/// Events of one record each, with the instant of their batch.
fn single_record_events() -> Vec<(String, EpochMillis)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/batches.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a vector"));
    let events = cases.flat_map(|case| {
        let now = EpochMillis(case["now_ms"].as_i64().expect("an instant"));
        let records = case["event"]["Records"].as_array().expect("records").clone();
        records
            .into_iter()
            .map(move |record| (serde_json::json!({ "Records": [record] }).to_string(), now))
    });
    events.filter(|(event, _)| limits(event) == Some(2)).collect()
}

/// How many limits, the write budget aside, the event's record shows; `None` where it is no bucket change.
fn limits(event: &str) -> Option<usize> {
    let records = read_event(event).ok()?;
    let change = BucketChange::read(0, records[0].record.as_ref().ok()?).ok()?;
    Some(change.new.limits.iter().filter(|limit| !limit.is_wcu()).count())
}

fn decode(event: &str) -> usize {
    let records = read_event(black_box(event)).expect("an event");
    let changes = records
        .iter()
        .filter_map(|read| BucketChange::read(0, read.record.as_ref().ok()?).ok());
    changes.map(|change| change.new.limits.len()).sum()
}

fn state<'s>(change: &'s BucketChange<'s>) -> ShardState<'s> {
    ShardState::first(change)
}

/// Runs `call` in batches and returns the median time of one call in nanoseconds.
fn median_ns(mut call: impl FnMut()) -> u128 {
    let mut times: Vec<u128> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS_PER_BATCH).for_each(|_| call());
            start.elapsed().as_nanos() / u128::from(CALLS_PER_BATCH)
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn report(name: &str, mut times: Vec<u128>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{name}: {} records, median {} ns, p90 {} ns, p99 {} ns",
        times.len(),
        at(50),
        at(90),
        at(99)
    );
}

fn with_changes<T>(
    events: &[(String, EpochMillis)],
    mut work: impl FnMut(&BucketChange<'_>, EpochMillis) -> T,
) -> Vec<T> {
    let mut results = Vec::with_capacity(events.len());
    for (event, now) in events {
        let records: Vec<ReadRecord<'_>> = read_event(event).expect("an event");
        let change = BucketChange::read(0, records[0].record.as_ref().expect("a record")).expect("a bucket change");
        results.push(work(&change, *now));
    }
    results
}

fn records(criterion: &mut Criterion) {
    let events = single_record_events();
    report(
        "decode a two-limit record",
        events
            .iter()
            .map(|(event, _)| {
                median_ns(|| {
                    black_box(decode(event));
                })
            })
            .collect(),
    );
    let read = |event: &str| {
        median_ns(|| {
            black_box(read_event(black_box(event)).expect("an event"));
        })
    };
    report(
        "of which its text",
        events.iter().map(|(event, _)| read(event)).collect(),
    );
    let plan =
        |change: &BucketChange<'_>, now| median_ns(|| drop(black_box(plan_refill(black_box(&state(change)), now))));
    report("plan a two-limit record", with_changes(&events, plan));

    criterion.bench_function("decode/two-limit records", |bencher| {
        bencher.iter(|| events.iter().map(|(event, _)| decode(event)).sum::<usize>());
    });
    criterion.bench_function("plan/two-limit records", |bencher| {
        bencher.iter_custom(|rounds| {
            let spent = with_changes(&events, |change, now| {
                let start = Instant::now();
                (0..rounds).for_each(|_| drop(black_box(plan_refill(black_box(&state(change)), now))));
                start.elapsed()
            });
            spent.into_iter().sum()
        });
    });
}

criterion_group!(benches, records);
criterion_main!(benches);
