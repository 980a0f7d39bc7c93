//! Clients that work in an empty environment: no region, no credentials, no home directory, no proxy settings.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedHttpClient};

/// Connections without TLS. The SDK's default HTTP client would load root certificates and heed `HTTP_PROXY`; loopback
/// needs neither.
pub fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
}

/// Settings for a client of the engine, or of something in front of it, to be refined by the caller.
pub fn client_config(endpoint_url: &str) -> Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("engine", "engine", None, None, "engine"))
        .endpoint_url(endpoint_url)
        .http_client(http_client())
}

/// A client of the engine, or of something in front of it.
pub fn client(endpoint_url: &str) -> Client {
    Client::from_conf(client_config(endpoint_url).build())
}
