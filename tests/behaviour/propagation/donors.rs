//! The conditions on a donor (R9): what may change between the read and the creation, and what may not. Each is
//! tried met and missed, by a write that lands just before the transaction.

use limiter_aggregator::item::number;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::{Action, Transaction, TransactionAction};

use super::interposed::{Call, Interposed};
use super::scene::{EDGE, HOUR, NOW, REFILLED, Shard, double, key, propagate, set, stored, world, write};

const CAPACITY: i64 = 1_000_000;

/// What came of the last new shard if this happens just before the transaction that creates it.
fn outcome(table: &MemoryTable, meanwhile: impl Fn(&MemoryTable)) -> String {
    let event = double(table);
    let last = stored(table, 0, "shard_count").unwrap() - 1;
    let pk = key(u32::try_from(last).unwrap()).pk;
    let creates_last = |transaction: &Transaction| {
        let TransactionAction::Put(put) = &transaction.actions[0] else {
            panic!("a creation begins with its put")
        };
        put.item["PK"] == limiter_aggregator::item::text(&pk)
    };
    let racing = Interposed::new(table, |_, call| {
        if matches!(call, Call::Transact(transaction) if creates_last(transaction)) {
            meanwhile(table);
        }
    });
    let notes = propagate(&racing, &event);
    notes.into_iter().rfind(|note| note.starts_with("shard")).unwrap()
}

#[track_caller]
fn assert_created(table: &MemoryTable, meanwhile: impl Fn(&MemoryTable)) {
    let note = outcome(table, meanwhile);
    assert!(note.ends_with("created"), "{note}");
}

#[track_caller]
fn assert_dropped(table: &MemoryTable, meanwhile: impl Fn(&MemoryTable)) {
    let note = outcome(table, meanwhile);
    assert!(note.ends_with("lost, exists: false"), "{note}");
    let last = u32::try_from(stored(table, 0, "shard_count").unwrap_or(2) - 1).unwrap();
    assert!(table.get(&key(last)).is_none());
}

/// One shard that holds all of a day's quota.
fn day() -> MemoryTable {
    world([Shard::new(0, 1).calendar("day", CAPACITY, CAPACITY, 1)])
}

fn after(name: &'static str, value: i64) -> impl Fn(&MemoryTable) {
    move |table| write(table, 0, vec![set(name, value)])
}

fn without(name: &'static str) -> impl Fn(&MemoryTable) {
    move |table| {
        write(
            table,
            0,
            vec![Action::Remove {
                attribute: name.to_owned(),
            }],
        )
    }
}

#[test]
fn a_donor_must_still_hold_what_moves() {
    assert_created(&day(), after("b_day_tk", 500_000));
    assert_dropped(&day(), after("b_day_tk", 499_999));
}

#[test]
fn a_donor_must_still_have_the_grant_that_was_read() {
    assert_created(&day(), |_| {});
    assert_dropped(&day(), after("b_day_gc", 2));
    assert_dropped(&day(), without("b_day_gc"));
}

#[test]
fn a_donor_must_still_exist() {
    assert_dropped(&day(), |table| drop(table.delete_item(&key(0))));
}

#[test]
fn a_calendar_donor_must_have_been_reset_in_this_period() {
    assert_created(&day(), after("rf", EDGE));
    assert_created(&day(), after("rf", NOW));
    assert_dropped(&day(), after("rf", EDGE - 1));
}

#[test]
fn a_calendar_without_an_edge_in_reach_has_one_period_for_ever() {
    // Every minute matches, so that no minute is the first.
    let table = || {
        world([Shard::new(0, 1)
            .calendar("day", CAPACITY, CAPACITY, 1)
            .s("b_day_rsched", "1m*")])
    };
    assert_created(&table(), after("rf", 1));
    assert_dropped(&table(), after("b_day_tk", 0));
}

#[test]
fn what_the_move_does_not_depend_on_may_change() {
    for (name, value) in [("b_day_tc", 5), ("vu", 0), ("ttl", 1), ("b_day_tu", 9), ("b_day_rn", 3)] {
        assert_created(&day(), after(name, value));
    }
}

#[test]
fn a_grant_that_was_not_recorded_counts_by_the_count_that_was_read() {
    // Shard 0 is never raised, so nobody has recorded its grant. It holds more than half: it was granted whole.
    let table = || {
        world([Shard::new(0, 1)
            .calendar("day", CAPACITY, CAPACITY, 1)
            .without("b_day_gc")])
    };
    assert_created(&table(), |_| {});
    assert_created(&table(), after("b_day_gc", 1));
    assert_dropped(&table(), after("b_day_gc", 2));
    assert_dropped(&table(), after("shard_count", 4));
    assert_dropped(&table(), without("shard_count"));
}

/// Two shards, each with its half; shard 1 as `change` leaves it.
fn halves(change: impl Fn(Shard) -> Shard) -> MemoryTable {
    let half = |n| Shard::new(n, 2).calendar("day", CAPACITY, CAPACITY / 2, 2);
    world([half(0), change(half(1))])
}

fn on_one(name: &'static str, value: i64) -> impl Fn(&MemoryTable) {
    move |table| write(table, 1, vec![set(name, value)])
}

#[test]
fn a_sibling_without_a_recorded_grant_is_recorded_by_its_raise_and_pays_by_that() {
    let unrecorded = || halves(|shard| shard.without("b_day_gc"));
    let table = unrecorded();
    assert_created(&table, |table| {
        assert_eq!(stored(table, 1, "b_day_gc"), Some(2), "recorded before the move")
    });
    assert_eq!(
        (stored(&table, 1, "b_day_tk"), stored(&table, 3, "b_day_tk")),
        (Some(250_000), Some(250_000))
    );
    assert_dropped(&unrecorded(), on_one("b_day_gc", 4));
}

#[test]
fn a_sibling_that_a_client_raised_without_a_record_pays_by_the_count_that_was_read() {
    let raised = || halves(|shard| shard.without("b_day_gc").n("shard_count", 4));
    let table = raised();
    assert_created(&table, |_| {});
    assert_eq!(
        stored(&table, 1, "b_day_gc"),
        None,
        "its count was there already: it is not written"
    );
    assert_eq!(stored(&table, 1, "b_day_tk"), Some(250_000));
    assert_dropped(&raised(), on_one("shard_count", 8));
    assert_dropped(&raised(), on_one("b_day_gc", 4));
}

#[test]
fn a_recorded_grant_below_one_reads_as_the_count_and_must_stay_as_it_is() {
    let zero = || halves(|shard| shard.n("b_day_gc", 0));
    let table = zero();
    assert_created(&table, |_| {});
    assert_eq!(stored(&table, 1, "b_day_tk"), Some(250_000), "it covers slot 3");
    assert_dropped(&zero(), on_one("b_day_gc", 2));
}

/// One shard that holds all of a session's quota.
fn hour(change: impl Fn(Shard) -> Shard) -> MemoryTable {
    world([change(Shard::new(0, 1).session(
        "hour",
        CAPACITY,
        CAPACITY,
        1,
        NOW - HOUR,
    ))])
}

#[test]
fn a_session_donor_must_still_reflect_the_window_that_was_read() {
    assert_created(&hour(|shard| shard), |_| {});
    assert_created(&hour(|shard| shard), after("rf", 0));
    assert_dropped(&hour(|shard| shard), after("b_hour_wa", NOW));
    assert_dropped(&hour(|shard| shard), without("b_hour_wa"));
}

#[test]
fn an_older_session_donor_must_not_have_been_marked_meanwhile() {
    let older = || hour(|shard| shard.without("b_hour_wa"));
    const { assert!(REFILLED < NOW - HOUR) };
    let table = hour(|shard| shard.without("b_hour_wa").n("rf", NOW - HOUR));
    assert_created(&table, |_| {});
    let table = hour(|shard| shard.without("b_hour_wa").n("rf", NOW - HOUR));
    assert_dropped(&table, after("b_hour_wa", NOW - HOUR));
    // Where `rf` is older than the start, its reset is pending: it is no donor, and the share is fresh.
    let table = older();
    assert_created(&table, without("b_hour_gc"));
    assert_eq!(stored(&table, 1, "b_hour_tk"), Some(i128::from(CAPACITY / 2)));
    assert_eq!(stored(&table, 0, "b_hour_tk"), Some(CAPACITY.into()));
}

#[test]
fn an_empty_donor_is_neither_written_nor_checked() {
    let table = halves(|shard| shard.n("b_day_tk", 0));
    assert_created(&table, |table| drop(table.delete_item(&key(1))));
    assert_eq!(stored(&table, 3, "b_day_tk"), Some(0));
    assert!(
        table.get(&key(1)).is_none(),
        "the debit of nothing would have brought it back"
    );
}

#[test]
fn several_debits_of_one_donor_are_one_update() {
    let two = Shard::new(0, 1)
        .calendar("day", CAPACITY, CAPACITY, 1)
        .session("hour", 3000, 900, 1, NOW - HOUR);
    let table = world([two]);
    let event = double(&table);
    let seen = std::cell::RefCell::new(Vec::new());
    let watched = Interposed::new(&table, |_, call| {
        if let Call::Transact(transaction) = call {
            seen.borrow_mut().push((*transaction).clone());
        }
    });
    propagate(&watched, &event);
    let [transaction] = &seen.borrow()[..] else {
        panic!("one shard, one transaction")
    };
    let [
        TransactionAction::Put(_),
        TransactionAction::Update(debit),
        TransactionAction::Check(_),
    ] = &transaction.actions[..]
    else {
        panic!("a put, one debit, the owner")
    };
    assert_eq!(debit.key, key(0));
    let add = |name: &str, delta| Action::Add {
        attribute: name.to_owned(),
        delta,
    };
    assert_eq!(debit.actions, [add("b_day_tk", -500_000), add("b_hour_tk", -900)]);
    assert_eq!(
        table.get(&key(1)).unwrap()["b_hour_tk"],
        number(900),
        "a share is 1500, but there is no more"
    );
    assert_eq!(stored(&table, 0, "b_hour_tk"), Some(0));
}

#[test]
fn each_new_shard_sees_what_its_donor_has_left() {
    // 600 of 1000 are left for the slots 1, 2 and 3 besides shard 0's own.
    let table = world([Shard::new(0, 1).calendar("day", CAPACITY, 600_000, 1)]);
    table.take_records();
    write(&table, 0, vec![set("shard_count", 4)]);
    let event = super::scene::event(&table);
    propagate(&table, &event);
    let balances: Vec<_> = (0..4).map(|shard| stored(&table, shard, "b_day_tk").unwrap()).collect();
    assert_eq!(balances, [0, 250_000, 250_000, 100_000]);
}
