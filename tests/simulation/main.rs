//! placeholder
mod audit;
mod client;
mod coverage;
mod port;
mod scenario;
mod step;
mod world;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first: u64 = arguments.first().map_or(0, |text| text.parse().unwrap());
    let count: u64 = arguments.get(1).map_or(20, |text| text.parse().unwrap());
    let start = std::time::Instant::now();
    let total = coverage::Coverage::default();
    let mut rules = std::collections::BTreeMap::<&str, (u64, u64)>::new();
    for seed in first..first + count {
        let scenario = scenario::Scenario::of(seed);
        let mut world = world::World::new(scenario);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut result = Ok(());
        for n in 0..5000 {
            let step = step::choose(&world, &mut rng);
            result = world.step(step).map_err(|v| (n, v));
            if result.is_err() { break; }
        }
        let result = result.and_then(|()| world.quiet().map_err(|v| (5000, v)));
        total.add(&world.coverage.counts());
        if let Err((n, v)) = result {
            let e = rules.entry(v.rule).or_default();
            e.0 += 1;
            if e.0 <= 2 { println!("seed {seed} step {n}: {}: {}\n   {scenario:?}", v.rule, v.detail); }
        }
    }
    println!("{} steps/s", (count * 5000) as f64 / start.elapsed().as_secs_f64());
    for (n, c) in total.counts() { println!("{c:8} {n}"); }
    println!("{rules:?}");
}
