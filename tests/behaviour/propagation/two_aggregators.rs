//! This aggregator twice on one table: every order in which their calls can take effect.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::interposed::Yielding;
use super::ledger::{ledger, spend};
use super::scene::{NOW, Notes, Random, Shard, bucket_rules, double, existing, handle, set, stored, world, write};

const CAPACITY: i64 = 1_024_000;

fn pair(grant: u32) -> MemoryTable {
    let day = |n, balance| {
        Shard::new(n, 2)
            .calendar("day", CAPACITY, balance, grant)
            .drip("rpm", 64_000, 1000)
            .wcu()
    };
    let share = CAPACITY / i64::from(grant);
    world([day(0, share)].into_iter().chain((grant == 2).then(|| day(1, share))))
}

/// Runs an event on two aggregators; `turn` says which one's next call takes effect, while both have any left, and
/// may do something in between.
fn interleaved(table: &MemoryTable, events: [&str; 2], mut turn: impl FnMut(usize) -> usize) {
    let notes = Notes::default();
    let aggregators = [0, 1].map(|_| Aggregator::new(Yielding(table), bucket_rules()));
    let budget = Budget::unlimited();
    let [one, two] = [0, 1].map(|n: usize| aggregators[n].handle(events[n], EpochMillis(NOW), &budget, &notes));
    let (mut one, mut two) = (pin!(one), pin!(two));
    let mut context = Context::from_waker(Waker::noop());
    let (mut done, mut steps) = ([false; 2], 0);
    while done != [true; 2] {
        let next = match done {
            [false, false] => turn(steps),
            [true, _] => 1,
            [_, true] => 0,
        };
        let polled = if next == 0 {
            one.as_mut().poll(&mut context)
        } else {
            two.as_mut().poll(&mut context)
        };
        if let Poll::Ready(outcome) = polled {
            assert_eq!(outcome.unwrap(), BatchOutcome::Complete);
            done[next] = true;
        }
        steps += 1;
    }
    assert!(!notes.any("panicked"));
}

/// Every order of `left` turns of the one and `right` of the other, each as a list of turns.
fn orders(left: usize, right: usize) -> Vec<Vec<usize>> {
    if left == 0 || right == 0 {
        return vec![[vec![0; left], vec![1; right]].concat()];
    }
    let first = |n: usize, rest: Vec<Vec<usize>>| rest.into_iter().map(move |rest| [vec![n], rest].concat());
    first(0, orders(left - 1, right))
        .chain(first(1, orders(left, right - 1)))
        .collect()
}

#[test]
fn every_order_of_two_deliveries_of_one_doubling_ends_the_same() {
    for grant in [1, 2] {
        let alone = pair(grant);
        let event = double(&alone);
        handle(&alone, &event);
        let table = pair(grant);
        double(&table);
        // The first poll only reaches the first call.
        let mut polls = 0;
        interleaved(&table, [&event, &event], |_| {
            polls += 1;
            0
        });
        let orders = orders(polls, polls);
        assert!((50..5000).contains(&orders.len()), "{} orders", orders.len());
        for order in orders {
            let table = pair(grant);
            let same = double(&table);
            // Who loses a race may have more or fewer calls to make: what is beyond the list alternates.
            interleaved(&table, [&same, &same], |step| {
                order.get(step).copied().unwrap_or(step % 2)
            });
            let ledger = ledger(&table, "day", CAPACITY);
            assert_eq!(ledger.total(), CAPACITY.into(), "{order:?}: {ledger:?}");
            if existing(&table) == existing(&alone) {
                assert_eq!(table.items(), alone.items(), "{order:?}");
            }
            handle(&table, &same);
            assert_eq!(
                existing(&table),
                existing(&alone),
                "{order:?}: what was left over is made by the next delivery"
            );
        }
    }
}

#[test]
fn two_aggregators_on_two_rises_while_clients_spend_conserve_the_quota() {
    let mut contended = 0;
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let table = pair(2);
        let first = double(&table);
        let second = double(&table);
        // The older of two rises is refused from the start unless its read comes first: the count goes back and up.
        write(&table, 0, vec![set("shard_count", 4)]);
        let when = random.below(8);
        interleaved(&table, [&first, &second], |step| {
            if step == when {
                write(&table, 0, vec![set("shard_count", 8)]);
            }
            if random.below(3) == 0 {
                let shards = existing(&table);
                spend(&table, shards[random.below(shards.len())], "day", 40_000);
            }
            random.below(2)
        });
        let ledger = ledger(&table, "day", CAPACITY);
        assert_eq!(ledger.total(), CAPACITY.into(), "seed {seed}: {ledger:?}");
        contended +=
            usize::from(table.get(&super::scene::key(2)).is_some() && table.get(&super::scene::key(7)).is_some());
        write(&table, 0, vec![set("shard_count", 8)]);
        handle(&table, &second);
        for shard in existing(&table) {
            assert_eq!(
                stored(&table, shard, "shard_count"),
                Some(8),
                "seed {seed}: shard {shard}"
            );
        }
    }
    assert!(contended > 100, "both made shards in {contended} of the runs");
}
