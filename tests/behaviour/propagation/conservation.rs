//! A quota's allowance is neither made nor lost by sharding (ADR-145): admitted + held + still to be granted is the
//! capacity, at every step of every walk, in one frozen period.

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::table::memory::MemoryTable;

use super::ledger::{create_as_client, ledger, spend};
use super::scene::{NOW, Notes, Random, Shard, bucket_rules, double, existing, handle, handle_with, stored, world};

/// 1024 tokens: every share down to 32 shards is whole.
const CAPACITY: i64 = 1_024_000;
/// A millitoken more: no share is, and one that is rounded up is too much.
const ODD: i64 = 1_024_001;

fn calendar(shard: u32, count: u32, balance: i64, capacity: i64) -> Shard {
    Shard::new(shard, count).calendar("day", capacity, balance, count)
}

fn session(shard: u32, count: u32, balance: i64, capacity: i64) -> Shard {
    Shard::new(shard, count).session("day", capacity, balance, count, NOW - 3_600_000)
}

#[test]
fn when_nobody_spends_nothing_is_lost_on_the_way_to_32_shards() {
    for shard in [calendar, session] {
        let table = world([shard(0, 1, CAPACITY, CAPACITY)]);
        for count in [2, 4, 8, 16, 32] {
            let event = double(&table);
            assert_eq!(handle(&table, &event), BatchOutcome::Complete);
            let ledger = ledger(&table, "day", CAPACITY);
            assert_eq!(
                (ledger.admitted, ledger.held, ledger.grantable),
                (0, CAPACITY.into(), 0),
                "at {count} shards"
            );
            assert_eq!(existing(&table), (0..count).collect::<Vec<_>>());
        }
        let balances: Vec<_> = existing(&table)
            .iter()
            .map(|shard| stored(&table, *shard, "b_day_tk").unwrap())
            .collect();
        assert_eq!(balances, [32_000; 32]);
    }
}

#[test]
fn spent_allowance_is_not_granted_again() {
    let table = world([calendar(0, 1, CAPACITY, CAPACITY)]);
    assert!(spend(&table, 0, "day", CAPACITY - 1000));
    for _ in 0..5 {
        let event = double(&table);
        handle(&table, &event);
    }
    let ledger = ledger(&table, "day", CAPACITY);
    assert_eq!((ledger.held, ledger.grantable), (1000, 0));
    assert_eq!(existing(&table).len(), 32);
}

/// One walk: what happens next is drawn, and after each step the books must balance.
struct Walk {
    table: MemoryTable,
    random: Random,
    capacity: i64,
    /// Events not delivered yet, and one that was, to be delivered again.
    waiting: Vec<String>,
    delivered: Vec<String>,
}

impl Walk {
    /// Begins at `count` shards of which some may not exist, each that does with its grant of this period.
    fn new(seed: u64, capacity: i64, shard: fn(u32, u32, i64, i64) -> Shard) -> Self {
        let mut random = Random::new(seed);
        let count = 1 << random.below(4);
        let there: Vec<u32> = (0..count).filter(|n| *n == 0 || random.below(3) > 0).collect();
        let share = capacity / i64::from(count);
        let table = world(there.into_iter().map(|n| shard(n, count, share, capacity)));
        Self {
            table,
            random,
            capacity,
            waiting: Vec::new(),
            delivered: Vec::new(),
        }
    }

    fn step(&mut self) {
        let count = u32::try_from(stored(&self.table, 0, "shard_count").unwrap()).unwrap();
        match self.random.below(10) {
            0..=3 => {
                let shards = existing(&self.table);
                let shard = shards[self.random.below(shards.len())];
                let amount = self.random.below(usize::try_from(self.capacity).unwrap() / 8);
                spend(&self.table, shard, "day", i64::try_from(amount).unwrap());
            }
            4 => {
                let shards = existing(&self.table);
                let missing: Vec<_> = (0..count).filter(|shard| !shards.contains(shard)).collect();
                if !missing.is_empty() {
                    let shard = missing[self.random.below(missing.len())];
                    create_as_client(&self.table, shard, "day", self.capacity);
                }
            }
            5 if count < 32 => self.waiting.push(double(&self.table)),
            6 if !self.delivered.is_empty() => {
                let again = self.delivered[self.random.below(self.delivered.len())].clone();
                handle(&self.table, &again);
            }
            _ if !self.waiting.is_empty() => {
                let event = self.waiting.remove(0);
                handle(&self.table, &event);
                self.delivered.push(event);
            }
            _ => {}
        }
    }
}

#[test]
fn the_books_balance_at_every_step_of_every_walk() {
    let mut most = 0;
    for seed in 0..120 {
        let mut walk = Walk::new(seed, CAPACITY, if seed % 2 == 0 { calendar } else { session });
        for step in 0..80 {
            walk.step();
            let ledger = ledger(&walk.table, "day", CAPACITY);
            assert_eq!(ledger.total(), CAPACITY.into(), "seed {seed}, step {step}: {ledger:?}");
        }
        most = most.max(existing(&walk.table).len());
    }
    assert_eq!(most, 32, "the walks go all the way");
}

#[test]
fn what_does_not_divide_is_lost_never_made() {
    for seed in 1000..1040 {
        let mut walk = Walk::new(seed, ODD, if seed % 2 == 0 { calendar } else { session });
        for step in 0..80 {
            walk.step();
            let total = ledger(&walk.table, "day", ODD).total();
            // Each fresh share is rounded down by less than a millitoken.
            assert!(
                total <= ODD.into() && total > i128::from(ODD) - 32,
                "seed {seed}, step {step}: {total}"
            );
        }
    }
}

#[test]
fn two_quotas_on_one_item_are_conserved_each_by_its_own_donors() {
    // `day` was granted whole on shard 0, `week` on both.
    let shards = [
        Shard::new(0, 2)
            .calendar("day", CAPACITY, CAPACITY, 1)
            .calendar("week", 2 * CAPACITY, CAPACITY, 2),
        Shard::new(1, 2)
            .calendar("day", CAPACITY, 0, 2)
            .calendar("week", 2 * CAPACITY, CAPACITY, 2),
    ];
    let table = world(shards);
    let event = double(&table);
    handle(&table, &event);
    assert_eq!(existing(&table), [0, 1, 2, 3]);
    assert_eq!(ledger(&table, "day", CAPACITY).held, CAPACITY.into());
    assert_eq!(ledger(&table, "week", 2 * CAPACITY).held, i128::from(2 * CAPACITY));
    // Slot 3 of `day` is covered by the empty grant on shard 1, not by the full one on shard 0.
    assert_eq!(stored(&table, 3, "b_day_tk"), Some(0));
    assert_eq!(stored(&table, 3, "b_week_tk"), Some(i128::from(CAPACITY) / 2));
}

#[test]
fn a_batch_of_several_doublings_is_conserved_too() {
    let table = world([calendar(0, 1, CAPACITY, CAPACITY)]);
    for count in [2, 4, 8] {
        super::scene::write(&table, 0, vec![super::scene::set("shard_count", count)]);
    }
    let event = super::scene::event(&table);
    let notes = Notes::default();
    handle_with(&table, &event, NOW, bucket_rules(), &notes);
    // Only the last rise is still shard 0's count; what lies between is left to the clients.
    assert_eq!(existing(&table), [0, 4, 5, 6, 7]);
    let ledger = ledger(&table, "day", CAPACITY);
    assert_eq!((ledger.held, ledger.grantable), (CAPACITY.into(), 0));
}
