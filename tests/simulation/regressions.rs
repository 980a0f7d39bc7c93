//! Shortened traces of faults that were found, by name; what each showed is in `docs/simulation.md`.

use crate::audit::Violation;
use crate::client::{Adjustment, Operation};
use crate::runner::run_steps;
use crate::scenario::Scenario;
use crate::step::Delivery::{Next, Rewound, Shuffled};
use crate::step::Fate::{Ambiguous, Answered, Stopped, Throttled};
use crate::step::Step::{self, Acquire, Adjust, Call, Deliver, Edge, Lose, Operate, Pass, Rebirth, Remove, WindowEnd};

/// A trace and the seed whose scenario it runs in.
struct Regression {
    name: &'static str,
    seed: u64,
    scenario: Scenario,
    steps: Vec<Step>,
}

/// Runs every trace. Answers those that break a rule.
pub fn failures() -> Vec<(&'static str, u64, Violation)> {
    let broken = |one: Regression| Some((one.name, one.seed, run_steps(one.scenario, &one.steps).err()?));
    regressions().into_iter().filter_map(broken).collect()
}

fn regressions() -> Vec<Regression> {
    vec![]
}
