//! The model test: whatever goes wrong on the way, every snapshot ends up with what one clean delivery leaves.
//!
//! A history is made from its number alone: records of some buckets on some stream shards, and a delivery that splits
//! batches anew, repeats records, mixes their order, rewinds to any earlier record, loses answers of writes that took
//! effect, lets writes arrive late, stops at any write, goes on with an invocation that the stream has given up, and
//! replaces the stream. A failure names the history; `one_history` runs it alone.

mod delivery;
mod oracle;
pub mod rng;
mod story;

use delivery::{Way, deliver};
pub use oracle::{Counters, counted, expected};
pub use rng::Rng;
pub use story::Story;

const HISTORIES: u64 = 10_000;

/// Runs one history: the clean delivery and the hostile one against what plain arithmetic says.
fn run(history: u64) -> Result<(), String> {
    let mut rng = Rng::of(history);
    let story = Story::tell(&mut rng);
    let expected = expected(&story);
    // The arithmetic is the judge; the clean delivery is there to judge the arithmetic, and needs fewer histories.
    let clean = history.is_multiple_of(5).then_some(Way::Clean);
    for way in clean.into_iter().chain([Way::Hostile(rng)]) {
        let name = format!("history {history}, {}", way.name());
        let counted = deliver(&story, way).map_err(|problem| format!("{name}: {problem}"))?;
        if counted != expected {
            return Err(format!("{name}:\n counted {counted:#?}\nexpected {expected:#?}"));
        }
    }
    Ok(())
}

#[test]
fn ten_thousand_histories_of_bad_deliveries_end_in_the_totals_of_a_clean_one() {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let step = usize::try_from(threads).unwrap();
                scope.spawn(move || (first..HISTORIES).step_by(step).try_for_each(run))
            })
            .collect();
        for worker in workers {
            worker.join().unwrap().unwrap_or_else(|problem| panic!("{problem}"));
        }
    });
}

/// To look into a failure: put its number here.
#[test]
fn one_history() {
    run(0).unwrap_or_else(|problem| panic!("{problem}"));
}

/// Every kind of trouble must occur, or the test above proves less than it says.
#[test]
fn the_histories_hold_every_kind_of_trouble() {
    let mut trouble = delivery::Trouble::default();
    for history in 0..200 {
        let mut rng = Rng::of(history);
        let story = Story::tell(&mut rng);
        trouble.add(&delivery::troubles(&story, rng));
    }
    trouble.assert_all();
}
