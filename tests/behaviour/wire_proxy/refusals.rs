//! Errors that are answered, by code and by type, and which of them the SDK retries.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

use super::{Setup, add, adds};
use crate::support::proxy::{Answer, Reason, Step};

#[tokio::test]
async fn every_refusal_reaches_the_sdk_with_its_code_and_is_not_forwarded() {
    let refusals = [
        (Answer::throughput_exceeded(), "ProvisionedThroughputExceededException"),
        (
            Answer::throttling(&["TableWriteKeyRangeThroughputExceeded"]),
            "ThrottlingException",
        ),
        (Answer::request_limit_exceeded(), "RequestLimitExceeded"),
        (Answer::transaction_conflict(), "TransactionConflictException"),
        (Answer::cancelled(&[Reason::none()]), "TransactionCanceledException"),
        (Answer::transaction_in_progress(), "TransactionInProgressException"),
        (Answer::internal_server_error(), "InternalServerError"),
        (Answer::unknown_error("BrandNewException"), "BrandNewException"),
        (Answer::validation(), "ValidationException"),
        (
            Answer::item_collection_size_limit_exceeded(),
            "ItemCollectionSizeLimitExceededException",
        ),
        (Answer::resource_not_found(), "ResourceNotFoundException"),
        (Answer::access_denied(), "AccessDeniedException"),
        (Answer::expired_token(), "ExpiredTokenException"),
    ];
    let setup = Setup::new().await;
    let client = setup.single();
    for (answer, code) in refusals {
        let status = answer.status;
        setup.proxy.on("UpdateItem", [Step::Answer(answer)]);
        let SdkError::ServiceError(refusal) = add(&client).await.unwrap_err() else {
            panic!("{code} is a refusal")
        };
        assert_eq!(refusal.err().code(), Some(code));
        assert_eq!(refusal.raw().status().as_u16(), status, "{code}");
        assert!(refusal.err().message().is_some(), "{code}");
    }
    assert_eq!(setup.proxy.count("UpdateItem"), 13);
    assert_eq!(setup.proxy.forwarded("UpdateItem"), 0);
    assert_eq!(
        setup.proxy.connections(),
        2,
        "the SDK leaves a connection after a server error, and only then"
    );
    assert_eq!(setup.counter().await, 0);
}

#[tokio::test]
async fn modelled_refusals_are_of_their_types() {
    let setup = Setup::new().await;
    let client = setup.single();
    let refuse = async |answer| {
        setup.proxy.on("UpdateItem", [Step::Answer(answer)]);
        add(&client).await.unwrap_err().into_service_error()
    };
    let error = refuse(Answer::throughput_exceeded()).await;
    assert!(matches!(
        error,
        UpdateItemError::ProvisionedThroughputExceededException(_)
    ));
    assert!(matches!(
        refuse(Answer::request_limit_exceeded()).await,
        UpdateItemError::RequestLimitExceeded(_)
    ));
    assert!(matches!(
        refuse(Answer::transaction_conflict()).await,
        UpdateItemError::TransactionConflictException(_)
    ));
    assert!(matches!(
        refuse(Answer::internal_server_error()).await,
        UpdateItemError::InternalServerError(_)
    ));
    let error = refuse(Answer::throttling(&[
        "TableWriteKeyRangeThroughputExceeded",
        "Whatever",
    ]))
    .await;
    let UpdateItemError::ThrottlingException(throttling) = error else {
        panic!("throttling")
    };
    let reasons: Vec<_> = throttling
        .throttling_reasons()
        .iter()
        .map(|reason| reason.reason().unwrap())
        .collect();
    assert_eq!(reasons, ["TableWriteKeyRangeThroughputExceeded", "Whatever"]);
    assert!(
        throttling.throttling_reasons()[0]
            .resource()
            .unwrap()
            .starts_with("arn:aws:dynamodb:")
    );
}

#[tokio::test]
async fn an_outage_that_speaks_no_json_is_a_server_error_without_a_code() {
    let setup = Setup::new().await;
    setup.proxy.on("UpdateItem", [Step::Answer(Answer::unavailable())]);
    let SdkError::ServiceError(refusal) = add(&setup.single()).await.unwrap_err() else {
        panic!("a refusal")
    };
    assert_eq!((refusal.raw().status().as_u16(), refusal.err().code()), (503, None));
}

#[tokio::test]
async fn a_success_that_is_no_json_is_an_error_without_a_code() {
    let setup = Setup::new().await;
    setup
        .proxy
        .on("UpdateItem", [Step::AnswerAfter(Answer::success("{\"Attributes\":"))]);
    let SdkError::ServiceError(refusal) = add(&setup.single()).await.unwrap_err() else {
        panic!("a refusal")
    };
    assert_eq!((refusal.raw().status().as_u16(), refusal.err().code()), (200, None));
    assert_eq!(setup.counter().await, 1);
}

#[tokio::test]
async fn the_sdk_retries_throttling_and_server_errors_but_neither_conflicts_nor_mistakes() {
    let setup = Setup::new().await;
    let client = setup.patient();
    let retried = [
        Answer::throughput_exceeded(),
        Answer::throttling(&[]),
        Answer::request_limit_exceeded(),
        Answer::internal_server_error(),
        Answer::unavailable(),
    ];
    let mut applied = 0;
    for answer in retried {
        setup.proxy.reset_counts();
        setup.proxy.on(
            "UpdateItem",
            [Step::Answer(answer.clone()), Step::Answer(answer.clone())],
        );
        add(&client).await.unwrap();
        applied += 1;
        assert_eq!(
            (setup.proxy.count("UpdateItem"), setup.proxy.forwarded("UpdateItem")),
            (3, 1),
            "{answer:?}"
        );
    }
    let final_at_once = [
        Answer::transaction_conflict(),
        Answer::unknown_error("BrandNewException"),
        Answer::validation(),
        Answer::access_denied(),
        Answer::expired_token(),
    ];
    for answer in final_at_once {
        setup.proxy.reset_counts();
        setup.proxy.on("UpdateItem", [Step::Answer(answer.clone())]);
        add(&client).await.unwrap_err();
        assert_eq!(
            (setup.proxy.count("UpdateItem"), setup.proxy.forwarded("UpdateItem")),
            (1, 0),
            "{answer:?}"
        );
    }
    assert_eq!(setup.counter().await, applied);
}

#[tokio::test]
async fn an_error_after_the_write_leaves_the_write() {
    let setup = Setup::new().await;
    setup
        .proxy
        .on("UpdateItem", [Step::AnswerAfter(Answer::internal_server_error())]);
    let error = add(&setup.single()).await.unwrap_err();
    assert_eq!(error.code(), Some("InternalServerError"));
    assert_eq!(setup.counter().await, 1);
}

/// The codes of a cancelled transaction of two members, as the SDK hands them out.
async fn cancelled(setup: &Setup, answer: Answer) -> Vec<Option<String>> {
    setup.proxy.on("TransactWriteItems", [Step::Answer(answer)]);
    let sent = setup
        .single()
        .transact_write_items()
        .set_transact_items(Some(adds(2)))
        .send()
        .await;
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = sent.unwrap_err().into_service_error()
    else {
        panic!("cancelled")
    };
    cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn cancellation_reasons_arrive_as_scripted() {
    let setup = Setup::new().await;
    let some = |code: &str| Some(code.to_owned());

    let mixed = [Reason::none(), Reason::code("TransactionConflict")];
    assert_eq!(
        cancelled(&setup, Answer::cancelled(&mixed)).await,
        [some("None"), some("TransactionConflict")]
    );
    let unknown = [Reason::code("BrandNew"), Reason::empty()];
    assert_eq!(
        cancelled(&setup, Answer::cancelled(&unknown)).await,
        [some("BrandNew"), None]
    );
    let longer = [Reason::none(), Reason::none(), Reason::code("ValidationError")];
    assert_eq!(cancelled(&setup, Answer::cancelled(&longer)).await.len(), 3);
    assert_eq!(cancelled(&setup, Answer::cancelled(&[])).await, []);
    assert_eq!(cancelled(&setup, Answer::cancelled_without_reasons()).await, []);
    assert_eq!(setup.proxy.forwarded("TransactWriteItems"), 0);
    assert_eq!(setup.counter().await, 0);
}

#[tokio::test]
async fn a_missing_list_of_reasons_is_told_from_an_empty_one() {
    let setup = Setup::new().await;
    for (answer, listed) in [
        (Answer::cancelled(&[]), true),
        (Answer::cancelled_without_reasons(), false),
    ] {
        setup.proxy.on("TransactWriteItems", [Step::Answer(answer)]);
        let sent = setup
            .single()
            .transact_write_items()
            .set_transact_items(Some(adds(1)))
            .send()
            .await;
        let TransactWriteItemsError::TransactionCanceledException(cancelled) = sent.unwrap_err().into_service_error()
        else {
            panic!("cancelled")
        };
        assert_eq!(cancelled.cancellation_reasons.is_some(), listed);
    }
}

#[tokio::test]
async fn a_failed_condition_in_a_cancellation_can_bring_the_item_back() {
    let setup = Setup::new().await;
    let found = Reason::condition_failed_on(json!({ "PK": { "S": "p0" }, "n": { "N": "7" } }));
    setup
        .proxy
        .on("TransactWriteItems", [Step::Answer(Answer::cancelled(&[found]))]);
    let sent = setup
        .single()
        .transact_write_items()
        .set_transact_items(Some(adds(1)))
        .send()
        .await;
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = sent.unwrap_err().into_service_error()
    else {
        panic!("cancelled")
    };
    let item = cancelled.cancellation_reasons()[0].item().unwrap();
    assert_eq!(item["n"], AttributeValue::N("7".to_owned()));
}
