use super::*;
use crate::item::{number, text};
use crate::record::ChangeKind;
use crate::write::{Action, Condition, TransactionAction};

fn key(pk: &str) -> ItemKey {
    ItemKey {
        pk: pk.to_owned(),
        sk: "s".to_owned(),
    }
}

fn item(pk: &str, rest: &[(&str, AttributeValue)]) -> Item {
    let mut item = change::bare_item(&key(pk));
    item.extend(rest.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

fn set(attribute: &str, value: AttributeValue) -> Action {
    Action::Set {
        attribute: attribute.to_owned(),
        value,
    }
}

fn add(attribute: &str, delta: i128) -> Action {
    Action::Add {
        attribute: attribute.to_owned(),
        delta,
    }
}

fn update(pk: &str, actions: Vec<Action>) -> Update {
    Update {
        key: key(pk),
        actions,
        conditions: vec![],
        return_item_on_failure: false,
    }
}

fn transaction(token: &str, updates: &[Update]) -> Transaction {
    let actions = updates.iter().cloned().map(TransactionAction::Update).collect();
    Transaction {
        actions,
        token: token.to_owned(),
    }
}

fn streaming() -> MemoryTable {
    MemoryTable::with_stream("2026-01-01T00:00:00.000")
}

#[test]
fn a_token_is_remembered_for_ten_minutes() {
    let table = MemoryTable::new();
    let once = transaction("t", &[update("p", vec![add("n", 1)])]);
    let other = transaction("t", &[update("p", vec![add("n", 2)])]);
    let count = || table.get(&key("p")).unwrap()["n"].clone();
    assert_eq!(table.apply_transaction(&once), Ok(TransactionOutcome::Applied));
    table.set_now(EpochMillis(599_999));
    assert_eq!(table.apply_transaction(&once), Ok(TransactionOutcome::Applied));
    assert_eq!(count(), number(1));
    let fault = table.apply_transaction(&other).unwrap_err();
    assert_eq!(
        (fault.code.as_str(), fault.class),
        ("IdempotentParameterMismatchException", FaultClass::Retryable)
    );
    table.set_now(EpochMillis(600_000));
    assert_eq!(table.apply_transaction(&other), Ok(TransactionOutcome::Applied));
    assert_eq!(count(), number(3));
}

#[test]
fn a_transaction_that_did_not_take_effect_is_judged_anew() {
    let table = MemoryTable::new();
    let guarded = Update {
        conditions: vec![Condition::item_exists()],
        ..update("p", vec![add("n", 1)])
    };
    let guarded = transaction("t", &[guarded]);
    assert_eq!(
        table.apply_transaction(&guarded),
        Ok(TransactionOutcome::LostRace { failed: vec![0] })
    );
    table.put_item(&item("p", &[])).unwrap();
    assert_eq!(table.apply_transaction(&guarded), Ok(TransactionOutcome::Applied));
}

#[test]
fn changes_reach_the_stream_with_both_images() {
    let table = streaming();
    table.set_now(EpochMillis(5000));
    table.apply_update(&update("p", vec![add("n", 1)])).unwrap();
    table
        .apply_transaction(&transaction(
            "t",
            &[update("p", vec![add("n", 1)]), update("q", vec![add("n", 1)])],
        ))
        .unwrap();
    table.delete_item(&key("p"));
    let (one, two) = (item("p", &[("n", number(1))]), item("p", &[("n", number(2))]));
    let records = table.take_records();
    let seen: Vec<_> = records
        .iter()
        .map(|r| (r.kind, r.key.clone(), r.old.clone(), r.new.clone()))
        .collect();
    let expected = [
        (ChangeKind::Insert, key("p"), None, Some(one.clone())),
        (ChangeKind::Modify, key("p"), Some(one), Some(two.clone())),
        (ChangeKind::Insert, key("q"), None, Some(item("q", &[("n", number(1))]))),
        (ChangeKind::Remove, key("p"), Some(two), None),
    ];
    assert_eq!(seen, expected);
    assert!(
        records
            .iter()
            .all(|record| record.created == EpochMillis(5000) && !record.expired)
    );
    assert!(table.take_records().is_empty());
}

#[test]
fn a_write_that_changes_nothing_leaves_no_record() {
    let table = streaming();
    table
        .put_item(&item("p", &[("n", number(1)), ("s", text("x"))]))
        .unwrap();
    table.take_records();
    let spelled = AttributeValue::N("1.0".to_owned());
    let kept = Action::SetFrom {
        attribute: "n".to_owned(),
        source: "n".to_owned(),
        default: number(9),
    };
    table
        .apply_update(&update("p", vec![set("n", spelled), add("zero", 0)]))
        .unwrap();
    assert_eq!(table.take_records().len(), 1, "an attribute appeared");
    table
        .apply_update(&update("p", vec![kept, set("s", text("x")), add("zero", 0)]))
        .unwrap();
    table
        .apply_update(&update(
            "p",
            vec![Action::Remove {
                attribute: "absent".to_owned(),
            }],
        ))
        .unwrap();
    table.put_item(&table.get(&key("p")).unwrap()).unwrap();
    table.delete_item(&key("q"));
    assert_eq!(table.take_records(), []);
}

#[test]
fn a_refused_write_leaves_no_trace() {
    let table = streaming();
    table.put_item(&item("p", &[("s", text("x"))])).unwrap();
    table.take_records();
    let before = table.items();
    let impossible = update("p", vec![set("n", number(1)), add("s", 1)]);
    assert_eq!(
        table.apply_update(&impossible).unwrap_err().class,
        FaultClass::Permanent
    );
    let members = [update("q", vec![add("n", 1)]), impossible];
    assert_eq!(
        table.apply_transaction(&transaction("t", &members)).unwrap_err().class,
        FaultClass::Permanent
    );
    assert_eq!(table.items(), before);
    assert_eq!(table.take_records(), []);
}

#[test]
fn time_to_live_removes_what_is_due_and_says_so() {
    let table = streaming();
    table.put_item(&item("due", &[("ttl", number(9))])).unwrap();
    table.put_item(&item("not_yet", &[("ttl", number(10))])).unwrap();
    table.put_item(&item("no_number", &[("ttl", text("9"))])).unwrap();
    table.put_item(&item("none", &[])).unwrap();
    table
        .put_item(&item("slip", &[("ttl", number(-5 * 365 * 86_400))]))
        .unwrap();
    table.take_records();
    table.set_now(EpochMillis(10_999));
    assert_eq!(table.expire(), 1);
    let records = table.take_records();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].kind, records[0].expired), (ChangeKind::Remove, true));
    assert_eq!(records[0].old, Some(item("due", &[("ttl", number(9))])));
    assert_eq!(table.items().len(), 4);
}

#[test]
fn a_later_stream_starts_its_numbers_again() {
    let table = streaming();
    let write = |n| table.apply_update(&update("p", vec![set("n", number(n))])).unwrap();
    write(1);
    let first = table.take_records().remove(0);
    write(2);
    table.restart_stream("2026-02-02T00:00:00.000");
    write(3);
    let second = table.take_records().remove(0);
    assert_eq!(first.sequence, second.sequence);
    assert!(second.source_arn.ends_with("/stream/2026-02-02T00:00:00.000"));
    assert_eq!(second.old.unwrap()["n"], number(2));
}

#[test]
fn items_without_a_usable_key_are_refused() {
    let table = MemoryTable::new();
    let mut keyless = item("p", &[]);
    keyless.remove("SK");
    for item in [keyless, item("", &[]), item("p", &[("SK", number(1))])] {
        assert_eq!(table.put_item(&item).unwrap_err().class, FaultClass::Permanent);
    }
    assert!(table.items().is_empty());
}
