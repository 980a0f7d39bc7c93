//! Odd records among good ones: the decoder never panics and never loses a neighbour.

use std::cell::RefCell;

use limiter_aggregator::aggregate::{BatchOutcome, Budget, Observer, SkippedInput, Step};
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;
use limiter_aggregator::table::memory::MemoryTable;
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use super::{Changes, aggregator};
use crate::support::captures::event_of;

/// What was left out, by place, and whether anything panicked.
#[derive(Default)]
struct LeftOut {
    places: RefCell<Vec<usize>>,
    panics: RefCell<usize>,
}

impl Observer for LeftOut {
    fn batch(&self, _records: usize) {}
    fn skipped(&self, read: &ReadRecord<'_>, _reason: &SkippedInput) {
        self.places.borrow_mut().push(read.position);
    }
    fn step(&self, _group: &Group<'_>, step: &Step<'_>) {
        if matches!(step, Step::Panicked) {
            *self.panics.borrow_mut() += 1;
        }
    }
}

fn handle(event: &str, table: &MemoryTable, observer: &LeftOut) -> BatchOutcome {
    let now = Changes::new().now;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let aggregator = aggregator(table);
    runtime
        .block_on(aggregator.handle(event, now, &Budget::unlimited(), observer))
        .unwrap()
}

/// Any JSON, with the names and the kinds of text that occur in records more often than chance has it.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(String::new()),
        "[A-Za-z0-9#/_.:@-]{0,24}",
        ".{0,12}",
        Just("odd/BUCKET#x#y#0".to_owned()),
        Just("#STATE".to_owned()),
        Just("99999999999999999999999999999999999999".to_owned()),
        Just("-1".to_owned()),
        Just("1e400".to_owned()),
    ];
    let name = prop_oneof![
        proptest::sample::select(vec![
            "S",
            "N",
            "B",
            "M",
            "L",
            "BOOL",
            "NULL",
            "SS",
            "NS",
            "PK",
            "SK",
            "rf",
            "vu",
            "shard_count",
            "entity_id",
            "eventID",
            "eventName",
            "dynamodb",
            "NewImage",
            "OldImage",
            "SequenceNumber",
            "StreamViewType",
            "ApproximateCreationDateTime",
            "userIdentity",
            "eventSourceARN",
            "b_rpm_tk",
            "b_rpm_tc",
            "b_rpm_cp",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A good record of an entity of its own with one place replaced by anything.
fn broken_record() -> impl Strategy<Value = Value> {
    let record = Changes::new().record(999_999, 999_999);
    let mut places = Vec::new();
    pointers(&record, &mut String::new(), &mut places);
    (proptest::sample::select(places), any_json()).prop_map(move |(place, odd)| {
        let mut record = record.clone();
        *record.pointer_mut(&place).unwrap() = odd;
        record
    })
}

fn pointers(value: &Value, at: &mut String, places: &mut Vec<String>) {
    if let Value::Object(members) = value {
        for (name, member) in members {
            let length = at.len();
            at.push('/');
            at.push_str(&name.replace('~', "~0").replace('/', "~1"));
            places.push(at.clone());
            pointers(member, at, places);
            at.truncate(length);
        }
    }
}

/// Cases; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn no_odd_record_panics_or_costs_a_neighbour(
        odd in proptest::collection::vec((0..7_usize, prop_oneof![any_json(), broken_record()]), 1..5),
    ) {
        let good = Changes::new().records(6);
        let (clean, table) = (Changes::table(&good), Changes::table(&good));
        handle(&event_of(&good), &clean, &LeftOut::default());

        let mut mixed = good.clone();
        for (place, record) in odd {
            mixed.insert(place, record);
        }
        let seen = LeftOut::default();
        handle(&event_of(&mixed), &table, &seen);
        prop_assert_eq!(*seen.panics.borrow(), 0);
        let found = table.items();
        for (key, item) in clean.items() {
            prop_assert_eq!(found.get(&key), Some(&item));
        }
    }

    #[test]
    fn no_text_panics(text in prop_oneof![".{0,200}", any_json().prop_map(|value| value.to_string())]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let aggregator = aggregator(MemoryTable::new());
        let (budget, observer) = (Budget::unlimited(), LeftOut::default());
        // An error or not: it is an answer.
        let _answered = runtime.block_on(aggregator.handle(&text, Changes::new().now, &budget, &observer));
    }
}

#[test]
fn ninety_nine_good_records_are_applied_beside_a_bad_one() {
    let good = Changes::new().records(99);
    let (clean, table) = (Changes::table(&good), Changes::table(&good));
    handle(&event_of(&good), &clean, &LeftOut::default());
    let mut mixed = good;
    let mut bad = Changes::new().record(1000, 1000);
    bad["dynamodb"]["NewImage"]["PK"] = 7.into();
    mixed.insert(50, bad);
    let seen = LeftOut::default();
    assert_eq!(handle(&event_of(&mixed), &table, &seen), BatchOutcome::Complete);
    assert_eq!(seen.places.into_inner(), [50]);
    assert_eq!(table.items(), clean.items());
}
