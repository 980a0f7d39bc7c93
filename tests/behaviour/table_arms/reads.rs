//! Batch reads: an answer for each key, in the order of the keys (R8, step 1).

use limiter_aggregator::item::number;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::{Consistency, FaultClass, Table};

use super::arms::{Arm, item, key};

fn shard(n: usize) -> ItemKey {
    key(&format!("ns/BUCKET#e#r#{n}"), "#STATE")
}

async fn a_missing_item_is_none_in_its_place(arm: &impl Arm) {
    let stored = item(&shard(1), &[("shard_count", number(2))]);
    arm.seed(&stored).await;
    for consistency in [Consistency::Strong, Consistency::Eventual] {
        let read = arm.table().read(&[shard(2), shard(1), shard(0)], consistency).await;
        assert_eq!(read, Ok(vec![None, Some(stored.clone()), None]));
    }
}

async fn a_repeated_key_is_answered_in_each_place(arm: &impl Arm) {
    let stored = item(&shard(1), &[]);
    arm.seed(&stored).await;
    let read = arm
        .table()
        .read(&[shard(1), shard(0), shard(1)], Consistency::Strong)
        .await;
    assert_eq!(read, Ok(vec![Some(stored.clone()), None, Some(stored)]));
}

async fn no_keys_need_no_answer(arm: &impl Arm) {
    assert_eq!(arm.table().read(&[], Consistency::Strong).await, Ok(vec![]));
}

async fn a_hundred_keys_are_read_and_no_more(arm: &impl Arm) {
    let keys: Vec<ItemKey> = (0..101).map(shard).collect();
    for key in &keys[..100] {
        arm.seed(&item(key, &[])).await;
    }
    let read = arm.table().read(&keys[..100], Consistency::Strong).await.unwrap();
    assert_eq!(
        read,
        keys[..100].iter().map(|key| Some(item(key, &[]))).collect::<Vec<_>>()
    );
    let twice = [&keys[..60], &keys[..60]].concat();
    assert_eq!(arm.table().read(&twice, Consistency::Strong).await.unwrap().len(), 120);
    let fault = arm.table().read(&keys, Consistency::Strong).await.unwrap_err();
    assert_eq!((fault.operation, fault.class), ("BatchGetItem", FaultClass::Permanent));
}

on_both_arms! {
    a_missing_item_is_none_in_its_place,
    a_repeated_key_is_answered_in_each_place,
    no_keys_need_no_answer,
    a_hundred_keys_are_read_and_no_more,
}
