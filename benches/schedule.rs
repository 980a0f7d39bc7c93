//! Schedule questions over all conformance vectors of a kind (`CONFORMANCE_DIR`, or the copy among the tests).
//!
//! Criterion measures whole passes over a kind; before that, each vector is timed by itself and the percentiles
//! over vectors are printed, because one slow schedule vanishes in an average.
#![allow(clippy::disallowed_methods)] // A benchmark measures time.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use limiter_aggregator::schedule::{ParameterSchedule, Parameters, ResetSchedule, next_boundary};
use limiter_aggregator::units::{EpochMillis, Millitokens};
use serde_json::Value;

const BATCHES: usize = 15;
const CALLS_PER_BATCH: u32 = 40;

type Call = Box<dyn Fn()>;

fn cases() -> Vec<Value> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let path = std::env::var_os("CONFORMANCE_DIR")
        .map_or_else(beside, PathBuf::from)
        .join("schedule.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a vector"))
        .collect()
}

fn text(case: &Value, name: &str) -> String {
    case[name].as_str().unwrap_or_default().to_owned()
}

fn parameters(case: &Value) -> Option<ParameterSchedule> {
    ParameterSchedule::decode(&text(case, "sched"), &text(case, "tz")).expect("valid")
}

fn resets(case: &Value) -> Option<ResetSchedule> {
    ResetSchedule::decode(&text(case, "rsched"), &text(case, "tz")).expect("valid")
}

/// A question whose answer is computed and thrown away.
fn call<A>(question: impl Fn() -> A + 'static) -> Call {
    Box::new(move || {
        black_box(question());
    })
}

/// What is measured for a vector. Decoding is measured on the schedules of the other kinds, which are real ones.
fn calls(case: &Value) -> Vec<(&'static str, Call)> {
    let now = EpochMillis(case["now_ms"].as_i64().unwrap_or_default());
    let base = Parameters {
        capacity: Millitokens(10_000),
        refill: Millitokens(7_000),
        period_ms: 60_000,
    };
    let question = match case["fn"].as_str().unwrap_or_default() {
        "prev_reset_edge" => {
            let schedule = resets(case).expect("a schedule");
            ("prev_reset_edge", call(move || black_box(&schedule).previous_edge(now)))
        }
        "next_boundary" => {
            let (change, edge) = (parameters(case), resets(case));
            (
                "next_boundary",
                call(move || next_boundary(black_box(&change).as_ref(), edge.as_ref(), now)),
            )
        }
        "effective_params" => {
            let schedule = parameters(case).expect("a schedule");
            ("effective", call(move || black_box(&schedule).effective(base, now)))
        }
        _ => return Vec::new(),
    };
    let (sched, rsched) = (text(case, "sched"), text(case, "rsched"));
    let (zone, reset_zone) = (text(case, "tz"), text(case, "tz"));
    let mut calls = vec![question];
    if !sched.is_empty() {
        calls.push((
            "decode",
            call(move || ParameterSchedule::decode(black_box(&sched), &zone)),
        ));
    }
    if !rsched.is_empty() {
        calls.push((
            "decode",
            call(move || ResetSchedule::decode(black_box(&rsched), &reset_zone)),
        ));
    }
    calls
}

/// Nanoseconds a call takes: the median over batches.
fn nanoseconds(call: &Call) -> u128 {
    let mut batches: Vec<u128> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS_PER_BATCH).for_each(|_| call());
            start.elapsed().as_nanos() / u128::from(CALLS_PER_BATCH)
        })
        .collect();
    batches.sort_unstable();
    batches[BATCHES / 2]
}

fn percentiles(name: &str, calls: &[Call]) {
    let mut times: Vec<u128> = calls.iter().map(nanoseconds).collect();
    times.sort_unstable();
    let Some(last) = times.len().checked_sub(1) else { return };
    let [p50, p99, max] = [last * 50 / 100, last * 99 / 100, last].map(|at| times[at]);
    println!(
        "{name}: {} calls, p50 {p50} ns, p99 {p99} ns, slowest {max} ns",
        times.len()
    );
}

fn schedules(criterion: &mut Criterion) {
    let all: Vec<(&str, Call)> = cases().iter().flat_map(calls).collect();
    let mut kinds = std::collections::BTreeMap::<&str, Vec<Call>>::new();
    for (name, call) in all {
        kinds.entry(name).or_default().push(call);
    }
    for (name, calls) in &kinds {
        percentiles(name, calls);
    }
    for (name, calls) in &kinds {
        let id = format!("{name}, all {} vectors", calls.len());
        criterion.bench_function(&id, |bencher| bencher.iter(|| calls.iter().for_each(|call| call())));
    }
}

criterion_group!(benches, schedules);
criterion_main!(benches);
