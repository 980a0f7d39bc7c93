//! The transaction that creates a shard: the new item, the donor's debit and the owner check (R8 step 3, R9, R10).

use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::TransactionOutcome;
use limiter_aggregator::write::{Check, Condition, Put, Transaction, TransactionAction};

use super::arms::{
    Arm, absent, add, all, any, at_least, equal, exists, item, items_of, key, loses_by, transaction, update,
};

fn donor_key() -> ItemKey {
    key("ns/BUCKET#e#r#0", "#STATE")
}

fn created_key() -> ItemKey {
    key("ns/BUCKET#e#r#2", "#STATE")
}

fn meta_key() -> ItemKey {
    key("ns/ENTITY#e", "#META")
}

fn donor() -> Item {
    let attributes = [
        ("shard_count", number(2)),
        ("rf", number(1000)),
        ("b_day_tk", number(500)),
        ("b_ses_tk", number(90)),
        ("b_ses_gc", number(2)),
        ("b_ses_wa", number(700)),
    ];
    item(&donor_key(), &attributes)
}

fn meta() -> Item {
    item(
        &meta_key(),
        &[
            ("pgen", number(3)),
            ("pinc", text("inc-7")),
            ("created_at", text("2026-01-01")),
        ],
    )
}

fn created() -> Item {
    let attributes = [
        ("shard_count", number(4)),
        ("entity_id", text("e")),
        ("b_day_tk", number(250)),
        ("b_ses_tk", number(40)),
        ("cascade", AttributeValue::Bool(true)),
        ("GSI2SK", text("BUCKET#e#2")),
    ];
    item(&created_key(), &attributes)
}

/// The donor's grant of the calendar quota has no size but the stored count; that of the session quota has one.
fn debit() -> TransactionAction {
    let conditions = vec![
        exists("PK"),
        at_least("b_day_tk", 250),
        any(vec![
            equal("b_day_gc", number(2)),
            all(vec![absent("b_day_gc"), equal("shard_count", number(2))]),
        ]),
        at_least("rf", 1000),
        at_least("b_ses_tk", 40),
        equal("b_ses_gc", number(2)),
        equal("b_ses_wa", number(700)),
    ];
    TransactionAction::Update(update(
        &donor_key(),
        vec![add("b_day_tk", -250), add("b_ses_tk", -40)],
        conditions,
    ))
}

fn creation(token: &str, owner: Vec<Condition>) -> Transaction {
    let put = Put {
        item: created(),
        conditions: vec![Condition::item_absent()],
    };
    let check = Check {
        key: meta_key(),
        conditions: owner,
    };
    transaction(
        token,
        vec![TransactionAction::Put(put), debit(), TransactionAction::Check(check)],
    )
}

/// Both parts of the stamp on the image (R10).
fn stamped() -> Vec<Condition> {
    vec![
        exists("PK"),
        equal("pgen", number(3)),
        any(vec![
            equal("pinc", text("inc-7")),
            all(vec![absent("pinc"), equal("created_at", text("inc-7"))]),
        ]),
    ]
}

async fn seed_all(arm: &impl Arm) {
    arm.seed(&donor()).await;
    arm.seed(&meta()).await;
}

async fn a_shard_is_created_from_its_donor(arm: &impl Arm) {
    seed_all(arm).await;
    let creation = creation("a", stamped());
    assert_eq!(arm.transact(&creation).await, Ok(TransactionOutcome::Applied));
    let mut debited = donor();
    debited.extend([("b_day_tk", number(250)), ("b_ses_tk", number(50))].map(|(n, v)| (n.to_owned(), v)));
    assert_eq!(
        items_of(arm, &creation).await,
        [Some(created()), Some(debited), Some(meta())]
    );
}

async fn a_shard_that_exists_is_not_created(arm: &impl Arm) {
    seed_all(arm).await;
    arm.seed(&item(&created_key(), &[])).await;
    loses_by(arm, &creation("a", stamped()), &[0]).await;
}

async fn a_donor_that_moved_pays_nothing(arm: &impl Arm) {
    arm.seed(&meta()).await;
    loses_by(arm, &creation("a", stamped()), &[1]).await;
    let moved = [
        ("b_day_tk", Some(number(249))),
        ("b_day_gc", Some(number(1))),
        ("shard_count", Some(number(4))),
        ("shard_count", None),
        ("rf", Some(number(999))),
        ("b_ses_tk", Some(number(39))),
        ("b_ses_gc", None),
        ("b_ses_wa", Some(number(701))),
        ("b_ses_wa", None),
    ];
    for (place, (attribute, value)) in moved.into_iter().enumerate() {
        let mut donor = donor();
        match value {
            Some(value) => donor.insert(attribute.to_owned(), value),
            None => donor.remove(attribute),
        };
        arm.seed(&donor).await;
        loses_by(arm, &creation(&format!("moved-{place}"), stamped()), &[1]).await;
    }
}

async fn a_frozen_grant_of_the_size_read_still_pays(arm: &impl Arm) {
    seed_all(arm).await;
    let mut frozen = donor();
    frozen.insert("b_day_gc".to_owned(), number(2));
    frozen.insert("shard_count".to_owned(), number(4));
    arm.seed(&frozen).await;
    assert_eq!(
        arm.transact(&creation("a", stamped())).await,
        Ok(TransactionOutcome::Applied)
    );
}

async fn an_owner_that_changed_gets_no_shard(arm: &impl Arm) {
    seed_all(arm).await;
    let owners = [
        item(&meta_key(), &[("pgen", number(4)), ("pinc", text("inc-7"))]),
        item(&meta_key(), &[("pinc", text("inc-7"))]),
        item(&meta_key(), &[("pgen", number(3)), ("pinc", text("inc-8"))]),
        item(&meta_key(), &[("pgen", number(3)), ("created_at", text("inc-8"))]),
        item(
            &meta_key(),
            &[
                ("pgen", number(3)),
                ("pinc", text("inc-8")),
                ("created_at", text("inc-7")),
            ],
        ),
        item(&meta_key(), &[("pgen", text("3")), ("pinc", text("inc-7"))]),
    ];
    for (place, owner) in owners.iter().enumerate() {
        arm.seed(owner).await;
        loses_by(arm, &creation(&format!("owner-{place}"), stamped()), &[2]).await;
    }
    arm.seed(&item(
        &meta_key(),
        &[("pgen", number(3)), ("created_at", text("inc-7"))],
    ))
    .await;
    assert_eq!(
        arm.transact(&creation("matching", stamped())).await,
        Ok(TransactionOutcome::Applied)
    );
}

async fn a_stamped_shard_needs_its_owner(arm: &impl Arm) {
    arm.seed(&donor()).await;
    loses_by(arm, &creation("a", stamped()), &[2]).await;
}

async fn an_unstamped_shard_needs_an_unstamped_owner_or_none(arm: &impl Arm) {
    arm.seed(&donor()).await;
    let unstamped = || vec![absent("pgen"), absent("pinc")];
    arm.seed(&meta()).await;
    loses_by(arm, &creation("stamped", unstamped()), &[2]).await;
    let zero = vec![any(vec![absent("pgen"), equal("pgen", number(0))]), absent("pinc")];
    arm.seed(&item(&meta_key(), &[("pgen", number(1))])).await;
    loses_by(arm, &creation("one", zero.clone()), &[2]).await;
    arm.seed(&item(&meta_key(), &[("pgen", number(0))])).await;
    assert_eq!(
        arm.transact(&creation("zero", zero)).await,
        Ok(TransactionOutcome::Applied)
    );
}

async fn an_absent_owner_is_an_unstamped_one(arm: &impl Arm) {
    arm.seed(&donor()).await;
    let outcome = arm.transact(&creation("a", vec![absent("pgen"), absent("pinc")])).await;
    assert_eq!(outcome, Ok(TransactionOutcome::Applied));
    assert_eq!(arm.item(&meta_key()).await, None, "a check makes no item");
}

async fn every_failed_member_is_named(arm: &impl Arm) {
    arm.seed(&item(&created_key(), &[])).await;
    loses_by(arm, &creation("all", stamped()), &[0, 1, 2]).await;
    arm.seed(&donor()).await;
    loses_by(arm, &creation("ends", stamped()), &[0, 2]).await;
}

async fn a_repeat_by_token_pays_once(arm: &impl Arm) {
    seed_all(arm).await;
    let creation = creation("a", stamped());
    assert_eq!(arm.transact(&creation).await, Ok(TransactionOutcome::Applied));
    let after = items_of(arm, &creation).await;
    assert_eq!(arm.transact(&creation).await, Ok(TransactionOutcome::Applied));
    assert_eq!(items_of(arm, &creation).await, after);
    let renamed = Transaction {
        token: "b".to_owned(),
        ..creation
    };
    loses_by(arm, &renamed, &[0]).await;
}

on_both_arms! {
    a_shard_is_created_from_its_donor,
    a_shard_that_exists_is_not_created,
    a_donor_that_moved_pays_nothing,
    a_frozen_grant_of_the_size_read_still_pays,
    an_owner_that_changed_gets_no_shard,
    a_stamped_shard_needs_its_owner,
    an_unstamped_shard_needs_an_unstamped_owner_or_none,
    an_absent_owner_is_an_unstamped_one,
    every_failed_member_is_named,
    a_repeat_by_token_pays_once,
}
