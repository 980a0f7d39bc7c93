//! Window starts told while something else goes on: a length that changes, calls that fail.

use limiter_aggregator::aggregate::BatchOutcome;
use limiter_aggregator::table::failing::{Failing, FailingTable, Moment};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Fault, FaultClass};
use limiter_aggregator::write::Action;

use super::{ALL, CAPACITY, LENGTH_S, open, starts, three};
use crate::propagation::interposed::Interposed;
use crate::propagation::scene::{NOW, Notes, handle_with, propagate, propagation_only, set, stored, write};

#[test]
fn no_shard_gets_two_shares_in_one_window_when_the_length_changes_under_way() {
    // The operator halves, doubles, or takes the length away at every point of the propagation, and everyone rolls
    // what they are told. No shard may roll twice, and no later delivery may tell one that was given another length.
    for length in [Some(LENGTH_S / 2), Some(LENGTH_S * 2), None] {
        for before in 1..=4 {
            let table = three(|shard| shard);
            let event = open(&table);
            let fan_out = |table: &MemoryTable| {
                for shard in 0..3 {
                    let change = match length {
                        Some(length) => set("b_hour_rsa", length),
                        None => Action::Remove {
                            attribute: "b_hour_rsa".to_owned(),
                        },
                    };
                    write(table, shard, vec![change, set("vu", 0)]);
                }
            };
            propagate(&Interposed::before(&table, before, fan_out), &event);
            let told = starts(&table);
            let mut rolls = roll(&table);
            if before == 4 {
                fan_out(&table);
            }
            for _ in 0..2 {
                propagate(&table, &event);
                let more = roll(&table);
                rolls.iter_mut().zip(more).for_each(|(rolls, more)| *rolls += more);
            }
            assert!(
                rolls.iter().all(|rolls| *rolls <= 1),
                "{length:?} before call {before}: {rolls:?}"
            );
            if length.is_some() {
                assert_eq!(starts(&table), told, "a later delivery tells nobody else");
            }
        }
    }
}

/// Every shard applies the start it was told, as R4 does; which did.
fn roll(table: &MemoryTable) -> [u32; 3] {
    [0, 1, 2].map(|shard| {
        let (start, applied) = (
            stored(table, shard, "b_hour_ws").unwrap(),
            stored(table, shard, "b_hour_wa").unwrap(),
        );
        if start > applied {
            write(
                table,
                shard,
                vec![
                    set("b_hour_wa", i64::try_from(start).unwrap()),
                    set("b_hour_tk", CAPACITY / 3),
                ],
            );
        }
        u32::from(start > applied)
    })
}

#[test]
fn an_opening_is_asked_for_again_when_its_read_or_a_write_may_succeed_later() {
    for call in 1..=3 {
        for (class, again) in [
            (FaultClass::Retryable, true),
            (FaultClass::Conflict, true),
            (FaultClass::Permanent, false),
        ] {
            let table = three(|shard| shard);
            let event = open(&table);
            let broken = FailingTable::new(&table);
            let fault = Fault {
                operation: "any",
                code: "scripted".to_owned(),
                class,
            };
            broken.fail(Failing::Only(call), Moment::Before, fault);
            let outcome = handle_with(&broken, &event, NOW, propagation_only(), &Notes::default());
            assert_eq!(
                matches!(outcome, BatchOutcome::RetryFrom(_)),
                again,
                "call {call}, {class:?}"
            );
            assert_eq!(
                broken.calls().total(),
                if call == 1 { 1 } else { 3 },
                "the other sibling is told"
            );
            propagate(&table, &event);
            assert_eq!(starts(&table), ALL);
        }
    }
}
