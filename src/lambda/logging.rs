//! Logs as Lambda wants them: one JSON object a line, with an RFC 3339 `timestamp` and a `level`.
//!
//! Refuses to show what other crates say below INFO, whatever the environment asks for: the SDK's and the HTTP
//! client's finer lines describe requests, and requests hold entity ids. Every line is written and flushed before the
//! call that made it returns, so that nothing is lost however the process ends.

use std::panic::PanicHookInfo;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::Lookup;

const OWN_TARGET: &str = "limiter_aggregator";

/// Sends the process's log to standard output, at the level that `RUST_LOG` or else `AWS_LAMBDA_LOG_LEVEL` asks for,
/// or at INFO.
///
/// # Errors
/// If the process has a log already.
pub fn init_logging(lookup: &impl Lookup) -> Result<(), TryInitError> {
    let wanted = wanted(lookup);
    let cap = Targets::new()
        .with_target(OWN_TARGET, LevelFilter::TRACE)
        .with_default(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false);
    let filter = wanted.clone().unwrap_or_else(|_| default_filter()).and(cap);
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init()?;
    match wanted {
        Ok(wanted) if !wanted.would_enable(OWN_TARGET, &tracing::Level::INFO) => {
            tracing::warn!("the log level leaves summaries out, and Lambda's own level filter would leave metrics out");
        }
        Ok(_) => {}
        Err(variable) => tracing::warn!(variable, "the log level cannot be read; INFO is used"),
    }
    Ok(())
}

/// What the environment asks for, or the variable that cannot be read.
fn wanted(lookup: &impl Lookup) -> Result<Targets, &'static str> {
    let set = |variable| lookup(variable).filter(|value| !value.is_empty());
    if let Some(value) = set("RUST_LOG") {
        return value.to_str().and_then(|value| value.parse().ok()).ok_or("RUST_LOG");
    }
    let Some(value) = set("AWS_LAMBDA_LOG_LEVEL") else {
        return Ok(default_filter());
    };
    let level = match value.to_str() {
        // Lambda knows a level above ERROR.
        Some("FATAL") => Some(LevelFilter::ERROR),
        Some(name) => name.parse().ok(),
        None => None,
    };
    level
        .map(|level| Targets::new().with_default(level))
        .ok_or("AWS_LAMBDA_LOG_LEVEL")
}

fn default_filter() -> Targets {
    Targets::new().with_default(LevelFilter::INFO)
}

/// Makes panics say where they happened and nothing else: what they would say may hold anything.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(say_where));
}

fn say_where(panic: &PanicHookInfo<'_>) {
    match panic.location() {
        Some(at) => tracing::error!(file = at.file(), line = at.line(), "panicked"),
        None => tracing::error!("panicked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    fn with(variables: &'static [(&'static str, &'static str)]) -> Result<Targets, &'static str> {
        wanted(&|asked: &str| {
            variables
                .iter()
                .find(|(name, _)| *name == asked)
                .map(|(_, value)| (*value).into())
        })
    }

    fn enables(targets: &Targets, level: Level) -> bool {
        targets.would_enable(OWN_TARGET, &level)
    }

    #[test]
    fn info_unless_the_environment_asks_for_something_else() {
        for variables in [
            &[][..],
            &[("RUST_LOG", "")][..],
            &[("AWS_LAMBDA_LOG_LEVEL", "INFO")][..],
        ] {
            let targets = wanted(&|asked: &str| {
                variables
                    .iter()
                    .find(|(name, _)| *name == asked)
                    .map(|(_, value)| (*value).into())
            });
            let targets = targets.unwrap();
            assert!(enables(&targets, Level::INFO) && !enables(&targets, Level::DEBUG));
        }
    }

    #[test]
    fn lambdas_level_is_followed_and_the_programs_own_variable_comes_first() {
        let fatal = with(&[("AWS_LAMBDA_LOG_LEVEL", "FATAL")]).unwrap();
        assert!(enables(&fatal, Level::ERROR) && !enables(&fatal, Level::WARN));
        let both = with(&[
            ("AWS_LAMBDA_LOG_LEVEL", "ERROR"),
            ("RUST_LOG", "warn,limiter_aggregator=debug"),
        ])
        .unwrap();
        assert!(enables(&both, Level::DEBUG) && !enables(&both, Level::TRACE));
    }

    #[test]
    fn a_level_that_cannot_be_read_is_named() {
        assert_eq!(with(&[("RUST_LOG", "a=b=c")]).unwrap_err(), "RUST_LOG");
        assert_eq!(
            with(&[("AWS_LAMBDA_LOG_LEVEL", "LOUD")]).unwrap_err(),
            "AWS_LAMBDA_LOG_LEVEL"
        );
    }
}
