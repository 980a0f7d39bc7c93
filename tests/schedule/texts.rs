//! Which texts are schedules, what the others are told, and how a schedule explains itself.

use limiter_aggregator::schedule::{
    Adjustment, EntryFault, FieldName, ParameterSchedule, ResetSchedule, ScheduleError,
};
use limiter_aggregator::units::Millitokens;

#[test]
fn a_schedule_explains_itself_as_crontab_lines() {
    let schedule = ParameterSchedule::decode("1m0h9-17w1-5s500;D1c5p60", "Europe/Berlin").expect("valid");
    let schedule = schedule.expect("a schedule");
    let entries = schedule.entries();
    assert_eq!(entries[0].cron, "0 9-17 * * 1-5");
    assert_eq!(entries[0].adjustment, Adjustment::Scale { per_mille: 500 });
    assert_eq!(entries[1].cron, "* * 1 * *");
    let replaced = Adjustment::Replace {
        capacity: Some(Millitokens(5_000)),
        refill: None,
        period_ms: Some(60_000),
    };
    assert_eq!(entries[1].adjustment, replaced);
    assert_eq!(schedule.zone(), "Europe/Berlin");
    let resets = ResetSchedule::decode("1m0h0;", "UTC")
        .expect("valid")
        .expect("a schedule");
    assert_eq!(resets.cron_texts(), ["0 0 * * *", "* * * * *"]);
}

#[test]
fn the_empty_string_is_no_schedule() {
    assert_eq!(ParameterSchedule::decode("", "UTC"), Ok(None));
    assert_eq!(ResetSchedule::decode("", "UTC"), Ok(None));
}

/// The entry at fault in a parameter schedule, and the fault.
fn fault(compact: &str) -> (usize, EntryFault) {
    match ParameterSchedule::decode(compact, "UTC") {
        Err(ScheduleError::Entry { number, fault }) => (number, fault),
        other => panic!("{compact}: {other:?}"),
    }
}

#[test]
fn the_entry_at_fault_and_its_fault_are_named() {
    assert_eq!(fault("1s1;").1, EntryFault::Empty);
    assert_eq!(fault("1s1;x5s1"), (2, EntryFault::UnknownTag('x')));
    assert_eq!(fault("1s1s2").1, EntryFault::RepeatedTag('s'));
    assert!(matches!(
        fault("1h24s1").1,
        EntryFault::BadField {
            field: FieldName::Hour,
            ..
        }
    ));
    assert!(matches!(
        fault("1D15Ws1").1,
        EntryFault::UnsupportedExtension {
            field: FieldName::DayOfMonth,
            ..
        }
    ));
    assert_eq!(fault("1D30M2s1").1, EntryFault::ImpossibleDate);
    assert!(matches!(fault("1s0").1, EntryFault::NotPositive { tag: 's', .. }));
    assert!(matches!(
        fault("1c1000000000000001").1,
        EntryFault::TooLarge { tag: 'c', .. }
    ));
    assert_eq!(fault("1h9").1, EntryFault::NoModifier);
    assert_eq!(fault("1s5a5").1, EntryFault::ScaleAndReplacement);
}

#[test]
fn each_kind_of_bad_text_has_a_message_of_its_own() {
    let texts = [
        "h9",
        "2h9s1",
        "0h9s1",
        "1",
        "1s1;",
        "1x1",
        "1s1s1",
        "1h24s1",
        "1DLs1",
        "1D30M2s1",
        "1s0",
        "1p1000000001",
        "1h9",
        "1s5a5",
    ];
    let mut messages: Vec<String> = texts
        .iter()
        .map(|text| {
            ParameterSchedule::decode(text, "UTC")
                .expect_err("undecodable")
                .to_string()
        })
        .chain(
            [("1h9s5", "UTC"), ("1h9", "Mars/Olympus")]
                .map(|(text, zone)| ResetSchedule::decode(text, zone).expect_err("undecodable").to_string()),
        )
        .collect();
    let count = messages.len();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), count, "{messages:#?}");
    assert_eq!(
        ParameterSchedule::decode("1h24s1", "UTC")
            .expect_err("undecodable")
            .to_string(),
        "schedule entry 1: hour \"24\" is not a list of values, ranges or steps from 0 to 23"
    );
}

#[test]
fn the_largest_values_that_may_be_stored_decode() {
    for text in ["1s1000000", "1c1000000000000000a1000000000000000p1000000000"] {
        assert!(ParameterSchedule::decode(text, "UTC").is_ok(), "{text}");
    }
}

#[test]
fn a_hostile_text_is_refused_with_a_short_message() {
    for text in [
        "1".repeat(300_000),
        "1h".to_owned() + &"9,".repeat(150_000),
        "1s".to_owned() + &"9".repeat(300_000),
    ] {
        let message = ParameterSchedule::decode(&text, "UTC")
            .expect_err("undecodable")
            .to_string();
        assert!(message.len() < 200, "{message}");
    }
}
