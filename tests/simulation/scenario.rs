//! What a seed runs: which limits, which writers and which faults. One seed, one scenario.
//!
//! Faults are switches, so that an allowance of the auditor is zero wherever the fault behind it is off.

use limiter_aggregator::key::BucketGroup;
use limiter_aggregator::schedule::Parameters;
use limiter_aggregator::units::Millitokens;

/// Whose buckets are simulated.
pub const GROUP: BucketGroup<'static> = BucketGroup {
    namespace: "n",
    entity: "e",
    resource: "r",
};
/// Where the clock starts, on a reset edge.
pub const START: i64 = 1_790_000_400_000;
/// Length of a calendar period; the schedule below must agree.
pub const PERIOD_MS: i64 = 600_000;
/// Every ten minutes, as stored.
pub const RESETS: &str = "1m*/10";
/// Length of a session window in seconds, until an operator changes it.
pub const WINDOW_S: i64 = 600;
/// The shorter length that an operator may give it.
pub const SHORT_WINDOW_S: i64 = 300;
/// The parameter schedule of the dripping limit, where it has one: half of everything in the second half of a period.
pub const HALVED: &str = "1m5-9,15-19,25-29,35-39,45-49,55-59s500";
/// How long either half of that schedule lasts.
pub const HALF_MS: i64 = PERIOD_MS / 2;

/// The three kinds of limit, one of each at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Recovers at a rate.
    Drip,
    /// Recovers at reset edges.
    Calendar,
    /// Recovers when a window opens.
    Session,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Drip, Self::Calendar, Self::Session];

    /// The limit's name in the table.
    pub fn limit(self) -> &'static str {
        match self {
            Self::Drip => "d_rip",
            Self::Calendar => "q",
            Self::Session => "s.1",
        }
    }

    /// The kind of the limit of this name.
    pub fn of(limit: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.limit() == limit)
    }
}

/// What can go wrong, and who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The seed it comes from.
    pub seed: u64,
    /// Limits on every item, in the order of [`Kind::ALL`].
    pub limits: [bool; 3],
    /// Capacity of the write budget in tokens.
    pub write_budget: i128,
    /// Most that a clock is off, in milliseconds.
    pub skew: i64,
    /// Calls are throttled, answers are lost, actors stop.
    pub call_faults: bool,
    /// Deliveries are repeated, rewound, shuffled and lost.
    pub delivery_faults: bool,
    /// A fan-out of a client may be interleaved with anything, and be lost.
    pub open_fan_outs: bool,
    /// An operator changes limits, tops up and resets.
    pub operator: bool,
    /// Items expire; the entity is deleted and made again.
    pub removals: bool,
    /// Writers before grants and windows were recorded.
    pub old_writers: bool,
    /// The first items carry neither `gc` nor `wa`.
    pub old_items: bool,
    /// A parameter schedule will not decode, now and then.
    pub bad_schedules: bool,
    /// Whether work is refunded or charged after the fact.
    pub adjustments: bool,
    /// Calls of an aggregator are refused for good, as by a lost permission.
    pub denials: bool,
    /// An operator changes the length of session windows.
    pub lengths: bool,
    /// The dripping limit has a parameter schedule.
    pub scheduled: bool,
    /// Buckets of other entities travel in the same batches, each with something about it that no rule can use.
    pub bystanders: bool,
}

impl Scenario {
    /// The scenario of a seed: the lower half of the residues is calm, where every allowance is zero.
    pub fn of(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed_0000_0000_0000);
        let calm = seed.is_multiple_of(4);
        let mut limits = [rng.bool(), rng.bool(), rng.bool()];
        if limits == [false; 3] {
            limits[rng.usize(0..3)] = true;
        }
        let mut chance = |percent: u32| !calm && rng.u32(0..100) < percent;
        let operator = chance(45);
        Self {
            seed,
            limits,
            call_faults: chance(60),
            delivery_faults: chance(60),
            open_fan_outs: chance(60),
            operator,
            removals: chance(55),
            old_writers: chance(10),
            old_items: chance(45),
            bad_schedules: chance(30),
            adjustments: chance(60),
            skew: if chance(50) { 3_000 } else { 0 },
            denials: chance(30),
            lengths: operator && chance(40),
            bystanders: chance(50),
            scheduled: rng.u32(0..100) < 30,
            write_budget: [8, 20, 100][rng.usize(0..3)],
        }
    }

    /// Where nothing goes wrong and nobody but clients and an operator takes part.
    pub fn quiet() -> Self {
        Self {
            seed: 0,
            limits: [false; 3],
            write_budget: 8,
            skew: 0,
            call_faults: false,
            delivery_faults: false,
            open_fan_outs: false,
            operator: false,
            removals: false,
            old_writers: false,
            old_items: false,
            bad_schedules: false,
            adjustments: false,
            denials: false,
            lengths: false,
            scheduled: false,
            bystanders: false,
        }
    }

    /// What is in force of the dripping limit's capacity or refill at an instant, by arithmetic and not by the schedule.
    pub fn in_force(&self, amount: i128, now: i64) -> i128 {
        if self.scheduled && now.rem_euclid(PERIOD_MS) >= HALF_MS {
            amount / 2
        } else {
            amount
        }
    }

    /// Whether the items carry a limit of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.limits[kind as usize]
    }
}

/// Parameters of the limits as configured, changed by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Capacity of every limit in millitokens where nothing else is configured.
    pub base: i128,
    /// Thousandths of the base that are in force.
    pub per_mille: i128,
    /// Length of session windows in seconds.
    pub window_s: i64,
}

impl Default for Configuration {
    /// An odd number, so that every share is rounded.
    fn default() -> Self {
        Self {
            base: 1_000_003,
            per_mille: 1000,
            window_s: WINDOW_S,
        }
    }
}

impl Configuration {
    /// What is stored for a limit.
    pub fn parameters(&self, kind: Kind) -> Parameters {
        let capacity = Millitokens(self.base * self.per_mille / 1000);
        let (refill, period_ms) = match kind {
            Kind::Drip => (capacity, 60_000),
            Kind::Calendar | Kind::Session => (Millitokens::ZERO, 1000),
        };
        Parameters {
            capacity,
            refill,
            period_ms,
        }
    }
}
