//! The searches against the oracle: random entries, every zone, instants around transitions above all.
//!
//! `PROPTEST_CASES` sets how many; the oracle may look at half a million minutes for one.

use chrono_tz::Tz;
use limiter_aggregator::schedule::{ParameterSchedule, Parameters, ResetSchedule, next_boundary};
use limiter_aggregator::units::{EpochMillis, Millitokens};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::oracle::{self, Entry, MINUTE};

/// A term of a field's list.
fn term(lowest: u32, highest: u32) -> impl Strategy<Value = String> {
    let value = lowest..=highest;
    prop_oneof![
        4 => value.clone().prop_map(|value| value.to_string()),
        3 => (value.clone(), value.clone()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (1..=highest + 1).prop_map(|step| format!("*/{step}")),
        1 => (value.clone(), 1..=highest).prop_map(|(a, step)| format!("{a}/{step}")),
        1 => (value.clone(), value, 1..=highest).prop_map(|(a, b, n)| format!("{}-{}/{n}", a.min(b), a.max(b))),
    ]
}

/// A field's text, `*` about as often as `stars` says in ten.
fn field(lowest: u32, highest: u32, stars: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        stars => Just("*".to_owned()),
        10 - stars => proptest::collection::vec(term(lowest, highest), 1..4).prop_map(|terms| terms.join(",")),
    ]
}

fn entry_texts() -> impl Strategy<Value = [String; 5]> {
    (
        field(0, 59, 4),
        field(0, 23, 4),
        field(1, 31, 6),
        field(1, 12, 7),
        field(0, 7, 6),
    )
        .prop_map(|(minute, hour, day, month, weekday)| [minute, hour, day, month, weekday])
        .prop_filter("a date that occurs", |texts| Entry::read(texts).occurs())
}

/// Entries that are all about midnight and the small hours, where clocks change.
fn small_hours() -> impl Strategy<Value = [String; 5]> {
    let minute = select(vec!["0", "30", "59", "*", "0-29", "*/15", "0,59", "58-59"]);
    let hour = select(vec![
        "0", "1", "2", "3", "23", "0-2", "2-23", "*/2", "22-23", "0,23", "*", "0-22",
    ]);
    let day = select(vec!["*", "*", "*/2", "1", "28-31", "30"]);
    let weekday = select(vec!["*", "*", "0", "7", "1-6", "*/2", "5-7"]);
    (minute, hour, day, weekday)
        .prop_map(|(minute, hour, day, weekday)| [minute, hour, day, "*", weekday].map(str::to_owned))
}

fn entries() -> impl Strategy<Value = Vec<[String; 5]>> {
    proptest::collection::vec(prop_oneof![entry_texts(), small_hours()], 1..4)
}

const NOTABLE: [Tz; 14] = [
    Tz::UTC,
    Tz::Europe__Berlin,
    Tz::America__New_York,
    Tz::America__Sao_Paulo,
    Tz::Australia__Lord_Howe,
    Tz::Pacific__Apia,
    Tz::Pacific__Kwajalein,
    Tz::Pacific__Chatham,
    Tz::Africa__Casablanca,
    Tz::Africa__Monrovia,
    Tz::Asia__Gaza,
    Tz::Asia__Tehran,
    Tz::America__Asuncion,
    Tz::Antarctica__Troll,
];

/// A zone and an instant: anywhere, or within hours or days of a transition.
fn place() -> impl Strategy<Value = (Tz, i64)> {
    let zone = prop_oneof![select(NOTABLE.to_vec()), select(chrono_tz::TZ_VARIANTS.to_vec())];
    let year = prop_oneof![3 => 1969..2040_i32, 1 => 1850..2105_i32];
    let near = prop_oneof![
        -150 * MINUTE..150 * MINUTE,
        -3000 * MINUTE..3000 * MINUTE,
        -40_000 * MINUTE..40_000 * MINUTE
    ];
    (
        zone,
        year,
        any::<Index>(),
        near,
        -800_000 * MINUTE..800_000 * MINUTE,
        select(vec![0, 1, 59_999, 31_415]),
    )
        .prop_map(|(zone, year, which, near, anywhere, millis)| {
            let found = oracle::transitions(zone, year);
            let at = match found.len() {
                0 => i64::from(year - 1970) * 31_556_952_000 + anywhere,
                many => found[which.index(many)] + near,
            };
            (zone, at.div_euclid(MINUTE) * MINUTE + millis)
        })
}

/// The stored form of entries, each with a modifier if given.
fn compact(entries: &[[String; 5]], modifier: &str) -> String {
    let tokens = |texts: &[String; 5]| {
        let fields = ["m", "h", "D", "M", "w"]
            .into_iter()
            .zip(texts)
            .filter(|(_, text)| *text != "*");
        fields.map(|(tag, text)| format!("{tag}{text}")).collect::<String>() + modifier
    };
    format!("1{}", entries.iter().map(tokens).collect::<Vec<_>>().join(";"))
}

proptest! {
    #[test]
    fn reset_edges_are_where_looking_at_every_minute_finds_them(entries in entries(), (zone, now) in place()) {
        let text = compact(&entries, "");
        prop_assume!(text != "1");
        let schedule = ResetSchedule::decode(&text, zone.name()).expect("valid").expect("a schedule");
        let plain: Vec<Entry> = entries.iter().map(Entry::read).collect();
        let previous = schedule.previous_edge(EpochMillis(now)).map(|edge| edge.0);
        prop_assert_eq!(previous, oracle::previous_edge(&plain, zone, now), "previous edge of {}", &text);
        prop_assert_eq!(schedule.next_edge(EpochMillis(now)).0, oracle::next_edge(&plain, zone, now), "next of {}", &text);
    }

    #[test]
    fn parameter_changes_are_where_looking_at_every_minute_finds_them(entries in entries(), (zone, now) in place()) {
        let text = compact(&entries, "s500");
        let schedule = ParameterSchedule::decode(&text, zone.name()).expect("valid").expect("a schedule");
        let plain: Vec<Entry> = entries.iter().map(Entry::read).collect();
        prop_assert_eq!(schedule.active_entry(EpochMillis(now)), oracle::active(&plain, zone, now), "active of {}", &text);
        prop_assert_eq!(schedule.next_change(EpochMillis(now)).0, oracle::next_change(&plain, zone, now), "{}", &text);
    }

    #[test]
    fn no_text_and_no_instant_panics(
        text in prop_oneof!["1?[mhDMwscapLW0-9*/,;# -]{0,40}", "1([mhDMwscap][0-9*]{1,3}([-/,][0-9]{1,2})?;?){0,9}", any::<String>()],
        zone in select(vec!["UTC", "Europe/Berlin", "Pacific/Apia", "Nowhere", ""]),
        now in prop_oneof![any::<i64>(), select(vec![i64::MIN, i64::MAX, -62_135_596_800_001, 253_402_300_799_999])],
    ) {
        let now = EpochMillis(now);
        let parameters = ParameterSchedule::decode(&text, zone).unwrap_or_else(|error| { let _ = error.to_string(); None });
        let resets = ResetSchedule::decode(&text, zone).unwrap_or_else(|error| { let _ = error.to_string(); None });
        let largest = Parameters { capacity: Millitokens(i128::MAX), refill: Millitokens(i128::MIN), period_ms: i128::MAX };
        let _ = parameters.as_ref().map(|schedule| (schedule.effective(largest, now), schedule.entries()));
        let previous = resets.as_ref().and_then(|schedule| schedule.previous_edge(now));
        prop_assert!(previous.is_none_or(|edge| edge <= now));
        if let Some(boundary) = next_boundary(parameters.as_ref(), resets.as_ref(), now) {
            prop_assert!(boundary > now || now.0 == i64::MAX);
        }
    }
}
