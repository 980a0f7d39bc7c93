//! Stream sequence numbers: decimal text of 21 to 40 digits and of varying width, so neither plain text order
//! nor any machine integer compares them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A stream sequence number, ordered as the number it is.
#[derive(Clone, PartialEq, Eq)]
pub struct SequenceNumber<'a>(Cow<'a, str>);

impl<'a> SequenceNumber<'a> {
    /// `None` unless the text is one to 99 ASCII digits (two digits of length precede it where it is stored, R12).
    pub fn parse(text: Cow<'a, str>) -> Option<Self> {
        let digits = (1..=99).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        digits.then_some(Self(text))
    }

    /// The text as the stream gave it: an answer to the stream must repeat it exactly.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits that count, without leading zeros.
    pub fn significant(&self) -> &str {
        self.0.trim_start_matches('0')
    }

    /// Whether both name the same record, however they are spelled.
    pub fn same_place(&self, other: &SequenceNumber<'_>) -> bool {
        self.significant() == other.significant()
    }

    /// The same number, owning its text.
    pub fn into_owned(self) -> SequenceNumber<'static> {
        SequenceNumber(Cow::Owned(self.0.into_owned()))
    }
}

impl Ord for SequenceNumber<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (self.significant(), other.significant());
        // Equal numbers of different spelling stay apart, so that `Ord` agrees with `Eq`.
        (mine.len(), mine, &self.0).cmp(&(theirs.len(), theirs, &other.0))
    }
}

impl PartialOrd for SequenceNumber<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for SequenceNumber<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str) -> SequenceNumber<'_> {
        SequenceNumber::parse(Cow::Borrowed(text)).unwrap()
    }

    #[test]
    fn a_longer_number_is_the_later_one() {
        assert!(sequence("99999999999999999999") < sequence("100000000000000000000"));
        assert!(sequence("100000000000000000001") > sequence("100000000000000000000"));
        assert!(sequence("00000000000000000000000009") < sequence("10"));
    }

    #[test]
    fn text_that_is_no_number_is_no_sequence() {
        for text in ["", "12a", "-1", &"1".repeat(100)] {
            assert_eq!(SequenceNumber::parse(Cow::Borrowed(text)), None);
        }
    }
}
