//! Shortened traces of faults that were found, by name; `docs/simulation.md` says what each showed.

use crate::audit::Violation;
use crate::client::{Adjustment, Operation};
use crate::runner::run_steps;
use crate::scenario::Scenario;
use crate::step::Delivery::Next;
use crate::step::Fate::Answered;
use crate::step::Step::{self, Acquire, Adjust, Call, Deliver, Edge, Operate, Pass};

/// A trace and the scenario it runs in.
struct Regression {
    name: &'static str,
    scenario: Scenario,
    steps: Vec<Step>,
}

/// Runs every trace. Answers those that break a rule, with the seed they come from.
pub fn failures() -> Vec<(&'static str, u64, Violation)> {
    let broken = |one: Regression| Some((one.name, one.scenario.seed, run_steps(one.scenario, &one.steps).err()?));
    [clamped_twice(), refunded_into_a_reset()]
        .into_iter()
        .filter_map(broken)
        .collect()
}

fn scenario(seed: u64) -> Scenario {
    Scenario {
        seed,
        ..Scenario::quiet()
    }
}

/// A clamp under a clock behind `rf` left no mark, and was made again when the batch came under a later clock.
fn clamped_twice() -> Regression {
    Regression {
        name: "a clamp under a clock behind is made once",
        scenario: Scenario {
            limits: [true, false, true],
            skew: 3000,
            delivery_faults: true,
            open_fan_outs: true,
            operator: true,
            ..scenario(117)
        },
        steps: vec![
            Acquire(2, 3336654413, 9875),
            Call(2, 194, Answered),
            Pass(350),
            Call(2, 59, Answered),
            Call(2, 251, Answered),
            Pass(465),
            Call(2, 79, Answered),
            Acquire(1, 2511990791, 20353),
            Call(1, 243, Answered),
            Pass(333),
            Acquire(2, 4197151100, 39965),
            Call(2, 191, Answered),
            Acquire(1, 3838835220, 1411),
            Call(1, 155, Answered),
            Acquire(1, 270815831, 5640),
            Call(1, 68, Answered),
            Pass(592),
            Acquire(1, 3202381134, 4098),
            Call(1, 229, Answered),
            Acquire(2, 3920135298, 933),
            Call(2, 110, Answered),
            Acquire(2, 2677631638, 5195),
            Pass(274),
            Call(2, 21, Answered),
            Deliver(0, Next(22)),
            Call(4, 64, Answered),
            Deliver(0, Next(14)),
            Deliver(1, Next(14)),
        ],
    }
}

/// A refund that lands between an image and a reset that lowers the balance is granted on top of the share.
fn refunded_into_a_reset() -> Regression {
    Regression {
        name: "a reset that lowers grants a refund on top, and no more",
        scenario: Scenario {
            limits: [false, true, false],
            operator: true,
            old_items: true,
            adjustments: true,
            ..scenario(2)
        },
        steps: vec![
            Acquire(0, 2370239660, 1638),
            Call(0, 185, Answered),
            Call(0, 172, Answered),
            Call(0, 250, Answered),
            Acquire(2, 950940624, 862),
            Call(2, 10, Answered),
            Edge(265),
            Operate(Operation::Configure(250)),
            Call(3, 50, Answered),
            Adjust(2, Adjustment::Refund(20907)),
            Deliver(0, Next(15)),
        ],
    }
}
