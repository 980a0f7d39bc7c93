//! Draws scripts: each step is played as soon as it is drawn, so that the next one can suit the table.

use super::script::{Script, Step};
use super::stage::{CLIENTS, Stage};
use crate::client::integer;
use crate::scenario::{PERIOD_MS, WINDOW_S};

/// Steps of a script.
const STEPS: std::ops::Range<usize> = 6..22;
/// A base whose parts are whole tokens in every configuration, and whose shares are rounded.
const BASES: [u32; 3] = [1004, 52, 20];
/// What the operator may configure, in thousandths of the base.
const CONFIGURATIONS: [u16; 4] = [250, 500, 1000, 1500];

/// The script of this number in the series of a seed.
pub fn script(seed: u64, number: u64) -> Script {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    // All of them together in one of eight, and never none.
    let chosen = 1 + rng.u8(0..7);
    let mut script = Script {
        number,
        limits: [chosen & 1 != 0, chosen & 2 != 0, chosen & 4 != 0],
        write_budget: [1, 2, 3, 40][rng.usize(0..4)],
        base: BASES[rng.usize(0..BASES.len())],
        steps: vec![],
    };
    let mut stage = Stage::new(&script);
    for _ in 0..rng.usize(STEPS) {
        let step = step(&script, &stage, &mut rng);
        stage.step(&step);
        script.steps.push(step);
    }
    script
}

fn step(script: &Script, stage: &Stage, rng: &mut fastrand::Rng) -> Step {
    let (shards, anyone) = (stage.shards(), rng.u8(0..CLIENTS));
    match rng.u32(0..100) {
        0..=48 => acquire(script, rng, anyone),
        49..=61 => Step::Pass { ms: pass(stage, rng) },
        62..=69 => adjust(stage, rng).unwrap_or_else(|| acquire(script, rng, anyone)),
        70..=74 => Step::Configure {
            per_mille: CONFIGURATIONS[rng.usize(0..CONFIGURATIONS.len())],
        },
        75..=78 if has_quota(script) && !shards.is_empty() => Step::TopUp {
            tokens: rng.u32(1..=script.base),
        },
        79..=81 if has_quota(script) => Step::Reset,
        82..=85 if shards.len() > 1 => Step::Remove {
            // Without shard 0 counts disagree soonest.
            shard: shards
                .keys()
                .copied()
                .nth(rng.usize(0..shards.len()) / rng.usize(1..4))
                .unwrap_or(0),
        },
        86..=99 => interrupt(script, stage, rng),
        _ => acquire(script, rng, anyone),
    }
}

fn has_quota(script: &Script) -> bool {
    script.limits[1] || script.limits[2]
}

fn acquire(script: &Script, rng: &mut fastrand::Rng, client: u8) -> Step {
    let most = [script.base / 20, script.base / 8, script.base / 3, script.base][rng.usize(0..4)];
    Step::Acquire {
        client,
        draw: rng.u32(..),
        tokens: rng.u32(1..=most.max(1)),
    }
}

fn adjust(stage: &Stage, rng: &mut fastrand::Rng) -> Option<Step> {
    let client = (0..CLIENTS).find(|client| stage.leased(*client).is_some())?;
    let leased = i64::try_from(stage.leased(client)?).ok()?;
    let tokens = if rng.u32(0..4) == 0 {
        rng.i64(1..=leased.max(1))
    } else {
        -rng.i64(1..=leased.max(1))
    };
    Some(Step::Adjust { client, tokens })
}

/// A short while, a long one, or until just before, at or just after an edge or the end of a window.
fn pass(stage: &Stage, rng: &mut fastrand::Rng) -> i64 {
    let now = stage.now();
    let beside = rng.i64(-1..=1);
    let until = match rng.u32(0..8) {
        0 | 1 => now - now.rem_euclid(PERIOD_MS) + PERIOD_MS + beside,
        2 | 3 => {
            let starts = stage.shards();
            let starts = starts.values().filter_map(|item| integer(item, "b_s.1_ws"));
            let newest = starts.max().and_then(|start| i64::try_from(start).ok());
            newest.unwrap_or(now) + WINDOW_S * 1000 + beside
        }
        4 => now + rng.i64(0..3 * PERIOD_MS),
        5 => now + rng.i64(0..60_000),
        _ => now + rng.i64(0..3_000),
    };
    (until - now).max(0)
}

/// A request or an adjustment, with something of another client's in between.
fn interrupt(script: &Script, stage: &Stage, rng: &mut fastrand::Rng) -> Step {
    let step = match adjust(stage, rng) {
        Some(adjustment) if rng.u32(0..3) == 0 => adjustment,
        _ => acquire(script, rng, 0),
    };
    let other = 1 + step.client().unwrap_or(0) % (CLIENTS - 1);
    let by = match rng.u32(0..6) {
        0 => Step::Configure {
            per_mille: CONFIGURATIONS[rng.usize(0..CONFIGURATIONS.len())],
        },
        1 if has_quota(script) => Step::Reset,
        _ => acquire(script, rng, if Some(other) == step.client() { 0 } else { other }),
    };
    Step::Interrupt {
        step: Box::new(step),
        writes: rng.u8(0..3),
        by: Box::new(by),
    }
}
