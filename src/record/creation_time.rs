//! `ApproximateCreationDateTime` in each of the forms in which it occurs (03-delivery, Records).

use std::borrow::Cow;

use crate::units::EpochMillis;

/// From here on a bare number means milliseconds: as seconds it would lie in the year 5138, as milliseconds it is
/// March 1973, before any stream.
const FIRST_MILLISECONDS: i64 = 100_000_000_000;

/// Reads integer seconds, fractional seconds, integer milliseconds, a numeric string or an ISO-8601 string, given
/// as JSON text. Fractions of a millisecond are dropped. `None` when absent (`null`), or in no known form: the
/// record then counts by its image's `rf` (R12).
pub fn parse_creation_time(json: &str) -> Option<EpochMillis> {
    let json = json.trim();
    if !json.starts_with('"') {
        return parse_number(json);
    }
    parse_instant_text(&serde_json::from_str::<Cow<'_, str>>(json).ok()?)
}

/// Reads an instant written as a text: seconds, milliseconds or ISO 8601, as above.
pub fn parse_instant_text(text: &str) -> Option<EpochMillis> {
    let text = text.trim();
    parse_number(text).or_else(|| parse_iso_8601(text))
}

fn parse_number(text: &str) -> Option<EpochMillis> {
    // Scientific notation is legal JSON and occurs where a float was printed: `1.7780796E9`.
    if let Some((mantissa, exponent)) = text.split_once(['e', 'E']) {
        return parse_number(&shift_point(mantissa, exponent.parse().ok()?)?);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    if whole >= FIRST_MILLISECONDS {
        return Some(EpochMillis(whole));
    }
    let mut millis = 0;
    for digit in fraction.bytes().chain(*b"000").take(3) {
        millis = millis * 10 + i64::from(digit - b'0');
    }
    Some(EpochMillis(whole * 1000 + millis))
}

/// `mantissa` with its point moved `by` places to the right, as plain decimal text.
fn shift_point(mantissa: &str, by: usize) -> Option<String> {
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if by > 20 {
        return None;
    }
    let moved: String = fraction.chars().chain(std::iter::repeat('0')).take(by).collect();
    let rest = fraction.get(by..).filter(|rest| !rest.is_empty()).unwrap_or("0");
    Some(format!("{whole}{moved}.{rest}"))
}

fn parse_iso_8601(text: &str) -> Option<EpochMillis> {
    if let Ok(instant) = chrono::DateTime::parse_from_rfc3339(text) {
        return Some(EpochMillis(instant.timestamp_millis()));
    }
    // A UTC offset without its colon, and no offset at all, which can only mean UTC.
    if let Ok(instant) = chrono::DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z") {
        return Some(EpochMillis(instant.timestamp_millis()));
    }
    let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|format| chrono::NaiveDateTime::parse_from_str(text, format).ok())?;
    Some(EpochMillis(local.and_utc().timestamp_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_one_instant_are_read() {
        for json in [
            "1778079608",
            "1778079608.0",
            "1.778079608E9",
            "1778079608000",
            "\"1778079608\"",
            "\"1778079608.000\"",
            "\"1778079608000\"",
            "\"2026-05-06T15:00:08Z\"",
            "\"2026-05-06T15:00:08.000+00:00\"",
            "\"2026-05-06T17:00:08+0200\"",
            "\"2026-05-06T15:00:08\"",
        ] {
            assert_eq!(
                parse_creation_time(json),
                Some(EpochMillis(1_778_079_608_000)),
                "{json}"
            );
        }
    }

    #[test]
    fn fractions_of_a_second_are_kept_to_the_millisecond() {
        assert_eq!(
            parse_creation_time("1778079608.25"),
            Some(EpochMillis(1_778_079_608_250))
        );
        assert_eq!(
            parse_creation_time("1778079608.9999"),
            Some(EpochMillis(1_778_079_608_999))
        );
        assert_eq!(
            parse_creation_time("1.7780796082505E9"),
            Some(EpochMillis(1_778_079_608_250))
        );
    }

    #[test]
    fn unknown_forms_are_absent() {
        for json in [
            "null",
            "\"\"",
            "\"soon\"",
            "true",
            "{}",
            "[]",
            "-5",
            "1e999",
            "\"1e99999999999999999999\"",
            "\"é1e5\"",
        ] {
            assert_eq!(parse_creation_time(json), None, "{json}");
        }
    }
}
