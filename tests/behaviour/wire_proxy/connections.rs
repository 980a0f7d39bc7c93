//! Silence, resets and closes.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::SdkError;

use super::{Setup, add, adds};
use crate::support::proxy::{Call, Step};

const SHORT: Duration = Duration::from_millis(150);

/// A client that waits 150 ms for an answer and asks `attempts` times.
fn hasty(setup: &Setup, attempts: u32) -> Client {
    let retry = RetryConfig::standard()
        .with_max_attempts(attempts)
        .with_initial_backoff(Duration::from_millis(1));
    let timeout = TimeoutConfig::builder().operation_attempt_timeout(SHORT).build();
    Client::from_conf(setup.config().retry_config(retry).timeout_config(timeout).build())
}

#[tokio::test]
async fn a_stall_ends_in_the_sdks_timeout_and_nothing_is_applied() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::Stall]);
    let error = add(&hasty(&setup, 1)).await.unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(
        (setup.proxy.count("UpdateItem"), setup.proxy.forwarded("UpdateItem")),
        (1, 0)
    );
    assert_eq!(setup.counter().await, 0);
}

#[tokio::test]
async fn a_stall_after_the_write_looks_the_same_and_the_write_is_applied() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::StallAfter]);
    let error = add(&hasty(&setup, 1)).await.unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(setup.counter().await, 1);
}

#[tokio::test]
async fn the_sdk_tries_again_after_a_stall() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::Stall]);
    add(&hasty(&setup, 2)).await.unwrap();
    assert_eq!(setup.proxy.count("UpdateItem"), 2);
    assert_eq!(setup.counter().await, 1);
}

#[tokio::test]
async fn a_delay_is_waited_for() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::Delay(SHORT)]);
    let started = Instant::now();
    add(&setup.single()).await.unwrap();
    assert!(started.elapsed() >= SHORT);
    assert_eq!(setup.counter().await, 1);
}

#[tokio::test]
async fn a_reset_before_forwarding_loses_the_write() {
    let setup = Setup::new().await;
    let client = setup.single();
    setup.proxy.on("UpdateItem", [Step::ResetBefore]);
    let error = add(&client).await.unwrap_err();
    assert!(reset(&error), "{error:?}");
    assert_eq!(
        (setup.proxy.count("UpdateItem"), setup.proxy.forwarded("UpdateItem")),
        (1, 0)
    );
    assert_eq!(setup.counter().await, 0);
    add(&client).await.unwrap();
    assert_eq!(setup.proxy.connections(), 2);
}

#[tokio::test]
async fn a_reset_after_forwarding_loses_only_the_answer() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::ResetAfter]);
    let error = add(&setup.single()).await.unwrap_err();
    assert!(reset(&error), "{error:?}");
    assert_eq!(
        (setup.proxy.count("UpdateItem"), setup.proxy.forwarded("UpdateItem")),
        (1, 1)
    );
    assert_eq!(setup.counter().await, 1);
}

/// Whether what failed was the connection, by a reset in so many words.
fn reset<E: std::fmt::Debug + 'static>(error: &SdkError<E>) -> bool {
    let SdkError::DispatchFailure(failure) = error else {
        return false;
    };
    let mut cause = failure
        .as_connector_error()
        .and_then(|error| std::error::Error::source(error));
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.kind() == std::io::ErrorKind::ConnectionReset;
        }
        cause = error.source();
    }
    false
}

#[tokio::test]
async fn the_sdks_own_retry_applies_an_unguarded_addition_twice() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::ResetAfter]);
    add(&setup.patient()).await.unwrap();
    assert_eq!(setup.proxy.count("UpdateItem"), 2);
    assert_eq!(setup.counter().await, 2);
}

#[tokio::test]
async fn a_token_makes_the_sdks_retry_of_a_transaction_harmless() {
    let setup = Setup::new().await;
    setup.proxy.record();
    setup
        .proxy
        .on("TransactWriteItems", [Step::ResetAfter, Step::ResetAfter]);
    let transaction = setup.patient().transact_write_items().set_transact_items(Some(adds(3)));
    transaction.client_request_token("token-1").send().await.unwrap();
    assert_eq!(setup.proxy.forwarded("TransactWriteItems"), 3);
    assert_eq!(setup.counter().await, 3);
    let bodies = setup.proxy.bodies("TransactWriteItems");
    assert_eq!(bodies.len(), 3);
    assert!(
        bodies.iter().all(|body| *body == bodies[0]),
        "a retry is byte for byte the same request"
    );
    assert!(String::from_utf8_lossy(&bodies[0]).contains("\"ClientRequestToken\":\"token-1\""));
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_is_replaced_unnoticed() {
    let setup = Setup::new().await;
    let client = setup.single();
    add(&client).await.unwrap();
    add(&client).await.unwrap();
    assert_eq!(setup.proxy.connections(), 1, "connections are kept alive");
    setup.proxy.close_idle_connections();
    // The close has to arrive first; a request that crosses it is the next test's.
    tokio::time::sleep(Duration::from_millis(50)).await;
    add(&client).await.unwrap();
    assert_eq!(setup.proxy.connections(), 2);
    assert_eq!(
        setup.proxy.count("UpdateItem"),
        3,
        "the client without retries did not have to ask twice"
    );
    assert_eq!(setup.counter().await, 3);
}

#[tokio::test]
async fn a_connection_closed_after_an_answer_is_replaced_unnoticed() {
    let setup = Setup::new().await;
    let client = setup.single();
    setup.proxy.on("UpdateItem", [Step::PassThenClose, Step::Pass]);
    add(&client).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    add(&client).await.unwrap();
    assert_eq!((setup.proxy.connections(), setup.proxy.count("UpdateItem")), (2, 2));
}

#[tokio::test]
async fn a_close_that_crosses_a_request_costs_one_retry_of_the_sdk() {
    let setup = Setup::new().await;
    let (single, patient) = (setup.single(), setup.patient());
    add(&single).await.unwrap();
    setup.proxy.on("UpdateItem", [Step::CloseBefore]);
    let error = add(&single).await.unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
    assert!(!reset(&error), "a close is no reset");

    setup.proxy.reset_counts();
    add(&patient).await.unwrap();
    setup.proxy.on("UpdateItem", [Step::CloseBefore]);
    add(&patient).await.unwrap();
    assert_eq!((setup.proxy.connections(), setup.proxy.count("UpdateItem")), (2, 3));
    assert_eq!(setup.counter().await, 3);
}

#[tokio::test]
async fn one_stalled_request_holds_up_no_other() {
    let setup = Setup::new().await;
    setup
        .proxy
        .script(|call: &Call| if call.overall == 1 { Step::Stall } else { Step::Pass });
    let client = hasty(&setup, 1);
    let stalled = tokio::spawn({
        let client = client.clone();
        async move { add(&client).await }
    });
    while setup.proxy.requests() == 0 {
        tokio::task::yield_now().await;
    }
    add(&client).await.unwrap();
    assert!(!stalled.is_finished());
    assert!(matches!(stalled.await.unwrap().unwrap_err(), SdkError::TimeoutError(_)));
}
