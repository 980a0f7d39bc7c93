//! A cron entry searched in plain local time, where every minute exists once.
//!
//! Decides the nearest local minute, in either direction, that matches an entry or does not. It knows no zone: the
//! caller keeps within a stretch of time whose offset is constant. Must stay true: a search looks at one word per
//! hour of a day and one per month, never at minutes one by one.

use chrono::{Datelike, NaiveDate};

use super::cron_fields::CronFields;

pub(super) const MINUTES_PER_DAY: i64 = 1440;
const MINUTES_PER_HOUR: i64 = 60;

/// Days from the calendar's epoch in `chrono` (1 January of year 1 is day 1) to 1970-01-01.
const UNIX_EPOCH_DAY: i64 = 719_163;

/// A minute of local time: minutes since 1970-01-01 00:00 as the zone's clocks showed it.
pub(super) type LocalMinute = i64;

/// A local date: days since 1970-01-01.
pub(super) type Day = i64;

/// Which way a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// `value` one step on.
    pub(super) fn step(self, value: i64) -> i64 {
        self.step_by(value, 1)
    }

    /// `value` moved `by` on.
    pub(super) fn step_by(self, value: i64, by: i64) -> i64 {
        match self {
            Self::Forward => value.saturating_add(by),
            Self::Backward => value.saturating_sub(by),
        }
    }

    /// Whether `value` lies past `bound`.
    pub(super) fn is_past(self, value: i64, bound: i64) -> bool {
        match self {
            Self::Forward => value > bound,
            Self::Backward => value < bound,
        }
    }

    /// Whichever of the two a search meets first.
    pub(super) fn nearer(self, one: i64, other: i64) -> i64 {
        if self.is_past(one, other) { other } else { one }
    }

    /// Whichever of the two a search meets last.
    pub(super) fn farther(self, one: i64, other: i64) -> i64 {
        if self.is_past(one, other) { one } else { other }
    }

    /// The part of a set that a search starting at bit `from` still meets.
    fn ahead(self, set: u64, from: u32) -> u64 {
        match self {
            Self::Forward => set & (u64::MAX << from),
            Self::Backward => set & (u64::MAX >> (63 - from)),
        }
    }

    /// The bit of a set that a search meets first.
    fn first(self, set: u64) -> Option<u32> {
        match self {
            _ if set == 0 => None,
            Self::Forward => Some(set.trailing_zeros()),
            Self::Backward => Some(63 - set.leading_zeros()),
        }
    }

    /// Of a range of `length` places counted from 0, the one that a search entering it meets first.
    fn entrance(self, length: i64) -> i64 {
        match self {
            Self::Forward => 0,
            Self::Backward => length - 1,
        }
    }
}

/// A month of the calendar and the entry's matching dates in it.
struct Month {
    year: i64,
    /// 1 to 12.
    number: i64,
    /// Its first date.
    first: Day,
    length: i64,
}

impl Month {
    /// The month that holds `day`; `None` beyond the years the calendar library knows.
    fn of(day: Day) -> Option<Self> {
        let date = NaiveDate::from_num_days_from_ce_opt(i32::try_from(day.checked_add(UNIX_EPOCH_DAY)?).ok()?)?;
        let (year, number) = (i64::from(date.year()), i64::from(date.month()));
        Some(Self {
            year,
            number,
            first: day - i64::from(date.day0()),
            length: month_length(year, number),
        })
    }

    /// The neighbouring month.
    fn next(&self, direction: Direction) -> Self {
        let months = direction.step(self.year * 12 + self.number - 1);
        let (year, number) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        let length = month_length(year, number);
        let first = match direction {
            Direction::Forward => self.first + self.length,
            Direction::Backward => self.first - length,
        };
        Self {
            year,
            number,
            first,
            length,
        }
    }

    /// Its dates that match the entry's date fields, or do not; bit 0 is the first.
    fn dates(&self, fields: &CronFields, wanted: bool) -> u64 {
        let all = (1_u64 << self.length) - 1;
        let matching = if fields.months >> self.number & 1 == 0 {
            0
        } else {
            // 1970-01-01 was a Thursday. The week repeats along the word; shifted so that bit 0 is the first's weekday.
            let weekday = (self.first + 4).rem_euclid(7);
            let by_weekday = (fields.weekdays * EVERY_SEVENTH) >> weekday;
            let by_day = fields.days >> 1;
            if fields.both_days {
                by_day & by_weekday
            } else {
                by_day | by_weekday
            }
        };
        if wanted { matching & all } else { !matching & all }
    }
}

/// Bits 0, 7, 14 … 49: a week's set times this is that set repeated eight times, which covers any month.
const EVERY_SEVENTH: u64 = 0x0002_0408_1020_4081;

fn month_length(year: i64, number: i64) -> i64 {
    match number {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl CronFields {
    /// Whether a local minute matches.
    pub(super) fn matches(&self, at: LocalMinute) -> bool {
        let (day, minute) = (at.div_euclid(MINUTES_PER_DAY), at.rem_euclid(MINUTES_PER_DAY));
        let (hour, minute) = (minute / MINUTES_PER_HOUR, minute % MINUTES_PER_HOUR);
        self.hours >> hour & 1 == 1 && self.minutes >> minute & 1 == 1 && self.matches_date(day)
    }

    fn matches_date(&self, day: Day) -> bool {
        Month::of(day).is_some_and(|month| month.dates(self, true) >> (day - month.first) & 1 == 1)
    }

    /// Whether every minute of a matching date matches.
    pub(super) fn fills_the_day(&self) -> bool {
        !self.restricts_minute() && !self.restricts_hour()
    }

    /// The first local minute from `from` (included) to `bound` (included) that matches, or that does not.
    pub(super) fn seek(
        &self,
        from: LocalMinute,
        wanted: bool,
        direction: Direction,
        bound: LocalMinute,
    ) -> Option<LocalMinute> {
        let (day, minute) = (from.div_euclid(MINUTES_PER_DAY), from.rem_euclid(MINUTES_PER_DAY));
        let found = if self.matches_date(day) {
            self.seek_time(minute, wanted, direction)
                .map(|minute| day * MINUTES_PER_DAY + minute)
        } else {
            (!wanted).then_some(from)
        };
        let found = match found {
            Some(found) => found,
            None => self.seek_on_later_dates(direction.step(day), wanted, direction, bound)?,
        };
        (!direction.is_past(found, bound)).then_some(found)
    }

    /// As [`Self::seek`], from the near end of `day` on.
    fn seek_on_later_dates(
        &self,
        day: Day,
        wanted: bool,
        direction: Direction,
        bound: LocalMinute,
    ) -> Option<LocalMinute> {
        let entrance = direction.entrance(MINUTES_PER_DAY);
        // Unless a matching date is filled, it holds a minute that does not match, as any other date does.
        let day = if wanted || self.fills_the_day() {
            self.seek_date(day, wanted, direction, bound.div_euclid(MINUTES_PER_DAY))?
        } else {
            day
        };
        let minute = if wanted || self.matches_date(day) {
            self.seek_time(entrance, wanted, direction)?
        } else {
            entrance
        };
        Some(day * MINUTES_PER_DAY + minute)
    }

    /// The first date from `from` to `bound` (both included) that matches, or that does not.
    pub(super) fn seek_date(&self, from: Day, wanted: bool, direction: Direction, bound: Day) -> Option<Day> {
        let mut month = Month::of(from)?;
        let mut day_of_month = from - month.first;
        loop {
            if direction.is_past(month.first + day_of_month, bound) {
                return None;
            }
            // A day of a month counts from 0 to 30.
            let ahead = direction.ahead(month.dates(self, wanted), u32::try_from(day_of_month).ok()?);
            if let Some(found) = direction.first(ahead) {
                return Some(month.first + i64::from(found)).filter(|day| !direction.is_past(*day, bound));
            }
            month = month.next(direction);
            day_of_month = direction.entrance(month.length);
        }
    }

    /// On a matching date: the first minute of the day from `from` (included) that matches, or that does not.
    fn seek_time(&self, from: i64, wanted: bool, direction: Direction) -> Option<i64> {
        let mut hour = from / MINUTES_PER_HOUR;
        let mut minute = u32::try_from(from % MINUTES_PER_HOUR).ok()?;
        while (0..24).contains(&hour) {
            let matching = if self.hours >> hour & 1 == 1 { self.minutes } else { 0 };
            let set = if wanted { matching } else { !matching & SIXTY_MINUTES };
            if let Some(found) = direction.first(direction.ahead(set, minute)) {
                return Some(hour * MINUTES_PER_HOUR + i64::from(found));
            }
            hour = direction.step(hour);
            minute = u32::try_from(direction.entrance(MINUTES_PER_HOUR)).ok()?;
        }
        None
    }
}

/// One bit for every minute of an hour.
const SIXTY_MINUTES: u64 = (1 << 60) - 1;

#[cfg(test)]
mod tests {
    use super::super::compact::Tokens;
    use super::*;

    fn fields(entry: &str) -> CronFields {
        CronFields::parse(&Tokens::of(entry).expect("tokens")).expect("fields")
    }

    fn minute(year: i32, month: u32, day: u32, hour: i64, minute: i64) -> LocalMinute {
        let date = NaiveDate::from_ymd_opt(year, month, day).expect("a date");
        (i64::from(date.num_days_from_ce()) - UNIX_EPOCH_DAY) * MINUTES_PER_DAY + hour * MINUTES_PER_HOUR + minute
    }

    #[test]
    fn walking_month_by_month_agrees_with_the_calendar_through_every_kind_of_century() {
        let (first, last) = (
            minute(1599, 1, 1, 0, 0) / MINUTES_PER_DAY,
            minute(2401, 1, 1, 0, 0) / MINUTES_PER_DAY,
        );
        for (direction, start, end) in [(Direction::Forward, first, last), (Direction::Backward, last, first)] {
            let mut month = Month::of(start).expect("a month");
            while !direction.is_past(month.first, end) {
                let known = Month::of(month.first).expect("a month");
                assert_eq!(
                    (month.year, month.number, month.first),
                    (known.year, known.number, known.first)
                );
                month = month.next(direction);
            }
        }
    }

    #[test]
    fn the_leap_day_is_found_across_years_in_both_directions() {
        let leap = fields("m0h0D29M2");
        let from = minute(2025, 6, 1, 12, 0);
        let (next, last) = (minute(2028, 2, 29, 0, 0), minute(2024, 2, 29, 0, 0));
        assert_eq!(leap.seek(from, true, Direction::Forward, i64::MAX / 2), Some(next));
        assert_eq!(leap.seek(from, true, Direction::Backward, i64::MIN / 2), Some(last));
        assert_eq!(
            leap.seek(from, true, Direction::Forward, next - 1),
            None,
            "past the bound"
        );
    }

    #[test]
    fn a_run_of_whole_days_ends_where_the_first_other_date_begins() {
        let workdays = fields("w1-5");
        let wednesday = minute(2026, 7, 1, 12, 0);
        let (saturday, sunday) = (minute(2026, 7, 4, 0, 0), minute(2026, 6, 28, 23, 59));
        assert_eq!(
            workdays.seek(wednesday, false, Direction::Forward, i64::MAX / 2),
            Some(saturday)
        );
        assert_eq!(
            workdays.seek(wednesday, false, Direction::Backward, i64::MIN / 2),
            Some(sunday)
        );
    }

    #[test]
    fn each_direction_agrees_with_looking_at_every_minute() {
        for entry in [
            "m0h0",
            "m59h23",
            "h22-23",
            "m0,59h0,23",
            "m1-58",
            "D1",
            "D31w5",
            "D*/2w5",
            "M2",
            "h0-22",
            "m*/7D28-31",
        ] {
            let fields = fields(entry);
            let start = minute(2024, 2, 27, 0, 0);
            for from in (start..start + 4 * MINUTES_PER_DAY).step_by(97) {
                for wanted in [true, false] {
                    let (last, first) = (from + 3 * MINUTES_PER_DAY, from - 3 * MINUTES_PER_DAY);
                    let forward = (from..=last).find(|at| fields.matches(*at) == wanted);
                    let backward = (first..=from).rev().find(|at| fields.matches(*at) == wanted);
                    assert_eq!(
                        fields.seek(from, wanted, Direction::Forward, last),
                        forward,
                        "{entry} {from} {wanted}"
                    );
                    assert_eq!(
                        fields.seek(from, wanted, Direction::Backward, first),
                        backward,
                        "{entry} {from} {wanted}"
                    );
                }
            }
        }
    }
}
