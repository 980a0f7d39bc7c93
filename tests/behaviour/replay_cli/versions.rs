//! `replay version` on the table of a `replay serve`.

use super::serving::{Served, serve};
use super::{Folder, Ran, replay};

fn served(folder: &Folder, version: &str) -> Served {
    let record = format!(
        r##"[{{"PK":{{"S":"_/SYSTEM#"}},"SK":{{"S":"#VERSION"}},"schema_version":{{"S":"0.10.0"}}{version}}}]"##
    );
    serve(&["--items", &folder.write("items.json", record)])
}

fn version(served: &Served, more: &[&str]) -> Ran {
    let on_table = ["version", "--endpoint-url", &served.endpoint, "--table", &served.table];
    replay(on_table.iter().chain(more))
}

#[test]
fn a_version_is_shown_raised_and_never_lowered() {
    let folder = Folder::new();
    let served = served(&folder, r#","lambda_version":{"S":"0.15.0"}"#);
    let shown = version(&served, &[]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains("lambda_version 0.15.0") && shown.out.contains("session limits"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains("soft limits"), "{}", shown.out);
    let raised = version(&served, &["--set", "0.17.0"]);
    assert_eq!((raised.code, raised.err.as_str()), (Some(0), ""));
    assert!(version(&served, &[]).out.contains("lambda_version 0.17.0"));
    let lowered = version(&served, &["--set", "0.16.0"]);
    assert_eq!(lowered.code, Some(2));
    assert!(lowered.err.contains("never lowered"), "{}", lowered.err);
    assert!(version(&served, &[]).out.contains("lambda_version 0.17.0"));
    assert!(version(&served, &["--set", "0.17.0"]).out.contains("nothing to do"));
}

#[test]
fn more_than_is_supported_is_not_promised() {
    let folder = Folder::new();
    let served = served(&folder, "");
    let refused = version(&served, &["--set", "0.18.0"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("up to 0.17.0"), "{}", refused.err);
    assert_eq!(version(&served, &["--set", "0.17.0"]).code, Some(0));
    assert!(version(&served, &[]).out.contains("lambda_version 0.17.0"));
}

#[test]
fn a_table_without_a_version_record_gets_none() {
    let served = serve(&[]);
    let refused = version(&served, &["--set", "0.17.0"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("no version record"), "{}", refused.err);
    assert!(version(&served, &[]).err.contains("no version record"));
}
