//! Numbers as DynamoDB keeps them: decimal, exact, at most 38 significant digits, magnitudes from 1E-130 up to but not
//! including 1E126. No floats.

use std::cmp::Ordering;

use super::Invalid;

/// Most significant digits of a number.
const MAX_DIGITS: i64 = 38;
/// Highest place of a leading digit, counted so that 1 has place 1.
const HIGHEST_PLACE: i64 = 126;
/// Lowest place of a leading digit.
const LOWEST_PLACE: i64 = -129;

/// A number as `digits · 10^exponent`, the digits without trailing zeros, and 0 as plain 0: equal numbers are equal
/// values, however they were spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    digits: u128,
    exponent: i64,
}

impl Number {
    const ZERO: Self = Self {
        negative: false,
        digits: 0,
        exponent: 0,
    };

    /// Reads `[+-] digits [. digits] [e [+-] digits]`, with a digit before or after the point.
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        let (negative, magnitude) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (coefficient, exponent) = match magnitude.split_once(['e', 'E']) {
            Some((coefficient, exponent)) => (coefficient, parse_exponent(exponent)?),
            None => (magnitude, 0),
        };
        let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
        let mut read = Self {
            negative,
            digits: 0,
            exponent,
        };
        // Zeros wait here until a digit shows that they are not trailing ones.
        let mut zeros = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            match digit {
                b'0' => zeros += 1,
                b'1'..=b'9' => {
                    if read.digits != 0 {
                        read.digits = shifted(read.digits, zeros)?;
                    }
                    read.digits = shifted(read.digits, 1)?
                        .checked_add(u128::from(digit - b'0'))
                        .ok_or(Invalid)?;
                    zeros = 0;
                }
                _ => return Err(Invalid),
            }
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(Invalid);
        }
        let places = i64::try_from(fraction.len()).map_err(|_| Invalid)?;
        read.exponent = exponent
            .checked_sub(places)
            .and_then(|e| e.checked_add(zeros))
            .ok_or(Invalid)?;
        read.in_range()
    }

    /// The sum, exact, or `Invalid` where it has more digits than DynamoDB keeps.
    pub(super) fn plus(self, other: Self) -> Result<Self, Invalid> {
        if self.digits == 0 || other.digits == 0 {
            return Ok(if self.digits == 0 { other } else { self });
        }
        let exponent = self.exponent.min(other.exponent);
        // Beyond 128 bits one operand has 39 digits more than the other's last one reaches down to: so has the sum.
        let mine = shifted(self.digits, self.exponent - exponent)?;
        let theirs = shifted(other.digits, other.exponent - exponent)?;
        let (negative, mut digits) = if self.negative == other.negative {
            (self.negative, mine.checked_add(theirs).ok_or(Invalid)?)
        } else if mine >= theirs {
            (self.negative, mine - theirs)
        } else {
            (other.negative, theirs - mine)
        };
        let mut exponent = exponent;
        while digits != 0 && digits % 10 == 0 {
            digits /= 10;
            exponent += 1;
        }
        Self {
            negative,
            digits,
            exponent,
        }
        .in_range()
    }

    /// Place of the leading digit: 1 for 1 to 9, 2 for 10 to 99, 0 for 0.1 to 0.99.
    fn place(self) -> i64 {
        self.digits.checked_ilog10().map_or(0, |log| i64::from(log) + 1) + self.exponent
    }

    fn in_range(self) -> Result<Self, Invalid> {
        if self.digits == 0 {
            return Ok(Self::ZERO);
        }
        let in_range =
            self.place() - self.exponent <= MAX_DIGITS && (LOWEST_PLACE..=HIGHEST_PLACE).contains(&self.place());
        if in_range { Ok(self) } else { Err(Invalid) }
    }

    fn magnitude_cmp(self, other: Self) -> Ordering {
        self.place().cmp(&other.place()).then_with(|| {
            // Leading digits at one place: fewer digits end in zeros that were taken off. At most 38 digits each.
            let exponent = self.exponent.min(other.exponent);
            let mine = shifted(self.digits, self.exponent - exponent);
            let theirs = shifted(other.digits, other.exponent - exponent);
            mine.unwrap_or(u128::MAX).cmp(&theirs.unwrap_or(u128::MAX))
        })
    }

    /// The one spelling in which DynamoDB gives it back: plain digits, no superfluous zeros, no exponent.
    pub(super) fn to_text(self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.to_string();
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        match usize::try_from(self.place()) {
            _ if self.exponent >= 0 => format!("{sign}{digits}{}", zeros(self.exponent)),
            Ok(place) if place > 0 => format!("{sign}{}.{}", &digits[..place], &digits[place..]),
            _ => format!("{sign}0.{}{digits}", zeros(-self.place())),
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits, number.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => self.magnitude_cmp(*other),
            _ => other.magnitude_cmp(*self),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn parse_exponent(text: &str) -> Result<i64, Invalid> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let well_formed = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if well_formed {
        text.parse().map_err(|_| Invalid)
    } else {
        Err(Invalid)
    }
}

/// `digits · 10^by`, or `Invalid` beyond 128 bits.
fn shifted(digits: u128, by: i64) -> Result<u128, Invalid> {
    let by = u32::try_from(by).map_err(|_| Invalid)?;
    10_u128
        .checked_pow(by)
        .and_then(|factor| digits.checked_mul(factor))
        .ok_or(Invalid)
}

/// The integer, if the text is the plain and only spelling of one that fits 64 bits: nearly every number of a
/// bucket, and much faster to read than a [`Number`].
pub(super) fn small_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 18 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { text.parse().ok() } else { None }
}

/// The number's stored spelling, or `Invalid`.
pub(super) fn stored(text: &str) -> Result<String, Invalid> {
    if small_integer(text).is_some() {
        return Ok(text.to_owned());
    }
    Ok(Number::parse(text)?.to_text())
}

/// Refuses text that is no number, or one that cannot be stored.
pub(super) fn check(text: &str) -> Result<(), Invalid> {
    if small_integer(text).is_some() {
        Ok(())
    } else {
        Number::parse(text).map(drop)
    }
}

/// Refuses an addend with more digits than can be sent.
pub(super) fn check_delta(delta: i128) -> Result<(), Invalid> {
    if delta.unsigned_abs() < 10_u128.pow(38) {
        Ok(())
    } else {
        Err(Invalid)
    }
}

/// Compares by value; `None` where either is no number.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (small_integer(left), small_integer(right)) {
        return Some(left.cmp(&right));
    }
    Some(Number::parse(left).ok()?.cmp(&Number::parse(right).ok()?))
}

/// The sum of a stored number and a delta, in its stored spelling.
pub(super) fn sum(stored: &str, delta: i128) -> Result<String, Invalid> {
    if let (Some(stored), Ok(delta)) = (small_integer(stored), i64::try_from(delta))
        && let Some(sum) = stored.checked_add(delta)
    {
        return Ok(sum.to_string());
    }
    Ok(Number::parse(stored)?
        .plus(Number::parse(&delta.to_string())?)?
        .to_text())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> Option<String> {
        stored(text).ok()
    }

    #[test]
    fn numbers_are_stored_in_one_spelling() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.00", "0"),
            ("0e5", "0"),
            ("0042", "42"),
            ("+5", "5"),
            ("5.", "5"),
            (".5", "0.5"),
            ("1.200", "1.2"),
            ("1.20E2", "120"),
            ("1e-3", "0.001"),
            ("-12.50e-1", "-1.25"),
            (
                "12345678901234567890123456789012345678",
                "12345678901234567890123456789012345678",
            ),
            ("1234567890123456789", "1234567890123456789"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(canonical("1e50"), Some(format!("1{}", "0".repeat(50))));
        assert_eq!(canonical("123450e120"), Some(format!("12345{}", "0".repeat(121))));
        assert_eq!(canonical("1e-130"), Some(format!("0.{}1", "0".repeat(129))));
    }

    #[test]
    fn what_is_no_number_or_out_of_range_is_refused() {
        let nines = "9".repeat(39);
        for text in [
            "",
            "-",
            ".",
            "e1",
            "1e",
            "1e+",
            "1.2.3",
            "++5",
            "1_0",
            " 5",
            "NaN",
            "1e126",
            "1e-131",
            "9e9999999999999999999",
            nines.as_str(),
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn sums_are_exact_up_to_38_digits() {
        let nines = "9".repeat(38);
        assert_eq!(sum(&nines, 1), Ok(format!("1{}", "0".repeat(38))));
        assert_eq!(sum(&format!("1{}", "0".repeat(38)), -1), Ok(nines.clone()));
        assert_eq!(sum(&format!("1{}", "0".repeat(38)), 1), Err(Invalid));
        assert_eq!(
            sum(
                &format!("18{}", "0".repeat(37)),
                -99_999_999_999_999_999_999_999_999_999_999_999_999
            )
            .map(|s| s.len()),
            Ok(38)
        );
        assert_eq!(sum("0.1", 1), Ok("1.1".to_owned()));
        assert_eq!(sum("-0.5", 1), Ok("0.5".to_owned()));
        assert_eq!(sum(&i64::MAX.to_string(), 1), Ok("9223372036854775808".to_owned()));
        assert_eq!(sum("5", -5), Ok("0".to_owned()));
        assert_eq!(check_delta(i128::MAX), Err(Invalid), "the delta alone has 39 digits");
        assert_eq!(check_delta(-99_999_999_999_999_999_999_999_999_999_999_999_999), Ok(()));
        assert_eq!(sum("1e50", 1), Err(Invalid));
    }

    #[test]
    fn comparison_is_by_value() {
        let sorted = [
            "-1e50", "-12", "-1.5", "-1e-9", "0", "0.001", "0.01", "1", "1.000001", "9", "10", "9e37", "1e38", "1e50",
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(compare(left, right), Some(i.cmp(&j)), "{left} {right}");
            }
        }
        assert_eq!(compare("1.0", "1"), Some(Ordering::Equal));
        assert_eq!(compare("x", "1"), None);
    }

    proptest! {
        #[test]
        fn integers_agree_with_machine_arithmetic(left in -(10_i128.pow(30))..10_i128.pow(30), right in -(10_i128.pow(30))..10_i128.pow(30), zeros in 0_usize..4) {
            // Spelled so that the fast path cannot take them.
            let spelled = format!("{left}.{}", "0".repeat(zeros));
            prop_assert_eq!(canonical(&spelled), Some(left.to_string()));
            prop_assert_eq!(sum(&spelled, right), Ok((left + right).to_string()));
            prop_assert_eq!(compare(&spelled, &right.to_string()), Some(left.cmp(&right)));
        }
    }
}
