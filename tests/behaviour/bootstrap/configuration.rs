//! A configuration that cannot be meant ends the program before it takes an event.

use serde_json::Value;

use crate::support::lambda::{Lambda, base_environment};

/// The last line of a program that was started so, which must have failed.
async fn refused(variables: &[(&str, &str)]) -> String {
    let mut environment = base_environment("http://127.0.0.1:1", "127.0.0.1:1");
    environment.extend(
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let (status, output) = Lambda::spawn(&environment).ended().await;
    assert_eq!(status.code(), Some(1), "{output}");
    let last: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    assert_eq!(last["level"], "ERROR");
    last["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_missing_table_name_is_named() {
    let message = refused(&[]).await;
    assert!(message.starts_with("TABLE_NAME is not set; it must be "), "{message}");
}

#[tokio::test]
async fn every_variable_is_refused_by_name_value_and_what_is_allowed() {
    for (variable, value, allowed) in [
        ("TABLE_NAME", "a b", "3 to 255"),
        ("SNAPSHOT_WINDOWS", "weekly", "hourly, daily and monthly"),
        ("SNAPSHOT_TTL_DAYS", "0", "1 to 36500"),
        ("USAGE_NOT_BEFORE", "yesterday", "epoch milliseconds"),
        ("ENABLE_ARCHIVAL", "yes", "true or false"),
        ("ARCHIVE_BUCKET_NAME", "s3://audit", "a bucket's name"),
        ("MAX_IN_FLIGHT", "0", "1 to 256"),
        ("METRICS_NAMESPACE", "AWS/Lambda", "not beginning with AWS/"),
        ("DRY_RUN", "TRUE", "true or false"),
        ("ENABLE_USAGE", "1", "true or false"),
        ("ENABLE_REFILL", "on", "true or false"),
        ("ENABLE_PROPAGATION", "", "true or false"),
    ] {
        let message = refused(&[
            ("TABLE_NAME", "buckets"),
            ("ENABLE_ARCHIVAL", "true"),
            (variable, value),
        ])
        .await;
        assert!(
            message.starts_with(&format!("{variable} is {value:?}; allowed is ")),
            "{message}"
        );
        assert!(message.contains(allowed), "{message}");
    }
}
