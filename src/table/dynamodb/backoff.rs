//! Asking again where the SDK does not: after a conflict with another writer, and for keys left unprocessed.
//!
//! What must stay true: the number of attempts is bounded, and each pause is drawn anew from its whole range, so that
//! writers that met once do not meet again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::table::{Fault, FaultClass};

/// How often a request that meets other writers is made in all.
const CONFLICT_ATTEMPTS: u32 = 3;
/// Longest first pause. A transaction of another writer holds an item for some ten milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause of all: what is waited for here is other requests, not an outage.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Makes a request until it no longer meets another writer, three times at most; after that the conflict counts as
/// any throttling (03-delivery). The attempts must be repeats of one request: a transaction's with the same token.
///
/// # Errors
/// The last attempt's; never of class [`FaultClass::Conflict`].
pub(super) async fn despite_conflicts<T>(mut attempt: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    let mut failures = 0;
    loop {
        let fault = match attempt().await {
            Err(fault) if fault.class == FaultClass::Conflict => fault,
            done => return done,
        };
        failures += 1;
        if failures == CONFLICT_ATTEMPTS {
            return Err(Fault {
                class: FaultClass::Retryable,
                ..fault
            });
        }
        pause(failures - 1).await;
    }
}

/// Waits after that many failures have come before this one: up to a bound that doubles each time, evenly drawn.
pub(super) async fn pause(failures: u32) {
    tokio::time::sleep(drawn_below(bound(failures))).await;
}

fn bound(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE)
}

fn drawn_below(bound: Duration) -> Duration {
    // The standard library's hashing keys differ each time: randomness enough to part two writers.
    let drawn = RandomState::new().build_hasher().finish();
    let micros = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(drawn % micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(class: FaultClass) -> Fault {
        Fault {
            operation: "UpdateItem",
            code: "C".to_owned(),
            class,
        }
    }

    async fn attempts(answers: Vec<Result<(), Fault>>) -> (usize, Result<(), Fault>) {
        let mut left = answers.into_iter();
        let mut made = 0;
        let last = despite_conflicts(async || {
            made += 1;
            left.next().unwrap()
        })
        .await;
        (made, last)
    }

    #[tokio::test]
    async fn a_conflict_is_asked_again_until_it_is_gone() {
        let conflict = || Err(fault(FaultClass::Conflict));
        assert_eq!(attempts(vec![conflict(), Ok(())]).await, (2, Ok(())));
        assert_eq!(attempts(vec![conflict(), conflict(), Ok(())]).await, (3, Ok(())));
    }

    #[tokio::test]
    async fn a_conflict_that_stays_counts_as_throttling() {
        let conflict = || Err(fault(FaultClass::Conflict));
        let last = Err(fault(FaultClass::Retryable));
        assert_eq!(attempts(vec![conflict(), conflict(), conflict()]).await, (3, last));
    }

    #[tokio::test]
    async fn nothing_else_is_asked_again() {
        for class in [FaultClass::Permanent, FaultClass::Retryable] {
            assert_eq!(attempts(vec![Err(fault(class))]).await, (1, Err(fault(class))));
        }
    }

    #[test]
    fn pauses_are_bounded_and_differ() {
        assert_eq!([0, 1, 3, 40].map(bound), [50, 100, 400, 400].map(Duration::from_millis));
        let drawn: Vec<_> = (0..64).map(|_| drawn_below(FIRST_PAUSE)).collect();
        assert!(drawn.iter().all(|pause| *pause < FIRST_PAUSE));
        assert!(drawn.iter().any(|pause| *pause != drawn[0]));
    }
}
