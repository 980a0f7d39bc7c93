//! Simulation of the whole stack under every order of events: `docs/simulation.md` says what it proves.
//!
//! - [`port`]: the table as an actor sees it; every call is a yield point.
//! - [`client`]: clients, operators and old writers. [`world`]: the table, the stream, and who is at work.
//! - [`scenario`], [`step`]: what a seed runs, and the scheduler's choices. [`runner`]: runs and shortened traces.
//! - [`audit`]: what must hold after every step. [`coverage`]: what was exercised.
//!
//! Without arguments, as `cargo test` runs it: the named regressions and 500 seeds. With arguments after `--`:
//! `--seeds N --from S` runs more.

mod audit;
mod client;
mod coverage;
mod port;
mod runner;
mod scenario;
mod step;
mod world;

use std::time::Instant;

use coverage::Coverage;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let (from, count) = (value("--from").unwrap_or(0), value("--seeds").unwrap_or(500));
    let total = Coverage::default();
    let start = Instant::now();
    let mut failed = std::collections::BTreeMap::<&str, u64>::new();
    for seed in from..from + count {
        if let Err(failure) = runner::run_seed(seed, &total) {
            let seen = failed.entry(failure.violation.rule).or_default();
            *seen += 1;
            if *seen > 1 { continue; }
            let shortest = runner::minimise(&failure);
            if std::env::var("TRACE").is_ok() { let mut w = world::World::new(shortest.scenario); for step in &shortest.steps { println!("{step:?}"); let _ = w.step(*step); for (k, v) in w.shards() { println!("      {k} {v:?}"); } } }
            println!("seed {seed}: {}: {}\n  {:?}", shortest.violation.rule, shortest.violation.detail, shortest.scenario);
            for step in &shortest.steps { println!("    {step:?},"); }
        }
    }
    println!("{:.0} steps/s", count as f64 * 5000.0 / start.elapsed().as_secs_f64());
    println!("{failed:?}");
    for (n, c) in total.counts() { if c < 100 {println!("{c:8} {n}"); }}
}
