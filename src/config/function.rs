//! What only the Lambda needs to know, beside what the aggregator does.

use super::Settings;
use super::archive::archive_bucket;
use super::variable::{ConfigError, Lookup, optional_text, text};
use crate::report::MetricsTarget;

const DEFAULT_NAMESPACE: &str = "LimiterAggregator";
const LONGEST_NAMESPACE: usize = 255;
const TABLE_NAME_ALLOWED: &str = "a table's name: 3 to 255 of the characters a-z A-Z 0-9 _ . -";
const NAMESPACE_ALLOWED: &str = "1 to 255 of the characters a-z A-Z 0-9 . - _ / #, not beginning with AWS/";

/// Variables that Lambda sets and its runtime client panics without.
const SET_BY_LAMBDA: [&str; 4] = [
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
];

/// Everything that the Lambda reads at start. Endpoint, region and credentials are the SDK's to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSettings {
    /// `TABLE_NAME`.
    pub table_name: String,
    /// `METRICS_NAMESPACE`, and the function's name as Lambda gives it.
    pub metrics: MetricsTarget,
    /// `LOG_HASH_KEY`: makes the short hashes of one deployment comparable across processes.
    pub log_hash_key: Option<HashKey>,
    /// `ARCHIVE_BUCKET_NAME`, where `ENABLE_ARCHIVAL` is true.
    pub archive_bucket: Option<String>,
    /// What the aggregator does.
    pub aggregator: Settings,
}

/// A secret text. Nothing shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey(String);

impl HashKey {
    /// `LOG_HASH_KEY`; `None` where it is not set, or empty.
    ///
    /// # Errors
    /// Where it is no text. The error does not repeat it.
    pub fn from_lookup(lookup: &impl Lookup) -> Result<Option<Self>, ConfigError> {
        const VARIABLE: &str = "LOG_HASH_KEY";
        match optional_text(lookup, VARIABLE) {
            Ok(key) => Ok(key.map(Self)),
            Err(_) => Err(ConfigError::value(VARIABLE, "(not shown)", "UTF-8 text")),
        }
    }

    /// The key, for hashing.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(..)")
    }
}

impl FunctionSettings {
    /// What the environment says.
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is missing or holds something else than what is allowed.
    pub fn from_lookup(lookup: &impl Lookup) -> Result<Self, ConfigError> {
        let table_name = table_name(lookup)?;
        let namespace = metrics_namespace(lookup)?;
        let log_hash_key = HashKey::from_lookup(lookup)?;
        let aggregator = Settings::from_lookup(lookup)?;
        let archive_bucket = archive_bucket(lookup)?;
        for variable in SET_BY_LAMBDA {
            set_by_lambda(lookup, variable)?;
        }
        let function_name = set_by_lambda(lookup, "AWS_LAMBDA_FUNCTION_NAME")?;
        Ok(Self {
            table_name,
            metrics: MetricsTarget {
                namespace,
                function_name,
            },
            log_hash_key,
            archive_bucket,
            aggregator,
        })
    }
}

fn set_by_lambda(lookup: &impl Lookup, variable: &'static str) -> Result<String, ConfigError> {
    let missing = || ConfigError::missing(variable, "set by Lambda, which alone starts this program");
    text(lookup, variable)?.ok_or_else(missing)
}

fn table_name(lookup: &impl Lookup) -> Result<String, ConfigError> {
    const VARIABLE: &str = "TABLE_NAME";
    let Some(name) = text(lookup, VARIABLE)? else {
        return Err(ConfigError::missing(VARIABLE, TABLE_NAME_ALLOWED));
    };
    let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    if (3..=255).contains(&name.len()) && name.bytes().all(known) {
        Ok(name)
    } else {
        Err(ConfigError::value(VARIABLE, &name, TABLE_NAME_ALLOWED))
    }
}

fn metrics_namespace(lookup: &impl Lookup) -> Result<String, ConfigError> {
    const VARIABLE: &str = "METRICS_NAMESPACE";
    let Some(name) = optional_text(lookup, VARIABLE)? else {
        return Ok(DEFAULT_NAMESPACE.to_owned());
    };
    let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b'#');
    let reserved = name.starts_with("AWS/");
    if name.len() <= LONGEST_NAMESPACE && name.bytes().all(known) && !reserved {
        Ok(name)
    } else {
        Err(ConfigError::value(VARIABLE, &name, NAMESPACE_ALLOWED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&'static str, &'static str)]) -> Result<FunctionSettings, ConfigError> {
        let lookup = |asked: &str| {
            let set = variables.iter().rev().find(|(name, _)| *name == asked);
            let by_lambda = SET_BY_LAMBDA.contains(&asked).then_some("1");
            set.map(|(_, value)| *value).or(by_lambda).map(Into::into)
        };
        FunctionSettings::from_lookup(&lookup)
    }

    #[test]
    fn a_table_name_is_all_that_must_be_set() {
        let settings = read(&[("TABLE_NAME", "rate_limits")]).unwrap();
        assert_eq!(settings.table_name, "rate_limits");
        assert_eq!(settings.metrics.namespace, DEFAULT_NAMESPACE);
        assert_eq!(
            (settings.log_hash_key, settings.aggregator),
            (None, Settings::default())
        );
        let error = read(&[]).unwrap_err().to_string();
        assert!(
            error.starts_with("TABLE_NAME is not set; it must be a table's name"),
            "{error}"
        );
    }

    #[test]
    fn texts_are_checked_against_what_the_services_take() {
        for (variable, value) in [
            ("TABLE_NAME", ""),
            ("TABLE_NAME", "ab"),
            ("TABLE_NAME", "rate limits"),
            ("METRICS_NAMESPACE", "AWS/Mine"),
            ("METRICS_NAMESPACE", "a:b"),
        ] {
            let error = read(&[("TABLE_NAME", "rate_limits"), (variable, value)])
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(&format!("{variable} is {value:?}; allowed is ")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_empty_optional_text_says_nothing() {
        let settings = read(&[
            ("TABLE_NAME", "rate_limits"),
            ("METRICS_NAMESPACE", ""),
            ("LOG_HASH_KEY", ""),
        ])
        .unwrap();
        assert_eq!(
            (settings.metrics.namespace.as_str(), settings.log_hash_key),
            (DEFAULT_NAMESPACE, None)
        );
    }

    #[test]
    fn the_hash_key_is_never_shown() {
        let settings = read(&[("TABLE_NAME", "rate_limits"), ("LOG_HASH_KEY", "very-secret")]).unwrap();
        assert!(!format!("{settings:?}").contains("very-secret"));
    }

    #[test]
    fn outside_lambda_the_error_says_so() {
        let error = FunctionSettings::from_lookup(&|name: &str| (name == "TABLE_NAME").then(|| "rate_limits".into()));
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("AWS_LAMBDA_RUNTIME_API is not set") && error.contains("Lambda"),
            "{error}"
        );
    }
}
