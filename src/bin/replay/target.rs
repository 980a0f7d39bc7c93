//! What events run against: the embedded engine with a fresh table each, or one real table.

use std::collections::BTreeMap;
use std::path::Path;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, Region, SharedCredentialsProvider};
use aws_sdk_dynamodb::types::AttributeValue;
use limiter_aggregator::engine::{self, Engine, EngineError};
use limiter_aggregator::item::{Item, key_of};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::record::{ChangeKind, Image, Record, read_event};
use limiter_aggregator::table::dynamodb::{DynamoDbTable, client_config, retries, timeouts};

use crate::failure::{self, Failure};

/// Where a replay works.
pub enum Target {
    /// In this process; each event gets a table of its own.
    Embedded {
        /// Stopped when dropped.
        engine: Engine,
        /// How many tables there were.
        tables: usize,
    },
    /// A table that exists.
    Real {
        /// Speaks to it.
        client: Client,
        /// Its name.
        name: String,
    },
}

/// A table to work on.
pub struct Place {
    /// Speaks to it.
    pub client: Client,
    /// Its name.
    pub name: String,
}

impl Target {
    /// This table behind this endpoint, or where the AWS environment leads to; the engine where there is no table.
    ///
    /// # Errors
    /// Where the engine does not start.
    pub async fn of(table: Option<&str>, endpoint_url: Option<&str>) -> Result<Self, Failure> {
        let Some(name) = table else {
            let engine = Engine::start().await.map_err(engine_failure)?;
            return Ok(Self::Embedded { engine, tables: 0 });
        };
        Ok(Self::Real {
            client: table_client(&service(endpoint_url).await),
            name: name.to_owned(),
        })
    }

    /// Whether it is a table that outlives this process.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real { .. })
    }

    /// The table for the next event.
    ///
    /// # Errors
    /// Where the engine does not create it.
    pub async fn next_table(&mut self) -> Result<Place, Failure> {
        match self {
            Self::Embedded { engine, tables } => {
                // A fresh name, not only a fresh table: the engine keeps a deleted table's stream records.
                *tables += 1;
                let (client, name) = (engine_client(engine), format!("replay-{tables}"));
                engine::create_table(&client, &name).await.map_err(engine_failure)?;
                Ok(Place { client, name })
            }
            Self::Real { client, name } => Ok(Place {
                client: client.clone(),
                name: name.clone(),
            }),
        }
    }
}

impl Place {
    /// Stores the items of a file.
    ///
    /// # Errors
    /// Where one is refused.
    pub async fn put(&self, items: &[Item], origin: &Path) -> Result<(), Failure> {
        engine::put_items(&self.client, &self.name, items)
            .await
            .map_err(|error| {
                Failure::about(
                    origin,
                    format_args!("the items could not be put into the table: {error}"),
                )
            })
    }

    /// Leaves every item as an event's records left it.
    ///
    /// # Errors
    /// Where the text is no event, or an item is refused.
    pub async fn put_images(&self, event: &str, origin: &Path) -> Result<(), Failure> {
        let records = read_event(event).map_err(|error| Failure::about(origin, error))?;
        let readable = records.iter().filter_map(|read| read.record.as_ref().ok());
        let left: BTreeMap<ItemKey, Option<Item>> = readable.filter_map(left_by).collect();
        let present: Vec<Item> = left.values().flatten().cloned().collect();
        self.put(&present, origin).await?;
        let removed = left.into_iter().filter(|(_, item)| item.is_none());
        for (ItemKey { pk, sk }, _) in removed {
            let (pk, sk) = (AttributeValue::S(pk), AttributeValue::S(sk));
            let deleted = self
                .client
                .delete_item()
                .table_name(&self.name)
                .key("PK", pk)
                .key("SK", sk)
                .send();
            deleted
                .await
                .map_err(|error| failure::refused("DeleteItem", &self.name, &error))?;
        }
        Ok(())
    }

    /// Every item, by key.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub async fn items(&self) -> Result<Vec<Item>, Failure> {
        engine::scan_items(&self.client, &self.name)
            .await
            .map_err(|error| Failure::new(format!("the table could not be read: {error}")))
    }

    /// The table as the aggregator works on it.
    pub fn table(&self) -> DynamoDbTable {
        DynamoDbTable::new(self.client.clone(), self.name.clone())
    }
}

/// The item of a record, `None` where it was removed.
fn left_by(record: &Record<'_>) -> Option<(ItemKey, Option<Item>)> {
    if let Some(item) = record.new.as_ref().and_then(Image::to_item) {
        return Some((key_of(&item)?, Some(item)));
    }
    let removed = record.kind == ChangeKind::Remove;
    let old = record.old.as_ref().filter(|_| removed)?.to_item()?;
    Some((key_of(&old)?, None))
}

/// A client of the engine with the Lambda's retries and timeouts.
pub fn engine_client(engine: &Engine) -> Client {
    let config = engine::client_config(&engine.endpoint_url());
    Client::from_conf(config.retry_config(retries()).timeout_config(timeouts()).build())
}

/// What the engine said, as a failure.
pub fn engine_failure(error: EngineError) -> Failure {
    Failure::new(format!("the embedded engine: {error}"))
}

/// How to reach the table's service, and its streams': at this endpoint, or where the AWS environment leads to.
pub async fn service(endpoint_url: Option<&str>) -> SdkConfig {
    match endpoint_url {
        Some(url) if url.starts_with("http://") => local_service(url),
        Some(url) => {
            aws_config::defaults(BehaviorVersion::latest())
                .endpoint_url(url)
                .load()
                .await
        }
        None => aws_config::load_defaults(BehaviorVersion::latest()).await,
    }
}

/// A client of a table's service.
pub fn table_client(service: &SdkConfig) -> Client {
    Client::from_conf(client_config(service, None).build())
}

/// A client of a service of streams.
pub fn streams_client(service: &SdkConfig) -> aws_sdk_dynamodbstreams::Client {
    let config = aws_sdk_dynamodbstreams::config::Builder::from(service);
    let config = config.retry_config(retries()).timeout_config(timeouts());
    aws_sdk_dynamodbstreams::Client::from_conf(config.build())
}

/// An endpoint without TLS, which is never AWS: it takes region and credentials from the environment where they are
/// given, and needs none.
#[expect(
    clippy::disallowed_methods,
    reason = "the process starts here, and the SDK reads the same variables"
)]
fn local_service(url: &str) -> SdkConfig {
    let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
    let credentials = match (given("AWS_ACCESS_KEY_ID"), given("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => Credentials::new(id, secret, given("AWS_SESSION_TOKEN"), None, "environment"),
        _ => Credentials::new("none", "none", None, None, "none"),
    };
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .region(Region::new(region.unwrap_or_else(|| "us-east-1".to_owned())))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(engine::http_client())
        .build()
}
