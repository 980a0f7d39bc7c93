//! Runs: a seed from its scenario and its own choices, a list of steps as it stands, and the shortest list found that
//! still shows a violation.

use crate::audit::Violation;
use crate::coverage::Coverage;
use crate::scenario::Scenario;
use crate::step::{Step, choose};
use crate::world::World;

/// Steps of one seed, before quiet.
pub const STEPS: usize = 5_000;

/// A run that broke a rule.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was run.
    pub scenario: Scenario,
    /// The steps up to the violation.
    pub steps: Vec<Step>,
    /// What was broken.
    pub violation: Violation,
}

/// Runs one seed. The coverage of the run is added to `coverage`.
pub fn run_seed(seed: u64, coverage: &Coverage) -> Result<(), Box<Failure>> {
    let scenario = Scenario::of(seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut world = World::new(scenario);
    let mut steps = Vec::with_capacity(STEPS);
    let mut verdict = Ok(());
    for _ in 0..STEPS {
        let step = choose(&world, &mut rng);
        steps.push(step);
        verdict = world.step(step);
        if verdict.is_err() {
            break;
        }
    }
    let verdict = verdict.and_then(|()| world.quiet());
    coverage.add(&world.coverage.counts());
    verdict.map_err(|violation| {
        Box::new(Failure {
            scenario,
            steps,
            violation,
        })
    })
}

/// Runs a list of steps, and quiet after it.
pub fn run_steps(scenario: Scenario, steps: &[Step]) -> Result<(), Violation> {
    let mut world = World::new(scenario);
    steps.iter().try_for_each(|step| world.step(*step))?;
    world.quiet()
}

/// Drops steps, in halving runs of them, as long as the same rule is broken.
pub fn minimise(failure: &Failure) -> Failure {
    let mut best = failure.clone();
    let mut length = best.steps.len().div_ceil(2);
    while length > 0 {
        let before = best.steps.len();
        let mut from = 0;
        while from < best.steps.len() {
            let mut shorter = best.steps.clone();
            shorter.drain(from..shorter.len().min(from + length));
            match run_steps(best.scenario, &shorter) {
                Err(violation) if violation.rule == failure.violation.rule => {
                    best.steps = shorter;
                    best.violation = violation;
                }
                _ => from += length,
            }
        }
        // The last round is repeated until nothing more can go.
        length = if length > 1 {
            length.div_ceil(2)
        } else {
            usize::from(best.steps.len() < before)
        };
    }
    best
}
