//! The Lambda's own program with an archive.

use serde_json::Value;

use super::{EXPIRIES, Mixed, event, sequence, stored_events};
use crate::bootstrap::{AMPLE, Stage, of_message};
use crate::support::object_store::{BUCKET, ObjectStore};
use crate::support::proxy::{Answer, Step};

async fn stage(mixed: &Mixed, store: &ObjectStore) -> Stage {
    let endpoint_url = store.proxy.endpoint_url();
    let variables = [
        ("ENABLE_ARCHIVAL", "true"),
        ("ARCHIVE_BUCKET_NAME", BUCKET),
        ("AWS_ENDPOINT_URL_S3", endpoint_url.as_str()),
    ];
    Stage::on(&mixed.capture, &variables).await
}

#[tokio::test]
async fn expiries_are_archived_summed_up_and_measured() {
    let (mixed, store) = (Mixed::new(), ObjectStore::start().await);
    let stage = stage(&mixed, &store).await;
    assert!(stage.invoke(&event(&mixed.records), AMPLE).await.failures().is_empty());
    assert_eq!(stored_events(&store).await.len(), 3);
    let lines = stage.lambda.lines();
    assert_eq!(of_message(&lines, "starting")[0]["archival"], true);
    assert_eq!(of_message(&lines, "batch")[0]["archived"], 3);
    let metrics = lines.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(metrics["AuditRecordsArchived"], 3);
}

#[tokio::test]
async fn a_refused_upload_is_said_without_a_word_of_what_it_held() {
    let (mixed, store) = (Mixed::new(), ObjectStore::start().await);
    let stage = stage(&mixed, &store).await;
    // A service's message repeats what was asked for.
    let body = "<Error><Code>AccessDenied</Code><Message>s3:PutObject on audit/canary</Message></Error>";
    let refusal = Answer {
        status: 403,
        content_type: "application/xml",
        body: body.into(),
    };
    store.proxy.always("PutObject", Step::Answer(refusal));
    let answer = stage.invoke(&event(&mixed.records), AMPLE).await;
    assert_eq!(answer.failures(), [sequence(EXPIRIES[0])]);
    let lines = stage.lambda.lines();
    let [warning] = of_message(&lines, "audit records not archived")[..] else {
        panic!("one warning")
    };
    assert_eq!(
        (&warning["count"], &warning["operation"], &warning["code"]),
        (&2.into(), &"PutObject".into(), &"AccessDenied".into())
    );
    let metrics: &Value = lines.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(
        (&metrics["RetryableFailures"], &metrics["AuditRecordsArchived"]),
        (&2.into(), &0.into())
    );
    for secret in ["user-5", "01M8QMFCN9G6H2Q0CT8Q4N", "canary", "audit/year"] {
        assert!(!stage.lambda.output().contains(secret), "{secret}");
    }
}
