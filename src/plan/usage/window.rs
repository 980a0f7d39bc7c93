//! Which windows an instant belongs to, and which of two windows that begin together keeps the plain key (R12).

use chrono::{DateTime, Datelike, Utc};

use crate::units::EpochMillis;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// 9999-12-31T23:59:59.999Z: beyond it a stored window start would not have its form any more.
const LAST_INSTANT: EpochMillis = EpochMillis(253_402_300_799_999);

/// A kind of window, in UTC. A finer kind is less than a coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowKind {
    /// From the full hour.
    Hourly,
    /// From midnight.
    Daily,
    /// From midnight on the first of the month.
    Monthly,
}

impl WindowKind {
    /// Every kind, finest first.
    pub const ALL: [Self; 3] = [Self::Hourly, Self::Daily, Self::Monthly];

    /// The kind's name, as it is stored and configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Monthly => "monthly",
        }
    }

    /// Start of the window that an instant lies in. `None` before 1970 and after 9999, where no record was made.
    pub fn start_of(self, instant: EpochMillis) -> Option<EpochMillis> {
        if !(EpochMillis(0)..=LAST_INSTANT).contains(&instant) {
            return None;
        }
        let day = || instant.0.div_euclid(DAY_MS) * DAY_MS;
        Some(EpochMillis(match self {
            Self::Hourly => instant.0.div_euclid(HOUR_MS) * HOUR_MS,
            Self::Daily => day(),
            Self::Monthly => {
                let date = DateTime::<Utc>::from_timestamp_millis(instant.0)?;
                day() - i64::from(date.day0()) * DAY_MS
            }
        }))
    }
}

/// The configured kinds of window: finest first, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows(Vec<WindowKind>);

impl Windows {
    /// These kinds, whatever their order.
    pub fn of(kinds: impl IntoIterator<Item = WindowKind>) -> Self {
        let mut kinds: Vec<WindowKind> = kinds.into_iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self(kinds)
    }

    /// The kinds, finest first.
    pub fn kinds(&self) -> &[WindowKind] {
        &self.0
    }

    /// The windows that an instant lies in, one per kind, finest first. None for an instant that has none.
    pub fn at(&self, instant: EpochMillis) -> impl Iterator<Item = Window> {
        self.0.iter().enumerate().filter_map(move |(at, &kind)| {
            let start = kind.start_of(instant)?;
            let is_shared = |coarser: &WindowKind| coarser.start_of(instant) == Some(start);
            Some(Window {
                start,
                kind,
                begins_with_coarser: self.0[at + 1..].iter().any(is_shared),
            })
        })
    }
}

/// One window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// Its first instant.
    pub start: EpochMillis,
    /// Its kind.
    pub kind: WindowKind,
    /// Whether a coarser configured kind begins at the same instant and so keeps the plain key.
    pub begins_with_coarser: bool,
}

impl Window {
    /// What the window's keys end in beside the start.
    pub fn key_suffix(&self) -> Option<&'static str> {
        self.begins_with_coarser.then_some(self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::window_start_text;

    fn instant(text: &str) -> EpochMillis {
        EpochMillis(text.parse::<DateTime<Utc>>().unwrap().timestamp_millis())
    }

    fn windows_at(kinds: &[WindowKind], at: &str) -> Vec<(String, Option<&'static str>)> {
        Windows::of(kinds.iter().copied())
            .at(instant(at))
            .map(|window| (window_start_text(window.start).unwrap(), window.key_suffix()))
            .collect()
    }

    fn expected(windows: &[(&str, Option<&'static str>)]) -> Vec<(String, Option<&'static str>)> {
        windows
            .iter()
            .map(|(start, suffix)| ((*start).to_owned(), *suffix))
            .collect()
    }

    use WindowKind::{Daily, Hourly, Monthly};

    #[test]
    fn each_kind_begins_where_utc_says() {
        let windows = windows_at(&[Monthly, Hourly, Daily], "2028-02-29T23:59:59.999Z");
        assert_eq!(
            windows,
            expected(&[
                ("2028-02-29T23:00:00Z", None),
                ("2028-02-29T00:00:00Z", None),
                ("2028-02-01T00:00:00Z", None)
            ])
        );
        assert_eq!(Monthly.start_of(EpochMillis(0)), Some(EpochMillis(0)));
    }

    #[test]
    fn of_the_kinds_that_begin_together_the_coarsest_keeps_the_plain_key() {
        let first = "2026-12-01T00:30:00Z";
        let start = "2026-12-01T00:00:00Z";
        for (kinds, suffixes) in [
            (
                &[Hourly, Daily, Monthly][..],
                &[Some("hourly"), Some("daily"), None][..],
            ),
            (&[Hourly, Daily], &[Some("hourly"), None]),
            (&[Hourly, Monthly], &[Some("hourly"), None]),
            (&[Daily, Monthly], &[Some("daily"), None]),
            (&[Hourly], &[None]),
        ] {
            let want: Vec<_> = suffixes.iter().map(|suffix| (start.to_owned(), *suffix)).collect();
            assert_eq!(windows_at(kinds, first), want);
        }
    }

    #[test]
    fn a_kind_that_is_not_configured_takes_no_key() {
        let midnight = windows_at(&[Hourly, Monthly], "2026-12-02T00:30:00Z");
        assert_eq!(
            midnight,
            expected(&[("2026-12-02T00:00:00Z", None), ("2026-12-01T00:00:00Z", None)])
        );
    }

    #[test]
    fn an_instant_outside_the_calendar_has_no_window() {
        for millis in [-1, LAST_INSTANT.0 + 1, i64::MIN, i64::MAX] {
            assert_eq!(Windows::of(WindowKind::ALL).at(EpochMillis(millis)).count(), 0);
        }
        assert_eq!(Windows::of(WindowKind::ALL).at(LAST_INSTANT).count(), 3);
    }
}
