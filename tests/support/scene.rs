//! An engine with the table, and the hostile wire before it.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryPartition;
use limiter_aggregator::engine::{Engine, client_config, create_table, put_items, scan_items};
use limiter_aggregator::item::{Item, key_of};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::dynamodb::{DynamoDbTable, retries, timeouts};

use super::proxy::Proxy;

/// The table's name.
pub const TABLE: &str = "buckets";

/// See the module. Whatever a test does in it must be what the function's role may do.
pub struct Scene {
    pub engine: Engine,
    pub proxy: Proxy,
}

impl Scene {
    /// A table that holds these items.
    pub async fn with(items: &[Item]) -> Self {
        let engine = Engine::start().await.unwrap();
        create_table(&engine.client(), TABLE).await.unwrap();
        put_items(&engine.client(), TABLE, items).await.unwrap();
        let proxy = Proxy::start(engine.address()).await;
        proxy.police();
        Self { engine, proxy }
    }

    /// The table through the SDK as the product sets it up, behind the proxy; only the pauses between attempts are
    /// short, because tests make thousands of them.
    pub fn table(&self) -> DynamoDbTable {
        let endpoint = self.proxy.endpoint_url();
        let config = client_config(&endpoint)
            .retry_config(retries().with_initial_backoff(Duration::from_millis(1)))
            .timeout_config(timeouts())
            // All clients of a process share one quota of retries; tests would starve each other.
            .retry_partition(RetryPartition::new(endpoint));
        DynamoDbTable::new(Client::from_conf(config.build()), TABLE)
    }

    /// Everything in the table, read past the proxy.
    pub async fn items(&self) -> BTreeMap<ItemKey, Item> {
        let items = scan_items(&self.engine.client(), TABLE).await.unwrap();
        items.into_iter().map(|item| (key_of(&item).unwrap(), item)).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let refused = self.proxy.refused();
            assert!(refused.is_empty(), "the role's policy refuses {refused:?}");
        }
    }
}
