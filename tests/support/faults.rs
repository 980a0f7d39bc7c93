//! What a service or the way to it can do to a request.

use super::proxy::{Answer, Reason, Step};

/// Every way in which a call can end badly. `canary` stands where a service may say what it likes.
pub fn every_fault(canary: &str) -> Vec<Step> {
    let answers = [
        Answer::throughput_exceeded(),
        Answer::throttling(&["TableWriteKeyRangeThroughputExceeded"]),
        Answer::request_limit_exceeded(),
        Answer::transaction_conflict(),
        Answer::cancelled(&[Reason::code("TransactionConflict")]),
        Answer::cancelled(&[Reason::code("ConditionalCheckFailed"), Reason::none(), Reason::none()]),
        Answer::cancelled_without_reasons(),
        Answer::internal_server_error(),
        Answer::unavailable(),
        Answer::unknown_error(&format!("{canary}Exception")),
        Answer::validation(),
        Answer::item_collection_size_limit_exceeded(),
        Answer::resource_not_found(),
        Answer::access_denied(),
        Answer::expired_token(),
        Answer::success(format!("no JSON, and {canary}")),
    ];
    let steps = [
        Step::ResetBefore,
        Step::ResetAfter,
        Step::CloseBefore,
        Step::keep_back_all(),
    ];
    answers.into_iter().map(Step::Answer).chain(steps).collect()
}
