//! The embedded engine for tests: a DynamoDB-compatible service in this process, on a loopback port, in memory.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};
use dynoxide::Database;
use dynoxide::actions::describe_stream::DescribeStreamRequest;
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use limiter_aggregator::item::Item;
use limiter_aggregator::table::dynamodb::{retries, timeouts};

/// A running engine; it lives as long as the runtime that started it.
#[derive(Clone)]
pub struct Engine {
    database: Database,
    client: Client,
}

impl Engine {
    /// Starts an engine with no tables.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint_url = format!("http://{}", listener.local_addr().unwrap());
        let database = Database::memory().unwrap();
        let forever = std::future::pending();
        tokio::spawn(dynoxide::server::serve_with_shutdown(
            listener,
            database.clone(),
            forever,
        ));
        // The SDK's default HTTP client would load root certificates and heed `HTTP_PROXY`; loopback needs neither.
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("engine", "engine", None, None, "engine"))
            .endpoint_url(endpoint_url)
            .retry_config(retries())
            .timeout_config(timeouts())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        Self {
            database,
            client: Client::from_conf(config),
        }
    }

    /// A client of this engine, with the product's retries and timeouts.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Creates a table with text keys `PK` and `SK` and a stream. The name must be new: the engine shows the stream
    /// records of a deleted table under the same name again.
    pub async fn create_table(&self, name: &str) {
        let key = |name: &str, kind| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .unwrap()
        };
        let definition = |name: &str| {
            AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap()
        };
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build()
            .unwrap();
        self.client
            .create_table()
            .table_name(name)
            .billing_mode(BillingMode::PayPerRequest)
            .key_schema(key("PK", KeyType::Hash))
            .key_schema(key("SK", KeyType::Range))
            .attribute_definitions(definition("PK"))
            .attribute_definitions(definition("SK"))
            .stream_specification(stream)
            .send()
            .await
            .unwrap();
    }

    /// Every stream record of a table, in order, as event name, old image and new image; asked of the engine directly,
    /// as the SDK for streams is no part of the product.
    pub fn stream_records(&self, table: &str) -> Vec<(String, Option<Item>, Option<Item>)> {
        let streams = ListStreamsRequest {
            table_name: Some(table.to_owned()),
            ..Default::default()
        };
        let streams = self.database.list_streams(streams).unwrap().streams;
        let stream_arn = streams[0].stream_arn.clone();
        let described = DescribeStreamRequest {
            stream_arn: stream_arn.clone(),
            ..Default::default()
        };
        let shards = self
            .database
            .describe_stream(described)
            .unwrap()
            .stream_description
            .shards;
        assert_eq!(shards.len(), 1, "the engine keeps one shard a stream");
        let iterator = GetShardIteratorRequest {
            stream_arn,
            shard_id: shards[0].shard_id.clone(),
            shard_iterator_type: "TRIM_HORIZON".to_owned(),
            sequence_number: None,
        };
        let mut iterator = self
            .database
            .get_shard_iterator(iterator)
            .unwrap()
            .shard_iterator
            .unwrap();
        let mut records = Vec::new();
        loop {
            let request = GetRecordsRequest {
                shard_iterator: iterator,
                limit: None,
            };
            let answer = self.database.get_records(request).unwrap();
            if answer.records.is_empty() {
                return records;
            }
            records.extend(answer.records.into_iter().map(|record| {
                let json = serde_json::to_value(record.dynamodb).unwrap();
                let image = |name| {
                    json.get(name)
                        .map(|image| serde_json::from_value(image.clone()).unwrap())
                };
                (record.event_name, image("OldImage"), image("NewImage"))
            }));
            iterator = answer.next_shard_iterator.unwrap();
        }
    }
}
