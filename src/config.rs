//! Configuration, read once at start, validated before anything else runs, and complete afterwards (03-delivery,
//! Configuration).
//!
//! Decides what the environment may say. Refuses every value that is not exactly what is allowed: a duty that was
//! meant to be switched off and is not would write. What must stay true: an error names the variable, the value and
//! what is allowed, except for the one value that is a secret.

mod archive;
mod function;
mod usage;
mod variable;

pub use function::{FunctionSettings, HashKey};
pub use variable::{ConfigError, Lookup};

pub use crate::plan::usage::UsageSettings;

use variable::{flag, number_between};

/// Most calls in flight that make sense: each needs a connection of its own.
const MOST_IN_FLIGHT: usize = 256;

/// What the aggregator does and how much at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Groups worked on at the same time, and so calls in flight, since a group makes one at a time; at least 1.
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

impl Settings {
    /// What the environment says.
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that holds something else than what is allowed.
    pub fn from_lookup(lookup: &impl Lookup) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            max_in_flight: number_between(lookup, "MAX_IN_FLIGHT", 1, MOST_IN_FLIGHT)?.unwrap_or(default.max_in_flight),
            dry_run: flag(lookup, "DRY_RUN", default.dry_run)?,
            enable_usage: flag(lookup, "ENABLE_USAGE", default.enable_usage)?,
            enable_refill: flag(lookup, "ENABLE_REFILL", default.enable_refill)?,
            enable_propagation: flag(lookup, "ENABLE_PROPAGATION", default.enable_propagation)?,
            usage: UsageSettings::from_lookup(lookup)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        assert_eq!(Settings::from_lookup(&|_: &str| None), Ok(Settings::default()));
    }

    #[test]
    fn every_duty_has_a_switch_of_its_own() {
        let only = |name: &'static str, value: &'static str| {
            Settings::from_lookup(&move |asked: &str| (asked == name).then(|| value.into())).unwrap()
        };
        assert_eq!(
            only("ENABLE_USAGE", "false"),
            Settings {
                enable_usage: false,
                ..Settings::default()
            }
        );
        assert_eq!(
            only("ENABLE_REFILL", "false"),
            Settings {
                enable_refill: false,
                ..Settings::default()
            }
        );
        assert_eq!(
            only("ENABLE_PROPAGATION", "false"),
            Settings {
                enable_propagation: false,
                ..Settings::default()
            }
        );
        assert_eq!(
            only("DRY_RUN", "true"),
            Settings {
                dry_run: true,
                ..Settings::default()
            }
        );
        assert_eq!(
            only("MAX_IN_FLIGHT", "3"),
            Settings {
                max_in_flight: 3,
                ..Settings::default()
            }
        );
    }
}
