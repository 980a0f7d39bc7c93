//! Simulation of the whole stack under every order of events: `docs/simulation.md` says what it proves.
//!
//! - [`port`]: the table as an actor sees it; every call is a yield point.
//! - [`client`]: clients, operators and old writers. [`world`]: the table, the stream, and who is at work.
//! - [`scenario`], [`step`]: what a seed runs, and the scheduler's choices. [`runner`]: runs and shortened traces.
//! - [`audit`]: what must hold after every step. [`coverage`]: what was exercised.
//! - [`fidelity`]: scripts that `tests/fidelity` holds against the published client.
//! - [`search`]: every order of small configurations. [`regressions`]: traces of faults that were found.
//!
//! Without arguments: the regressions, the search, and 500 seeds whose coverage is required (20 in a debug build).
//! `cargo test --release --features replay --test simulation -- --seeds N --from S` runs those seeds alone,
//! with progress.
#![allow(clippy::disallowed_methods)] // Speed is shown, never decided by.

mod arguments;
mod audit;
mod client;
mod coverage;
mod fidelity;
mod port;
mod regressions;
mod runner;
mod scenario;
mod search;
mod step;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use arguments::Arguments;
use coverage::Coverage;

/// What runs without arguments: all that CI asks for where the code is optimised, a taste of it elsewhere.
const SEEDS: u64 = if cfg!(debug_assertions) { 20 } else { CI_SEEDS };
/// Seeds whose coverage is required.
const CI_SEEDS: u64 = 500;

fn main() -> ExitCode {
    let arguments = Arguments::read(std::env::args().skip(1));
    if arguments.lists {
        return ExitCode::SUCCESS;
    }
    if let Some(asked) = &arguments.fidelity {
        return match fidelity::run(asked) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}: {error}", asked.write.display());
                ExitCode::FAILURE
            }
        };
    }
    let mut checks = Checks::default();
    if arguments.seeds.is_none() {
        if arguments.selects("regressions") {
            checks.report("regressions", regressions());
        }
        if arguments.selects("search") {
            checks.report("search", search());
        }
    }
    if arguments.selects("seeds") {
        let (from, count) = (arguments.from, arguments.seeds.unwrap_or(SEEDS));
        checks.report("seeds", seeds(from, count, arguments.until_first));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed",
        if checks.failed == 0 { "ok" } else { "FAILED" },
        checks.passed,
        checks.failed
    );
    if checks.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[derive(Default)]
struct Checks {
    passed: u32,
    failed: u32,
}

impl Checks {
    fn report(&mut self, name: &str, holds: bool) {
        println!("test {name} ... {}", if holds { "ok" } else { "FAILED" });
        *(if holds { &mut self.passed } else { &mut self.failed }) += 1;
    }
}

fn regressions() -> bool {
    let failures = regressions::failures();
    for (name, seed, violation) in &failures {
        println!("  {name} (seed {seed}): {}: {}", violation.rule, violation.detail);
    }
    failures.is_empty()
}

fn search() -> bool {
    let mut holds = true;
    search::search(|found| {
        println!("  {:45} {:7} states, depth {}", found.name, found.states, found.depth);
        if let Some((violation, steps)) = found.failure {
            holds = false;
            println!("    {}: {}", violation.rule, violation.detail);
            steps.iter().for_each(|step| println!("      {step:?},"));
        }
    });
    holds
}

fn seeds(from: u64, count: u64, until_first: bool) -> bool {
    let (total, start) = (Coverage::default(), Instant::now());
    let mut failed = 0;
    for seed in from..from.saturating_add(count) {
        if let Err(failure) = runner::run_seed(seed, &total) {
            failed += 1;
            if until_first {
                println!("  caught after {} seeds: {}", seed - from + 1, failure.violation.rule);
                return false;
            }
            print_failure(&runner::minimise(&failure));
        }
        let done = seed - from + 1;
        if done.is_multiple_of(1000) {
            println!(
                "  {done} seeds of {count}, {failed} failed, {:.0} steps/s",
                speed(done, start)
            );
        }
    }
    println!(
        "  {count} seeds from {from}, {failed} failed, {:.0} steps/s",
        speed(count, start)
    );
    let missing = total.missing(count);
    if !until_first && count >= CI_SEEDS {
        total.print();
        missing
            .iter()
            .for_each(|(name, seen, least)| println!("  not exercised enough: {name}: {seen} of {least}"));
    }
    failed == 0 && (until_first || count < CI_SEEDS || missing.is_empty())
}

fn speed(seeds: u64, start: Instant) -> f64 {
    // Only shown; a million seeds lose no precision.
    #[allow(clippy::cast_precision_loss)]
    let steps = (seeds * runner::STEPS as u64) as f64;
    steps / start.elapsed().as_secs_f64()
}

/// Everything needed to see it again: seed, commit, scenario and the shortened trace.
fn print_failure(failure: &runner::Failure) {
    let commit = std::process::Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output();
    let commit = commit
        .ok()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!(
        "  seed {} at commit {}",
        failure.scenario.seed,
        commit.unwrap_or_default()
    );
    println!("  {}: {}", failure.violation.rule, failure.violation.detail);
    println!("  {:?}", failure.scenario);
    failure.steps.iter().for_each(|step| println!("    {step:?},"));
}
