//! How long the SDK waits and how often it asks again. Its defaults suit a server: no limit on an operation, and a
//! first pause of up to a second. Here a Lambda's deadline of some 30 s is to leave time for other work after the
//! worst that one call can do, and a stalled connection is to be given up while there is still time to use another.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;

/// Reaching a connected socket, TLS included. That takes milliseconds, but on a small function's share of a CPU the
/// first handshake of a process took 0.75 s, and several may be under way at once.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// From the request sent to the answer's first byte. Single writes take some 10 ms; the slowest transactions, some
/// hundred.
pub const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// One attempt from start to end, whatever it spends its time on.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// All attempts and the pauses between them: three that stall, and then no more.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
/// The first attempt and two more. What outlasts them is better retried by the stream, with a rest in between.
pub const MAX_ATTEMPTS: u32 = 3;
/// Longest first pause; throttling of one hot partition passes within a second or not at all.
pub const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// Longest pause.
pub const MAX_BACKOFF: Duration = Duration::from_millis(500);

/// Settings for a client of the table: region, credentials, endpoint and HTTP client as in `base`, the retries and
/// timeouts of this module whatever the environment says, and the endpoint given, if any. Clones of one client share
/// its connections; make one per process.
pub fn client_config(base: &SdkConfig, endpoint_url: Option<&str>) -> Builder {
    let config = Builder::from(base).retry_config(retries()).timeout_config(timeouts());
    match endpoint_url {
        Some(endpoint_url) => config.endpoint_url(endpoint_url),
        None => config,
    }
}

/// The retry settings alone.
pub fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(MAX_ATTEMPTS)
        .with_initial_backoff(INITIAL_BACKOFF)
        .with_max_backoff(MAX_BACKOFF)
}

/// The timeouts alone.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::config::Region;

    #[test]
    fn every_setting_is_explicit_whatever_the_base_says() {
        let base = SdkConfig::builder()
            .region(Region::from_static("eu-west-1"))
            .endpoint_url("http://base.invalid")
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .build();
        let config = client_config(&base, None).build();
        assert_eq!(config.region(), Some(&Region::from_static("eu-west-1")));
        let timeouts = config.timeout_config().unwrap();
        assert_eq!(timeouts.connect_timeout(), Some(CONNECT_TIMEOUT));
        assert_eq!(timeouts.read_timeout(), Some(READ_TIMEOUT));
        assert_eq!(timeouts.operation_attempt_timeout(), Some(ATTEMPT_TIMEOUT));
        assert_eq!(timeouts.operation_timeout(), Some(OPERATION_TIMEOUT));
        let retries = config.retry_config().unwrap();
        assert_eq!(
            (retries.max_attempts(), retries.initial_backoff()),
            (MAX_ATTEMPTS, INITIAL_BACKOFF)
        );
        assert_eq!(retries.max_backoff(), MAX_BACKOFF);
        assert!(
            retries.retry_spec().is_none(),
            "a retry specification would bring pauses of its own"
        );
    }

    #[test]
    fn three_stalled_attempts_and_their_pauses_fit_the_operation() {
        assert!(ATTEMPT_TIMEOUT * MAX_ATTEMPTS + INITIAL_BACKOFF * 3 <= OPERATION_TIMEOUT);
    }
}
