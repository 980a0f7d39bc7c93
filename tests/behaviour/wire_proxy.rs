//! The wire proxy: every fault that it can script is what the SDK then sees.

mod batches;
mod connections;
mod counters;
mod refusals;

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use limiter_aggregator::engine::{Engine, client_config, create_table, scan_items};
use limiter_aggregator::item::number;

use crate::support::proxy::Proxy;

const TABLE: &str = "buckets";

/// An engine with the table, and a proxy before it.
struct Setup {
    engine: Engine,
    proxy: Proxy,
}

impl Setup {
    async fn new() -> Self {
        let engine = Engine::start().await.unwrap();
        create_table(&engine.client(), TABLE).await.unwrap();
        let proxy = Proxy::start(engine.address()).await;
        Self { engine, proxy }
    }

    fn config(&self) -> Builder {
        client_config(&self.proxy.endpoint_url())
    }

    /// A client that asks once.
    fn single(&self) -> Client {
        Client::from_conf(self.config().retry_config(RetryConfig::disabled()).build())
    }

    /// A client that asks up to three times, soon.
    fn patient(&self) -> Client {
        let retry = RetryConfig::standard()
            .with_max_attempts(3)
            .with_initial_backoff(Duration::from_millis(1));
        Client::from_conf(self.config().retry_config(retry).build())
    }

    /// What the counter of [`add`] holds in the engine, read past the proxy.
    async fn counter(&self) -> i128 {
        let items = scan_items(&self.engine.client(), TABLE).await.unwrap();
        let sum = items
            .iter()
            .map(|item| item.get("n").cloned().unwrap_or_else(|| number(0)));
        sum.map(|value| {
            if let limiter_aggregator::item::AttributeValue::N(n) = value {
                n.parse().unwrap()
            } else {
                0
            }
        })
        .sum()
    }
}

/// Adds one to a counter: what is applied twice is seen.
async fn add(client: &Client) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
    client
        .update_item()
        .table_name(TABLE)
        .set_key(Some(key("p")))
        .update_expression("ADD n :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .send()
        .await
}

/// The same in a transaction, `members` times over different items.
fn adds(members: usize) -> Vec<TransactWriteItem> {
    let member = |n: usize| {
        let update = Update::builder()
            .table_name(TABLE)
            .set_key(Some(key(&format!("p{n}"))))
            .update_expression("ADD n :one")
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
            .build()
            .unwrap();
        TransactWriteItem::builder().update(update).build()
    };
    (0..members).map(member).collect()
}

fn key(pk: &str) -> std::collections::HashMap<String, AttributeValue> {
    let text = |value: &str| AttributeValue::S(value.to_owned());
    [("PK".to_owned(), text(pk)), ("SK".to_owned(), text("#STATE"))]
        .into_iter()
        .collect()
}
