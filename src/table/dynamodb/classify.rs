//! Bad news from the SDK sorted into outcomes and faults (03-delivery, Outcome of a batch).
//!
//! Decides by codes alone. What must stay true: nothing unknown is ever a success, a lost race or permanent, because
//! an operator's slip must delay work and not lose it; and no message gets through, because messages repeat keys.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::CancellationReason;

use super::value;
use crate::table::{Fault, FaultClass, TransactionOutcome, UpdateOutcome};

pub(super) const UPDATE_ITEM: &str = "UpdateItem";
pub(super) const TRANSACT_WRITE_ITEMS: &str = "TransactWriteItems";
pub(super) const BATCH_GET_ITEM: &str = "BatchGetItem";

const CANCELED: &str = "TransactionCanceledException";
/// Longer than any code of the service.
const LONGEST_CODE: usize = 64;

/// The fault for a request that was not answered with success.
pub(crate) fn fault<E: ProvideErrorMetadata, R>(operation: &'static str, error: &SdkError<E, R>) -> Fault {
    match error {
        SdkError::ServiceError(refusal) => {
            let code = refusal.err().code().map_or("unknown", presentable);
            Fault {
                operation,
                code: code.to_owned(),
                class: class_of(code),
            }
        }
        SdkError::TimeoutError(_) => retryable(operation, "timeout"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => retryable(operation, "timeout"),
        // Credentials that could not be had also end here, and in the next but one: an operator's slip, as above.
        SdkError::DispatchFailure(_) => retryable(operation, "connection"),
        SdkError::ResponseError(_) => retryable(operation, "response"),
        SdkError::ConstructionFailure(_) => retryable(operation, "construction"),
        // The SDK's enum is open.
        _ => retryable(operation, "unknown"),
    }
}

/// A retryable fault of this arm's own finding.
pub(super) fn retryable(operation: &'static str, code: &str) -> Fault {
    Fault {
        operation,
        code: code.to_owned(),
        class: FaultClass::Retryable,
    }
}

/// A request that was never sent because it would be refused for what it says.
pub(super) fn unsendable(operation: &'static str, code: &str) -> Fault {
    Fault {
        operation,
        code: code.to_owned(),
        class: FaultClass::Permanent,
    }
}

/// Sorts an exception by its code.
///
/// `TransactionInProgressException` (our own earlier attempt with this token is still under way) and
/// `IdempotentParameterMismatchException` (the token was used for other content within ten minutes) are among the
/// retryable rest: time cures both.
fn class_of(code: &str) -> FaultClass {
    match code {
        "ValidationException" | "ItemCollectionSizeLimitExceededException" => FaultClass::Permanent,
        // The second is a global table's word for a writer in another region; the SDK repeats neither.
        "TransactionConflictException" | "ReplicatedWriteConflictException" => FaultClass::Conflict,
        _ => FaultClass::Retryable,
    }
}

/// A code as it may be logged. Whatever does not look like a code could hold anything.
fn presentable(code: &str) -> &str {
    let looks_like_one = !code.is_empty()
        && code.len() <= LONGEST_CODE
        && code
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    if looks_like_one { code } else { "unknown" }
}

/// What became of an update that was answered with an error.
///
/// A failed condition may be this write's own doing: where the SDK repeated a request whose answer was lost, the
/// second attempt meets what the first one stored. Only the caller can tell, by the item found.
///
/// # Errors
/// Everything but a failed condition.
pub(super) fn refused_update<R>(error: SdkError<UpdateItemError, R>) -> Result<UpdateOutcome, Fault> {
    let SdkError::ServiceError(refusal) = error else {
        return Err(fault(UPDATE_ITEM, &error));
    };
    match refusal.err() {
        UpdateItemError::ConditionalCheckFailedException(failed) => {
            // An item that cannot be understood must not pass for an item that is not there.
            let found = match failed.item().filter(|item| !item.is_empty()) {
                Some(item) => Some(value::item(item.clone()).ok_or_else(|| retryable(UPDATE_ITEM, "response"))?),
                None => None,
            };
            Ok(UpdateOutcome::LostRace { found })
        }
        _ => Err(fault(UPDATE_ITEM, &SdkError::ServiceError(refusal))),
    }
}

/// What became of a transaction of `members` that was answered with an error.
///
/// # Errors
/// Everything but failed conditions.
pub(super) fn refused_transaction<R>(
    members: usize,
    error: &SdkError<TransactWriteItemsError, R>,
) -> Result<TransactionOutcome, Fault> {
    match error {
        SdkError::ServiceError(refusal) => match refusal.err() {
            TransactWriteItemsError::TransactionCanceledException(canceled) => {
                cancellation(members, canceled.cancellation_reasons())
            }
            _ => Err(fault(TRANSACT_WRITE_ITEMS, error)),
        },
        _ => Err(fault(TRANSACT_WRITE_ITEMS, error)),
    }
}

/// How one reason of a cancellation weighs. The heaviest decides for the whole transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// This member was not the cause.
    Innocent,
    /// Its condition failed: alone, it makes a lost race.
    ConditionFailed,
    /// Another transaction held its item: worth asking again soon, though a condition may have failed beside it.
    Conflict,
    /// Throttling, capacity, access, and every code not known here: worth asking again, not soon.
    Retryable,
    /// It can never succeed, whatever the others may come to: heavier than a passing trouble beside it.
    Permanent,
}

fn weight(reason: &CancellationReason) -> Weight {
    match reason.code() {
        // The service says `None`; its model also speaks of a null code.
        None | Some("None") => Weight::Innocent,
        Some("ConditionalCheckFailed") => Weight::ConditionFailed,
        Some("TransactionConflict") => Weight::Conflict,
        Some("ValidationError" | "ItemCollectionSizeLimitExceeded") => Weight::Permanent,
        // ThrottlingError, ProvisionedThroughputExceeded, RequestLimitExceeded, AccessDenied, ...
        Some(_) => Weight::Retryable,
    }
}

/// Reads the reasons of a cancelled transaction, which are no evidence unless there is one for each member.
fn cancellation(members: usize, reasons: &[CancellationReason]) -> Result<TransactionOutcome, Fault> {
    if reasons.len() != members {
        return Err(retryable(TRANSACT_WRITE_ITEMS, CANCELED));
    }
    let heaviest = reasons
        .iter()
        .map(|reason| (weight(reason), reason))
        .max_by_key(|(weight, _)| *weight);
    let Some((heaviest, reason)) = heaviest else {
        return Err(retryable(TRANSACT_WRITE_ITEMS, CANCELED));
    };
    let class = match heaviest {
        // Cancelled for no reason at all.
        Weight::Innocent => return Err(retryable(TRANSACT_WRITE_ITEMS, CANCELED)),
        Weight::ConditionFailed => {
            let failed = |place: &usize| weight(&reasons[*place]) == Weight::ConditionFailed;
            return Ok(TransactionOutcome::LostRace {
                failed: (0..members).filter(failed).collect(),
            });
        }
        Weight::Conflict => FaultClass::Conflict,
        Weight::Retryable => FaultClass::Retryable,
        Weight::Permanent => FaultClass::Permanent,
    };
    let code = reason.code().map_or(CANCELED, presentable).to_owned();
    Err(Fault {
        operation: TRANSACT_WRITE_ITEMS,
        code,
        class,
    })
}

#[cfg(test)]
mod tests;
