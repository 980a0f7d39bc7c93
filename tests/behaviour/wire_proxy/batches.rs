//! Batches that are done in part.

use aws_sdk_dynamodb::types::KeysAndAttributes;
use limiter_aggregator::engine::{EngineError, client, put_items, scan_items};
use limiter_aggregator::item::{Item, number, text};

use super::{Setup, TABLE, key};
use crate::support::proxy::{Answer, Step};

fn items(count: usize) -> Vec<Item> {
    let item = |n: usize| {
        [
            ("PK", text(format!("p{n:02}"))),
            ("SK", text("#STATE")),
            ("n", number(1)),
        ]
    };
    (0..count)
        .map(|n| {
            item(n)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        })
        .collect()
}

/// Reads `p00` to `p04`; returns which keys were answered and which were left.
async fn read(setup: &Setup) -> (Vec<String>, Vec<String>) {
    let keys = (0..5).map(|n| key(&format!("p{n:02}"))).collect();
    let request = KeysAndAttributes::builder()
        .set_keys(Some(keys))
        .consistent_read(true)
        .build()
        .unwrap();
    let answer = setup
        .single()
        .batch_get_item()
        .request_items(TABLE, request)
        .send()
        .await
        .unwrap();
    let pk = |item: &std::collections::HashMap<String, _>| {
        let value: &aws_sdk_dynamodb::types::AttributeValue = &item["PK"];
        value.as_s().unwrap().clone()
    };
    let mut found: Vec<_> = answer.responses().unwrap().values().flatten().map(pk).collect();
    found.sort();
    let left = answer.unprocessed_keys().and_then(|tables| tables.get(TABLE));
    if let Some(left) = left {
        assert_eq!(
            left.consistent_read(),
            Some(true),
            "the options of the read come back with its keys"
        );
    }
    (
        found,
        left.map_or_else(Vec::new, |left| left.keys().iter().map(pk).collect()),
    )
}

#[tokio::test]
async fn some_keys_of_a_read_come_back_unprocessed() {
    let setup = Setup::new().await;
    put_items(&setup.engine.client(), TABLE, &items(5)).await.unwrap();
    setup.proxy.on("BatchGetItem", [Step::KeepBack(2), Step::Pass]);
    let (found, left) = read(&setup).await;
    assert_eq!(found, ["p00", "p01", "p02"]);
    assert_eq!(left, ["p03", "p04"]);
    let (found, left) = read(&setup).await;
    assert_eq!((found.len(), left.len()), (5, 0));
    assert_eq!(setup.proxy.forwarded("BatchGetItem"), 2);
}

#[tokio::test]
async fn a_key_without_an_item_can_be_kept_back_too() {
    let setup = Setup::new().await;
    put_items(&setup.engine.client(), TABLE, &items(4)).await.unwrap();
    setup.proxy.on("BatchGetItem", [Step::KeepBack(1)]);
    let (found, left) = read(&setup).await;
    assert_eq!(found.len(), 4);
    assert_eq!(left, ["p04"]);
}

#[tokio::test]
async fn all_keys_of_a_read_come_back_unprocessed_and_nothing_is_forwarded() {
    let setup = Setup::new().await;
    put_items(&setup.engine.client(), TABLE, &items(5)).await.unwrap();
    for step in [Step::keep_back_all(), Step::KeepBack(5)] {
        setup.proxy.on("BatchGetItem", [step]);
        let (found, left) = read(&setup).await;
        assert_eq!((found.len(), left.len()), (0, 5));
    }
    assert_eq!(
        (setup.proxy.count("BatchGetItem"), setup.proxy.forwarded("BatchGetItem")),
        (2, 0)
    );
}

#[tokio::test]
async fn unprocessed_writes_are_sent_again_until_all_are_stored() {
    let setup = Setup::new().await;
    setup.proxy.on(
        "BatchWriteItem",
        [Step::KeepBack(10), Step::keep_back_all(), Step::KeepBack(3)],
    );
    put_items(&client(&setup.proxy.endpoint_url()), TABLE, &items(30))
        .await
        .unwrap();
    assert_eq!(scan_items(&setup.engine.client(), TABLE).await.unwrap(), items(30));
    assert_eq!(
        (
            setup.proxy.count("BatchWriteItem"),
            setup.proxy.forwarded("BatchWriteItem")
        ),
        (5, 4)
    );
}

#[tokio::test]
async fn writes_that_stay_unprocessed_are_an_error() {
    let setup = Setup::new().await;
    setup.proxy.always("BatchWriteItem", Step::keep_back_all());
    let error = put_items(&setup.single(), TABLE, &items(3)).await.unwrap_err();
    assert!(
        matches!(error, EngineError::Unprocessed { left: 3, rounds: 8 }),
        "{error}"
    );
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_to_the_engine_is_told_in_a_word() {
    let setup = Setup::new().await;
    let refused = [
        (
            Step::Answer(Answer::access_denied()),
            "BatchWriteItem failed: AccessDeniedException",
        ),
        (Step::ResetBefore, "BatchWriteItem failed: no answer"),
        (
            Step::Answer(Answer::success("[")),
            "BatchWriteItem failed: an answer without a code",
        ),
    ];
    for (step, words) in refused {
        setup.proxy.on("BatchWriteItem", [step]);
        assert_eq!(
            put_items(&setup.single(), TABLE, &items(1))
                .await
                .unwrap_err()
                .to_string(),
            words
        );
    }
}
