//! How long a batch may work: until a reserve before the Lambda deadline (03-delivery).

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::clock;
use crate::units::EpochMillis;

/// Least that is kept back for the answer.
const LEAST_RESERVE: Duration = Duration::from_millis(300);
/// Most that is kept back for the answer.
const MOST_RESERVE: Duration = Duration::from_secs(2);
/// Part of the remaining time that is kept back: one tenth.
const RESERVE_ONE_IN: u32 = 10;

/// The time a batch has.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    stop_at: Option<Instant>,
}

impl Budget {
    /// No deadline: outside Lambda.
    pub fn unlimited() -> Self {
        Self { stop_at: None }
    }

    /// Stops a reserve before an instant that lies `remaining` ahead: a tenth of what remains, at least 300 ms and
    /// at most 2 s.
    pub fn from_remaining(remaining: Duration) -> Self {
        let reserve = (remaining / RESERVE_ONE_IN).clamp(LEAST_RESERVE, MOST_RESERVE);
        Self {
            stop_at: Some(clock::monotonic_now() + remaining.saturating_sub(reserve)),
        }
    }

    /// Stops a reserve before a deadline in wall-clock time, as Lambda gives it.
    pub fn until(deadline: EpochMillis, now: EpochMillis) -> Self {
        let remaining = u64::try_from(deadline.since(now)).unwrap_or(0);
        Self::from_remaining(Duration::from_millis(remaining))
    }

    /// Whether no more work may be started.
    pub fn is_spent(&self) -> bool {
        self.stop_at.is_some_and(|stop_at| clock::monotonic_now() >= stop_at)
    }

    /// Runs to completion, or gives up with `None` once the budget is spent. A request that was under way may or
    /// may not have taken effect.
    pub async fn limit<F: Future>(&self, work: F) -> Option<F::Output> {
        match self.stop_at {
            None => Some(work.await),
            Some(_) if self.is_spent() => None,
            Some(stop_at) => timeout_at(stop_at, work).await.ok(),
        }
    }
}
