//! One choice of the scheduler, as a plain value: a run is a list of these, and so is a minimised trace.

use crate::client::{Adjustment, Operation};
use crate::scenario::{PERIOD_MS, SHORT_WINDOW_S, WINDOW_S};
use crate::world::World;

/// How one call fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It is refused before it takes effect, as by throttling.
    Throttled,
    /// It takes effect, and the answer is lost.
    Ambiguous,
    /// It takes effect, and its caller stops.
    Stopped,
    /// It is refused, and would be refused again.
    Denied,
}

/// What an aggregator is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The next records, so many at most.
    Next(u8),
    /// From so many records before the checkpoint on: what was delivered is delivered again.
    Rewound(u8, u8),
    /// The next records, in another order, some of them twice.
    Shuffled(u8),
    /// The next records, to a batch that has no time left.
    Late(u8),
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time passes, in milliseconds.
    Pass(u32),
    /// Time passes until so many milliseconds after the next reset edge, or before it.
    Edge(i16),
    /// The same for the end of the newest window.
    WindowEnd(i16),
    /// A client begins a request.
    Acquire(u8, u32, i64),
    /// An old client begins a request.
    OldAcquire(u8, u32, i64),
    /// A client adjusts its last lease.
    Adjust(u8, Adjustment),
    /// A client whose write found the write budget spent a while ago doubles the count.
    Double(u8),
    /// The operator begins an operation.
    Operate(Operation),
    /// An actor's waiting call, by place, is decided.
    Call(u8, u8, Fate),
    /// An aggregator is invoked.
    Deliver(u8, Delivery),
    /// So many records never reach an aggregator.
    Lose(u8, u8),
    /// One shard expires, or is deleted.
    Remove(u8),
    /// The entity is deleted with all its shards, and made again.
    Rebirth(bool),
    /// The item's schedule becomes undecodable on every shard, or decodes again.
    BadSchedule(bool),
    /// A bucket that no rule can use is written, of this oddity.
    Bystander(u8),
}

impl Step {
    /// Who must be idle for the step to begin.
    pub fn actor(self) -> Option<u8> {
        match self {
            Self::Acquire(client, ..)
            | Self::OldAcquire(client, ..)
            | Self::Adjust(client, _)
            | Self::Double(client) => Some(client),
            Self::Operate(_) => Some(World::CLIENTS),
            Self::Deliver(aggregator, _) => Some(World::CLIENTS + 1 + aggregator),
            _ => None,
        }
    }
}

/// Chooses the next step.
pub fn choose(world: &World, rng: &mut fastrand::Rng) -> Step {
    let scenario = world.scenario;
    let busy = world.busy();
    if !busy.is_empty() && rng.u32(0..100) < 72 {
        let mut actor = busy[rng.usize(0..busy.len())];
        if races(world, rng) {
            // Others come first: the clients, and where there is none at work, one that doubles as well.
            actor = busy[0];
            if World::is_aggregator(actor) {
                return Step::Double(rng.u8(0..World::CLIENTS));
            }
        } else if let Some(repairer) = world.repairer() {
            actor = repairer;
        }
        let fate = match rng.u32(0..dice(world, actor)) {
            0..=1 if scenario.call_faults => Fate::Throttled,
            2..=3 if scenario.call_faults => Fate::Ambiguous,
            4 if scenario.call_faults => Fate::Stopped,
            5..=9 if scenario.denials && World::is_aggregator(actor) => Fate::Denied,
            _ => Fate::Answered,
        };
        return Step::Call(actor, rng.u8(..), fate);
    }
    // Growth is rare by itself, and most rules are about it.
    match world.pressure() {
        (count, true) if count < 32 && rng.bool() => return Step::Deliver(0, Delivery::Next(u8::MAX)),
        (count, false) if count < 32 && rng.u32(0..4) == 0 => {
            return Step::Acquire(rng.u8(0..World::CLIENTS), rng.u32(..), amount(rng));
        }
        (32, _) if scenario.removals && rng.bool() => return Step::Rebirth(true),
        _ => {}
    }
    let client = rng.u8(0..World::CLIENTS);
    if let Some(step) = meddle(world, rng, client) {
        return step;
    }
    match rng.u32(0..1000) {
        0..=299 => Step::Pass(if rng.u32(0..10) == 0 {
            rng.u32(0..20_000)
        } else {
            rng.u32(0..600)
        }),
        300..=309 => Step::Edge(rng.i16(-300..300)),
        310..=316 => Step::WindowEnd(rng.i16(-300..300)),
        317..=319 => Step::Pass(rng.u32(0..7_200_000)),
        320..=639 if scenario.old_writers && rng.bool() => Step::OldAcquire(client, rng.u32(..), amount(rng)),
        320..=639 => Step::Acquire(client, rng.u32(..), amount(rng)),
        640..=661 if scenario.adjustments => {
            let part = amount(rng).into();
            Step::Adjust(
                client,
                if rng.u32(0..4) == 0 {
                    Adjustment::Charge(part)
                } else {
                    Adjustment::Refund(part)
                },
            )
        }
        662..=689 if scenario.operator => Step::Operate(match rng.u32(0..4) {
            0 => Operation::TopUp(rng.i64(1..300_000).into()),
            1 => Operation::Reset,
            2 if scenario.lengths => Operation::Lengthen([SHORT_WINDOW_S, WINDOW_S][rng.usize(0..2)]),
            _ => configure(rng),
        }),
        690..=693 if scenario.removals => Step::Remove(rng.u8(0..32) / rng.u8(1..6)),
        694..=697 if scenario.removals => Step::Rebirth(rng.bool()),
        703..=708 if scenario.bad_schedules => Step::BadSchedule(rng.bool()),
        712..=715 if scenario.bystanders => Step::Bystander(rng.u8(..)),
        716..=719 => Step::Double(client),
        709..=711 if scenario.delivery_faults => Step::Lose(rng.u8(0..World::AGGREGATORS), rng.u8(1..4)),
        _ => deliver(world, rng),
    }
}

/// A call fares badly in five or ten of so many. What is asked seldom fails the more often: a doubling, a raise that
/// freezes a grant, a repair, and what is read while a rise is worked on.
fn dice(world: &World, actor: u8) -> u32 {
    if !World::is_aggregator(actor) {
        return 100;
    }
    if world.repairer() == Some(actor) {
        10
    } else if world.grows(actor) {
        12
    } else if world.is_reading(actor) && world.is_repairing() {
        24
    } else if world.is_reading(actor) && world.is_rising() {
        40
    } else {
        100
    }
}

/// Whether another growth is to come before the one that an aggregator is about to write.
fn races(world: &World, rng: &mut fastrand::Rng) -> bool {
    let eighths = if world.repairer().is_some() { 1 } else { 4 };
    world.is_growing() && rng.u32(0..8) < eighths
}

/// What is rare by itself and matters most while a rise is on its way: a second doubling, an edge, an operator.
fn meddle(world: &World, rng: &mut fastrand::Rng, client: u8) -> Option<Step> {
    let scenario = world.scenario;
    if !world.is_rising() {
        return races(world, rng).then_some(Step::Double(client));
    }
    if world.is_repairing() && rng.bool() {
        return Some(Step::Double(client));
    }
    if rng.u32(0..6) > 0 {
        return None;
    }
    Some(match rng.u32(0..10) {
        0..=1 if scenario.operator => Step::Operate(configure(rng)),
        2 if scenario.bad_schedules => Step::BadSchedule(rng.bool()),
        3..=5 => Step::Edge(rng.i16(0..300)),
        6 => Step::WindowEnd(rng.i16(0..300)),
        7 => Step::Deliver(
            u8::from(scenario.delivery_faults && rng.bool()),
            Delivery::Next(u8::MAX),
        ),
        8 if scenario.removals && rng.u32(0..4) == 0 => Step::Remove(0),
        _ => Step::Double(client),
    })
}

fn configure(rng: &mut fastrand::Rng) -> Operation {
    Operation::Configure([250, 500, 1000, 1500][rng.usize(0..4)])
}

fn amount(rng: &mut fastrand::Rng) -> i64 {
    let most = [2_000, 10_000, 50_000, 200_000][rng.usize(0..4)];
    rng.i64(1..most)
}

fn deliver(world: &World, rng: &mut fastrand::Rng) -> Step {
    // The second aggregator is a mistake of the operator's, and rare.
    let aggregator = u8::from(world.scenario.delivery_faults && rng.u32(0..8) == 0);
    let most = rng.u8(1..24);
    let delivery = match rng.u32(0..40) / 4 {
        2 if world.scenario.delivery_faults && rng.u32(0..4) == 0 => Delivery::Late(most),
        0 if world.scenario.delivery_faults => Delivery::Rewound(rng.u8(1..30), most),
        1 if world.scenario.delivery_faults => Delivery::Shuffled(most),
        _ => Delivery::Next(most),
    };
    Step::Deliver(aggregator, delivery)
}

/// The instant that a jump leads to.
pub fn jump(step: Step, now: i64, window_end: Option<i64>) -> i64 {
    let target = match step {
        Step::Pass(millis) => now + i64::from(millis),
        Step::Edge(offset) => now - now.rem_euclid(PERIOD_MS) + PERIOD_MS + i64::from(offset),
        Step::WindowEnd(offset) => window_end.map_or(now, |end| end + i64::from(offset)),
        _ => now,
    };
    target.max(now)
}
