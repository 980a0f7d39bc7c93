//! Usage through the real SDK, an engine and a wire that fails: what it costs, and that nothing is counted twice.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use limiter_aggregator::aggregate::{Aggregator, BatchOutcome, Budget};
use limiter_aggregator::config::Settings;
use limiter_aggregator::engine::{Engine, client_config, create_table, scan_items};
use limiter_aggregator::plan::usage::WindowKind;
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::units::EpochMillis;

use super::counting::{counters, settings, two_limits};
use super::model::{Counters, Rng, Story, counted, expected};
use super::records::{Change, change, event};
use super::seen::Seen;
use crate::support::proxy::{Answer, Proxy, Step};

const TABLE: &str = "buckets";
/// 2026-11-30T13:10:00Z.
const NOW: i64 = 1_796_044_200_000;
/// Enough for every kind of trouble to meet every other; the many are on the in-memory arm.
const HISTORIES: u64 = 25;

struct Setup {
    engine: Engine,
    proxy: Proxy,
    table: DynamoDbTable,
}

impl Setup {
    /// An engine behind a proxy, and a client that asks up to three times, soon.
    async fn new() -> Self {
        let engine = Engine::start().await.unwrap();
        create_table(&engine.client(), TABLE).await.unwrap();
        let proxy = Proxy::start(engine.address()).await;
        let retry = RetryConfig::standard()
            .with_max_attempts(3)
            .with_initial_backoff(Duration::from_millis(1));
        let config = client_config(&proxy.endpoint_url()).retry_config(retry);
        let table = DynamoDbTable::new(Client::from_conf(config.build()), TABLE);
        Self { engine, proxy, table }
    }

    async fn deliver(&self, settings: Settings, records: &[Change], budget: &Budget) -> (BatchOutcome, Seen) {
        let seen = Seen::default();
        let aggregator = Aggregator::new(&self.table, settings);
        let outcome = aggregator
            .handle(&event(records), EpochMillis(NOW), budget, &seen)
            .await;
        (outcome.unwrap(), seen)
    }

    async fn counted(&self) -> Counters {
        counted(scan_items(&self.engine.client(), TABLE).await.unwrap())
    }
}

#[tokio::test]
async fn a_batch_costs_one_request_for_each_snapshot() {
    let record = |entity: u64, sequence: u64| Change {
        entity: format!("e{entity}"),
        shard: u32::try_from(sequence % 3).unwrap(),
        ..change(sequence, NOW, two_limits())
    };
    let one: Vec<Change> = (1..=100).map(|sequence| record(0, sequence)).collect();
    let many: Vec<Change> = (1..=100).map(|sequence| record(sequence, sequence)).collect();
    for (batch, requests) in [(one, 2), (many, 200)] {
        let setup = Setup::new().await;
        let settings = settings(&[WindowKind::Hourly, WindowKind::Daily]);
        let (outcome, _) = setup.deliver(settings, &batch, &Budget::unlimited()).await;
        assert_eq!(outcome, BatchOutcome::Complete);
        assert_eq!(
            (setup.proxy.count("UpdateItem"), setup.proxy.requests()),
            (requests, requests)
        );
    }
}

#[tokio::test]
async fn an_answer_lost_on_the_wire_is_neither_counted_twice_nor_asked_for_again() {
    let setup = Setup::new().await;
    let records: Vec<Change> = (1..=3).map(|sequence| change(sequence, NOW, two_limits())).collect();
    setup.proxy.on("UpdateItem", [Step::ResetAfter]);
    let (outcome, seen) = setup
        .deliver(settings(&[WindowKind::Daily]), &records, &Budget::unlimited())
        .await;
    assert_eq!(outcome, BatchOutcome::Complete);
    // The SDK sent it twice, and the second answer brought the item back.
    assert_eq!(setup.proxy.requests(), 2);
    let seen = seen.snapshots.take();
    assert_eq!((seen[0].calls, seen[0].repeats, seen[0].beyond), (1, 3, 0));
    let items = scan_items(&setup.engine.client(), TABLE).await.unwrap();
    assert_eq!(
        counters(&items[0]),
        [("rpm", 3), ("total_events", 6), ("tpm", 6)].into()
    );
}

#[tokio::test]
async fn histories_over_a_bad_wire_end_in_the_totals_of_a_clean_delivery() {
    for history in 0..HISTORIES {
        let mut rng = Rng::of(history);
        let story = Story::tell(&mut rng);
        let setup = Setup::new().await;
        let mut wire = rng.clone();
        setup.proxy.script(move |_| match wire.below(12) {
            0 => Step::ResetBefore,
            1 => Step::ResetAfter,
            2 => Step::Answer(Answer::throughput_exceeded()),
            3 => Step::AnswerAfter(Answer::throughput_exceeded()),
            4 => Step::Delay(Duration::from_millis(15)),
            _ => Step::Pass,
        });
        let mut settings = Settings::default();
        settings.usage.windows = story.windows.clone();
        for shard in story.streams.iter().flatten() {
            deliver_shard(&setup, &settings, shard, &mut rng).await;
        }
        assert_eq!(setup.counted().await, expected(&story), "history {history}");
    }
}

/// Delivers a stream shard until all of it is done: in batches cut anew, with rewinds, and with some invocations cut
/// off while a request is under way.
async fn deliver_shard(setup: &Setup, settings: &Settings, shard: &[Change], rng: &mut Rng) {
    let mut position = 0;
    for step in 0.. {
        assert!(step < 500, "no end");
        if position == shard.len() {
            return;
        }
        if rng.chance(15) {
            position = rng.below(position + 1);
        }
        let end = (position + 1 + rng.below(6)).min(shard.len());
        // What lies beyond the reserve of 300 ms.
        let spare = if rng.chance(25) { 5 } else { 5_000 };
        let budget = Budget::from_remaining(Duration::from_millis(300 + spare));
        let (outcome, _) = setup.deliver(settings.clone(), &shard[position..end], &budget).await;
        position = match outcome {
            BatchOutcome::Complete => end,
            BatchOutcome::RetryFrom(sequence) => {
                let place = shard.iter().position(|change| change.sequence == sequence.as_str());
                place.expect("a record of this batch")
            }
            BatchOutcome::RetryAll => panic!("every record has a number"),
        };
    }
}
