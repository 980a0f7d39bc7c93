//! The same world in an engine, reached by the real SDK through the proxy, which counts, records and interferes.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryPartition;
use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::engine::{Engine, client_config, create_table, put_items, scan_items};
use limiter_aggregator::item::{Item, key_of};
use limiter_aggregator::table::dynamodb::{DynamoDbTable, retries, timeouts};
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;

use super::scene::{NOW, Notes, Shard, bucket_rules, double, existing, key, numeric, world};
use crate::support::proxy::{Proxy, Step};

const TABLE: &str = "buckets";

pub struct Wire {
    engine: Engine,
    pub proxy: Proxy,
    table: DynamoDbTable,
}

impl Wire {
    /// An engine that holds what the table in memory does.
    pub async fn with(memory: &MemoryTable) -> Self {
        let engine = Engine::start().await.unwrap();
        create_table(&engine.client(), TABLE).await.unwrap();
        let items: Vec<Item> = memory.items().into_values().collect();
        put_items(&engine.client(), TABLE, &items).await.unwrap();
        let proxy = Proxy::start(engine.address()).await;
        let config = client_config(&proxy.endpoint_url())
            .retry_partition(RetryPartition::new(proxy.endpoint_url()))
            .retry_config(retries())
            .timeout_config(timeouts());
        let table = DynamoDbTable::new(Client::from_conf(config.build()), TABLE);
        proxy.record();
        Self { engine, proxy, table }
    }

    /// One batch at `now`, every rule.
    pub async fn deliver_at(&self, event: &str, now: i64) -> (BatchOutcome, Vec<String>) {
        let aggregator = Aggregator::new(&self.table, bucket_rules());
        let notes = Notes::default();
        let outcome = aggregator
            .handle(event, EpochMillis(now), &Budget::unlimited(), &notes)
            .await
            .unwrap();
        (outcome, notes.take())
    }

    pub async fn deliver(&self, event: &str) -> (BatchOutcome, Vec<String>) {
        self.deliver_at(event, NOW).await
    }

    /// Reads, updates and transactions that were asked for.
    pub fn asked(&self) -> [usize; 3] {
        let of = |operation| self.proxy.count(operation);
        let asked = [of("BatchGetItem"), of("UpdateItem"), of("TransactWriteItems")];
        assert_eq!(asked.iter().sum::<usize>(), self.proxy.requests(), "and nothing else");
        asked
    }

    /// One shard, past the proxy.
    pub async fn shard(&self, shard: u32) -> Option<Item> {
        let items = scan_items(&self.engine.client(), TABLE).await.unwrap();
        items.into_iter().find(|item| key_of(item) == Some(key(shard)))
    }
}

fn day(n: u32) -> Shard {
    Shard::new(n, 4).calendar("day", 1_024_000, 256_000, 4).wcu()
}

#[tokio::test]
async fn the_engine_and_the_table_in_memory_agree_on_a_doubling() {
    let memory = world((0..4).map(|n| day(n).drip("rpm", 64_000, 9000)));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    assert_eq!(wire.deliver(&event).await.0, BatchOutcome::Complete);
    super::scene::handle(&memory, &event);
    for shard in existing(&memory) {
        assert_eq!(wire.shard(shard).await, memory.get(&key(shard)));
    }
}

#[tokio::test]
async fn a_read_that_returns_half_its_keys_never_leads_to_a_fresh_share() {
    // Missing shards would mean that nobody was granted the slots 2 and 3 (and 6 and 7).
    let memory = world((0..4).map(day));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    wire.proxy.on("BatchGetItem", [Step::KeepBack(2), Step::KeepBack(1)]);
    let (outcome, notes) = wire.deliver(&event).await;
    assert!(matches!(outcome, BatchOutcome::Complete), "{outcome:?}");
    assert!(notes.contains(&"shard 7 created".to_owned()), "{notes:?}");
    for shard in 0..8 {
        assert_eq!(
            numeric(&wire.shard(shard).await.unwrap(), "b_day_tk"),
            Some(128_000),
            "moved, not made"
        );
    }
    assert_eq!(
        wire.proxy.bodies("BatchGetItem").len(),
        4,
        "all four, then two, then one; and the repair's"
    );
}

#[tokio::test]
async fn a_read_that_never_returns_some_of_its_keys_is_a_failed_read() {
    let memory = world((0..4).map(day));
    let event = double(&memory);
    let wire = Wire::with(&memory).await;
    wire.proxy.script(|call| {
        // Whatever is asked for, shard 3 is not answered.
        let is_read = call.operation == "BatchGetItem";
        if is_read && String::from_utf8_lossy(call.body).contains("e#r#3") {
            Step::KeepBack(1)
        } else {
            Step::Pass
        }
    });
    let (outcome, notes) = wire.deliver(&event).await;
    assert!(matches!(outcome, BatchOutcome::RetryFrom(_)), "{outcome:?}");
    assert_eq!(notes, ["rise unread"]);
    assert_eq!(wire.asked()[1..], [0, 0], "nothing is raised, nothing is created");
    wire.proxy.pass_all();
    assert_eq!(wire.deliver(&event).await.0, BatchOutcome::Complete);
    assert_eq!(numeric(&wire.shard(7).await.unwrap(), "b_day_tk"), Some(128_000));
}
