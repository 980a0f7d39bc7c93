//! Instants as people write and read them.

use chrono::{DateTime, SecondsFormat};
use limiter_aggregator::units::EpochMillis;

/// Reads epoch milliseconds or RFC 3339.
///
/// # Errors
/// What is expected.
pub fn parse(text: &str) -> Result<EpochMillis, String> {
    if let Ok(millis) = text.parse() {
        return Ok(EpochMillis(millis));
    }
    DateTime::parse_from_rfc3339(text)
        .map(|instant| EpochMillis(instant.timestamp_millis()))
        .map_err(|_| "expected epoch milliseconds or RFC 3339, such as 2026-11-30T14:00:00Z".to_owned())
}

/// RFC 3339 in UTC, with milliseconds where there are any; plain milliseconds beyond the calendar.
pub fn show(instant: EpochMillis) -> String {
    let precision = if instant.0 % 1000 == 0 {
        SecondsFormat::Secs
    } else {
        SecondsFormat::Millis
    };
    DateTime::from_timestamp_millis(instant.0).map_or_else(
        || format!("{} ms", instant.0),
        |instant| instant.to_rfc3339_opts(precision, true),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_instant_are_read() {
        for text in [
            "1793627974850",
            "2026-11-02T13:59:34.850Z",
            "2026-11-02T14:59:34.85+01:00",
        ] {
            assert_eq!(parse(text), Ok(EpochMillis(1_793_627_974_850)), "{text}");
        }
        assert!(parse("yesterday").is_err() && parse("").is_err());
    }

    #[test]
    fn instants_beyond_the_calendar_are_shown_as_they_are() {
        assert_eq!(show(EpochMillis(1_793_627_974_000)), "2026-11-02T13:59:34Z");
        assert_eq!(show(EpochMillis(i64::MAX)), format!("{} ms", i64::MAX));
    }
}
