//! Whether expired audit records are archived, and where.

use super::variable::{ConfigError, Lookup, flag, text};
use crate::archive::IS_BUILT_IN;

const ENABLE_ARCHIVAL: &str = "ENABLE_ARCHIVAL";
const ARCHIVE_BUCKET_NAME: &str = "ARCHIVE_BUCKET_NAME";
const BUCKET_ALLOWED: &str =
    "a bucket's name: 3 to 63 of the characters a-z 0-9 . -, beginning and ending with a letter or digit";

/// The bucket that expired audit records go to; `None` where they are not archived.
///
/// # Errors
/// Where archival is asked for without a bucket, or of a program that was built without it: whoever asks must learn
/// that at start, not when the audit is wanted.
pub(super) fn archive_bucket(lookup: &impl Lookup) -> Result<Option<String>, ConfigError> {
    archive_bucket_where(IS_BUILT_IN, lookup)
}

fn archive_bucket_where(is_built_in: bool, lookup: &impl Lookup) -> Result<Option<String>, ConfigError> {
    if !flag(lookup, ENABLE_ARCHIVAL, false)? {
        return Ok(None);
    }
    if !is_built_in {
        let allowed = "false, because this program was built without its feature archive";
        return Err(ConfigError::value(ENABLE_ARCHIVAL, "true", allowed));
    }
    let Some(name) = text(lookup, ARCHIVE_BUCKET_NAME)? else {
        let needed = format!("{BUCKET_ALLOWED}, since {ENABLE_ARCHIVAL} is true");
        return Err(ConfigError::missing(ARCHIVE_BUCKET_NAME, needed));
    };
    match is_bucket_name(&name) {
        true => Ok(Some(name)),
        false => Err(ConfigError::value(ARCHIVE_BUCKET_NAME, &name, BUCKET_ALLOWED)),
    }
}

fn is_bucket_name(name: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.iter().all(|b| plain(b) || matches!(b, b'.' | b'-'))
        && bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(is_built_in: bool, enable: &'static str, bucket: Option<&'static str>) -> Result<Option<String>, String> {
        let lookup = |name: &str| match name {
            ENABLE_ARCHIVAL => Some(enable.into()),
            ARCHIVE_BUCKET_NAME => bucket.map(Into::into),
            _ => None,
        };
        archive_bucket_where(is_built_in, &lookup).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_archived_unless_it_is_asked_for() {
        assert_eq!(archive_bucket(&|_: &str| None), Ok(None));
        assert_eq!(read(true, "false", Some("audit-1")), Ok(None));
        assert_eq!(read(true, "true", Some("audit-1")), Ok(Some("audit-1".to_owned())));
    }

    #[test]
    fn a_program_without_an_archive_says_so() {
        let error = read(false, "true", Some("audit-1")).unwrap_err();
        assert!(
            error.starts_with("ENABLE_ARCHIVAL is \"true\"; allowed is false, because"),
            "{error}"
        );
        assert!(error.contains("feature archive"), "{error}");
    }

    #[test]
    fn a_bucket_must_be_named_as_buckets_are() {
        let error = read(true, "true", None).unwrap_err();
        assert!(
            error.starts_with("ARCHIVE_BUCKET_NAME is not set; it must be "),
            "{error}"
        );
        for name in [
            "",
            "ab",
            "Audit",
            "-audit",
            "audit.",
            "au dit",
            "s3://audit",
            "audit/prefix",
        ] {
            let error = read(true, "true", Some(name)).unwrap_err();
            assert!(
                error.starts_with(&format!("ARCHIVE_BUCKET_NAME is {name:?}; allowed is ")),
                "{error}"
            );
        }
    }
}
