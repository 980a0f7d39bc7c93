//! Five cron fields as bit sets.
//!
//! Decides what a field's text selects, in the POSIX/Vixie sense: lists, ranges, steps, Sunday as 0 and 7, and how
//! the two day fields combine. Refuses names, `L`, `W`, `#`, empty or reversed ranges, and dates no year has. Must
//! stay true: no set is ever empty, which the searches rely on.

use std::fmt;

use super::compact::{EntryFault, Excerpt, Tokens, digits};

/// One of the five cron fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldName {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12.
    Month,
    /// 0 to 7, both ends being Sunday.
    DayOfWeek,
}

impl FieldName {
    const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    pub(super) const fn lowest(self) -> u32 {
        match self {
            Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
        }
    }

    pub(super) const fn highest(self) -> u32 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 7,
        }
    }

    /// Every value of the field, bit `n` standing for `n`.
    const fn full(self) -> u64 {
        (u64::MAX >> (63 - self.highest())) & (u64::MAX << self.lowest())
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        })
    }
}

/// Most days each month can have, January first.
const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// What one entry selects; bit `n` of a set stands for the value `n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronFields {
    pub(super) minutes: u64,
    pub(super) hours: u64,
    pub(super) days: u64,
    pub(super) months: u64,
    /// Sunday is bit 0 only.
    pub(super) weekdays: u64,
    /// Whether a date must satisfy both day fields, or either.
    pub(super) both_days: bool,
}

impl CronFields {
    /// Reads the five fields of an entry.
    pub(super) fn parse(tokens: &Tokens<'_>) -> Result<Self, EntryFault> {
        let mut sets = [0; 5];
        for ((set, field), text) in sets.iter_mut().zip(FieldName::ALL).zip(tokens.fields) {
            *set = text.map_or(Ok(field.full()), |text| parse_field(field, text))?;
        }
        let [minutes, hours, days, months, weekdays] = sets;
        // Vixie decides by how the field is written: `*/2` selects few days and still counts as unrestricted.
        let starred = |text: Option<&str>| text.is_none_or(|text| text.starts_with('*'));
        let fields = Self {
            minutes,
            hours,
            days,
            months,
            weekdays: (weekdays | weekdays >> 7) & SEVEN_DAYS,
            both_days: starred(tokens.fields[2]) || starred(tokens.fields[4]),
        };
        if fields.date_occurs() {
            Ok(fields)
        } else {
            Err(EntryFault::ImpossibleDate)
        }
    }

    /// Whether some year has a matching date. Where either day field will do, a weekday always comes; where both
    /// must match, each date falls on every weekday within the calendar's 400 years.
    fn date_occurs(&self) -> bool {
        let first_day = self.days.trailing_zeros();
        let fits = |(month, days): (u32, &u32)| self.months >> month & 1 == 1 && first_day <= *days;
        !self.both_days || (1..).zip(&LONGEST).any(fits)
    }

    pub(super) fn restricts_minute(&self) -> bool {
        self.minutes != FieldName::Minute.full()
    }

    pub(super) fn restricts_hour(&self) -> bool {
        self.hours != FieldName::Hour.full()
    }

    pub(super) fn restricts_day_of_month(&self) -> bool {
        self.days != FieldName::DayOfMonth.full()
    }

    pub(super) fn restricts_month(&self) -> bool {
        self.months != FieldName::Month.full()
    }

    pub(super) fn restricts_day_of_week(&self) -> bool {
        self.weekdays != SEVEN_DAYS
    }
}

/// Sunday to Saturday.
const SEVEN_DAYS: u64 = 0b111_1111;

/// A comma separated list; the set it selects.
fn parse_field(field: FieldName, text: &str) -> Result<u64, EntryFault> {
    let mut set = 0;
    for term in text.split(',') {
        let Some(values) = parse_term(field, term) else {
            let text = Excerpt::of(text);
            let extended = term.contains(['L', 'W', '#']);
            return Err(if extended {
                EntryFault::UnsupportedExtension { field, text }
            } else {
                EntryFault::BadField { field, text }
            });
        };
        set |= values;
    }
    Ok(set)
}

/// `*`, `a` or `a-b`, each with or without `/n`.
fn parse_term(field: FieldName, term: &str) -> Option<u64> {
    let (range, step) = match term.split_once('/') {
        Some((range, step)) => (range, Some(digits(step).filter(|step| *step > 0)?)),
        None => (term, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (field.lowest(), field.highest()),
        Some((first, last)) => (value(field, first)?, value(field, last)?),
        None => value(field, range).map(|only| (only, only))?,
    };
    if first > last {
        return None;
    }
    // A step from a single value, however that is written, runs on to the end of the field (`a/n`, `a-a/n`).
    let last = if step.is_some() && first == last {
        field.highest()
    } else {
        last
    };
    let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
    Some((first..=last).step_by(step).fold(0, |set, value| set | 1 << value))
}

/// One value within the field's bounds.
fn value(field: FieldName, text: &str) -> Option<u32> {
    let value = u32::try_from(digits(text)?).ok()?;
    (field.lowest()..=field.highest()).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entry: &str) -> Result<CronFields, EntryFault> {
        CronFields::parse(&Tokens::of(entry)?)
    }

    fn set(values: impl IntoIterator<Item = u32>) -> u64 {
        values.into_iter().fold(0, |set, value| set | 1 << value)
    }

    #[test]
    fn a_step_from_one_value_runs_to_the_end_of_the_field() {
        for text in ["m50/4", "m50-50/4"] {
            assert_eq!(parse(text).expect("valid").minutes, set([50, 54, 58]), "{text}");
        }
        assert_eq!(parse("m50-50").expect("valid").minutes, set([50]));
        assert_eq!(
            parse("w5/2").expect("valid").weekdays,
            set([5, 0]),
            "a weekday step runs to the Sunday that is 7"
        );
    }

    #[test]
    fn sunday_is_both_0_and_7() {
        for (text, days) in [
            ("w7", vec![0]),
            ("w0", vec![0]),
            ("w5-7", vec![5, 6, 0]),
            ("w7,6", vec![6, 0]),
            ("w*/7", vec![0]),
        ] {
            assert_eq!(parse(text).expect("valid").weekdays, set(days), "{text}");
        }
        assert!(!parse("w1-7").expect("valid").restricts_day_of_week());
        assert!(!parse("w0-6").expect("valid").restricts_day_of_week());
    }

    #[test]
    fn a_day_field_written_with_a_star_asks_for_both() {
        for (text, both) in [
            ("D13w5", false),
            ("D*/2w5", true),
            ("D13w*/2", true),
            ("D13", true),
            ("D1-31w5", false),
            ("D1,*w5", false),
        ] {
            assert_eq!(parse(text).expect("valid").both_days, both, "{text}");
        }
    }

    #[test]
    fn a_field_is_restricted_by_its_values_not_by_its_text() {
        let full = parse("m0-59h*/1D1/1M1-6,7-12w0-7").expect("valid");
        assert!(!full.restricts_minute() && !full.restricts_hour() && !full.restricts_day_of_month());
        assert!(!full.restricts_month() && !full.restricts_day_of_week());
        let starred = parse("m*/2h*/2D*/2M*/2w*/2").expect("valid");
        assert!(starred.restricts_minute() && starred.restricts_hour() && starred.restricts_day_of_month());
        assert!(starred.restricts_month() && starred.restricts_day_of_week());
    }

    #[test]
    fn a_step_may_exceed_its_field() {
        assert_eq!(parse("m*/90").expect("valid").minutes, set([0]));
        assert_eq!(parse("m5/99999999999999999999999").expect("valid").minutes, set([5]));
    }

    #[test]
    fn a_date_that_no_year_has_is_refused() {
        for text in ["D30M2", "D31M4", "D31M2,4,6,9,11", "D30-31M2", "D30M2w*/2", "D30/1M2"] {
            assert_eq!(parse(text), Err(EntryFault::ImpossibleDate), "{text}");
        }
        for text in ["D29M2", "D31M4,5", "D1,31M4", "D30M2w1", "D31M2w0-7", "D*/31M2"] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn malformed_fields_are_refused() {
        for text in [
            "m", "m60", "h24", "D0", "D32", "M0", "M13", "w8", "h9-5", "h*/0", "h9/0", "h1,", "h,1", "h1--3",
        ] {
            assert!(matches!(parse(text), Err(EntryFault::BadField { .. })), "{text}");
        }
        for text in [
            "h*-5", "h**", "h*/2/3", "h1-2-3", "h-1", "h+1", "h 1", "h1/", "h/2", "h?", "h٣", "w6-1",
        ] {
            assert!(matches!(parse(text), Err(EntryFault::BadField { .. })), "{text}");
        }
        for text in ["DL", "D15W", "DLW", "w5L", "w5#2"] {
            assert!(
                matches!(parse(text), Err(EntryFault::UnsupportedExtension { .. })),
                "{text}"
            );
        }
    }
}
