//! Every order of a handful of steps: small configurations searched exhaustively with `stateright`.
//!
//! A state is what can still matter: the table, what is undelivered, the clock, and what each actor has been answered.
//! It is reached by running its steps again, so that the planning code and the futures are the real ones. Two paths that
//! meet in one state are followed once. After the last step the system must settle.

use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Checker, Model, Property};

use crate::audit::Violation;
use crate::scenario::Scenario;
use crate::step::{Delivery, Fate, Step};
use crate::world::World;

/// One configuration: what has happened, and the steps that may happen once each, in any order.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub name: &'static str,
    pub scenario: Scenario,
    /// Steps taken before the search, each carried through.
    pub prelude: Vec<Step>,
    /// Steps that are begun in any order.
    pub pool: Vec<Step>,
}

/// A state, known by what can still matter.
#[derive(Clone, Debug)]
pub struct State {
    steps: Vec<Step>,
    begun: u32,
    busy: Vec<u8>,
    fingerprint: u64,
    violation: Option<Violation>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        (self.begun, self.fingerprint, &self.violation) == (other.begun, other.fingerprint, &other.violation)
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.begun, self.fingerprint).hash(hasher);
    }
}

impl Configuration {
    fn world(&self) -> World {
        let mut world = World::new(self.scenario);
        world.remembers = true;
        for step in &self.prelude {
            assert_eq!(world.step(*step), Ok(()), "the prelude is sound");
            while let Some(actor) = world.busy().first().copied() {
                assert_eq!(
                    world.step(Step::Call(actor, 0, Fate::Answered)),
                    Ok(()),
                    "the prelude is sound"
                );
            }
        }
        world
    }

    fn reach(&self, steps: Vec<Step>, begun: u32) -> State {
        let mut world = self.world();
        let mut verdict = steps.iter().try_for_each(|step| world.step(*step));
        let mut hasher = DefaultHasher::new();
        world.fingerprint(&mut hasher);
        let busy = world.busy();
        let is_last = busy.is_empty() && begun.count_ones() as usize == self.pool.len();
        if is_last && verdict.is_ok() {
            verdict = world.quiet();
        }
        State {
            steps,
            begun,
            busy,
            fingerprint: hasher.finish(),
            violation: verdict.err(),
        }
    }
}

impl Model for Configuration {
    type State = State;
    type Action = (Option<u32>, Step);

    fn init_states(&self) -> Vec<State> {
        vec![self.reach(vec![], 0)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        if state.violation.is_some() {
            return;
        }
        let busy = &state.busy;
        actions.extend(busy.iter().map(|actor| (None, Step::Call(*actor, 0, Fate::Answered))));
        for (place, step) in (0_u32..).zip(&self.pool) {
            if state.begun & (1 << place) == 0 && step.actor().is_none_or(|actor| !busy.contains(&actor)) {
                actions.push((Some(place), *step));
            }
        }
    }

    fn next_state(&self, state: &State, (place, step): Self::Action) -> Option<State> {
        let mut steps = state.steps.clone();
        steps.push(step);
        Some(self.reach(steps, state.begun | place.map_or(0, |place| 1 << place)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every rule of the auditor", |_, state: &State| {
            state.violation.is_none()
        })]
    }
}

/// What a search found.
pub struct Found {
    pub name: &'static str,
    pub states: usize,
    pub depth: usize,
    pub failure: Option<(Violation, Vec<Step>)>,
}

/// Searches every configuration.
pub fn search(mut report: impl FnMut(Found)) {
    for configuration in configurations() {
        let name = configuration.name;
        let checker = configuration.checker().threads(1).spawn_bfs().join();
        let failure = checker.discoveries().into_values().next().and_then(|path| {
            let state = path.last_state().clone();
            Some((state.violation?, state.steps))
        });
        report(Found {
            name,
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            failure,
        });
    }
}

fn configurations() -> Vec<Configuration> {
    let calm = Scenario {
        limits: [false, true, false],
        write_budget: 2,
        open_fan_outs: true,
        ..Scenario::quiet()
    };
    let all = Delivery::Next(100);
    let acquire = |client, amount| Step::Acquire(client, 1, amount);
    let grow = vec![acquire(0, 1000), acquire(0, 1000), acquire(0, 1000)];
    let (calendar, session, drip) = ([false, true, false], [false, false, true], [true, false, false]);
    let of = |name, limits, prelude: &[Step], pool: &[Step]| Configuration {
        name,
        scenario: Scenario { limits, ..calm },
        prelude: prelude.to_vec(),
        pool: pool.to_vec(),
    };
    let doubled = [
        grow.clone(),
        vec![acquire(0, 500), Step::Deliver(0, all), acquire(0, 700)],
    ]
    .concat();
    let pool = [acquire(0, 400_000), acquire(1, 300_000), Step::Deliver(0, all)];
    let edge = [acquire(0, 300_000), Step::Deliver(0, all), Step::Edge(100)];
    let again = [
        acquire(1, 300_000),
        Step::Deliver(0, all),
        Step::Deliver(0, Delivery::Rewound(100, 100)),
    ];
    let window = [acquire(0, 9_000), Step::Deliver(0, all), Step::WindowEnd(100)];
    vec![
        of("calendar, 1 to 2 shards", calendar, &grow[..2], &pool),
        of("calendar, 1 to 2 shards over an edge", calendar, &grow[..2], &edge),
        of("calendar, 2 to 4 shards", calendar, &doubled, &pool),
        of("calendar, 2 to 4 shards over an edge", calendar, &doubled, &edge),
        of("calendar, delivered twice", calendar, &doubled, &again),
        of("session, 1 to 2 shards", session, &grow[..2], &pool),
        of("session, 2 to 4 shards over a window's end", session, &doubled, &window),
        of("drip, 1 to 2 shards", drip, &grow[..2], &pool),
        of("drip, 2 to 4 shards, delivered twice", drip, &doubled, &again),
    ]
}
