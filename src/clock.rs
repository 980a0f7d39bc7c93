//! The one place that reads a clock. Everything else is told what time it is.
#![allow(clippy::disallowed_methods)]

use std::time::{SystemTime, UNIX_EPOCH};

use crate::units::EpochMillis;

/// Wall-clock time. Before 1970 it is the epoch.
pub fn now() -> EpochMillis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMillis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Time that never goes backward, for durations. Follows tokio's clock, so that tests can pause it.
pub fn monotonic_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
