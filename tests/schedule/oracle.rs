//! The rules of schedules in the slowest and plainest form: every minute is converted to local time and compared.
//!
//! Shares nothing with the code under test: it reads entries by itself and knows no bit set and no transition.

use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

pub const MINUTE: i64 = 60_000;
const DAY: i64 = 1440 * MINUTE;

/// One entry's fields as plain lists, in cron order; Sunday is 0 and 7 alike.
pub struct Entry {
    pub lists: [Vec<u32>; 5],
    /// Both day fields must match, not either.
    pub both_days: bool,
}

const BOUNDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];

impl Entry {
    /// Five valid field texts, `*` where absent.
    pub fn read(texts: &[String; 5]) -> Self {
        let lists = std::array::from_fn(|at| {
            let (lowest, highest) = BOUNDS[at];
            (lowest..=highest)
                .filter(|value| texts[at].split(',').any(|term| selects(term, *value, BOUNDS[at])))
                .collect()
        });
        Self {
            lists,
            both_days: texts[2].starts_with('*') || texts[4].starts_with('*'),
        }
    }

    /// Whether the local time that a zone shows at this instant matches.
    pub fn matches(&self, zone: Tz, millis: i64) -> bool {
        let local = DateTime::<Utc>::from_timestamp_millis(millis)
            .expect("an instant")
            .with_timezone(&zone);
        self.lists[0].contains(&local.minute())
            && self.lists[1].contains(&local.hour())
            && self.date_matches(local.date_naive())
    }

    fn date_matches(&self, date: NaiveDate) -> bool {
        let weekday = date.weekday().num_days_from_sunday();
        let by_day = self.lists[2].contains(&date.day());
        let by_weekday = self.lists[4].iter().any(|listed| listed % 7 == weekday);
        let by_both = if self.both_days {
            by_day && by_weekday
        } else {
            by_day || by_weekday
        };
        self.lists[3].contains(&date.month()) && by_both
    }

    /// Whether any date of 28 years matches, which is every combination of date and weekday.
    pub fn occurs(&self) -> bool {
        let first = NaiveDate::from_ymd_opt(2000, 1, 1).expect("a date");
        first.iter_days().take(28 * 366).any(|date| self.date_matches(date))
    }

    fn restricts(&self, field: usize) -> bool {
        let (lowest, highest) = BOUNDS[field];
        let selected = |value: u32| match field {
            4 => self.lists[4].iter().any(|listed| listed % 7 == value % 7),
            _ => self.lists[field].contains(&value),
        };
        !(lowest..=highest).all(selected)
    }

    fn edge_horizon(&self) -> i64 {
        let cycles = [(3, 366 * DAY), (2, 31 * DAY), (4, 7 * DAY), (1, DAY), (0, 60 * MINUTE)];
        let cycle = cycles
            .into_iter()
            .find(|(field, _)| self.restricts(*field))
            .map_or(MINUTE, |(_, cycle)| cycle);
        cycle.max(change_horizon(std::slice::from_ref(self)))
    }
}

/// Whether a term of a list selects a value.
fn selects(term: &str, value: u32, (lowest, highest): (u32, u32)) -> bool {
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let (range, step) = term
        .split_once('/')
        .map_or((term, None), |(range, step)| (range, Some(number(step))));
    let (first, mut last) = match range.split_once('-') {
        _ if range == "*" => (lowest, highest),
        Some((first, last)) => (number(first), number(last)),
        None => (number(range), number(range)),
    };
    if step.is_some() && first == last {
        last = highest;
    }
    first <= value && value <= last && (value - first).is_multiple_of(step.unwrap_or(1))
}

fn change_horizon(entries: &[Entry]) -> i64 {
    let any = |field| entries.iter().any(|entry| entry.restricts(field));
    let days = if any(0) {
        7
    } else if any(1) {
        31
    } else {
        366
    };
    days * DAY
}

fn start_of_minute(now: i64) -> i64 {
    now.div_euclid(MINUTE) * MINUTE
}

/// The latest rising edge at or before `now`, over all entries.
pub fn previous_edge(entries: &[Entry], zone: Tz, now: i64) -> Option<i64> {
    let latest = |entry: &Entry| {
        let (mut at, end) = (start_of_minute(now), start_of_minute(now) - entry.edge_horizon());
        let mut matching = entry.matches(zone, at);
        while at - MINUTE >= end {
            let before = entry.matches(zone, at - MINUTE);
            if matching && !before {
                return Some(at);
            }
            (at, matching) = (at - MINUTE, before);
        }
        None
    };
    entries.iter().filter_map(latest).max()
}

/// The first rising edge after `now`, or the nearest horizon.
pub fn next_edge(entries: &[Entry], zone: Tz, now: i64) -> i64 {
    let earliest = |entry: &Entry| {
        let (mut at, end) = (start_of_minute(now), now + entry.edge_horizon());
        let mut before = entry.matches(zone, at);
        while at + MINUTE <= end {
            at += MINUTE;
            let matching = entry.matches(zone, at);
            if matching && !before {
                return at;
            }
            before = matching;
        }
        end
    };
    entries.iter().map(earliest).min().expect("an entry")
}

/// The first entry that matches.
pub fn active(entries: &[Entry], zone: Tz, at: i64) -> Option<usize> {
    entries
        .iter()
        .position(|entry| entry.matches(zone, start_of_minute(at)))
}

/// The first minute after `now` at which another entry is active, or the horizon.
pub fn next_change(entries: &[Entry], zone: Tz, now: i64) -> i64 {
    let (mut at, end) = (start_of_minute(now), now + change_horizon(entries));
    let before = active(entries, zone, now);
    while at + MINUTE <= end {
        at += MINUTE;
        if active(entries, zone, at) != before {
            return at;
        }
    }
    end
}

/// Instants at which a zone's offset changes within a year, to the minute.
pub fn transitions(zone: Tz, year: i32) -> Vec<i64> {
    let offset = |at: i64| {
        let instant = DateTime::<Utc>::from_timestamp_millis(at).expect("an instant");
        chrono::Offset::fix(&zone.offset_from_utc_datetime(&instant.naive_utc()))
    };
    let start = Utc
        .with_ymd_and_hms(year, 1, 1, 0, 0, 0)
        .single()
        .expect("a date")
        .timestamp_millis();
    let days = (0..366)
        .map(|day| start + day * DAY)
        .filter(|day| offset(*day) != offset(day + DAY));
    let minute = |day: i64| {
        (1..=1440)
            .map(|minute| day + minute * MINUTE)
            .find(|at| offset(*at) != offset(day))
    };
    days.filter_map(minute).collect()
}
