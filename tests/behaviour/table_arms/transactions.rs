//! Transactions as such: all or nothing, each item once, tokens.

use limiter_aggregator::item::{number, text};
use limiter_aggregator::table::{FaultClass, TransactionOutcome};
use limiter_aggregator::write::{Check, Condition, Put, Transaction, TransactionAction};

use super::arms::{Arm, absent, add, exists, item, items_of, key, loses_by, set, transaction, update};

fn member(name: &str, condition: Option<Condition>) -> TransactionAction {
    TransactionAction::Update(update(
        &key(name, "s"),
        vec![add("n", 1)],
        condition.into_iter().collect(),
    ))
}

fn put(name: &str, condition: Option<Condition>) -> TransactionAction {
    let item = item(&key(name, "s"), &[("n", number(7))]);
    TransactionAction::Put(Put {
        item,
        conditions: condition.into_iter().collect(),
    })
}

fn check(name: &str, condition: Condition) -> TransactionAction {
    TransactionAction::Check(Check {
        key: key(name, "s"),
        conditions: vec![condition],
    })
}

async fn is_refused(arm: &impl Arm, transaction: &Transaction, class: FaultClass) {
    let before = items_of(arm, transaction).await;
    let fault = arm.transact(transaction).await.unwrap_err();
    assert_eq!(
        (fault.operation, fault.class),
        ("TransactWriteItems", class),
        "{}",
        fault.code
    );
    assert_eq!(items_of(arm, transaction).await, before);
}

async fn each_member_can_fail_the_whole(arm: &impl Arm) {
    arm.seed(&item(&key("there", "s"), &[])).await;
    let members = |failing: usize| {
        let condition = |place| {
            if place == failing {
                exists("missing")
            } else {
                absent("missing")
            }
        };
        vec![
            put("a", Some(condition(0))),
            member("b", Some(condition(1))),
            check("there", condition(2)),
            put("there-not", Some(condition(3))),
            member("c", Some(condition(4))),
        ]
    };
    for failing in 0..5 {
        loses_by(arm, &transaction(&format!("t{failing}"), members(failing)), &[failing]).await;
    }
    let whole = transaction("whole", members(9));
    assert_eq!(arm.transact(&whole).await, Ok(TransactionOutcome::Applied));
    let created = items_of(arm, &whole).await;
    assert!(created.iter().all(Option::is_some));
}

async fn a_put_replaces_the_whole_item(arm: &impl Arm) {
    arm.seed(&item(&key("a", "s"), &[("old", number(1)), ("n", number(1))]))
        .await;
    let replace = transaction("t", vec![put("a", Some(exists("old")))]);
    assert_eq!(arm.transact(&replace).await, Ok(TransactionOutcome::Applied));
    assert_eq!(
        arm.item(&key("a", "s")).await,
        Some(item(&key("a", "s"), &[("n", number(7))]))
    );
}

async fn a_member_that_cannot_be_carried_out_is_permanent(arm: &impl Arm) {
    arm.seed(&item(&key("odd", "s"), &[("n", text("text"))])).await;
    let impossible = transaction("t", vec![member("a", None), member("odd", None)]);
    is_refused(arm, &impossible, FaultClass::Permanent).await;
    let mixed = transaction("u", vec![member("a", Some(exists("n"))), member("odd", None)]);
    is_refused(arm, &mixed, FaultClass::Permanent).await;
    let guarded = transaction("v", vec![member("a", None), member("odd", Some(absent("n")))]);
    loses_by(arm, &guarded, &[1]).await;
}

async fn malformed_transactions_are_permanent(arm: &impl Arm) {
    let bare = TransactionAction::Update(update(&key("a", "s"), vec![], vec![]));
    let unasked = TransactionAction::Check(Check {
        key: key("a", "s"),
        conditions: vec![],
    });
    let many: Vec<_> = (0..101).map(|n| member(&format!("many-{n}"), None)).collect();
    let unstorable = TransactionAction::Update(update(
        &key("a", "s"),
        vec![set("n", limiter_aggregator::item::AttributeValue::N("x".to_owned()))],
        vec![],
    ));
    let mut keyless = item(&key("a", "s"), &[]);
    keyless.remove("SK");
    let keyless = TransactionAction::Put(Put {
        item: keyless,
        conditions: vec![],
    });
    for (place, actions) in [
        vec![],
        vec![member("a", None), put("a", None)],
        vec![bare],
        vec![unasked],
        many[..].to_vec(),
        vec![unstorable],
        vec![keyless],
    ]
    .into_iter()
    .enumerate()
    {
        let malformed = transaction(&format!("t{place}"), actions);
        let class = arm.transact(&malformed).await.map_err(|fault| fault.class);
        assert_eq!(class, Err(FaultClass::Permanent), "{place}");
    }
    is_refused(
        arm,
        &transaction(&"x".repeat(37), vec![member("a", None)]),
        FaultClass::Permanent,
    )
    .await;
    let largest = transaction(&"x".repeat(36), many[..100].to_vec());
    assert_eq!(arm.transact(&largest).await, Ok(TransactionOutcome::Applied));
}

async fn a_token_answers_for_one_content(arm: &impl Arm) {
    let first = transaction("t", vec![member("a", None)]);
    for _ in 0..3 {
        assert_eq!(arm.transact(&first).await, Ok(TransactionOutcome::Applied));
    }
    is_refused(arm, &transaction("t", vec![member("b", None)]), FaultClass::Retryable).await;
    assert_eq!(arm.item(&key("a", "s")).await.unwrap()["n"], number(1));
    assert_eq!(
        arm.transact(&Transaction {
            token: "u".to_owned(),
            ..first
        })
        .await,
        Ok(TransactionOutcome::Applied)
    );
    assert_eq!(arm.item(&key("a", "s")).await.unwrap()["n"], number(2));
}

async fn a_token_of_a_lost_race_is_judged_anew(arm: &impl Arm) {
    let guarded = transaction("t", vec![member("a", Some(exists("PK")))]);
    loses_by(arm, &guarded, &[0]).await;
    loses_by(arm, &guarded, &[0]).await;
    arm.seed(&item(&key("a", "s"), &[])).await;
    assert_eq!(arm.transact(&guarded).await, Ok(TransactionOutcome::Applied));
    assert_eq!(arm.transact(&guarded).await, Ok(TransactionOutcome::Applied));
    assert_eq!(arm.item(&key("a", "s")).await.unwrap()["n"], number(1));
}

on_both_arms! {
    each_member_can_fail_the_whole,
    a_put_replaces_the_whole_item,
    a_member_that_cannot_be_carried_out_is_permanent,
    malformed_transactions_are_permanent,
    a_token_answers_for_one_content,
    a_token_of_a_lost_race_is_judged_anew,
}
