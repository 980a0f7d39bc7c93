//! Configuration, read once at start and complete afterwards (03-delivery, Configuration).

mod usage;

pub use crate::plan::usage::UsageSettings;

/// A variable whose value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}; allowed is {allowed}")]
pub struct ConfigError {
    /// The variable.
    pub variable: &'static str,
    /// Its value as given.
    pub value: String,
    /// What is allowed, as an operator reads it.
    pub allowed: &'static str,
}

/// What the aggregator does and how much at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Groups worked on at the same time; at least 1.
    pub max_in_flight: usize,
    /// Decide, log and measure, but write nothing.
    pub dry_run: bool,
    /// R12.
    pub enable_usage: bool,
    /// R2 to R7.
    pub enable_refill: bool,
    /// R8 to R11.
    pub enable_propagation: bool,
    /// How usage is counted.
    pub usage: UsageSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_in_flight: 16,
            dry_run: false,
            enable_usage: true,
            enable_refill: true,
            enable_propagation: true,
            usage: UsageSettings::default(),
        }
    }
}
