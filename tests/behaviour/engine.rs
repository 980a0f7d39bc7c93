//! The embedded engine: the table it makes is the table of 01-table, and it needs nothing from its surroundings.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{BillingMode, KeyType, ProjectionType, StreamViewType, TimeToLiveStatus};
use limiter_aggregator::engine::{Engine, EngineError, create_table, put_items, scan_items};
use limiter_aggregator::item::{AttributeValue, Item, key_of, number, text};

fn item(pk: &str, sk: &str, rest: &[(&str, AttributeValue)]) -> Item {
    [("PK", text(pk)), ("SK", text(sk))]
        .into_iter()
        .chain(rest.iter().cloned())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[tokio::test]
async fn what_is_put_is_what_a_scan_brings_back_in_key_order() {
    let engine = Engine::start().await.unwrap();
    let client = engine.client();
    create_table(&client, "buckets").await.unwrap();
    // One member per number set: the engine, like the service, returns sets in an order of its own.
    let every_type = [
        ("n", number(-12_345_678_901_234_567_890_123_456_789_012_345_678)),
        ("b", AttributeValue::B(vec![0, 255])),
        ("t", AttributeValue::Bool(true)),
        ("z", AttributeValue::Null(true)),
        ("l", AttributeValue::L(vec![text(""), number(1)])),
        (
            "m",
            AttributeValue::M([("k.e-y".to_owned(), text("v"))].into_iter().collect()),
        ),
        ("ss", AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])),
        ("ns", AttributeValue::Ns(vec!["1".to_owned()])),
        ("bs", AttributeValue::Bs(vec![vec![1], vec![2]])),
    ];
    let mut items: Vec<Item> = (0..60)
        .map(|n| item(&format!("p{}", n % 7), &format!("s{n:02}"), &every_type))
        .collect();
    put_items(&client, "buckets", &items).await.unwrap();
    items.sort_by_key(key_of);
    assert_eq!(scan_items(&client, "buckets").await.unwrap(), items);
}

#[tokio::test]
async fn a_scan_follows_every_page() {
    let engine = Engine::start().await.unwrap();
    let client = engine.client();
    create_table(&client, "buckets").await.unwrap();
    let filler = text("x".repeat(90_000));
    let items: Vec<Item> = (10..40)
        .map(|n| item("p", &n.to_string(), &[("filler", filler.clone())]))
        .collect();
    put_items(&client, "buckets", &items).await.unwrap();
    assert_eq!(scan_items(&client, "buckets").await.unwrap(), items);
}

#[tokio::test]
async fn the_later_of_two_items_with_one_key_stays() {
    let engine = Engine::start().await.unwrap();
    let client = engine.client();
    create_table(&client, "buckets").await.unwrap();
    let items = [item("p", "s", &[("n", number(1))]), item("p", "s", &[("n", number(2))])];
    put_items(&client, "buckets", &items).await.unwrap();
    assert_eq!(scan_items(&client, "buckets").await.unwrap(), items[1..]);
}

#[tokio::test]
async fn an_item_without_a_key_is_named_by_its_place() {
    let engine = Engine::start().await.unwrap();
    let keyless = Item::from([("PK".to_owned(), text("sk-secret"))]);
    let error = put_items(&engine.client(), "buckets", &[item("p", "s", &[]), keyless])
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::Keyless { place: 1 }));
    assert!(!format!("{error} {error:?}").contains("secret"));
}

#[tokio::test]
async fn a_refusal_is_told_by_its_code() {
    let engine = Engine::start().await.unwrap();
    let error = scan_items(&engine.client(), "missing").await.unwrap_err();
    assert_eq!(error.to_string(), "Scan failed: ResourceNotFoundException");
}

#[tokio::test]
async fn the_table_is_the_one_the_clients_make() {
    let engine = Engine::start().await.unwrap();
    let client = engine.client();
    create_table(&client, "buckets").await.unwrap();
    let table = client
        .describe_table()
        .table_name("buckets")
        .send()
        .await
        .unwrap()
        .table
        .unwrap();
    let stream = table.stream_specification.as_ref().unwrap();
    assert!(stream.stream_enabled);
    assert_eq!(stream.stream_view_type, Some(StreamViewType::NewAndOldImages));
    assert_eq!(
        table.billing_mode_summary().unwrap().billing_mode,
        Some(BillingMode::PayPerRequest)
    );

    let mut indexes = BTreeSet::new();
    for index in table.global_secondary_indexes() {
        let all = index.projection().unwrap().projection_type == Some(ProjectionType::All);
        indexes.insert((index.index_name().unwrap(), keys(index.key_schema()), all));
    }
    for index in table.local_secondary_indexes() {
        let all = index.projection().unwrap().projection_type == Some(ProjectionType::All);
        indexes.insert((index.index_name().unwrap(), keys(index.key_schema()), all));
    }
    let expected = [
        ("GSI1", "GSI1PK GSI1SK", true),
        ("GSI2", "GSI2PK GSI2SK", true),
        ("GSI3", "GSI3PK GSI3SK", false),
        ("GSI4", "GSI4PK GSI4SK", false),
        ("LSI1", "PK LSI1SK", true),
        ("LSI2", "PK LSI2SK", false),
        ("LSI3", "PK LSI3SK", true),
        ("LSI4", "PK LSI4SK", false),
        ("LSI5", "PK LSI5SK", true),
    ];
    assert_eq!(
        indexes,
        expected
            .into_iter()
            .map(|(name, keys, all)| (name, keys.to_owned(), all))
            .collect()
    );
    assert_eq!(keys(table.key_schema()), "PK SK");

    let ttl = client
        .describe_time_to_live()
        .table_name("buckets")
        .send()
        .await
        .unwrap();
    let ttl = ttl.time_to_live_description.unwrap();
    assert_eq!(ttl.attribute_name.as_deref(), Some("ttl"));
    assert_eq!(ttl.time_to_live_status, Some(TimeToLiveStatus::Enabled));
}

fn keys(schema: &[aws_sdk_dynamodb::types::KeySchemaElement]) -> String {
    let mut elements: Vec<_> = schema.iter().collect();
    elements.sort_by_key(|element| element.key_type != KeyType::Hash);
    elements
        .iter()
        .map(|element| element.attribute_name())
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn a_stopped_engine_gives_its_port_back_and_a_dropped_one_soon_does() {
    let engine = Engine::start().await.unwrap();
    let port = engine.address().port();
    create_table(&engine.client(), "buckets").await.unwrap();
    engine.stop().await.unwrap();
    let again = Engine::start_on(port).await.unwrap();
    assert_eq!(again.endpoint_url(), format!("http://127.0.0.1:{port}"));
    assert!(matches!(
        Engine::start_on(port).await.unwrap_err(),
        EngineError::Listen { .. }
    ));
    drop(again);
    let mut tries = 0;
    while Engine::start_on(port).await.is_err() {
        tries += 1;
        assert!(tries < 100, "the port is still taken");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn two_engines_share_nothing() {
    let (one, two) = (Engine::start().await.unwrap(), Engine::start().await.unwrap());
    create_table(&one.client(), "buckets").await.unwrap();
    put_items(&one.client(), "buckets", &[item("p", "s", &[])])
        .await
        .unwrap();
    create_table(&two.client(), "buckets").await.unwrap();
    assert!(scan_items(&two.client(), "buckets").await.unwrap().is_empty());
}

/// Runs another test of this file in a process with an environment that holds nothing but traps.
#[test]
fn the_client_heeds_nothing_in_the_environment() {
    let traps = [
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("http_proxy", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_CONFIG_FILE", "/nonexistent/config"),
    ];
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "engine::the_later_of_two_items_with_one_key_stays"])
        .env_clear()
        .envs(traps)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}
