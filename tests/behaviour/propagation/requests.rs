//! The client request token, and what a repeat looks like on the wire.

use std::cell::RefCell;
use std::collections::BTreeSet;

use limiter_aggregator::item::{AttributeValue, text};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::Transaction;
use serde_json::Value;

use super::interposed::{Call, Interposed};
use super::scene::{Shard, double, numeric, propagate, set, world, write};
use super::wire::Wire;
use crate::support::proxy::{Answer, Reason, Step};

const CAPACITY: i64 = 1_000_000;

fn pair(change: impl Fn(Shard) -> Shard) -> MemoryTable {
    let half = |n| Shard::new(n, 2).calendar("day", CAPACITY, CAPACITY / 2, 2);
    world([change(half(0)), half(1)])
}

/// The transactions of a doubling, and what happened before them.
fn transactions(table: &MemoryTable, before: impl Fn(&MemoryTable)) -> Vec<Transaction> {
    let event = double(table);
    before(table);
    let seen = RefCell::new(Vec::new());
    let watched = Interposed::new(table, |_, call| {
        if let Call::Transact(transaction) = call {
            seen.borrow_mut().push((*transaction).clone());
        }
    });
    propagate(&watched, &event);
    seen.take()
}

fn tokens(transactions: &[Transaction]) -> Vec<&str> {
    transactions
        .iter()
        .map(|transaction| transaction.token.as_str())
        .collect()
}

/// A map whose members come in another order each time it is built.
fn with_map(shard: Shard, last: &str) -> Shard {
    let members = (0..20).map(|n| (format!("k{n}"), text(format!("v{n}"))));
    let nested = AttributeValue::L(vec![AttributeValue::M(members.clone().collect())]);
    let more = [("nested".to_owned(), nested), ("last".to_owned(), text(last))];
    shard.with("details", AttributeValue::M(members.chain(more).collect()))
}

#[test]
fn the_same_plan_has_the_same_token_and_every_shard_its_own() {
    let first = transactions(&pair(|shard| with_map(shard, "x")), |_| {});
    assert_eq!(first.len(), 2);
    for _ in 0..20 {
        assert_eq!(transactions(&pair(|shard| with_map(shard, "x")), |_| {}), first);
    }
    assert_ne!(first[0].token, first[1].token);
    assert!(
        tokens(&first).iter().all(|token| (1..=36).contains(&token.len())),
        "what the service takes"
    );
}

#[test]
fn another_plan_has_another_token() {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    let mut plan = |transactions: Vec<Transaction>| {
        count += 1;
        seen.insert(transactions[0].token.clone());
        assert_eq!(seen.len(), count, "a plan shares its token with one before");
    };
    let as_it_is = |shard: Shard| shard;
    plan(transactions(&pair(as_it_is), |_| {}));
    // The donor has less than a share left: another amount moves.
    plan(transactions(&pair(as_it_is), |table| {
        write(table, 0, vec![set("b_day_tk", 240_000)])
    }));
    plan(transactions(&pair(|shard| shard.s("note", "a")), |_| {}));
    plan(transactions(&pair(|shard| shard.s("note", "b")), |_| {}));
    plan(transactions(&pair(|shard| shard.n("pgen", 8)), |_| {}));
    plan(transactions(&pair(|shard| shard.n("b_day_gc", 1)), |_| {}));
    plan(transactions(&pair(|shard| with_map(shard, "x")), |_| {}));
    plan(transactions(&pair(|shard| with_map(shard, "y")), |_| {}));
}

fn token(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["ClientRequestToken"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_repeat_after_a_lost_answer_is_byte_for_byte_the_same_and_moves_nothing_twice() {
    let memory = pair(|shard| with_map(shard, "x"));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    wire.proxy.on("TransactWriteItems", [Step::ResetAfter]);
    let (_, notes) = wire.deliver(&event).await;
    assert_eq!(notes[1..], ["shard 2 created", "shard 3 created"]);
    let bodies = wire.proxy.bodies("TransactWriteItems");
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0], bodies[1]);
    assert_ne!(token(&bodies[1]), token(&bodies[2]));
    let [donor, made] = [wire.shard(0).await.unwrap(), wire.shard(2).await.unwrap()];
    assert_eq!(
        (numeric(&donor, "b_day_tk"), numeric(&made, "b_day_tk")),
        (Some(250_000), Some(250_000))
    );
}

#[tokio::test]
async fn a_repeat_after_a_conflict_is_byte_for_byte_the_same_too() {
    // Made again from the planned write, not by the SDK: its hash maps are clones, which keep their order.
    let memory = pair(|shard| with_map(shard, "x"));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    let reasons = [Reason::none(), Reason::code("TransactionConflict"), Reason::none()];
    let conflict = Step::Answer(Answer::cancelled(&reasons));
    wire.proxy.on("TransactWriteItems", [conflict.clone(), conflict]);
    let (_, notes) = wire.deliver(&event).await;
    assert_eq!(notes[1..], ["shard 2 created", "shard 3 created"]);
    let bodies = wire.proxy.bodies("TransactWriteItems");
    assert_eq!(bodies.len(), 4);
    assert_eq!((&bodies[0], &bodies[0]), (&bodies[1], &bodies[2]));
}

#[tokio::test]
async fn a_second_delivery_of_the_same_plan_sends_the_same_request_up_to_the_order_of_members() {
    let memory = pair(|shard| with_map(shard, "x"));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    // The first delivery is answered for, but never carried out.
    wire.proxy.on("TransactWriteItems", (0..3).map(|_| Step::ResetBefore));
    wire.proxy.on(
        "TransactWriteItems",
        (0..3).map(|_| Step::Answer(Answer::throughput_exceeded())),
    );
    wire.deliver(&event).await;
    wire.deliver(&event).await;
    let values: Vec<Value> = wire
        .proxy
        .bodies("TransactWriteItems")
        .iter()
        .map(|body| serde_json::from_slice(body).unwrap())
        .collect();
    assert_eq!(values.len(), 8);
    assert_eq!((&values[0], &values[3]), (&values[6], &values[7]));
    let tokens: BTreeSet<String> = wire
        .proxy
        .bodies("TransactWriteItems")
        .iter()
        .map(|body| token(body))
        .collect();
    assert_eq!(
        tokens.len(),
        2,
        "one for each shard, whatever became of the first requests"
    );
}

#[tokio::test]
async fn what_cancels_a_creation_skips_that_shard_and_never_the_record() {
    use limiter_aggregator::aggregate::BatchOutcome;
    let answers = [
        Answer::cancelled(&[Reason::code("ConditionalCheckFailed"), Reason::none(), Reason::none()]),
        Answer::cancelled(&[Reason::none(), Reason::code("ValidationError"), Reason::none()]),
        Answer::cancelled(&[Reason::none(), Reason::code("SomethingNew"), Reason::none()]),
        Answer::cancelled(&[]),
        Answer::cancelled(&[Reason::empty(), Reason::empty(), Reason::empty()]),
        Answer::access_denied(),
    ];
    for answer in answers {
        let memory = pair(|shard| shard);
        let event = double(&memory);
        let wire = Wire::with(&memory).await;
        wire.proxy.on("TransactWriteItems", [Step::Answer(answer.clone())]);
        let (outcome, notes) = wire.deliver(&event).await;
        assert_eq!(outcome, BatchOutcome::Complete, "{answer:?}");
        assert!(!notes.contains(&"shard 2 created".to_owned()) && notes.contains(&"shard 3 created".to_owned()));
        assert!(wire.shard(2).await.is_none() && wire.shard(3).await.is_some());
    }
}
