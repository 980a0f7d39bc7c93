//! How far a search looks, and the earliest thing it finds (R6, "Search horizons" and "Next boundary").
//!
//! Decides the horizons, which the clients share: an edge out of reach for one must be out of reach for the other,
//! or they would disagree on whether a reset is pending. Must stay true: a field is restricted when its set of
//! values is not full, however it is written.

use super::cron_fields::CronFields;
use super::zone::MILLIS_PER_MINUTE;
use super::{ParameterSchedule, ResetSchedule};
use crate::units::EpochMillis;

const HOUR: i64 = 60 * MILLIS_PER_MINUTE;
const DAY: i64 = 24 * HOUR;

/// How far ahead a change of the active parameter entry is looked for, in milliseconds (R6).
pub(super) fn change_horizon<'a>(entries: impl Iterator<Item = &'a CronFields> + Clone) -> i64 {
    if entries.clone().any(CronFields::restricts_minute) {
        7 * DAY
    } else if entries.clone().any(CronFields::restricts_hour) {
        31 * DAY
    } else {
        366 * DAY
    }
}

/// How far a reset entry's edges are looked for in either direction, in milliseconds (R6).
pub(super) fn edge_horizon(entry: &CronFields) -> i64 {
    let cycle = match entry {
        _ if entry.restricts_month() => 366 * DAY,
        _ if entry.restricts_day_of_month() => 31 * DAY,
        _ if entry.restricts_day_of_week() => 7 * DAY,
        _ if entry.restricts_hour() => DAY,
        _ if entry.restricts_minute() => HOUR,
        _ => MILLIS_PER_MINUTE,
    };
    cycle.max(change_horizon(std::iter::once(entry)))
}

/// When the schedules of one limit next change anything (R6): the earlier of the next change of the active
/// parameter entry and the next rising reset edge; `None` without any schedule.
///
/// Always later than `now`, in epoch milliseconds. Where nothing happens within a schedule's horizon it answers
/// `now` plus that horizon, so that the question is asked again then.
pub fn next_boundary(
    parameters: Option<&ParameterSchedule>,
    resets: Option<&ResetSchedule>,
    now: EpochMillis,
) -> Option<EpochMillis> {
    let change = parameters.map(|schedule| schedule.next_change(now));
    let edge = resets.map(|schedule| schedule.next_edge(now));
    change.into_iter().chain(edge).min()
}
