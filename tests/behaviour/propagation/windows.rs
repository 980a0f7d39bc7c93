//! Window starts told to the siblings (R11): who opened, who lags, who is left alone.

mod under_way;

use limiter_aggregator::table::Consistency;
use limiter_aggregator::table::failing::FailingTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::Action;

use super::interposed::{Call, Interposed};
use super::scene::{HOUR, NOW, Shard, add, event, key, propagate, set, stored, world, write};

const CAPACITY: i64 = 400_000;
/// The window that has ended.
const OLD: i64 = NOW - 6 * HOUR;
/// The one that shard 1 opens.
const OPENED: i64 = NOW - 1000;
const LENGTH_S: i64 = 5 * 3600;

fn hour(n: u32) -> Shard {
    Shard::new(n, 3)
        .session("hour", CAPACITY, 1000, 3, OLD)
        .n("b_hour_tc", 50 + i64::from(n))
        .n("rf", OLD)
}

/// Shards 0 to 2; 0 as `change` leaves it.
fn three(change: impl Fn(Shard) -> Shard) -> MemoryTable {
    world([change(hour(0)), hour(1), hour(2)])
}

/// Shard 1 opens the next window; gives the event.
fn open(table: &MemoryTable) -> String {
    let share = [
        set("b_hour_tk", CAPACITY / 3),
        add("b_hour_tc", 1000),
        set("b_hour_gc", 3),
    ];
    let window = [set("b_hour_ws", OPENED), set("b_hour_wa", OPENED), set("rf", OPENED)];
    write(table, 1, share.into_iter().chain(window).collect());
    event(table)
}

fn starts(table: &MemoryTable) -> Vec<Option<i128>> {
    (0..3).map(|shard| stored(table, shard, "b_hour_ws")).collect()
}

const ALL: [Option<i128>; 3] = [Some(OPENED as i128); 3];

#[test]
fn a_start_reaches_every_sibling_with_nothing_but_what_it_needs() {
    let table = three(|shard| shard.n("vu", NOW + HOUR));
    let before = table.get(&key(0)).unwrap();
    let event = open(&table);
    assert_eq!(
        propagate(&table, &event),
        ["windows: 2 lag", "window 0 applied", "window 2 applied"]
    );
    let expected = Shard(before).n("b_hour_ws", OPENED).n("vu", 0).n("b_hour_wtc", 50).0;
    assert_eq!(table.get(&key(0)), Some(expected), "never tokens");
    assert_eq!(starts(&table), ALL);
}

#[test]
fn a_sibling_without_a_counter_counts_from_nothing() {
    let table = three(|shard| shard.without("b_hour_tc"));
    let event = open(&table);
    propagate(&table, &event);
    assert_eq!(stored(&table, 0, "b_hour_wtc"), Some(0));
}

/// What a sibling is like, and whether a start reaches it.
type Sibling = (&'static str, fn(Shard) -> Shard, bool);

fn siblings() -> [Sibling; 13] {
    [
        (
            "its window had ended just then",
            |s| s.n("b_hour_ws", OPENED - LENGTH_S * 1000),
            true,
        ),
        (
            "a live window of its own",
            |s| s.n("b_hour_ws", OPENED - LENGTH_S * 1000 + 1),
            false,
        ),
        ("a later one", |s| s.n("b_hour_ws", OPENED + 1), false),
        ("no window yet", |s| s.without("b_hour_ws"), true),
        (
            "an unapplied one that has ended",
            |s| s.n("b_hour_wa", OLD - 9 * HOUR),
            true,
        ),
        (
            "no mark, `rf` before the start",
            |s| s.without("b_hour_wa").n("rf", OPENED - 1),
            true,
        ),
        (
            "no mark, `rf` at the start",
            |s| s.without("b_hour_wa").n("rf", OPENED),
            false,
        ),
        ("no mark, no `rf`", |s| s.without("b_hour_wa").without("rf"), false),
        ("a mark, no `rf`", |s| s.without("rf"), true),
        ("a mark, `rf` past the start", |s| s.n("rf", NOW), true),
        ("another length", |s| s.n("b_hour_rsa", LENGTH_S - 1), false),
        ("no length", |s| s.without("b_hour_rsa"), true),
        (
            "nothing of the limit but its `rf`",
            |s| {
                Shard(
                    s.0.into_iter()
                        .filter(|(name, _)| !name.starts_with("b_hour"))
                        .collect(),
                )
            },
            true,
        ),
    ]
}

#[test]
fn which_siblings_a_start_reaches() {
    for (name, change, reached) in siblings() {
        let table = three(change);
        let before = table.get(&key(0));
        let event = open(&table);
        let counted = FailingTable::new(&table);
        propagate(&counted, &event);
        let after = table.get(&key(0));
        assert_eq!(starts(&table)[0] == ALL[0], reached, "{name}");
        assert_eq!(after != before, reached, "{name}");
        assert_eq!(
            counted.calls().updates,
            if reached { 2 } else { 1 },
            "{name}: nothing is tried that would fail"
        );
        if reached {
            assert_eq!(stored(&table, 0, "b_hour_rsa"), Some(LENGTH_S.into()));
        }
    }
}

/// What happens between read and write, and whether the write takes effect all the same.
type Race = (&'static str, fn(&MemoryTable), bool);

fn races() -> [Race; 8] {
    [
        ("nothing happened", |_| {}, true),
        (
            "spent",
            |table| write(table, 0, vec![add("b_hour_tc", 5), add("b_hour_tk", -5)]),
            true,
        ),
        (
            "opened by itself",
            |table| write(table, 0, vec![set("b_hour_ws", OPENED - 5)]),
            false,
        ),
        (
            "told by the client",
            |table| write(table, 0, vec![set("b_hour_ws", OPENED)]),
            false,
        ),
        (
            "given another length",
            |table| write(table, 0, vec![set("b_hour_rsa", 60)]),
            false,
        ),
        (
            "relieved of its length",
            |table| {
                write(
                    table,
                    0,
                    vec![Action::Remove {
                        attribute: "b_hour_rsa".to_owned(),
                    }],
                );
            },
            false,
        ),
        (
            "relieved of its mark, refilled",
            |table| {
                write(
                    table,
                    0,
                    vec![
                        Action::Remove {
                            attribute: "b_hour_wa".to_owned(),
                        },
                        set("rf", OPENED),
                    ],
                );
            },
            false,
        ),
        ("deleted", |table| drop(table.delete_item(&key(0))), false),
    ]
}

#[test]
fn each_condition_of_the_write_is_checked_again_when_it_lands() {
    for (name, meanwhile, applied) in races() {
        let table = three(|shard| shard);
        let event = open(&table);
        let racing = Interposed::before(&table, 2, meanwhile);
        let notes = propagate(&racing, &event);
        let word = if applied { "window 0 applied" } else { "window 0 lost" };
        assert_eq!(notes[1], word, "{name}");
        if name == "spent" {
            assert_eq!(
                stored(&table, 0, "b_hour_wtc"),
                Some(55),
                "the counter as it is when the start lands"
            );
        }
    }
}

#[test]
fn what_is_no_opening_is_not_told() {
    type Case = (&'static str, fn() -> Vec<Action>);
    let cases: [Case; 5] = [
        ("a start that has not been applied", || vec![set("b_hour_ws", OPENED)]),
        ("a start applied later", || vec![set("b_hour_wa", OLD + 1)]),
        ("spending", || vec![add("b_hour_tk", -1), add("b_hour_tc", 1)]),
        ("a window that has ended by now", || {
            vec![set("b_hour_ws", OLD + HOUR), set("b_hour_wa", OLD + HOUR)]
        }),
        ("a stale start without a length", || {
            let without = Action::Remove {
                attribute: "b_hour_rsa".to_owned(),
            };
            vec![set("b_hour_ws", OPENED), set("b_hour_wa", OPENED), without]
        }),
    ];
    for (name, actions) in cases {
        let table = three(|shard| shard);
        write(&table, 1, actions());
        let counted = FailingTable::new(&table);
        propagate(&counted, &event(&table));
        assert_eq!(counted.calls().total(), 0, "{name}");
    }
}

#[test]
fn a_window_ends_at_its_last_instant() {
    for (start, is_live) in [(NOW - LENGTH_S * 1000, false), (NOW - LENGTH_S * 1000 + 1, true)] {
        let table = three(|shard| shard.n("b_hour_ws", OLD - 9 * HOUR).n("b_hour_wa", OLD - 9 * HOUR));
        write(&table, 1, vec![set("b_hour_ws", start), set("b_hour_wa", start)]);
        propagate(&table, &event(&table));
        assert_eq!(stored(&table, 0, "b_hour_ws") == Some(start.into()), is_live);
    }
}

#[test]
fn a_shard_that_appears_opened_its_window_only_if_it_was_used() {
    for (used, reached) in [
        (("b_rpm_tc", 0), false),
        (("b_rpm_tc", 1), true),
        (("b_wcu_tc", 1), false),
    ] {
        let table = world([hour(0), hour(2)]);
        let first = hour(1)
            .drip("rpm", 1000, 5)
            .wcu()
            .n("b_hour_ws", OPENED)
            .n("b_hour_wa", OPENED);
        table.put_item(&first.n("b_hour_tc", 0).n(used.0, used.1).0).unwrap();
        propagate(&table, &event(&table));
        assert_eq!(stored(&table, 2, "b_hour_ws") == ALL[0], reached, "{used:?}");
    }
}

#[test]
fn copies_made_by_a_doubling_open_nothing() {
    let opened = hour(0)
        .n("b_hour_ws", OPENED)
        .n("b_hour_wa", OPENED)
        .n("shard_count", 1);
    let table = world([opened]);
    let doubling = super::scene::double(&table);
    propagate(&table, &doubling);
    let follow_up = event(&table);
    let counted = FailingTable::new(&table);
    propagate(&counted, &follow_up);
    assert!(follow_up.contains("INSERT") && table.get(&key(1)).is_some());
    assert_eq!(counted.calls().total(), 0);
}

#[test]
fn the_newest_start_of_each_limit_is_told_after_one_eventual_read() {
    let both = |n| hour(n).session("week", CAPACITY, 1000, 3, OLD);
    let table = world([both(0), both(1), both(2)]);
    write(
        &table,
        1,
        vec![
            set("b_hour_ws", OPENED - 7),
            set("b_hour_wa", OPENED - 7),
            set("b_week_ws", OPENED),
            set("b_week_wa", OPENED),
        ],
    );
    write(&table, 2, vec![set("b_hour_ws", OPENED), set("b_hour_wa", OPENED)]);
    let event = event(&table);
    let reads = std::cell::RefCell::new(Vec::new());
    let watched = Interposed::new(&table, |_, call| {
        if let Call::Read(keys, consistency) = call {
            reads.borrow_mut().push((keys.len(), *consistency));
        }
    });
    propagate(&watched, &event);
    assert_eq!(*reads.borrow(), [(3, Consistency::Eventual)]);
    assert_eq!(
        starts(&table),
        [ALL[0], Some((OPENED - 7).into()), ALL[0]],
        "shard 1 is in a live window of its own"
    );
    let weeks: Vec<_> = (0..3).map(|shard| stored(&table, shard, "b_week_ws")).collect();
    assert_eq!(weeks, ALL);
}

#[test]
fn a_shard_that_only_a_read_counts_is_told_too() {
    // The opener knows of three shards; shard 0 of four.
    let table = world([hour(0).n("shard_count", 4), hour(1), hour(2), hour(3)]);
    let event = open(&table);
    propagate(&table, &event);
    assert_eq!(stored(&table, 3, "b_hour_ws"), ALL[0]);
    assert_eq!(stored(&table, 3, "b_hour_wtc"), Some(53));
}

#[test]
fn a_missing_sibling_stays_missing() {
    let table = world([hour(0), hour(1)]);
    let event = open(&table);
    assert_eq!(propagate(&table, &event), ["windows: 1 lag", "window 0 applied"]);
    assert!(table.get(&key(2)).is_none());
}
