//! What the real arm makes of answers that the embedded engine never gives: keys left unprocessed, conflicts,
//! throttling, servers in trouble. A stub answers each request with the next line of a script.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryPartition;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use limiter_aggregator::item::number;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::dynamodb::{DynamoDbTable, MAX_ATTEMPTS, retries, timeouts};
use limiter_aggregator::table::{Consistency, Fault, FaultClass, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Action, Condition, Transaction, TransactionAction, Update};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const OK: (u16, &str) = (200, "{}");

/// Runs a test body against a stub with a script; gives the bodies of the requests that were made. What is not in
/// the script is answered like its last line.
async fn with_script<T>(script: &[(u16, &str)], body: impl AsyncFnOnce(DynamoDbTable) -> T) -> (T, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint_url = format!("http://{}", listener.local_addr().unwrap());
    let script: VecDeque<_> = script
        .iter()
        .map(|(status, body)| (*status, (*body).to_owned()))
        .collect();
    let (script, requests) = (Rc::new(RefCell::new(script)), Rc::new(RefCell::new(Vec::new())));
    let local = tokio::task::LocalSet::new();
    let (scripted, seen) = (script.clone(), requests.clone());
    local.spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(serve(stream, scripted.clone(), seen.clone()));
        }
    });
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("stub", "stub", None, None, "stub"))
        // By default all clients of a process draw on one quota of retries, and tests could starve each other.
        .retry_partition(RetryPartition::new(endpoint_url.clone()))
        .endpoint_url(endpoint_url)
        .retry_config(retries())
        .timeout_config(timeouts())
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    let table = DynamoDbTable::new(Client::from_conf(config.build()), "buckets");
    let result = local.run_until(body(table)).await;
    let requests = requests.borrow().clone();
    (result, requests)
}

async fn serve(stream: TcpStream, script: Rc<RefCell<VecDeque<(u16, String)>>>, seen: Rc<RefCell<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if let Some((_, value)) = line
                .split_once(':')
                .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        seen.borrow_mut().push(String::from_utf8(body).unwrap());
        let (status, answer) = {
            let mut script = script.borrow_mut();
            let next = if script.len() > 1 {
                script.pop_front()
            } else {
                script.front().cloned()
            };
            next.unwrap()
        };
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
    }
}

fn exception(code: &str) -> String {
    format!("{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{code}\",\"message\":\"item sk-secret\"}}")
}

fn cancelled(codes: &[&str]) -> String {
    let reasons: Vec<_> = codes.iter().map(|code| format!("{{\"Code\":\"{code}\"}}")).collect();
    let code = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    format!(
        "{{\"__type\":\"{code}\",\"Message\":\"sk-secret\",\"CancellationReasons\":[{}]}}",
        reasons.join(",")
    )
}

fn key(sk: &str) -> ItemKey {
    ItemKey {
        pk: "p".to_owned(),
        sk: sk.to_owned(),
    }
}

fn update() -> Update {
    let actions = (0..20)
        .map(|n| Action::Add {
            attribute: format!("n{n}"),
            delta: n,
        })
        .collect();
    Update {
        key: key("a"),
        actions,
        conditions: vec![Condition::item_exists()],
        return_item_on_failure: true,
    }
}

fn transaction() -> Transaction {
    let other = Update {
        key: key("b"),
        ..update()
    };
    let actions = vec![TransactionAction::Update(update()), TransactionAction::Update(other)];
    Transaction {
        actions,
        token: "token-1".to_owned(),
    }
}

async fn update_answered(script: &[(u16, &str)]) -> (Result<UpdateOutcome, Fault>, Vec<String>) {
    with_script(script, async |table: DynamoDbTable| table.update(&update()).await).await
}

async fn transaction_answered(script: &[(u16, &str)]) -> (Result<TransactionOutcome, Fault>, Vec<String>) {
    with_script(script, async |table: DynamoDbTable| {
        table.transact(&transaction()).await
    })
    .await
}

fn all_equal(requests: &[String]) -> bool {
    requests.windows(2).all(|pair| pair[0] == pair[1])
}

fn fault(operation: &'static str, code: &str, class: FaultClass) -> Fault {
    Fault {
        operation,
        code: code.to_owned(),
        class,
    }
}

const LEFT_A: &str =
    r#""UnprocessedKeys":{"buckets":{"Keys":[{"PK":{"S":"p"},"SK":{"S":"a"}}],"ConsistentRead":true}}"#;

#[tokio::test]
async fn keys_left_unprocessed_are_asked_for_again_and_only_those() {
    let first = format!(r#"{{"Responses":{{"buckets":[{{"PK":{{"S":"p"}},"SK":{{"S":"b"}}}}]}},{LEFT_A}}}"#);
    let second = r#"{"Responses":{"buckets":[{"PK":{"S":"p"},"SK":{"S":"a"},"n":{"N":"7"}}]},"UnprocessedKeys":{}}"#;
    let (read, requests) = with_script(&[(200, &first), (200, second)], async |table: DynamoDbTable| {
        table.read(&[key("a"), key("b"), key("c")], Consistency::Strong).await
    })
    .await;
    let read = read.unwrap();
    assert_eq!(read[0].as_ref().unwrap()["n"], number(7));
    assert!(read[1].is_some() && read[2].is_none());
    assert_eq!(requests.len(), 2);
    assert!(requests[0].contains("\"ConsistentRead\":true") && requests[1].contains("\"ConsistentRead\":true"));
    assert!(requests[1].contains("\"a\"") && !requests[1].contains("\"b\"") && !requests[1].contains("\"c\""));
}

#[tokio::test]
async fn keys_that_stay_unprocessed_are_a_fault_and_not_missing_items() {
    let left = format!("{{\"Responses\":{{}},{LEFT_A}}}");
    let (read, requests) = with_script(&[(200, &left)], async |table: DynamoDbTable| {
        table.read(&[key("a"), key("b")], Consistency::Strong).await
    })
    .await;
    assert_eq!(
        read,
        Err(fault("BatchGetItem", "UnprocessedKeys", FaultClass::Retryable))
    );
    assert_eq!(requests.len(), 4);
}

#[tokio::test]
async fn an_update_outlasts_a_conflict_with_the_same_request() {
    let conflict = exception("TransactionConflictException");
    let (outcome, requests) = update_answered(&[(400, &conflict), (400, &conflict), OK]).await;
    assert_eq!(outcome, Ok(UpdateOutcome::Applied));
    assert!(
        requests.len() == 3 && all_equal(&requests),
        "{} requests",
        requests.len()
    );
}

#[tokio::test]
async fn a_conflict_that_stays_counts_as_throttling() {
    let (outcome, requests) = update_answered(&[(400, &exception("TransactionConflictException"))]).await;
    assert_eq!(
        outcome,
        Err(fault(
            "UpdateItem",
            "TransactionConflictException",
            FaultClass::Retryable
        ))
    );
    assert_eq!(requests.len(), 3);
    let (outcome, requests) = transaction_answered(&[(400, &cancelled(&["TransactionConflict", "None"]))]).await;
    assert_eq!(
        outcome,
        Err(fault(
            "TransactWriteItems",
            "TransactionConflict",
            FaultClass::Retryable
        ))
    );
    assert_eq!(requests.len(), 3);
}

#[tokio::test]
async fn a_transaction_outlasts_a_conflict_with_the_same_token_and_bytes() {
    let conflict = cancelled(&["ConditionalCheckFailed", "TransactionConflict"]);
    let (outcome, requests) = transaction_answered(&[(400, &conflict), OK]).await;
    assert_eq!(outcome, Ok(TransactionOutcome::Applied));
    assert!(requests.len() == 2 && all_equal(&requests));
    assert!(requests[0].contains("\"ClientRequestToken\":\"token-1\""));
}

#[tokio::test]
async fn other_cancellations_are_not_asked_again() {
    for (codes, class) in [
        (["ThrottlingError", "TransactionConflict"], FaultClass::Retryable),
        (["ValidationError", "ThrottlingError"], FaultClass::Permanent),
        (["None", "None"], FaultClass::Retryable),
    ] {
        let (outcome, requests) = transaction_answered(&[(400, &cancelled(&codes)), OK]).await;
        assert_eq!(
            (outcome.map_err(|fault| fault.class), requests.len()),
            (Err(class), 1),
            "{codes:?}"
        );
    }
    let (outcome, requests) = transaction_answered(&[(400, &cancelled(&["None", "ConditionalCheckFailed"])), OK]).await;
    assert_eq!(
        (outcome, requests.len()),
        (Ok(TransactionOutcome::LostRace { failed: vec![1] }), 1)
    );
}

#[tokio::test]
async fn the_sdk_outlasts_throttling_and_gives_up_after_its_attempts() {
    for code in [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
    ] {
        let throttled = exception(code);
        let (outcome, requests) = update_answered(&[(400, &throttled), OK]).await;
        assert_eq!((outcome, requests.len()), (Ok(UpdateOutcome::Applied), 2));
        let (outcome, requests) = update_answered(&[(400, &throttled)]).await;
        assert_eq!(outcome, Err(fault("UpdateItem", code, FaultClass::Retryable)));
        assert_eq!(requests.len(), usize::try_from(MAX_ATTEMPTS).unwrap());
    }
}

#[tokio::test]
async fn errors_of_every_kind_have_their_class() {
    for (status, answer, code, class) in [
        (
            400,
            exception("ValidationException"),
            "ValidationException",
            FaultClass::Permanent,
        ),
        (
            400,
            exception("AccessDeniedException"),
            "AccessDeniedException",
            FaultClass::Retryable,
        ),
        (
            400,
            exception("ResourceNotFoundException"),
            "ResourceNotFoundException",
            FaultClass::Retryable,
        ),
        (
            400,
            exception("ExpiredTokenException"),
            "ExpiredTokenException",
            FaultClass::Retryable,
        ),
        (400, exception("SomethingNew"), "SomethingNew", FaultClass::Retryable),
        (
            500,
            exception("InternalServerError"),
            "InternalServerError",
            FaultClass::Retryable,
        ),
        (503, "{}".to_owned(), "unknown", FaultClass::Retryable),
    ] {
        let (outcome, _) = update_answered(&[(status, &answer)]).await;
        assert_eq!(outcome, Err(fault("UpdateItem", code, class)));
    }
    for (status, answer) in [
        (502, "<html>sk-secret</html>"),
        (200, "<html>sk-secret</html>"),
        (400, ""),
    ] {
        let fault = update_answered(&[(status, answer)]).await.0.unwrap_err();
        assert_eq!(fault.class, FaultClass::Retryable);
        assert!(!fault.to_string().contains("secret"), "{fault}");
    }
}

#[tokio::test]
async fn a_repeat_after_a_lost_answer_meets_what_it_stored() {
    // The first answer is lost on the way, the second finds the condition broken by the first.
    let item = r#"{"PK":{"S":"p"},"SK":{"S":"a"},"n1":{"N":"1"}}"#;
    let code = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    let failed = format!("{{\"__type\":\"{code}\",\"Item\":{item}}}");
    let (outcome, requests) = update_answered(&[(500, "{}"), (400, &failed)]).await;
    let Ok(UpdateOutcome::LostRace { found: Some(found) }) = outcome else {
        panic!("not a lost race with its item: {outcome:?}");
    };
    assert_eq!(found["n1"], number(1));
    assert!(requests[0].contains("\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\""));
}
