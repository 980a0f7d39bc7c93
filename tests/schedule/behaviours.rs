//! What schedules do, one behaviour a test.

use chrono::{DateTime, NaiveDateTime};
use limiter_aggregator::schedule::{ParameterSchedule, Parameters, ResetSchedule, next_boundary};
use limiter_aggregator::units::{EpochMillis, Millitokens};

/// An instant from UTC text such as `2026-03-29 01:00`.
fn utc(text: &str) -> EpochMillis {
    let parsed = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").expect("a time");
    EpochMillis(parsed.and_utc().timestamp_millis())
}

fn show(at: EpochMillis) -> String {
    DateTime::from_timestamp_millis(at.0)
        .expect("an instant")
        .format("%Y-%m-%d %H:%M")
        .to_string()
}

fn resets(compact: &str, zone: &str) -> ResetSchedule {
    ResetSchedule::decode(compact, zone)
        .expect("valid")
        .expect("a schedule")
}

fn parameters(compact: &str, zone: &str) -> ParameterSchedule {
    ParameterSchedule::decode(compact, zone)
        .expect("valid")
        .expect("a schedule")
}

/// The next edges from an instant on.
fn edges(schedule: &ResetSchedule, from: &str, count: usize) -> Vec<String> {
    let mut now = utc(from);
    let next = |_| {
        now = schedule.next_edge(now);
        assert_eq!(schedule.previous_edge(now), Some(now), "an edge is its own latest edge");
        show(now)
    };
    (0..count).map(next).collect()
}

#[test]
fn a_repeated_local_hour_matches_twice() {
    // Berlin, 25 October 2026: 02:30 is 00:30 UTC and again 01:30 UTC.
    let schedule = resets("1m30h2", "Europe/Berlin");
    let expected = ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-26 01:30"];
    assert_eq!(edges(&schedule, "2026-10-24 12:00", 3), expected);
}

#[test]
fn a_window_that_spans_a_repeated_hour_has_one_edge() {
    let schedule = resets("1h2", "Europe/Berlin");
    assert_eq!(
        edges(&schedule, "2026-10-24 12:00", 2),
        ["2026-10-25 00:00", "2026-10-26 01:00"]
    );
}

#[test]
fn a_local_hour_that_does_not_exist_never_matches() {
    // Berlin, 29 March 2026: 02:00 to 02:59 is skipped.
    let schedule = resets("1m30h2", "Europe/Berlin");
    assert_eq!(
        edges(&schedule, "2026-03-28 00:00", 2),
        ["2026-03-28 01:30", "2026-03-30 00:30"]
    );
}

#[test]
fn a_window_whose_start_is_skipped_begins_with_its_first_existing_minute() {
    let schedule = resets("1h2-5", "Europe/Berlin");
    assert_eq!(
        edges(&schedule, "2026-03-28 12:00", 1),
        ["2026-03-29 01:00"],
        "03:00 local"
    );
}

#[test]
fn windows_joined_by_a_skipped_hour_have_one_edge() {
    // 01:59 is followed by 03:00, so the two windows touch in elapsed time.
    let schedule = resets("1h1,3", "Europe/Berlin");
    assert_eq!(
        edges(&schedule, "2026-03-28 12:00", 2),
        ["2026-03-29 00:00", "2026-03-29 23:00"]
    );
}

#[test]
fn half_an_hour_of_daylight_saving_is_followed_exactly() {
    // Lord Howe, 5 April 2026: 02:00 (+11) falls back to 01:30 (+10:30) at 15:00 UTC on the 4th.
    let schedule = resets("1m45h1", "Australia/Lord_Howe");
    let expected = ["2026-04-04 14:45", "2026-04-04 15:15", "2026-04-05 15:15"];
    assert_eq!(edges(&schedule, "2026-04-04 00:00", 3), expected);
}

#[test]
fn a_date_that_the_zone_skipped_never_matches() {
    // Apia went from 29 December 2011 straight to the 31st, at 10:00 UTC on the 30th.
    let skipped = resets("1m0h0D30M12", "Pacific/Apia");
    let now = utc("2011-06-01 00:00");
    assert_eq!(
        show(skipped.next_edge(now)),
        "2012-06-01 00:00",
        "366 days on: out of reach"
    );
    let joined = resets("1D29-31M12", "Pacific/Apia");
    assert_eq!(edges(&joined, "2011-12-01 00:00", 1), ["2011-12-29 10:00"]);
    assert_eq!(
        show(joined.next_edge(utc("2011-12-30 09:59"))),
        "2012-12-28 10:00",
        "no edge at the gap"
    );
}

#[test]
fn a_date_that_the_zone_repeated_or_skipped_long_ago_is_followed_too() {
    // Kwajalein skipped 21 August 1993: clocks at UTC-12 moved on by a day.
    let schedule = resets("1m0h0", "Pacific/Kwajalein");
    let expected = ["1993-08-20 12:00", "1993-08-21 12:00", "1993-08-22 12:00"];
    assert_eq!(
        edges(&schedule, "1993-08-20 00:00", 3),
        expected,
        "midnights 24 hours apart all the same"
    );
    let schedule = resets("1m0h0D21", "Pacific/Kwajalein");
    assert_eq!(
        schedule.previous_edge(utc("1993-09-01 00:00")),
        None,
        "July's is more than 31 days ago"
    );
}

#[test]
fn seasons_of_the_southern_hemisphere_move_edges_the_other_way() {
    // Auckland is at +13 in January and at +12 in July.
    assert_eq!(
        edges(&resets("1m0h0", "Pacific/Auckland"), "2026-01-10 00:00", 1),
        ["2026-01-10 11:00"]
    );
    assert_eq!(
        edges(&resets("1m0h0", "Pacific/Auckland"), "2026-07-10 00:00", 1),
        ["2026-07-10 12:00"]
    );
}

#[test]
fn offsets_with_seconds_are_sampled_at_the_start_of_each_utc_minute() {
    // Monrovia was 44 min 30 s behind until 7 January 1972: 00:44 UTC is 23:59:30, 00:45 UTC is 00:00:30.
    assert_eq!(
        edges(&resets("1m0h0", "Africa/Monrovia"), "1970-01-01 00:00", 1),
        ["1970-01-01 00:45"]
    );
}

#[test]
fn restricted_day_fields_match_either_and_a_starred_one_asks_for_both() {
    // February 2026: Friday the 13th, then Friday the 20th; Sunday is the 15th.
    let either = resets("1m0h0D15w5", "UTC");
    assert_eq!(
        edges(&either, "2026-02-12 00:01", 3),
        ["2026-02-13 00:00", "2026-02-15 00:00", "2026-02-20 00:00"]
    );
    let both = resets("1m0h0D*/2w5", "UTC");
    assert_eq!(
        edges(&both, "2026-02-12 00:01", 2),
        ["2026-02-13 00:00", "2026-02-27 00:00"]
    );
}

#[test]
fn each_entry_has_edges_of_its_own() {
    // Windows that touch do not merge: both edges count.
    let schedule = resets("1h8-11;h12-15", "UTC");
    assert_eq!(
        edges(&schedule, "2026-02-12 00:00", 3),
        ["2026-02-12 08:00", "2026-02-12 12:00", "2026-02-13 08:00"]
    );
    assert_eq!(
        schedule.previous_edge(utc("2026-02-12 13:00")),
        Some(utc("2026-02-12 12:00"))
    );
}

#[test]
fn an_entry_that_always_matches_has_no_edge() {
    let schedule = resets("1;", "UTC");
    assert_eq!(schedule.entry_count(), 2);
    let now = EpochMillis(utc("2026-02-12 00:00").0 + 12_345);
    assert_eq!(schedule.previous_edge(now), None);
    assert_eq!(schedule.next_edge(now), now.saturating_add(366 * 86_400_000));
}

#[test]
fn a_past_edge_counts_only_while_the_minute_before_it_is_within_the_horizon() {
    let schedule = resets("1m0h0D31", "UTC");
    let edge = utc("2026-03-31 00:00");
    let last = EpochMillis(utc("2026-04-30 23:59").0 + 59_999);
    assert_eq!(schedule.previous_edge(last), Some(edge));
    assert_eq!(schedule.previous_edge(utc("2026-05-01 00:00")), None);
}

#[test]
fn an_unreachable_edge_answers_the_exact_instant_of_the_horizon() {
    let now = EpochMillis(utc("2026-03-01 00:00").0 + 1);
    assert_eq!(
        resets("1m0h0D29M2", "UTC").next_edge(now),
        now.saturating_add(366 * 86_400_000)
    );
}

#[test]
fn the_first_matching_entry_decides_and_a_change_is_any_other_entry_taking_over() {
    let schedule = parameters("1h12s500;h9-17c5", "UTC");
    for (at, active, change) in [
        ("2026-02-12 08:00", None, "2026-02-12 09:00"),
        ("2026-02-12 09:30", Some(1), "2026-02-12 12:00"),
        ("2026-02-12 12:59", Some(0), "2026-02-12 13:00"),
        ("2026-02-12 13:00", Some(1), "2026-02-12 18:00"),
    ] {
        assert_eq!(schedule.active_entry(utc(at)), active, "{at}");
        assert_eq!(show(schedule.next_change(utc(at))), change, "{at}");
    }
}

#[test]
fn an_entry_that_only_a_later_one_would_follow_does_not_change() {
    let schedule = parameters("1s500;h9c5", "UTC");
    let now = utc("2026-02-12 08:00");
    assert_eq!(schedule.next_change(now), now.saturating_add(31 * 86_400_000));
}

const BASE: Parameters = Parameters {
    capacity: Millitokens(10_000),
    refill: Millitokens(7_000),
    period_ms: 60_000,
};

#[test]
fn scaling_rounds_down_but_never_to_nothing_and_leaves_a_refill_of_zero() {
    let now = utc("2026-02-12 08:00");
    let thousandth = parameters("1s1", "UTC");
    let expected = Parameters {
        capacity: Millitokens(10),
        refill: Millitokens(7),
        period_ms: 60_000,
    };
    assert_eq!(thousandth.effective(BASE, now), Some(expected));
    let tiny = Parameters {
        capacity: Millitokens(999),
        refill: Millitokens::ZERO,
        period_ms: 1,
    };
    let expected = Parameters {
        capacity: Millitokens(1),
        refill: Millitokens::ZERO,
        period_ms: 1,
    };
    assert_eq!(thousandth.effective(tiny, now), Some(expected));
}

#[test]
fn replacement_is_in_tokens_and_seconds_and_touches_only_what_it_names() {
    let now = utc("2026-02-12 08:00");
    let expected = Parameters {
        refill: Millitokens(5_000),
        period_ms: 2_000,
        ..BASE
    };
    assert_eq!(parameters("1a5p2", "UTC").effective(BASE, now), Some(expected));
    assert_eq!(
        parameters("1h9a5", "UTC").effective(BASE, now),
        Some(BASE),
        "no entry active"
    );
}

#[test]
fn a_scaled_amount_beyond_128_bits_is_reported() {
    let huge = Parameters {
        capacity: Millitokens(i128::MAX),
        ..BASE
    };
    assert_eq!(parameters("1s2", "UTC").effective(huge, utc("2026-02-12 08:00")), None);
}

#[test]
fn the_boundary_is_the_earlier_of_both_kinds() {
    let (change, edge) = (parameters("1h9s500", "UTC"), resets("1m0h6", "UTC"));
    let now = utc("2026-02-12 00:00");
    assert_eq!(
        next_boundary(Some(&change), Some(&edge), now).map(show).as_deref(),
        Some("2026-02-12 06:00")
    );
    assert_eq!(
        next_boundary(Some(&change), None, now).map(show).as_deref(),
        Some("2026-02-12 09:00")
    );
    assert_eq!(next_boundary(None, None, now), None);
}
