//! Matching minutes against the `cron` crate, where its dialect says the same.
//!
//! It wants a seconds field, counts weekdays from 1 (Sunday) and refuses 0, and always asks for both day fields. So
//! it is given expanded lists, and only entries whose day fields are joined by "and". Its reading of steps, `a/n`,
//! stars, daylight saving and horizons differs or is absent: the comparison is in UTC and on the lists.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use limiter_aggregator::schedule::ParameterSchedule;
use limiter_aggregator::units::EpochMillis;
use proptest::prelude::*;

use super::oracle::Entry;

fn list(values: impl Iterator<Item = u32>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}

/// The entry in that crate's dialect.
fn foreign(entry: &Entry) -> cron::Schedule {
    let [minutes, hours, days, months, weekdays] = &entry.lists;
    let plain = [minutes, hours, days, months].map(|values| list(values.iter().copied()));
    let weekdays = list(
        (0..7)
            .filter(|day| weekdays.iter().any(|listed| listed % 7 == *day))
            .map(|day| day + 1),
    );
    let text = format!("0 {} {weekdays}", plain.join(" "));
    cron::Schedule::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Day of month and day of week, one of them beginning with a star, so that both must match.
fn joined_days() -> impl Strategy<Value = (String, String)> {
    let any_day = prop_oneof!["\\*", "\\*/[2-9]", "[1-9],1[0-9],2[0-9]", "1[0-9]/4"];
    let any_weekday = prop_oneof!["\\*", "\\*/[2-7]", "[0-7]", "[1-3]-[4-7]"];
    prop_oneof![
        (any_day, prop_oneof!["\\*", "\\*/[2-7]"]),
        (prop_oneof!["\\*", "\\*/[2-9]"], any_weekday)
    ]
}

proptest! {
    #[test]
    fn the_next_matching_minute_is_the_one_the_cron_crate_names(
        minute in prop_oneof!["\\*", "\\*/[2-9]", "[1-5][0-9]/[2-9]", "[0-2][0-9]-[3-5][0-9]", "[0-5][0-9]"],
        hour in prop_oneof!["\\*", "\\*/[2-9]", "0[0-9]-1[0-9]/3", "1[0-9]", "2[0-3]"],
        month in prop_oneof!["\\*", "\\*/[2-6]", "[1-5]-[6-9]", "1[0-2]"],
        (day, weekday) in joined_days(),
        now in 0_i64..4_000_000_000_000,
    ) {
        let texts = [minute, hour, day, month, weekday];
        let entry = Entry::read(&texts);
        prop_assert!(entry.both_days);
        let [m, h, d, mo, w] = &texts;
        let text = format!("1m{m}h{h}D{d}M{mo}w{w}s500");
        let schedule = ParameterSchedule::decode(&text, "UTC").expect("valid").expect("a schedule");
        let foreign = foreign(&entry);
        let minute = DateTime::<Utc>::from_timestamp(now / 60_000 * 60, 0).expect("an instant");
        prop_assert_eq!(schedule.active_entry(EpochMillis(now)).is_some(), foreign.includes(minute), "{}", &text);
        // While the entry is inactive, its next match is the next change.
        if !foreign.includes(minute) {
            let change = schedule.next_change(EpochMillis(now)).0;
            let named = foreign.after(&minute).next().map_or(i64::MAX, |next| next.timestamp_millis());
            let horizon_reached = change % 60_000 == now % 60_000 && change < named;
            prop_assert!(change == named || horizon_reached, "{}: {} against {}", &text, change, named);
        }
    }
}
