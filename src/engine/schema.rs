//! The table as 01-table states it: keys, indexes, stream, time to live.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType, TimeToLiveSpecification,
};

use super::EngineError;

/// Creates the table of 01-table. The engine's tables can be used at once.
///
/// # Errors
/// [`EngineError::Request`], for example where the name is taken.
pub async fn create_table(client: &Client, name: &str) -> Result<(), EngineError> {
    let unsendable = |_: BuildError| EngineError::Request {
        operation: "CreateTable",
        code: "incomplete".to_owned(),
    };
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .map_err(unsendable)?;
    client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema("PK", "SK").map_err(unsendable)?))
        .set_attribute_definitions(Some(attribute_definitions().map_err(unsendable)?))
        .set_global_secondary_indexes(Some(global_indexes().map_err(unsendable)?))
        .set_local_secondary_indexes(Some(local_indexes().map_err(unsendable)?))
        .stream_specification(stream)
        .send()
        .await
        .map_err(|error| EngineError::request("CreateTable", &error))?;
    let ttl = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("ttl")
        .build()
        .map_err(unsendable)?;
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(ttl)
        .send()
        .await
        .map_err(|error| EngineError::request("UpdateTimeToLive", &error))?;
    Ok(())
}

fn key_schema(partition: &str, sort: &str) -> Result<Vec<KeySchemaElement>, BuildError> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| KeySchemaElement::builder().attribute_name(name).key_type(kind).build())
        .collect()
}

fn attribute_definitions() -> Result<Vec<AttributeDefinition>, BuildError> {
    let global = (1..=4).flat_map(|n| [format!("GSI{n}PK"), format!("GSI{n}SK")]);
    let local = (1..=5).map(|n| format!("LSI{n}SK"));
    ["PK".to_owned(), "SK".to_owned()]
        .into_iter()
        .chain(global)
        .chain(local)
        .map(|name| {
            AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
        })
        .collect()
}

fn global_indexes() -> Result<Vec<GlobalSecondaryIndex>, BuildError> {
    (1..=4)
        .map(|n| {
            GlobalSecondaryIndex::builder()
                .index_name(format!("GSI{n}"))
                .set_key_schema(Some(key_schema(&format!("GSI{n}PK"), &format!("GSI{n}SK"))?))
                .projection(projection(n <= 2))
                .build()
        })
        .collect()
}

fn local_indexes() -> Result<Vec<LocalSecondaryIndex>, BuildError> {
    (1..=5)
        .map(|n| {
            LocalSecondaryIndex::builder()
                .index_name(format!("LSI{n}"))
                .set_key_schema(Some(key_schema("PK", &format!("LSI{n}SK"))?))
                .projection(projection(n % 2 == 1))
                .build()
        })
        .collect()
}

fn projection(all: bool) -> Projection {
    let kind = if all {
        ProjectionType::All
    } else {
        ProjectionType::KeysOnly
    };
    Projection::builder().projection_type(kind).build()
}
