//! The stored text of a schedule, taken apart: `<version><entry>;<entry>…`, an entry being tag+value tokens.
//!
//! Decides which text is a schedule at all and which token is which. Refuses everything else with a message of its
//! own. Must stay true: work and memory are linear in the text, and a message quotes only the beginning of it, as
//! the text comes from the table and may be anything.

use std::fmt;

use thiserror::Error;

use super::cron_fields::FieldName;

/// Why a schedule text cannot be used. The item that carries it is left alone (R6).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// The text does not begin with a number.
    #[error("a schedule must begin with its version number, this one begins with {0}")]
    NoVersion(Excerpt),
    /// A version this code does not know; guessing at a later one could refill at a wrong rate.
    #[error("schedule version {0} is not supported, only version 1 is")]
    UnsupportedVersion(Excerpt),
    /// A version and nothing else.
    #[error("the schedule ends after its version")]
    NoEntries,
    /// The zone is not in the IANA database compiled in.
    #[error("time zone {0} is unknown")]
    UnknownZone(Excerpt),
    /// One entry is at fault, counted from 1.
    #[error("schedule entry {number}: {fault}")]
    Entry {
        /// Position in the schedule, from 1.
        number: usize,
        /// What is wrong with it.
        #[source]
        fault: EntryFault,
    },
}

/// What is wrong with one entry of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EntryFault {
    /// Nothing between two separators, in a parameter schedule.
    #[error("is empty")]
    Empty,
    /// A token begins with something that is no tag.
    #[error("unknown tag {0:?}")]
    UnknownTag(char),
    /// The same tag twice.
    #[error("tag {0:?} is repeated")]
    RepeatedTag(char),
    /// A cron field that is not a list of values, ranges and steps within its bounds.
    #[error("{field} {text} is not a list of values, ranges or steps from {} to {}", .field.lowest(), .field.highest())]
    BadField {
        /// Which of the five.
        field: FieldName,
        /// Its text.
        text: Excerpt,
    },
    /// `L`, `W` or `#`, which some cron dialects know and this one does not.
    #[error("{field} {text} uses L, W or #, which are not supported")]
    UnsupportedExtension {
        /// Which of the five.
        field: FieldName,
        /// Its text.
        text: Excerpt,
    },
    /// A date that no year has, such as 30 February.
    #[error("the date can never occur")]
    ImpossibleDate,
    /// A modifier's value is not a positive whole number in ASCII digits.
    #[error("{tag:?} needs a positive whole number, not {text}")]
    NotPositive {
        /// The modifier.
        tag: char,
        /// Its text.
        text: Excerpt,
    },
    /// A modifier's value is beyond what may be stored.
    #[error("{tag:?} is {text}, at most {limit} is allowed")]
    TooLarge {
        /// The modifier.
        tag: char,
        /// Its text.
        text: Excerpt,
        /// The largest value allowed.
        limit: u64,
    },
    /// A parameter entry that changes nothing.
    #[error("changes nothing: it needs s, or at least one of c, a and p")]
    NoModifier,
    /// A parameter entry with both kinds of modifier.
    #[error("has s together with c, a or p")]
    ScaleAndReplacement,
    /// A reset entry with a modifier.
    #[error("{0:?} has no place in a reset schedule")]
    ModifierInReset(char),
}

/// The beginning of a text from the table, quoted; short however long the text was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    shown: String,
    cut: bool,
}

impl Excerpt {
    /// Characters kept: enough for any field a client writes.
    const LENGTH: usize = 40;

    pub(super) fn of(text: &str) -> Self {
        let shown: String = text.chars().take(Self::LENGTH).collect();
        let cut = shown.len() < text.len();
        Self { shown, cut }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Debug quoting keeps control characters of a hostile text out of the log.
        write!(f, "{:?}{}", self.shown, if self.cut { "…" } else { "" })
    }
}

/// The tags of the five cron fields, in cron order.
const FIELD_TAGS: [char; 5] = ['m', 'h', 'D', 'M', 'w'];
/// The tags of the modifiers: scale, capacity, refill amount, refill period.
pub(super) const MODIFIER_TAGS: [char; 4] = ['s', 'c', 'a', 'p'];

/// One entry taken apart. An absent cron field reads as `*`.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    /// The five cron fields in cron order.
    pub(super) fields: [Option<&'a str>; 5],
    /// The modifiers in the order of [`MODIFIER_TAGS`].
    pub(super) modifiers: [Option<&'a str>; 4],
}

impl<'a> Tokens<'a> {
    /// Takes one entry apart; an empty one has no tokens.
    pub(super) fn of(entry: &'a str) -> Result<Self, EntryFault> {
        let mut tokens = Self {
            fields: [None; 5],
            modifiers: [None; 4],
        };
        let mut rest = entry;
        while let Some(tag) = rest.chars().next() {
            let value = &rest[tag.len_utf8()..];
            let end = value.find(begins_token).unwrap_or(value.len());
            let slot = tokens.slot(tag).ok_or(EntryFault::UnknownTag(tag))?;
            if slot.replace(&value[..end]).is_some() {
                return Err(EntryFault::RepeatedTag(tag));
            }
            rest = &value[end..];
        }
        Ok(tokens)
    }

    fn slot(&mut self, tag: char) -> Option<&mut Option<&'a str>> {
        if let Some(at) = FIELD_TAGS.iter().position(|known| *known == tag) {
            return self.fields.get_mut(at);
        }
        let at = MODIFIER_TAGS.iter().position(|known| *known == tag)?;
        self.modifiers.get_mut(at)
    }

    /// The five fields as a crontab line has them, `0 9-17 * * 1-5`.
    pub(super) fn cron_text(&self) -> String {
        self.fields.map(|field| field.unwrap_or("*")).join(" ")
    }
}

/// Any letter ends a value, so that an unknown tag is named as such; `L` and `W` stay with the field they belong to.
fn begins_token(letter: char) -> bool {
    letter.is_ascii_alphabetic() && !matches!(letter, 'L' | 'W')
}

/// The entries' text behind the version; `None` for the empty string, which is no schedule.
pub(super) fn entries(compact: &str) -> Result<Option<&str>, ScheduleError> {
    if compact.is_empty() {
        return Ok(None);
    }
    let digits = compact.bytes().take_while(u8::is_ascii_digit).count();
    let (version, body) = compact.split_at(digits);
    if version.is_empty() {
        return Err(ScheduleError::NoVersion(Excerpt::of(compact)));
    }
    if version != "1" {
        return Err(ScheduleError::UnsupportedVersion(Excerpt::of(version)));
    }
    if body.is_empty() {
        return Err(ScheduleError::NoEntries);
    }
    Ok(Some(body))
}

/// Decodes every entry of `body` with `decode`, naming the one at fault.
pub(super) fn decode_entries<E>(
    body: &str,
    decode: impl Fn(&str) -> Result<E, EntryFault>,
) -> Result<Vec<E>, ScheduleError> {
    let number_of = |at: usize| at.saturating_add(1);
    body.split(';')
        .enumerate()
        .map(|(at, entry)| {
            decode(entry).map_err(|fault| ScheduleError::Entry {
                number: number_of(at),
                fault,
            })
        })
        .collect()
}

/// A run of ASCII digits as a number, staying at the top of 64 bits where it is longer; `None` for anything else.
///
/// Saturation is harmless: every bound it is compared with is far below, and a step beyond its field selects the
/// same single value however large it is.
pub(super) fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let push = |value: u64, byte: u8| value.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    Some(text.bytes().fold(0, push))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_in_any_order_and_absent_fields_are_stars() {
        let tokens = Tokens::of("s500w1-5h9-17").expect("a valid entry");
        assert_eq!(tokens.cron_text(), "* 9-17 * * 1-5");
        assert_eq!(tokens.modifiers, [Some("500"), None, None, None]);
    }

    #[test]
    fn an_unknown_letter_inside_a_value_is_named_as_the_tag_it_would_be() {
        assert_eq!(Tokens::of("h9q3").err(), Some(EntryFault::UnknownTag('q')));
        assert_eq!(Tokens::of("é").err(), Some(EntryFault::UnknownTag('é')));
        assert_eq!(Tokens::of("h9h9").err(), Some(EntryFault::RepeatedTag('h')));
    }

    #[test]
    fn an_excerpt_stays_short_and_escapes_what_a_log_line_must_not_hold() {
        let shown = Excerpt::of(&"\n".repeat(100_000)).to_string();
        assert!(shown.len() < 100 && !shown.contains('\n'), "{shown}");
    }

    #[test]
    fn digits_saturate_and_know_ascii_only() {
        assert_eq!(digits("0042"), Some(42));
        assert_eq!(digits(&"9".repeat(400)), Some(u64::MAX));
        for text in ["", "+5", "-5", "5.5", " 5", "٣", "１"] {
            assert_eq!(digits(text), None, "{text}");
        }
    }
}
