//! Whole items in and out of a table: what a test or a replay starts from, and what it ends with.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

use super::EngineError;
use crate::item::{Item, key_of};

/// The most items the service takes in one batch.
const BATCH: usize = 25;
/// How often writes that are handed back are sent.
const ROUNDS: u32 = 8;
/// The wait before the second round; doubles from there.
const FIRST_WAIT: Duration = Duration::from_millis(5);

/// Stores items in batches. Where two have the same key the later one stays, as if they were stored one by one.
///
/// # Errors
/// See [`EngineError`]; some of the items may have been stored.
pub async fn put_items(client: &Client, table: &str, items: &[Item]) -> Result<(), EngineError> {
    let mut by_key = BTreeMap::new();
    for (place, item) in items.iter().enumerate() {
        let key = key_of(item).ok_or(EngineError::Keyless { place })?;
        by_key.insert(key, item);
    }
    let latest: Vec<&Item> = by_key.into_values().collect();
    for batch in latest.chunks(BATCH) {
        let writes = batch.iter().map(|item| put(item)).collect::<Result<Vec<_>, _>>()?;
        put_batch(client, table, writes).await?;
    }
    Ok(())
}

async fn put_batch(client: &Client, table: &str, mut writes: Vec<WriteRequest>) -> Result<(), EngineError> {
    let mut wait = FIRST_WAIT;
    for round in 1..=ROUNDS {
        let answer = client
            .batch_write_item()
            .request_items(table, writes)
            .send()
            .await
            .map_err(|error| EngineError::request("BatchWriteItem", &error))?;
        writes = answer
            .unprocessed_items
            .and_then(|mut tables| tables.remove(table))
            .unwrap_or_default();
        if writes.is_empty() {
            return Ok(());
        }
        if round < ROUNDS {
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }
    Err(EngineError::Unprocessed {
        left: writes.len(),
        rounds: ROUNDS,
    })
}

fn put(item: &Item) -> Result<WriteRequest, EngineError> {
    let item = item
        .iter()
        .map(|(name, value)| (name.clone(), AttributeValue::from(value.clone())))
        .collect();
    let put = PutRequest::builder()
        .set_item(Some(item))
        .build()
        .map_err(|_| EngineError::Request {
            operation: "BatchWriteItem",
            code: "incomplete".to_owned(),
        })?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// Reads every item of a table, however many pages that takes, in the order of `PK`, then `SK`.
///
/// # Errors
/// See [`EngineError`].
pub async fn scan_items(client: &Client, table: &str) -> Result<Vec<Item>, EngineError> {
    let mut items: Vec<Item> = Vec::new();
    let mut from: Option<HashMap<String, AttributeValue>> = None;
    loop {
        let page = client
            .scan()
            .table_name(table)
            .consistent_read(true)
            .set_exclusive_start_key(from)
            .send()
            .await
            .map_err(|error| EngineError::request("Scan", &error))?;
        items.extend(page.items.unwrap_or_default().into_iter().map(from_sdk));
        from = page.last_evaluated_key.filter(|key| !key.is_empty());
        if from.is_none() {
            break;
        }
    }
    items.sort_by_cached_key(key_of);
    Ok(items)
}

fn from_sdk(item: HashMap<String, AttributeValue>) -> Item {
    item.into_iter().map(|(name, value)| (name, value.into())).collect()
}
