//! Events that the published client produced, on the table as it stood then.

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::item::{AttributeValue, Item, key_of};
use limiter_aggregator::table::failing::FailingTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::scene::{Notes, bucket_rules, handle_with, numeric, propagation_only};

struct Capture {
    table: MemoryTable,
    event: String,
    now: i64,
}

fn capture(event: &str, state: &str) -> Capture {
    let state: serde_json::Value = serde_json::from_str(state).unwrap();
    let now = state["now_ms"].as_i64().unwrap();
    let table = MemoryTable::new();
    table.set_now(EpochMillis(now));
    for item in state["items"].as_array().unwrap() {
        table.put_item(&serde_json::from_value(item.clone()).unwrap()).unwrap();
    }
    Capture {
        table,
        event: event.to_owned(),
        now,
    }
}

macro_rules! capture {
    ($name:literal) => {
        capture(
            include_str!(concat!("../../../events/", $name, ".json")),
            include_str!(concat!("../../../events/", $name, ".table.json")),
        )
    };
}

impl Capture {
    fn propagate(&self) -> Vec<String> {
        let notes = Notes::default();
        let outcome = handle_with(&self.table, &self.event, self.now, propagation_only(), &notes);
        assert_eq!(outcome, BatchOutcome::Complete);
        notes.take()
    }

    /// The shards, by number.
    fn shards(&self) -> Vec<Item> {
        let is_shard = |item: &&Item| matches!(&item["SK"], AttributeValue::S(sk) if sk == "#STATE");
        self.table.items().values().filter(is_shard).cloned().collect()
    }
}

#[test]
fn a_rollover_whose_fan_out_was_lost_reaches_every_shard() {
    let lost = capture!("session-rollover-lost-fanout");
    let before = lost.shards();
    assert_eq!(
        lost.propagate(),
        [
            "windows: 3 lag",
            "window 0 applied",
            "window 2 applied",
            "window 3 applied"
        ]
    );
    let after = lost.shards();
    let opener = numeric(&after[1], "b_session_ws");
    assert_eq!(opener, Some(1_793_649_573_100));
    for shard in [0, 2, 3] {
        let expect = |name: &str, value| assert_eq!(numeric(&after[shard], name), value, "{name} of shard {shard}");
        expect("b_session_ws", opener);
        expect("vu", Some(0));
        expect("b_session_wtc", numeric(&before[shard], "b_session_tc"));
        for untouched in ["b_session_tk", "b_session_tc", "b_session_wa", "b_session_gc", "rf"] {
            expect(untouched, numeric(&before[shard], untouched));
        }
    }
    assert_eq!(after[1], before[1], "the opener is left alone");

    let again = FailingTable::new(&lost.table);
    let notes = Notes::default();
    handle_with(&again, &lost.event, lost.now, propagation_only(), &notes);
    assert_eq!(
        (again.calls().reads, again.calls().total()),
        (1, 1),
        "nothing is written a second time"
    );
    assert_eq!(lost.shards(), after);
}

#[test]
fn a_rollover_that_the_client_propagated_needs_nothing() {
    let done = capture!("session-rollover");
    let counted = FailingTable::new(&done.table);
    let before = done.table.items();
    handle_with(&counted, &done.event, done.now, propagation_only(), &Notes::default());
    assert_eq!(
        counted.calls().total(),
        0,
        "the batch's own images show every shard at the start"
    );
    assert_eq!(done.table.items(), before);
}

#[test]
fn a_rollover_that_the_client_propagated_needs_no_write_when_only_the_opener_is_seen() {
    let mut done = capture!("session-rollover");
    let mut event: serde_json::Value = serde_json::from_str(&done.event).unwrap();
    event["Records"].as_array_mut().unwrap().truncate(1);
    done.event = event.to_string();
    let counted = FailingTable::new(&done.table);
    handle_with(&counted, &done.event, done.now, propagation_only(), &Notes::default());
    assert_eq!((counted.calls().reads, counted.calls().total()), (1, 1));
}

#[test]
fn a_doubling_moves_half_of_the_quota_and_a_share_of_what_drips() {
    let doubling = capture!("quota-doubling-1-2");
    assert_eq!(doubling.propagate(), ["shard 1 created"]);
    let shards = doubling.shards();
    let of = |name| shards.iter().map(|shard| numeric(shard, name)).collect::<Vec<_>>();
    assert_eq!(of("b_daily_tk"), [Some(450_000), Some(500_000)]);
    assert_eq!(of("b_daily_gc"), [Some(1), Some(2)]);
    assert_eq!(of("b_rpm_tk")[1], Some(3_000_000));
    assert_eq!(of("b_daily_tc"), [Some(50_000), Some(0)]);
    assert_eq!(doubling.propagate(), ["shard 1 lost, exists: true"]);
    assert_eq!(doubling.shards(), shards);
}

#[test]
fn each_new_shard_is_paid_by_the_sibling_that_covers_it() {
    let doubling = capture!("quota-doubling-2-4");
    assert_eq!(doubling.propagate(), ["shard 2 created", "shard 3 created"]);
    let shards = doubling.shards();
    let balances: Vec<_> = shards
        .iter()
        .map(|shard| numeric(shard, "b_daily_tk").unwrap())
        .collect();
    // Shard 0 was granted at 1 and shard 1 at 2: 2 is paid by the former, 3 by the latter.
    assert_eq!(balances, [421_000 - 250_000, 469_000 - 250_000, 250_000, 250_000]);
}

#[test]
fn every_rule_together_agrees_on_the_captures() {
    for capture in [
        capture!("session-rollover-lost-fanout"),
        capture!("session-rollover"),
        capture!("quota-doubling-1-2"),
        capture!("quota-doubling-2-4"),
    ] {
        let run = || {
            handle_with(
                &capture.table,
                &capture.event,
                capture.now,
                bucket_rules(),
                &Notes::default(),
            )
        };
        assert_eq!(run(), BatchOutcome::Complete);
        let after = capture.table.items();
        assert_eq!(run(), BatchOutcome::Complete);
        assert_eq!(capture.table.items(), after, "a second delivery changes nothing");
        assert!(after.keys().all(|key| key_of(&after[key]).is_some()));
    }
}
