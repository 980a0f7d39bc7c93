//! How usage is counted: which windows, for how long, and from when on (R12).

use super::variable::{ConfigError, Lookup, number_between, optional_text, text};
use crate::plan::usage::{UsageSettings, WindowKind, Windows};
use crate::units::EpochMillis;

const SNAPSHOT_WINDOWS: &str = "SNAPSHOT_WINDOWS";
const SNAPSHOT_TTL_DAYS: &str = "SNAPSHOT_TTL_DAYS";
const USAGE_NOT_BEFORE: &str = "USAGE_NOT_BEFORE";

/// A century: more is a slip of the keyboard.
const MOST_TTL_DAYS: u32 = 36_500;
/// Days of the longest month: a shorter life ends within the month that the snapshot counts.
const LONGEST_MONTH_DAYS: u32 = 31;
/// March 1973. A smaller number is an instant in seconds, or a slip.
const FIRST_TAKEOVER: i64 = 100_000_000_000;

impl UsageSettings {
    /// What the environment says.
    ///
    /// # Errors
    /// The first variable whose value is not allowed.
    pub fn from_lookup(lookup: &impl Lookup) -> Result<Self, ConfigError> {
        let mut settings = Self::default();
        if let Some(value) = text(lookup, SNAPSHOT_WINDOWS)? {
            settings.windows = parse_windows(&value).ok_or_else(|| {
                let allowed = "a comma-separated list of hourly, daily and monthly, each at most once and at least one";
                ConfigError::value(SNAPSHOT_WINDOWS, &value, allowed)
            })?;
        }
        if let Some(days) = number_between(lookup, SNAPSHOT_TTL_DAYS, 1, MOST_TTL_DAYS)? {
            settings.ttl_days = days;
        }
        if let Some(value) = optional_text(lookup, USAGE_NOT_BEFORE)? {
            let takeover = parse_takeover(&value).ok_or_else(|| {
                let allowed = "an instant in epoch milliseconds, or nothing";
                ConfigError::value(USAGE_NOT_BEFORE, &value, allowed)
            })?;
            settings.not_before = Some(takeover);
        }
        Ok(settings)
    }

    /// What an operator should hear at start, although it is allowed.
    pub fn warning(&self) -> Option<&'static str> {
        let is_monthly = self.windows.kinds().contains(&WindowKind::Monthly);
        (is_monthly && self.ttl_days < LONGEST_MONTH_DAYS).then_some(
            "SNAPSHOT_TTL_DAYS is less than 31 with monthly among SNAPSHOT_WINDOWS: monthly snapshots expire within \
             their month and start again from 0",
        )
    }
}

/// `None` for an unknown kind, a repeated one, and for no kind at all: a list that names none is likelier a slip than
/// the wish to count nothing, for which `ENABLE_USAGE` exists.
fn parse_windows(value: &str) -> Option<Windows> {
    let mut kinds = Vec::new();
    for name in value.split(',') {
        let kind = WindowKind::ALL.into_iter().find(|kind| kind.as_str() == name.trim())?;
        if kinds.contains(&kind) {
            return None;
        }
        kinds.push(kind);
    }
    Some(Windows::of(kinds))
}

fn parse_takeover(value: &str) -> Option<EpochMillis> {
    let millis = digits(value)?.parse().ok()?;
    (millis >= FIRST_TAKEOVER).then_some(EpochMillis(millis))
}

fn digits(value: &str) -> Option<&str> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variable: &str, value: &str) -> Result<UsageSettings, ConfigError> {
        UsageSettings::from_lookup(&|name: &str| (name == variable).then(|| value.into()))
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let settings = UsageSettings::from_lookup(&|_: &str| None).unwrap();
        assert_eq!(settings, UsageSettings::default());
        assert_eq!(settings.windows.kinds(), [WindowKind::Hourly, WindowKind::Daily]);
        assert_eq!((settings.ttl_days, settings.not_before), (90, None));
    }

    #[test]
    fn windows_are_read_in_any_order_and_with_spaces() {
        for value in ["hourly,daily,monthly", " monthly , hourly,daily "] {
            assert_eq!(read(SNAPSHOT_WINDOWS, value).unwrap().windows.kinds(), WindowKind::ALL);
        }
        assert_eq!(
            read(SNAPSHOT_WINDOWS, "monthly").unwrap().windows.kinds(),
            [WindowKind::Monthly]
        );
    }

    #[test]
    fn anything_else_names_the_variable_the_value_and_what_is_allowed() {
        for value in [
            "",
            " ",
            "weekly",
            "Hourly",
            "hourly,",
            "hourly daily",
            "hourly,hourly",
            "hourly;daily",
        ] {
            let message = read(SNAPSHOT_WINDOWS, value).unwrap_err().to_string();
            assert!(message.contains("SNAPSHOT_WINDOWS"), "{message}");
            assert!(message.contains(&format!("{value:?}")) && message.contains("hourly, daily and monthly"));
        }
        for value in ["", "0", "-1", "1.5", "+7", "36501", "99999999999999999999", "ninety"] {
            let message = read(SNAPSHOT_TTL_DAYS, value).unwrap_err().to_string();
            assert!(
                message.contains("SNAPSHOT_TTL_DAYS") && message.contains("1 to 36500"),
                "{message}"
            );
        }
        for value in ["now", "1793627970", "-5", "2026-12-01", "1e12"] {
            let message = read(USAGE_NOT_BEFORE, value).unwrap_err().to_string();
            assert!(
                message.contains("USAGE_NOT_BEFORE") && message.contains("milliseconds"),
                "{message}"
            );
        }
    }

    #[test]
    fn an_empty_takeover_is_none() {
        assert_eq!(read(USAGE_NOT_BEFORE, "").unwrap().not_before, None);
        let settings = read(USAGE_NOT_BEFORE, "1793627970050").unwrap();
        assert_eq!(settings.not_before, Some(EpochMillis(1_793_627_970_050)));
    }

    #[test]
    fn a_month_that_outlives_its_snapshot_is_warned_about() {
        let with = |kinds: &[WindowKind], ttl_days| UsageSettings {
            windows: Windows::of(kinds.iter().copied()),
            ttl_days,
            not_before: None,
        };
        assert!(with(&WindowKind::ALL, 30).warning().is_some());
        assert!(with(&WindowKind::ALL, 31).warning().is_none());
        assert!(with(&[WindowKind::Hourly, WindowKind::Daily], 1).warning().is_none());
    }
}
