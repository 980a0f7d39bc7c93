//! Answers in the service's shapes: the namespaces in `__type`, the spelling of each member.

use serde_json::{Value, json};

const SERVICE: &str = "com.amazonaws.dynamodb.v20120810";
const JSON: &str = "application/x-amz-json-1.0";
const CORAL: &str = "com.amazon.coral.service";

/// An answer that the engine did not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// One reason in a list of cancellation reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(Value);

impl Reason {
    /// The member that had nothing to do with it.
    pub fn none() -> Self {
        Self(json!({ "Code": "None" }))
    }

    /// Any code, known or not, for example `ConditionalCheckFailed`, `TransactionConflict`, `ThrottlingError`,
    /// `ProvisionedThroughputExceeded`, `ValidationError`, `ItemCollectionSizeLimitExceeded`.
    pub fn code(code: &str) -> Self {
        Self(json!({ "Code": code, "Message": "scripted" }))
    }

    /// A failed condition that brings the item back, which is in the wire's form.
    pub fn condition_failed_on(item: Value) -> Self {
        Self(json!({ "Code": "ConditionalCheckFailed", "Item": item, "Message": "The conditional request failed" }))
    }

    /// A reason without any code.
    pub fn empty() -> Self {
        Self(json!({}))
    }
}

impl Answer {
    /// A success with this body, JSON or not.
    pub fn success(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            content_type: JSON,
            body: body.into(),
        }
    }

    fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            content_type: JSON,
            body: body.to_string().into_bytes(),
        }
    }

    fn error(status: u16, namespace: &str, code: &str, message: &str) -> Self {
        Self::json(
            status,
            &json!({ "__type": format!("{namespace}#{code}"), "message": message }),
        )
    }

    /// The table or partition is out of capacity. The SDK retries it.
    pub fn throughput_exceeded() -> Self {
        let message = "The level of configured provisioned throughput for the table was exceeded. Consider increasing \
                       your provisioning level with the UpdateTable API.";
        Self::error(400, SERVICE, "ProvisionedThroughputExceededException", message)
    }

    /// A `ThrottlingException` with these reasons, for example `TableWriteKeyRangeThroughputExceeded`. The SDK
    /// retries it.
    pub fn throttling(reasons: &[&str]) -> Self {
        let resource = "arn:aws:dynamodb:us-east-1:000000000000:table/scripted";
        let reasons: Vec<_> = reasons
            .iter()
            .map(|reason| json!({ "reason": reason, "resource": resource }))
            .collect();
        let body = json!({
            "__type": "com.amazon.coral.availability#ThrottlingException",
            "message": "Throughput exceeds the current capacity of your table or index.",
            "throttlingReasons": reasons,
        });
        Self::json(400, &body)
    }

    /// The account is out of requests. The SDK retries it.
    pub fn request_limit_exceeded() -> Self {
        Self::error(
            400,
            SERVICE,
            "RequestLimitExceeded",
            "Throughput exceeds the current throughput limit.",
        )
    }

    /// Another transaction holds the single item. The SDK does not retry it.
    pub fn transaction_conflict() -> Self {
        let message = "Transaction is ongoing for the item";
        Self::error(400, SERVICE, "TransactionConflictException", message)
    }

    /// A cancelled transaction with this list of reasons, whatever its length.
    pub fn cancelled(reasons: &[Reason]) -> Self {
        let codes: Vec<_> = reasons
            .iter()
            .map(|reason| reason.0.get("Code").and_then(Value::as_str).unwrap_or("None"))
            .collect();
        let body = json!({
            "__type": format!("{SERVICE}#TransactionCanceledException"),
            "Message": format!(
                "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
                codes.join(", ")
            ),
            "CancellationReasons": reasons.iter().map(|reason| &reason.0).collect::<Vec<_>>(),
        });
        Self::json(400, &body)
    }

    /// A cancelled transaction whose list of reasons is missing.
    pub fn cancelled_without_reasons() -> Self {
        let body = json!({
            "__type": format!("{SERVICE}#TransactionCanceledException"),
            "Message": "Transaction cancelled",
        });
        Self::json(400, &body)
    }

    /// The same token is at work in another request. The SDK retries it.
    pub fn transaction_in_progress() -> Self {
        let body = json!({
            "__type": format!("{SERVICE}#TransactionInProgressException"),
            "Message": "Transaction is in progress",
        });
        Self::json(400, &body)
    }

    /// The service failed (500). The SDK retries it.
    pub fn internal_server_error() -> Self {
        Self::error(
            500,
            SERVICE,
            "InternalServerError",
            "The request processing has failed.",
        )
    }

    /// The service is away (503), told by something in front of it that speaks no JSON. The SDK retries it.
    pub fn unavailable() -> Self {
        Self {
            status: 503,
            content_type: "text/html",
            body: b"<html>Service Unavailable</html>".to_vec(),
        }
    }

    /// A refusal with a code that no SDK models.
    pub fn unknown_error(code: &str) -> Self {
        Self::error(400, SERVICE, code, "scripted")
    }

    /// The request is wrong.
    pub fn validation() -> Self {
        Self::error(
            400,
            "com.amazon.coral.validate",
            "ValidationException",
            "The document path is invalid.",
        )
    }

    /// An item collection grew beyond 10 GB.
    pub fn item_collection_size_limit_exceeded() -> Self {
        Self::error(
            400,
            SERVICE,
            "ItemCollectionSizeLimitExceededException",
            "Collection size exceeded.",
        )
    }

    /// The table is missing.
    pub fn resource_not_found() -> Self {
        Self::error(
            400,
            SERVICE,
            "ResourceNotFoundException",
            "Requested resource not found",
        )
    }

    /// The caller may not do this.
    pub fn access_denied() -> Self {
        Self::error(
            400,
            CORAL,
            "AccessDeniedException",
            "User is not authorized to perform this action.",
        )
    }

    /// The caller's credentials have expired.
    pub fn expired_token() -> Self {
        Self::error(
            400,
            CORAL,
            "ExpiredTokenException",
            "The security token included in the request is expired",
        )
    }
}
