//! When a shard's waiting records are a batch.

use std::time::Duration;

/// How large a batch may be, and how long its first record may wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most records; at least 1.
    pub size: usize,
    /// Longest wait.
    pub window: Duration,
}

impl Limits {
    /// How many of the waiting records are a batch now; 0 if they should wait for more.
    ///
    /// `age` is how long the first has waited, `no_more` whether the shard has nothing to add.
    pub(super) fn due(&self, waiting: usize, age: Duration, no_more: bool) -> usize {
        if waiting >= self.size || no_more || age >= self.window {
            waiting.min(self.size)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_goes_when_it_is_full_when_its_window_is_over_and_when_no_more_can_come() {
        let limits = Limits {
            size: 3,
            window: Duration::from_secs(5),
        };
        let soon = Duration::from_secs(1);
        assert_eq!(limits.due(2, soon, false), 0);
        assert_eq!(limits.due(3, soon, false), 3);
        assert_eq!(limits.due(7, soon, false), 3);
        assert_eq!(limits.due(2, limits.window, false), 2);
        assert_eq!(limits.due(2, soon, true), 2);
        assert_eq!(limits.due(0, limits.window, true), 0);
    }
}
