//! Which releases of the client library this product stands in for, and when a table may say so.
//!
//! Clients read `lambda_version` in the table's version record before they store a newer kind of limit, so that no
//! aggregator meets what it cannot read. What must stay true: the record is never lowered, and never raised above what
//! is supported here.

pub use semver::Version;

/// Kinds of limits by the release whose aggregator had to know them first.
pub const KINDS: [(Version, &str); 4] = [
    (
        Version::new(0, 14, 0),
        "dripping limits, calendar quotas, parameter schedules",
    ),
    (Version::new(0, 15, 0), "session limits"),
    (Version::new(0, 16, 0), "cascade policy"),
    (Version::new(0, 17, 0), "soft limits and top-ups"),
];

/// The newest release whose aggregator this product stands in for.
pub const SUPPORTED: Version = Version::new(0, 17, 0);

/// What to do about a version record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It says so already, or more.
    Keep,
    /// Write this version.
    Raise(Version),
    /// Nothing may be written.
    Refuse(Refusal),
}

/// Why a version is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A client may have stored kinds of limits by now that the lower version would deny.
    #[error("the table says {stored}, and a version is never lowered")]
    Lower {
        /// What the record holds.
        stored: Version,
    },
    /// Clients would store what nobody here can read.
    #[error("only releases up to {SUPPORTED} are supported")]
    Unsupported,
    /// The record holds no version.
    #[error("the table's lambda_version is no version")]
    Unreadable,
}

/// Whether a record that holds `stored` may hold `wanted`. A record without a version may hold any that is supported.
pub fn raise(stored: Option<&str>, wanted: &Version) -> Decision {
    if *wanted > SUPPORTED {
        return Decision::Refuse(Refusal::Unsupported);
    }
    let Some(text) = stored else {
        return Decision::Raise(wanted.clone());
    };
    match Version::parse(text) {
        Err(_) => Decision::Refuse(Refusal::Unreadable),
        Ok(stored) if stored == *wanted => Decision::Keep,
        Ok(stored) if stored > *wanted => Decision::Refuse(Refusal::Lower { stored }),
        Ok(_) => Decision::Raise(wanted.clone()),
    }
}

/// The kinds of limits that clients may store where the record holds this version.
pub fn kinds(version: &Version) -> impl Iterator<Item = &'static str> {
    KINDS
        .into_iter()
        .filter(move |(since, _)| since <= version)
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn versions_are_compared_as_numbers_and_not_as_text() {
        assert_eq!(
            raise(Some("0.9.0"), &version("0.16.0")),
            Decision::Raise(version("0.16.0"))
        );
        assert_eq!(
            raise(Some("0.9.9"), &version("0.10.0")),
            Decision::Raise(version("0.10.0"))
        );
    }

    #[test]
    fn a_version_is_never_lowered() {
        let stored = version("0.17.0");
        let refused = Decision::Refuse(Refusal::Lower { stored });
        assert_eq!(raise(Some("0.17.0"), &version("0.16.9")), refused);
        let stored = version("1.0.0");
        assert_eq!(
            raise(Some("1.0.0"), &SUPPORTED),
            Decision::Refuse(Refusal::Lower { stored })
        );
        assert_eq!(raise(Some("0.17.0"), &version("0.17.0")), Decision::Keep);
    }

    #[test]
    fn nothing_is_promised_that_is_not_supported() {
        assert_eq!(
            raise(Some("0.17.0"), &version("0.17.1")),
            Decision::Refuse(Refusal::Unsupported)
        );
        assert_eq!(raise(None, &SUPPORTED), Decision::Raise(SUPPORTED));
        assert_eq!(raise(Some("latest"), &SUPPORTED), Decision::Refuse(Refusal::Unreadable));
    }

    #[test]
    fn a_version_tells_which_kinds_of_limits_it_allows() {
        assert_eq!(kinds(&version("0.13.0")).count(), 0);
        assert_eq!(kinds(&version("0.15.3")).count(), 2);
        assert_eq!(kinds(&SUPPORTED).count(), KINDS.len());
    }
}
