//! Configuration, read once at start and complete afterwards (03-delivery, Configuration).

/// What the aggregator does and how much at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Groups worked on at the same time; at least 1.
    pub max_in_flight: usize,
    /// Decide, log and measure, but write nothing.
    pub dry_run: bool,
    /// R2 to R7.
    pub enable_refill: bool,
    /// R8 to R11.
    pub enable_propagation: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_in_flight: 16,
            dry_run: false,
            enable_refill: true,
            enable_propagation: true,
        }
    }
}
