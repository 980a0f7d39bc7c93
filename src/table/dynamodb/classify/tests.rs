use std::collections::HashMap;

use aws_sdk_dynamodb::error::{ConnectorError, ErrorMetadata};
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use aws_sdk_dynamodb::types::error::{
    ConditionalCheckFailedException, ItemCollectionSizeLimitExceededException, ResourceNotFoundException,
    TransactionCanceledException, TransactionConflictException,
};
use proptest::prelude::*;

use super::*;
use crate::item::{Item, text};

const KNOWN_REASONS: [&str; 10] = [
    "None",
    "ConditionalCheckFailed",
    "TransactionConflict",
    "ValidationError",
    "ItemCollectionSizeLimitExceeded",
    "ThrottlingError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "AccessDenied",
    "SomethingNew",
];

fn service<E>(error: E) -> SdkError<E, ()> {
    SdkError::service_error(error, ())
}

fn unmodelled(code: &str) -> SdkError<UpdateItemError, ()> {
    let meta = ErrorMetadata::builder()
        .code(code)
        .message("item sk-secret is at fault")
        .build();
    service(UpdateItemError::generic(meta))
}

fn reasons(codes: &[Option<&str>]) -> Vec<CancellationReason> {
    let reason = |code: &Option<&str>| {
        CancellationReason::builder()
            .set_code(code.map(str::to_owned))
            .message("item sk-secret")
            .build()
    };
    codes.iter().map(reason).collect()
}

fn cancelled(codes: &[&str]) -> Result<TransactionOutcome, Fault> {
    let codes: Vec<_> = codes.iter().copied().map(Some).collect();
    let canceled = TransactionCanceledException::builder()
        .set_cancellation_reasons(Some(reasons(&codes)))
        .build();
    refused_transaction(
        codes.len(),
        &service(TransactWriteItemsError::TransactionCanceledException(canceled)),
    )
}

fn class(result: Result<TransactionOutcome, Fault>) -> FaultClass {
    result.unwrap_err().class
}

#[test]
fn codes_are_sorted_and_unknown_ones_are_retryable() {
    for (code, class) in [
        ("ValidationException", FaultClass::Permanent),
        ("ItemCollectionSizeLimitExceededException", FaultClass::Permanent),
        ("TransactionConflictException", FaultClass::Conflict),
        ("ReplicatedWriteConflictException", FaultClass::Conflict),
        ("ProvisionedThroughputExceededException", FaultClass::Retryable),
        ("ThrottlingException", FaultClass::Retryable),
        ("RequestLimitExceeded", FaultClass::Retryable),
        ("InternalServerError", FaultClass::Retryable),
        ("ServiceUnavailable", FaultClass::Retryable),
        ("AccessDeniedException", FaultClass::Retryable),
        ("ResourceNotFoundException", FaultClass::Retryable),
        ("ExpiredTokenException", FaultClass::Retryable),
        ("UnrecognizedClientException", FaultClass::Retryable),
        ("KMSAccessDeniedException", FaultClass::Retryable),
        ("TransactionInProgressException", FaultClass::Retryable),
        ("IdempotentParameterMismatchException", FaultClass::Retryable),
        ("SerializationException", FaultClass::Retryable),
        ("SomethingNew", FaultClass::Retryable),
    ] {
        let expected = Fault {
            operation: "UpdateItem",
            code: code.to_owned(),
            class,
        };
        assert_eq!(refused_update(unmodelled(code)), Err(expected));
    }
}

#[test]
fn modelled_exceptions_are_sorted_like_their_codes() {
    let meta = |code: &str| ErrorMetadata::builder().code(code).build();
    let conflict = TransactionConflictException::builder()
        .meta(meta("TransactionConflictException"))
        .build();
    let fault = refused_update(service(UpdateItemError::TransactionConflictException(conflict))).unwrap_err();
    assert_eq!(fault.class, FaultClass::Conflict);
    let size = ItemCollectionSizeLimitExceededException::builder()
        .meta(meta("ItemCollectionSizeLimitExceededException"))
        .build();
    let fault = refused_update(service(UpdateItemError::ItemCollectionSizeLimitExceededException(size))).unwrap_err();
    assert_eq!(fault.class, FaultClass::Permanent);
    let missing = ResourceNotFoundException::builder()
        .meta(meta("ResourceNotFoundException"))
        .build();
    let fault = super::fault(
        BATCH_GET_ITEM,
        &service(BatchGetItemError::ResourceNotFoundException(missing)),
    );
    assert_eq!((fault.operation, fault.class), ("BatchGetItem", FaultClass::Retryable));
}

#[test]
fn what_happened_on_the_way_has_a_fixed_word_and_is_retryable() {
    type Error = SdkError<UpdateItemError, ()>;
    for (error, word) in [
        (Error::timeout_error("sk-secret"), "timeout"),
        (
            Error::dispatch_failure(ConnectorError::timeout("sk-secret".into())),
            "timeout",
        ),
        (
            Error::dispatch_failure(ConnectorError::io("sk-secret".into())),
            "connection",
        ),
        (
            Error::dispatch_failure(ConnectorError::user("sk-secret".into())),
            "connection",
        ),
        (
            Error::dispatch_failure(ConnectorError::other("sk-secret".into(), None)),
            "connection",
        ),
        (Error::response_error("sk-secret", ()), "response"),
        (Error::construction_failure("sk-secret"), "construction"),
        (service(UpdateItemError::unhandled("sk-secret")), "unknown"),
    ] {
        assert_eq!(refused_update(error), Err(retryable("UpdateItem", word)));
    }
}

#[test]
fn what_does_not_look_like_a_code_is_not_repeated() {
    for code in ["", "ns/BUCKET#sk-secret#r#0", "two words", &"x".repeat(65), "é"] {
        assert_eq!(
            refused_update(unmodelled(code)),
            Err(retryable("UpdateItem", "unknown")),
            "{code}"
        );
    }
    let fault = class_and_code(cancelled(&["None", "ns/BUCKET#sk-secret#r#0"]));
    assert_eq!(fault, (FaultClass::Retryable, "unknown".to_owned()));
}

fn class_and_code(result: Result<TransactionOutcome, Fault>) -> (FaultClass, String) {
    let fault = result.unwrap_err();
    (fault.class, fault.code)
}

#[test]
fn a_failed_condition_is_a_lost_race_with_the_item_where_there_is_one() {
    let failed = |item: Option<HashMap<String, SdkValue>>| {
        let failed = ConditionalCheckFailedException::builder().set_item(item).build();
        refused_update(service(UpdateItemError::ConditionalCheckFailedException(failed)))
    };
    assert_eq!(failed(None), Ok(UpdateOutcome::LostRace { found: None }));
    assert_eq!(
        failed(Some(HashMap::new())),
        Ok(UpdateOutcome::LostRace { found: None })
    );
    let stored = HashMap::from([("#seq0".to_owned(), SdkValue::S("x".to_owned()))]);
    let found = Some(Item::from([("#seq0".to_owned(), text("x"))]));
    assert_eq!(failed(Some(stored)), Ok(UpdateOutcome::LostRace { found }));
}

#[test]
fn failed_conditions_alone_are_a_lost_race() {
    let lost = |failed| Ok(TransactionOutcome::LostRace { failed });
    assert_eq!(cancelled(&["ConditionalCheckFailed"]), lost(vec![0]));
    assert_eq!(
        cancelled(&["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]),
        lost(vec![1, 2])
    );
    assert_eq!(
        cancellation(2, &reasons(&[None, Some("ConditionalCheckFailed")])),
        lost(vec![1])
    );
}

#[test]
fn the_heaviest_reason_decides() {
    use FaultClass::{Conflict, Permanent, Retryable};
    assert_eq!(class(cancelled(&["TransactionConflict", "None"])), Conflict);
    assert_eq!(
        class(cancelled(&["ConditionalCheckFailed", "TransactionConflict"])),
        Conflict
    );
    assert_eq!(class(cancelled(&["TransactionConflict", "ThrottlingError"])), Retryable);
    assert_eq!(
        class(cancelled(&["ProvisionedThroughputExceeded", "ConditionalCheckFailed"])),
        Retryable
    );
    assert_eq!(class(cancelled(&["ConditionalCheckFailed", "SomethingNew"])), Retryable);
    assert_eq!(class(cancelled(&["TransactionConflict", "AccessDenied"])), Retryable);
    assert_eq!(
        class(cancelled(&[
            "ValidationError",
            "ThrottlingError",
            "TransactionConflict"
        ])),
        Permanent
    );
    assert_eq!(
        class(cancelled(&[
            "ItemCollectionSizeLimitExceeded",
            "ConditionalCheckFailed"
        ])),
        Permanent
    );
}

#[test]
fn reasons_that_do_not_add_up_are_retryable() {
    let doubtful = Err(retryable("TransactWriteItems", "TransactionCanceledException"));
    assert_eq!(cancellation(0, &[]), doubtful);
    assert_eq!(cancellation(2, &[]), doubtful);
    assert_eq!(cancellation(1, &reasons(&[Some("None")])), doubtful);
    assert_eq!(cancellation(2, &reasons(&[None, None])), doubtful);
    assert_eq!(cancellation(2, &reasons(&[Some("ConditionalCheckFailed")])), doubtful);
    assert_eq!(
        cancellation(1, &reasons(&[Some("ValidationError"), Some("None")])),
        doubtful
    );
    let silent = TransactionCanceledException::builder().build();
    assert_eq!(
        refused_transaction(
            2,
            &service(TransactWriteItemsError::TransactionCanceledException(silent))
        ),
        doubtful
    );
}

proptest! {
    #[test]
    fn no_list_of_reasons_is_a_success_or_a_panic(
        members in 0_usize..6,
        codes in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(&KNOWN_REASONS[..]).prop_map(|code| Some(code.to_owned())),
            1 => Just(None),
            1 => ".{0,80}".prop_map(Some),
        ], 0..6),
    ) {
        let codes: Vec<_> = codes.iter().map(Option::as_deref).collect();
        let has = |wanted: &[&str]| codes.iter().flatten().any(|code| wanted.contains(code));
        match cancellation(members, &reasons(&codes)) {
            Ok(TransactionOutcome::Applied) => prop_assert!(false, "a cancellation passed for a success"),
            Ok(TransactionOutcome::LostRace { failed }) => {
                let expected: Vec<_> = (0..codes.len()).filter(|n| codes[*n] == Some("ConditionalCheckFailed")).collect();
                prop_assert_eq!(&failed, &expected);
                prop_assert!(!failed.is_empty() && codes.len() == members);
                prop_assert!(codes.iter().flatten().all(|code| ["None", "ConditionalCheckFailed"].contains(code)));
            }
            Err(fault) => {
                prop_assert!(!fault.to_string().contains("secret"));
                let permanent = codes.len() == members && has(&["ValidationError", "ItemCollectionSizeLimitExceeded"]);
                prop_assert_eq!(fault.class == FaultClass::Permanent, permanent);
                if fault.class == FaultClass::Conflict {
                    prop_assert!(has(&["TransactionConflict"]));
                    prop_assert!(!has(&KNOWN_REASONS[5..]));
                }
            }
        }
    }
}
