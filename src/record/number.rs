//! Stored numbers read as integers, digit by digit: never through a float.

/// Reads a stored number as an integer. Accepts every spelling of an integral value (`12`, `-3`, `+7`, `1.20E2`,
/// `5.0`); `None` for fractions, for other text, and beyond 128 bits (a stored number has at most 38 digits,
/// which always fit, but an exponent may carry it to 10^125).
pub fn parse_integer(text: &str) -> Option<i128> {
    // Most numbers of a bucket fit 64 bits, which are several times faster than 128; every image holds dozens.
    if let Some(value) = parse_short(text.as_bytes()) {
        return Some(i128::from(value));
    }
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if is_plain {
        text.parse().ok()
    } else {
        parse_spelled(text)
    }
}

/// Up to 18 digits, which fit 64 bits, with or without a minus; `None` for everything else.
fn parse_short(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if is_negative { -value } else { value })
}

fn parse_spelled(text: &str) -> Option<i128> {
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (magnitude, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        // `.0` trims to nothing, hence a zero of its own: only text without any digit ends here.
        return (mantissa.contains('0') && all_digits(&mantissa.replacen('.', "", 1))).then_some(0);
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // The power of ten that is left once the fraction's digits count as whole ones.
    let mut shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let significant = digits.trim_end_matches('0');
    shift = shift.checked_add(i32::try_from(digits.len() - significant.len()).ok()?)?;
    let scale = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
    let magnitude = significant.parse::<i128>().ok()?.checked_mul(scale)?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::parse_integer;

    #[test]
    fn every_spelling_of_an_integer_is_read() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("12", 12),
            ("-1", -1),
            ("+7", 7),
            ("5.0", 5),
            ("1.20E2", 120),
            ("1200e-2", 12),
            (".0", 0),
            ("0.0", 0),
            ("0E10", 0),
            ("-999999999999999999", -999_999_999_999_999_999),
            ("1234567890123456789", 1_234_567_890_123_456_789),
            (
                "99999999999999999999999999999999999999",
                99_999_999_999_999_999_999_999_999_999_999_999_999,
            ),
            (
                "-99999999999999999999999999999999999999",
                -99_999_999_999_999_999_999_999_999_999_999_999_999,
            ),
        ] {
            assert_eq!(parse_integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_integer() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "e",
            "1.5",
            "0.001",
            "1e-1",
            "abc",
            "1-2",
            "--1",
            "1e99999999999",
            "1e125",
            "NaN",
            "Infinity",
            " 1",
            "1e",
            "٣",
        ] {
            assert_eq!(parse_integer(text), None, "{text}");
        }
    }
}
