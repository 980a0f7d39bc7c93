//! What an operator says about usage snapshots (R12).

use super::window::{WindowKind, Windows};
use crate::units::EpochMillis;

const DEFAULT_TTL_DAYS: u32 = 90;
const SECONDS_PER_DAY: i128 = 86_400;

/// Settings of the usage snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSettings {
    /// `SNAPSHOT_WINDOWS`: kinds of window that are kept.
    pub windows: Windows,
    /// `SNAPSHOT_TTL_DAYS`: life of a snapshot in days from its first write.
    pub ttl_days: u32,
    /// `USAGE_NOT_BEFORE`: what was created before was counted by another aggregator.
    pub not_before: Option<EpochMillis>,
}

impl Default for UsageSettings {
    fn default() -> Self {
        Self {
            windows: Windows::of([WindowKind::Hourly, WindowKind::Daily]),
            ttl_days: DEFAULT_TTL_DAYS,
            not_before: None,
        }
    }
}

impl UsageSettings {
    /// When a snapshot that is first written now expires, in epoch seconds.
    pub fn expiry(&self, now: EpochMillis) -> i128 {
        i128::from(now.0.div_euclid(1000)) + i128::from(self.ttl_days) * SECONDS_PER_DAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_expires_whole_days_after_now() {
        assert_eq!(UsageSettings::default().expiry(EpochMillis(1_999)), 1 + 90 * 86_400);
    }
}
