//! Proactive doubling (R7): when shard 0's count is raised, and how far.

use limiter_aggregator::table::memory::MemoryTable;

use crate::propagation::interposed::Interposed;
use crate::propagation::scene::{NOW, Notes, Shard, bucket_rules, event, handle_with, set, stored, world, write};

/// A write on a shard whose write budget of 1000 was so large `before_ms` ago, and what becomes of the count.
fn count_after(shard: u32, count: u32, budget: i64, before_ms: i64) -> i128 {
    delivered(shard, count, budget, before_ms, |_| {})
}

fn delivered(shard: u32, count: u32, budget: i64, before_ms: i64, meanwhile: impl Fn(&MemoryTable)) -> i128 {
    let item = Shard::new(shard, count).drip("rpm", 60_000, 60_000).wcu();
    let table = world([item.n("b_wcu_tk", budget).n("rf", NOW - before_ms)]);
    write(&table, shard, vec![set("b_rpm_tc", 1000)]);
    let spent = event(&table);
    let before_the_write = Interposed::before(&table, 1, meanwhile);
    handle_with(&before_the_write, &spent, NOW, bucket_rules(), &Notes::default());
    stored(&table, shard, "shard_count").unwrap()
}

#[test]
fn a_write_budget_below_a_fifth_doubles_the_count() {
    assert_eq!(count_after(0, 1, 199_999, 0), 2);
    assert_eq!(count_after(0, 4, -5_000, 0), 8, "a debt is below a fifth");
    assert_eq!(count_after(0, 1, 200_000, 0), 1, "a fifth is enough");
}

#[test]
fn what_has_dripped_since_counts() {
    // A thousand a second: 50 ms bring 50.
    assert_eq!(count_after(0, 1, 150_000, 50), 1);
    assert_eq!(count_after(0, 1, 149_999, 50), 2);
}

#[test]
fn the_count_ends_at_32() {
    assert_eq!(count_after(0, 16, 0, 0), 32);
    assert_eq!(count_after(0, 24, 0, 0), 32);
    assert_eq!(count_after(0, 32, 0, 0), 32);
}

#[test]
fn only_shard_zero_doubles() {
    assert_eq!(count_after(1, 2, 0, 0), 2);
}

#[test]
fn a_count_that_somebody_has_raised_meanwhile_stays() {
    let raised = |table: &MemoryTable| write(table, 0, vec![set("shard_count", 4)]);
    assert_eq!(delivered(0, 1, 0, 0, raised), 4);
}
