//! One variable at a time: strict readings, and the error that names variable, value and what is allowed.

use std::ffi::OsString;
use std::fmt::Display;
use std::str::FromStr;

/// Longest value that an error repeats whole.
const LONGEST_SHOWN: usize = 80;

/// Where variables come from: the process's environment, or a test's table.
pub trait Lookup: Fn(&str) -> Option<OsString> {}

impl<F: Fn(&str) -> Option<OsString>> Lookup for F {}

/// A variable that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It must be set and is not.
    #[error("{variable} is not set; it must be {allowed}")]
    Missing {
        /// The variable.
        variable: &'static str,
        /// What may be set.
        allowed: String,
    },
    /// It holds something that is not allowed.
    #[error("{variable} is {value:?}; allowed is {allowed}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// What it holds, shortened.
        value: String,
        /// What is allowed.
        allowed: String,
    },
}

impl ConfigError {
    /// A value that is not allowed.
    pub fn value(variable: &'static str, value: &str, allowed: impl Into<String>) -> Self {
        let mut shown: String = value.chars().take(LONGEST_SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self::Value {
            variable,
            value: shown,
            allowed: allowed.into(),
        }
    }

    pub(super) fn missing(variable: &'static str, allowed: impl Into<String>) -> Self {
        Self::Missing {
            variable,
            allowed: allowed.into(),
        }
    }
}

/// The variable's text; `None` where it is not set.
pub(super) fn text(lookup: &impl Lookup, variable: &'static str) -> Result<Option<String>, ConfigError> {
    let readable = |value: OsString| {
        value
            .into_string()
            .map_err(|raw| ConfigError::value(variable, &raw.to_string_lossy(), "UTF-8 text"))
    };
    lookup(variable).map(readable).transpose()
}

/// The variable's text, where an empty one says nothing: a deployment template cannot leave a variable out.
pub(super) fn optional_text(lookup: &impl Lookup, variable: &'static str) -> Result<Option<String>, ConfigError> {
    Ok(text(lookup, variable)?.filter(|value| !value.is_empty()))
}

/// `true` or `false`, and nothing that looks like it.
pub(super) fn flag(lookup: &impl Lookup, variable: &'static str, default: bool) -> Result<bool, ConfigError> {
    match text(lookup, variable)?.as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(ConfigError::value(variable, other, "true or false")),
    }
}

/// A whole number within bounds.
pub(super) fn number_between<N: FromStr + PartialOrd + Display>(
    lookup: &impl Lookup,
    variable: &'static str,
    least: N,
    most: N,
) -> Result<Option<N>, ConfigError> {
    let Some(value) = text(lookup, variable)? else {
        return Ok(None);
    };
    // `parse` also takes a sign.
    let digits_only = value.bytes().all(|b| b.is_ascii_digit());
    match value.parse::<N>() {
        Ok(number) if digits_only && number >= least && number <= most => Ok(Some(number)),
        Ok(_) | Err(_) => {
            let allowed = format!("a whole number from {least} to {most}");
            Err(ConfigError::value(variable, &value, allowed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: &'static str) -> impl Lookup {
        move |_: &str| Some(OsString::from(value))
    }

    #[test]
    fn a_flag_is_exactly_true_or_false() {
        assert_eq!(flag(&set("true"), "F", false), Ok(true));
        assert_eq!(flag(&set("false"), "F", true), Ok(false));
        for value in ["", "1", "True", "yes", " true"] {
            let error = flag(&set(value), "F", true).unwrap_err();
            assert_eq!(error.to_string(), format!("F is {value:?}; allowed is true or false"));
        }
    }

    #[test]
    fn a_number_is_digits_within_bounds() {
        assert_eq!(number_between(&set("16"), "N", 1, 16), Ok(Some(16)));
        assert_eq!(number_between(&|_: &str| None, "N", 1, 16), Ok(None));
        for value in ["", "0", "17", "+5", "5.0", "99999999999999999999999"] {
            let error = number_between(&set(value), "N", 1, 16).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("N is {value:?}; allowed is a whole number from 1 to 16")
            );
        }
    }

    #[test]
    fn a_long_value_is_shown_in_part() {
        let value = "é".repeat(100);
        let ConfigError::Value { value: shown, .. } = ConfigError::value("V", &value, "less") else {
            panic!("another error");
        };
        assert_eq!(shown, format!("{}…", "é".repeat(LONGEST_SHOWN)));
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_refused() {
        use std::os::unix::ffi::OsStringExt;
        let lookup = |_: &str| Some(OsString::from_vec(vec![0xff, b'x']));
        let error = text(&lookup, "V").unwrap_err();
        assert_eq!(error.to_string(), "V is \"\u{fffd}x\"; allowed is UTF-8 text");
    }
}
