//! A cron entry searched in real time, through whatever the zone's clocks did.
//!
//! Decides the nearest minute of UTC, in either direction, whose local time matches an entry or does not. Within a
//! stretch of constant offset this is a search in plain local time; at each transition the search starts anew with
//! the new offset, so skipped and repeated hours (and days) need no case of their own.
//! Must stay true, and is tested over every zone compiled in: no offset reaches [`WIDEST_OFFSET`], and a zone that
//! leaves an offset does not return to it within [`STRIDE`].

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::calendar::{Direction, LocalMinute, MINUTES_PER_DAY};
use super::compact::{Excerpt, ScheduleError};
use super::cron_fields::CronFields;
use crate::units::EpochMillis;

pub(super) const MILLIS_PER_MINUTE: i64 = 60_000;

/// A minute of UTC: whole minutes since 1970-01-01 00:00 UTC.
pub(super) type UtcMinute = i64;

/// 0001-01-01 00:00 UTC and 9999-12-31 23:59 UTC: beyond them nothing matches.
const FIRST_MINUTE: UtcMinute = -1_035_593_280;
const LAST_MINUTE: UtcMinute = 4_223_371_679;

/// No local date is further from UTC than this, in minutes. The widest on record is under 16 hours.
const WIDEST_OFFSET: i64 = 26 * 60;

/// How far apart two equal offsets prove that there was no other between them, in minutes. The shortest excursion
/// on record lasted just under 4 days (Freetown, 1939), under 7 since 1970.
const STRIDE: i64 = 2 * MINUTES_PER_DAY;

/// An IANA time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone(Tz);

impl Zone {
    /// The zone of this exact IANA name.
    pub(super) fn named(name: &str) -> Result<Self, ScheduleError> {
        name.parse()
            .map(Self)
            .map_err(|_| ScheduleError::UnknownZone(Excerpt::of(name)))
    }

    /// Its IANA name.
    pub(super) fn name(self) -> &'static str {
        self.0.name()
    }

    /// Local time minus UTC at the start of a minute, in minutes rounded down: the clocks' seconds are not compared.
    fn offset(self, at: UtcMinute) -> i64 {
        // Within the years of `FIRST_MINUTE` to `LAST_MINUTE` the conversion always succeeds.
        let instant = DateTime::from_timestamp(at.saturating_mul(60), 0).unwrap_or_default();
        let seconds = self
            .0
            .offset_from_utc_datetime(&instant.naive_utc())
            .fix()
            .local_minus_utc();
        i64::from(seconds).div_euclid(60)
    }

    /// Whether a minute matches the entry.
    pub(super) fn matches(self, fields: &CronFields, at: UtcMinute) -> bool {
        (FIRST_MINUTE..=LAST_MINUTE).contains(&at) && fields.matches(self.local(at))
    }

    /// The local minute at the start of a minute.
    fn local(self, at: UtcMinute) -> LocalMinute {
        at + self.offset(at)
    }

    /// The first minute from `from` to `bound` (both included) that matches the entry, or that does not.
    pub(super) fn seek(
        self,
        fields: &CronFields,
        from: UtcMinute,
        wanted: bool,
        direction: Direction,
        bound: UtcMinute,
    ) -> Option<UtcMinute> {
        let (start, end) = match direction {
            Direction::Forward => (FIRST_MINUTE, LAST_MINUTE),
            Direction::Backward => (LAST_MINUTE, FIRST_MINUTE),
        };
        let mut at = direction.farther(from, start);
        let bound = direction.nearer(bound, end);
        loop {
            at = skip_dates(fields, at, wanted, direction, bound)?;
            if direction.is_past(at, bound) {
                return None;
            }
            let offset = self.offset(at);
            let reach = direction.nearer(direction.step_by(at, STRIDE), bound);
            let found = fields
                .seek(at + offset, wanted, direction, reach + offset)
                .map(|local| local - offset);
            let proven = found.unwrap_or(reach);
            match self.first_change(at, proven, offset) {
                Some(change) => at = change,
                None if found.is_some() => return found,
                None => at = direction.step(reach),
            }
        }
    }

    /// The first minute past `from`, up to `to`, at which the offset is another one than at `from`. At most
    /// [`STRIDE`] apart, so the offset changes for good at one place if at all, and halving finds it.
    fn first_change(self, from: UtcMinute, to: UtcMinute, offset: i64) -> Option<UtcMinute> {
        if self.offset(to) == offset {
            return None;
        }
        let (mut same, mut changed) = (from, to);
        while (changed - same).abs() > 1 {
            let middle = same.midpoint(changed);
            if self.offset(middle) == offset {
                same = middle
            } else {
                changed = middle
            }
        }
        Some(changed)
    }
}

/// Moves on over dates that cannot hold what is sought, whatever the zone does: a search for a leap day asks the
/// zone about a few days, not about years. `None` if no date up to `bound` can hold it.
fn skip_dates(
    fields: &CronFields,
    at: UtcMinute,
    wanted: bool,
    direction: Direction,
    bound: UtcMinute,
) -> Option<UtcMinute> {
    if !wanted && !fields.fills_the_day() {
        // Every date holds a minute that does not match.
        return Some(at);
    }
    // From `at` on, no clock can show an earlier date than `nearest` or, up to `bound`, a later one than `farthest`.
    let nearest = direction.step_by(at, -WIDEST_OFFSET).div_euclid(MINUTES_PER_DAY);
    let farthest = direction.step_by(bound, WIDEST_OFFSET).div_euclid(MINUTES_PER_DAY);
    let day = fields.seek_date(nearest, wanted, direction, farthest)?;
    let (midnight, next_midnight) = (day * MINUTES_PER_DAY, (day + 1) * MINUTES_PER_DAY);
    let earliest = match direction {
        Direction::Forward => midnight - WIDEST_OFFSET,
        Direction::Backward => next_midnight + WIDEST_OFFSET,
    };
    Some(direction.farther(at, earliest))
}

/// The minute an instant lies in.
pub(super) fn minute_of(now: EpochMillis) -> UtcMinute {
    now.0.div_euclid(MILLIS_PER_MINUTE)
}

/// The start of a minute.
pub(super) fn start_of(minute: UtcMinute) -> EpochMillis {
    EpochMillis(minute.saturating_mul(MILLIS_PER_MINUTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`STRIDE`] and [`WIDEST_OFFSET`] take for granted, looked at once a day from 1880 to 2100.
    #[test]
    fn no_zone_returns_to_an_offset_within_a_stride_or_strays_further_than_assumed() {
        let (from, to) = (-32_872 * MINUTES_PER_DAY, 47_482 * MINUTES_PER_DAY);
        for tz in chrono_tz::TZ_VARIANTS {
            let zone = Zone(tz);
            let mut left: Vec<(i64, UtcMinute)> = Vec::new();
            let mut before = zone.offset(from);
            let mut at = from;
            while at < to {
                let offset = zone.offset(at);
                if offset != before {
                    assert!(offset.abs() < WIDEST_OFFSET, "{tz} at minute {at}");
                    let returned = left.iter().rev().find(|(earlier, _)| *earlier == offset);
                    // Sampled a day apart, an absence may seem up to a day longer than it was.
                    let long = returned.is_none_or(|(_, since)| at - since >= STRIDE + MINUTES_PER_DAY);
                    assert!(long, "{tz} at minute {at}");
                    left.push((before, at));
                    before = offset;
                }
                at += MINUTES_PER_DAY;
            }
        }
    }

    #[test]
    fn names_are_exact_and_case_sensitive() {
        assert_eq!(Zone::named("Europe/Berlin").map(Zone::name), Ok("Europe/Berlin"));
        for name in ["", "europe/berlin", "Mars/Olympus", "UTC ", "+01:00"] {
            assert!(
                matches!(Zone::named(name), Err(ScheduleError::UnknownZone(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn an_offset_with_seconds_rounds_down() {
        let monrovia = Zone::named("Africa/Monrovia").expect("a zone");
        assert_eq!(monrovia.offset(0), -45, "44 min 30 s behind UTC until 1972");
    }
}
