//! A client of a service of streams on a loopback port.

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::retry::RetryConfig;
use aws_sdk_dynamodbstreams::config::{BehaviorVersion, Credentials, Region};

/// A client that asks once.
pub fn streams_client(endpoint_url: &str) -> Client {
    let config = aws_sdk_dynamodbstreams::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("none", "none", None, None, "none"))
        .endpoint_url(endpoint_url)
        .http_client(limiter_aggregator::engine::http_client())
        .retry_config(RetryConfig::disabled());
    Client::from_conf(config.build())
}
