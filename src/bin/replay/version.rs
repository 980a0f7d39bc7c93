//! `replay version`: what a table's version record says, and raising it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use limiter_aggregator::key::{SYSTEM_PK, VERSION_SK};
use limiter_aggregator::release::{self, Decision, Version};

use crate::args::VersionArguments;
use crate::failure::{self, Failure};
use crate::output::Output;
use crate::target::{service, table_client};

const ATTRIBUTE: &str = "lambda_version";

/// Shows the record, and raises it if asked to.
///
/// # Errors
/// Where there is no such record, where the version may not be written, and where somebody else changes it meanwhile.
pub async fn version(arguments: &VersionArguments, output: &mut Output) -> Result<(), Failure> {
    let client = table_client(&service(arguments.place.endpoint_url.as_deref()).await);
    let stored = read(&client, &arguments.place.table).await?;
    output.line(format!("lambda_version {}", stored.as_deref().unwrap_or("(none)")));
    output.line(format!("supported      {}", release::SUPPORTED));
    let Some(wanted) = &arguments.set else {
        if let Some(version) = stored.as_deref().and_then(|text| Version::parse(text).ok()) {
            for kind in release::kinds(&version) {
                output.line(format!("clients store  {kind}"));
            }
        }
        return Ok(());
    };
    match release::raise(stored.as_deref(), wanted) {
        Decision::Keep => output.line("nothing to do"),
        Decision::Refuse(refusal) => return Err(Failure::new(refusal.to_string())),
        Decision::Raise(version) => {
            write(&client, &arguments.place.table, stored.as_deref(), &version).await?;
            output.line(format!("raised to      {version}"));
        }
    }
    Ok(())
}

async fn read(client: &Client, table: &str) -> Result<Option<String>, Failure> {
    let request = client.get_item().table_name(table).consistent_read(true);
    let answer = request
        .key("PK", text(SYSTEM_PK))
        .key("SK", text(VERSION_SK))
        .send()
        .await;
    let answer = answer.map_err(|error| failure::refused("GetItem", table, &error))?;
    // A record out of nothing would tell clients that the library's own deployment had been here.
    let record = answer.item.ok_or_else(|| {
        Failure::new(format!(
            "table {table} has no version record: deploy the client library's stack first"
        ))
    })?;
    match record.get(ATTRIBUTE) {
        None | Some(AttributeValue::Null(_)) => Ok(None),
        Some(AttributeValue::S(version)) => Ok(Some(version.clone())),
        Some(_) => Err(Failure::new("the table's lambda_version is no text")),
    }
}

async fn write(client: &Client, table: &str, stored: Option<&str>, version: &Version) -> Result<(), Failure> {
    let mut request = client
        .update_item()
        .table_name(table)
        .key("PK", text(SYSTEM_PK))
        .key("SK", text(VERSION_SK))
        .update_expression("SET #v = :new")
        .expression_attribute_names("#v", ATTRIBUTE)
        .expression_attribute_values(":new", text(&version.to_string()));
    // What was decided holds for what was read.
    request = match stored {
        Some(stored) => request
            .condition_expression("#v = :read")
            .expression_attribute_values(":read", text(stored)),
        None => request
            .condition_expression("attribute_exists(PK) AND (attribute_not_exists(#v) OR attribute_type(#v, :null))")
            .expression_attribute_values(":null", text("NULL")),
    };
    let answer = request.send().await;
    answer.map(drop).map_err(|error| match error.as_service_error() {
        Some(refusal) if refusal.is_conditional_check_failed_exception() => {
            Failure::new("the version was changed meanwhile; look again")
        }
        _ => failure::refused("UpdateItem", table, &error),
    })
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}
