//! What the arms' streams say of the same writes.

use limiter_aggregator::item::{Item, number};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::record::ChangeKind;

use super::arms::{Arm, EngineArm, MemoryArm, add, applies, item, key, set, transaction, update};
use limiter_aggregator::write::{Put, TransactionAction};

/// One change: kind, image before and image after.
pub type Change = (ChangeKind, Option<Item>, Option<Item>);

pub fn memory_changes(arm: &MemoryArm) -> Vec<Change> {
    arm.table()
        .take_records()
        .into_iter()
        .map(|record| (record.kind, record.old, record.new))
        .collect()
}

/// DIFFERENCE: the engine also records writes that change nothing, which DynamoDB's documentation rules out; they
/// are left out here.
pub fn engine_changes(arm: &EngineArm) -> Vec<Change> {
    let records = arm.engine.stream_records(arm.table().name()).into_iter();
    records
        .filter(|(_, old, new)| old != new)
        .map(|(name, old, new)| {
            let kind = match name.as_str() {
                "INSERT" => ChangeKind::Insert,
                "MODIFY" => ChangeKind::Modify,
                "REMOVE" => ChangeKind::Remove,
                other => panic!("unknown event {other}"),
            };
            (kind, old, new)
        })
        .collect()
}

async fn some_writes(arm: &impl Arm) {
    let (a, b): (ItemKey, ItemKey) = (key("p", "a"), key("p", "b"));
    applies(arm, &update(&a, vec![add("n", 1)], vec![])).await;
    applies(arm, &update(&a, vec![set("n", number(1))], vec![])).await;
    applies(arm, &update(&a, vec![add("n", 1)], vec![])).await;
    let put = Put {
        item: item(&b, &[("n", number(1))]),
        conditions: vec![],
    };
    let both = transaction(
        "t",
        vec![
            TransactionAction::Put(put),
            TransactionAction::Update(update(&a, vec![add("n", 1)], vec![])),
        ],
    );
    arm.transact(&both).await.unwrap();
    arm.transact(&both).await.unwrap();
    arm.seed(&item(&b, &[("n", number(2))])).await;
}

#[tokio::test]
async fn both_streams_tell_the_same_changes() {
    let memory = MemoryArm::new();
    let engine = EngineArm::start().await;
    some_writes(&memory).await;
    some_writes(&engine).await;
    let changes = memory_changes(&memory);
    let kinds: Vec<_> = changes.iter().map(|(kind, _, _)| *kind).collect();
    use ChangeKind::{Insert, Modify};
    assert_eq!(kinds, [Insert, Modify, Insert, Modify, Modify]);
    assert_eq!(changes, engine_changes(&engine));
}
