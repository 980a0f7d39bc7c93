mod records;

use serde_json::{Value, json};

use super::guard::guard_attribute;
use super::*;
use crate::item::{AttributeValue, Item, number, text};
use crate::plan::{BucketChange, Group, group_changes};
use crate::record::{ReadRecord, read_event};
use crate::units::{EpochMillis, ShardId};
use crate::write::{Action, Comparison, Condition};
use records::{CREATED, LABEL, insert, modify};

const NOW: EpochMillis = EpochMillis(CREATED + 5_000);

/// Runs `check` on the one group of an event.
fn with_group<A>(records: &[Value], check: impl FnOnce(&Group<'_>) -> A) -> A {
    let event = json!({"Records": records}).to_string();
    let read = read_event(&event).unwrap();
    let change = |read: &'_ ReadRecord<'_>| read.record.is_ok();
    assert!(read.iter().all(change));
    let changes = read
        .iter()
        .map(|read| BucketChange::read(read.position, read.record.as_ref().unwrap()).unwrap());
    let groups = group_changes(changes);
    assert_eq!(groups.len(), 1);
    check(&groups[0])
}

/// Settings with hourly windows alone, so that there is one snapshot.
fn hourly() -> UsageSettings {
    UsageSettings {
        windows: Windows::of([WindowKind::Hourly]),
        ..UsageSettings::default()
    }
}

/// The write of the only snapshot, by what its guards are known to be; `None` where nothing is to be written.
fn plan<A>(records: &[Value], guards: &Guards, check: impl FnOnce(SnapshotPlan<'_>) -> A) -> A {
    with_group(records, |group| {
        let tally = Tally::of(group, &hourly());
        let snapshots = tally.snapshots(group.key, &hourly(), NOW);
        assert_eq!(snapshots.len(), 1);
        check(snapshots[0].plan(guards))
    })
}

/// What the first write adds: (attribute, delta).
fn additions(records: &[Value]) -> Vec<(String, i128)> {
    plan(records, &Guards::default(), |plan| {
        let added = plan.write.unwrap().update.actions.into_iter();
        added
            .filter_map(|action| match action {
                Action::Add { attribute, delta } => Some((attribute, delta)),
                _ => None,
            })
            .collect()
    })
}

fn expect(records: &[Value], additions_expected: &[(&str, i128)]) {
    let expected: Vec<_> = additions_expected
        .iter()
        .map(|(name, delta)| ((*name).to_owned(), *delta))
        .collect();
    assert_eq!(additions(records), expected);
}

fn adds_nothing(records: &[Value]) -> Vec<UncountedReason> {
    with_group(records, |group| {
        let tally = Tally::of(group, &hourly());
        assert!(tally.snapshots(group.key, &hourly(), NOW).is_empty());
        tally.uncounted.iter().map(|record| record.reason).collect()
    })
}

fn found(guards: &[(u32, &str)]) -> Guards {
    let item: Item = guards
        .iter()
        .map(|(shard, guard)| (guard_attribute(ShardId(*shard)), text(format!("{LABEL}/{guard}"))))
        .collect();
    let mut known = Guards::default();
    known.learn(Some(&item), (0..4).map(ShardId));
    known
}

#[test]
fn the_first_use_of_a_shard_counts_from_zero() {
    let records = [insert(1, 0, &[("rpm", 1_000), ("tpm", 900_000), ("wcu", 7_000)])];
    expect(&records, &[("rpm", 1), ("tpm", 900), ("total_events", 2)]);
}

#[test]
fn a_shard_made_by_propagation_has_used_nothing() {
    assert_eq!(adds_nothing(&[insert(1, 3, &[("rpm", 0), ("wcu", 0)])]), []);
}

#[test]
fn a_limit_that_is_new_on_an_existing_shard_is_not_counted_in_that_record() {
    let records = [modify(1, 0, &[("old", Some(0), 1_000), ("new", None, 5_000)])];
    expect(&records, &[("old", 1), ("total_events", 1)]);
}

#[test]
fn refunds_count_and_fractions_round_down_record_by_record() {
    let records = [
        modify(1, 0, &[("a", Some(0), 1_999)]),
        modify(2, 0, &[("a", Some(1_999), 1_499)]),
        modify(3, 0, &[("a", Some(1_499), 1_500)]),
    ];
    // 1.999 is 1, -0.5 is -1, 0.001 is 0: and each is an event.
    expect(&records, &[("a", 0), ("total_events", 3)]);
}

#[test]
fn a_limit_that_did_not_change_is_neither_named_nor_an_event() {
    let records = [modify(1, 0, &[("a", Some(5), 5), ("b", Some(0), 1_000)])];
    expect(&records, &[("b", 1), ("total_events", 1)]);
    assert_eq!(
        adds_nothing(&[modify(1, 0, &[("a", Some(5), 5), ("wcu", Some(0), 1_000)])]),
        []
    );
}

#[test]
fn a_soft_limit_that_goes_into_debt_is_an_overdraft() {
    let soft = |sequence, balance: &str, before, after, soft: Value| {
        let mut record = modify(sequence, 0, &[("a", Some(before), after)]);
        record["dynamodb"]["NewImage"]["b_a_tk"] = json!({"N": balance});
        record["dynamodb"]["NewImage"]["b_a_soft"] = soft;
        record
    };
    let deadline = || json!({"N": "1"});
    let records = [
        soft(1, "-1", 0, 1_000, deadline()),
        soft(2, "-1", 1_000, 2_000, json!({"BOOL": false})),
        soft(3, "0", 2_000, 3_000, deadline()),
        soft(4, "-1", 3_000, 2_000, deadline()),
        modify(5, 0, &[("a", Some(2_000), 3_000)]),
    ];
    expect(&records, &[("a", 3), ("a#od", 2), ("total_events", 5)]);
}

#[test]
fn the_creation_time_decides_the_window_and_rf_only_without_one() {
    let start = |record: Value| {
        with_group(&[record], |group| {
            let tally = Tally::of(group, &hourly());
            let snapshots = tally.snapshots(group.key, &hourly(), NOW);
            (
                snapshots.first().map(|snapshot| snapshot.start.clone()),
                tally.uncounted.first().map(|u| u.reason),
            )
        })
    };
    let mut record = modify(1, 0, &[("a", Some(0), 1_000)]);
    record["dynamodb"]["NewImage"]["rf"] = json!({"N": "1000"});
    assert_eq!(start(record.clone()), (Some("2026-11-30T14:00:00Z".to_owned()), None));
    record["dynamodb"]["ApproximateCreationDateTime"] = Value::Null;
    assert_eq!(start(record.clone()), (Some("1970-01-01T00:00:00Z".to_owned()), None));
    for rf in [json!({"S": "x"}), json!({"N": "-1"}), json!({"N": "253402300800000"})] {
        record["dynamodb"]["NewImage"]["rf"] = rf;
        assert_eq!(start(record.clone()), (None, Some(UncountedReason::NoInstant)));
    }
}

#[test]
fn what_was_created_before_the_takeover_is_not_counted() {
    let takeover = |not_before: i64| UsageSettings {
        not_before: Some(EpochMillis(not_before)),
        ..hourly()
    };
    let records = [modify(1, 0, &[("a", Some(0), 1_000)])];
    with_group(&records, |group| {
        assert_eq!(Tally::of(group, &takeover(CREATED)).records.len(), 1);
        let before = Tally::of(group, &takeover(CREATED + 1));
        assert!(before.records.is_empty());
        assert_eq!(before.uncounted[0].reason, UncountedReason::BeforeTakeover);
    });
}

#[test]
fn what_cannot_be_guarded_is_not_counted() {
    let mut record = modify(1, 0, &[("a", Some(0), 1_000)]);
    record["dynamodb"]["SequenceNumber"] = Value::Null;
    assert_eq!(adds_nothing(&[record]), [UncountedReason::NoSequence]);
    let beyond = modify(1, 32, &[("a", Some(0), 1_000)]);
    assert_eq!(adds_nothing(&[beyond]), [UncountedReason::ShardBeyondLimit]);
    expect(
        &[modify(1, 31, &[("a", Some(0), 1_000)])],
        &[("a", 1), ("total_events", 1)],
    );
}

#[test]
fn an_amount_beyond_128_bits_leaves_the_others() {
    let huge = i128::MAX - 1;
    let records = [modify(1, 0, &[("a", Some(-huge), huge), ("b", Some(0), 1_000)])];
    expect(&records, &[("b", 1), ("total_events", 1)]);
    with_group(&records, |group| {
        let reason = Tally::of(group, &hourly()).uncounted[0].reason;
        assert_eq!(reason, UncountedReason::AmountBeyondRange);
    });
}

#[test]
fn reserved_names_are_left_out_and_named_once() {
    let limits = [
        ("ttl", Some(0), 1_000),
        ("window", Some(0), 1_000),
        ("rpm", Some(0), 2_000),
        ("total_events", Some(0), 1),
    ];
    let records = [modify(1, 0, &limits), modify(2, 1, &limits)];
    expect(&records, &[("rpm", 4), ("total_events", 2)]);
    with_group(&records, |group| {
        let tally = Tally::of(group, &hourly());
        assert_eq!(
            tally.reserved.into_iter().collect::<Vec<_>>(),
            ["total_events", "ttl", "window"]
        );
        assert!(tally.uncounted.is_empty());
    });
}

#[test]
fn one_write_holds_all_records_of_all_shards() {
    let records = [
        modify(9, 0, &[("a", Some(0), 1_000)]),
        modify(10, 2, &[("a", Some(0), 2_000)]),
        modify(11, 0, &[("b", Some(0), 4_000)]),
    ];
    plan(&records, &Guards::default(), |plan| {
        let write = plan.write.unwrap();
        assert_eq!((write.records, write.events, write.lowest.as_str()), (3, 3, "9"));
        let update = write.update;
        assert_eq!(
            (&*update.key.pk, &*update.key.sk),
            ("ns/ENTITY#e", "#USAGE#gpt-4#2026-11-30T14:00:00Z")
        );
        assert!(update.return_item_on_failure);
        let new = |shard: u32, lowest: &str| {
            let attribute = guard_attribute(ShardId(shard));
            let lowest = text(format!("{LABEL}/{lowest}"));
            Condition::Any(vec![
                Condition::Absent(attribute.clone()),
                Condition::Compare(attribute, Comparison::Less, lowest),
            ])
        };
        assert_eq!(update.conditions, [new(0, "019"), new(2, "0210")]);
        let set = |attribute: &str, value: String| Action::Set {
            attribute: attribute.to_owned(),
            value: text(value),
        };
        for action in [
            set("#seq0", format!("{LABEL}/0211")),
            set("#seq2", format!("{LABEL}/0210")),
            set("entity_id", "e".to_owned()),
            set("resource", "gpt-4".to_owned()),
            set("window", "hourly".to_owned()),
            set("window_start", "2026-11-30T14:00:00Z".to_owned()),
            set("GSI2SK", "USAGE#2026-11-30T14:00:00Z#e".to_owned()),
            Action::SetFrom {
                attribute: "ttl".to_owned(),
                source: "ttl".to_owned(),
                default: number(i128::from(NOW.0 / 1000) + 90 * 86_400),
            },
        ] {
            assert!(update.actions.contains(&action), "{action:?}");
        }
    });
}

#[test]
fn the_write_is_the_same_whatever_order_and_repeats_the_records_come_in() {
    let records: Vec<Value> = (8..13)
        .map(|sequence| modify(sequence, u32::from(sequence % 2 == 0), &[("a", Some(0), 1_000)]))
        .collect();
    let update = |records: &[Value]| plan(records, &Guards::default(), |plan| plan.write.unwrap().update);
    let once = update(&records);
    let mut again: Vec<Value> = records.iter().rev().chain(&records).cloned().collect();
    assert_eq!(update(&again), once);
    again[0]["dynamodb"]["SequenceNumber"] = json!("0000012");
    assert_eq!(update(&again), once, "a number spelled twice is one record");
}

#[test]
fn a_repeat_in_part_adds_the_rest_on_the_guards_found() {
    let records = [
        modify(8, 0, &[("a", Some(0), 1_000)]),
        modify(9, 0, &[("a", Some(0), 2_000)]),
        modify(10, 1, &[("a", Some(0), 4_000)]),
    ];
    plan(&records, &found(&[(0, "018")]), |plan| {
        assert_eq!(plan.left_out, LeftOut { repeats: 1, beyond: 0 });
        let write = plan.write.unwrap();
        assert_eq!((write.limits["a"].tokens, write.lowest.as_str()), (6, "9"));
        let as_found = Condition::Compare("#seq0".to_owned(), Comparison::Equal, text(format!("{LABEL}/018")));
        assert_eq!(
            write.update.conditions,
            [as_found, Condition::Absent("#seq1".to_owned())]
        );
    });
}

#[test]
fn a_lost_answer_looks_like_a_repeat_and_a_longer_rewind_does_not() {
    let records = [
        modify(8, 0, &[("a", Some(0), 1_000)]),
        modify(9, 0, &[("a", Some(0), 2_000)]),
    ];
    for (guard, left_out) in [
        ("019", LeftOut { repeats: 2, beyond: 0 }),
        ("0210", LeftOut { repeats: 0, beyond: 2 }),
    ] {
        plan(&records, &found(&[(0, guard)]), |plan| {
            assert_eq!((plan.write, plan.left_out), (None, left_out));
        });
    }
}

#[test]
fn an_earlier_streams_records_are_not_counted_after_a_later_streams() {
    let records = [modify(999, 0, &[("a", Some(0), 1_000)])];
    let item: Item = [("#seq0".to_owned(), text("2026-06-01T00:00:00.000/011"))].into();
    let mut guards = Guards::default();
    guards.learn(Some(&item), [ShardId::ZERO]);
    plan(&records, &guards, |plan| {
        assert_eq!((plan.write, plan.left_out.beyond), (None, 1));
    });
}

#[test]
fn a_shard_that_was_counted_takes_no_part_in_the_second_write() {
    let records = [
        modify(8, 0, &[("a", Some(0), 1_000)]),
        modify(9, 1, &[("a", Some(0), 2_000)]),
    ];
    plan(&records, &found(&[(0, "018"), (1, "015")]), |plan| {
        let update = plan.write.unwrap().update;
        let as_found = Condition::Compare("#seq1".to_owned(), Comparison::Equal, text(format!("{LABEL}/015")));
        assert_eq!(update.conditions, [as_found]);
        assert!(update.actions.iter().all(|action| action.attribute() != "#seq0"));
    });
}

#[test]
fn a_batch_over_several_hours_has_a_snapshot_for_each_and_one_for_the_day() {
    let mut records = Vec::new();
    for (sequence, hour) in [(1, 0), (2, 1), (3, 1), (4, 3)] {
        let mut record = modify(sequence, 0, &[("a", Some(0), 1_000)]);
        record["dynamodb"]["ApproximateCreationDateTime"] = json!(CREATED / 1000 + hour * 3600);
        records.push(record);
    }
    let settings = UsageSettings::default();
    with_group(&records, |group| {
        let tally = Tally::of(group, &settings);
        let snapshots = tally.snapshots(group.key, &settings, NOW);
        let tokens: Vec<_> = snapshots
            .iter()
            .map(|snapshot| {
                let write = snapshot.plan(&Guards::default()).write.unwrap();
                (
                    snapshot.window.kind.as_str(),
                    &snapshot.start[11..13],
                    write.limits["a"].tokens,
                )
            })
            .collect();
        assert_eq!(
            tokens,
            [
                ("daily", "00", 4),
                ("hourly", "14", 1),
                ("hourly", "15", 2),
                ("hourly", "17", 1)
            ]
        );
    });
}

#[test]
fn debug_output_shows_no_entity() {
    let mut record = modify(1, 0, &[("a", Some(0), 1_000)]);
    record["dynamodb"]["NewImage"]["PK"] = json!({"S": "ns/BUCKET#sk-secret#r#0"});
    with_group(&[record], |group| {
        let tally = Tally::of(group, &hourly());
        let snapshots = tally.snapshots(group.key, &hourly(), NOW);
        let plan = snapshots[0].plan(&Guards::default());
        assert!(!format!("{tally:?} {snapshots:?} {plan:?}").contains("secret"));
        let own = AttributeValue::S("sk-secret".to_owned());
        let holds = |action: &Action| matches!(action, Action::Set { value, .. } if *value == own);
        assert!(plan.write.unwrap().update.actions.iter().any(holds));
    });
}
