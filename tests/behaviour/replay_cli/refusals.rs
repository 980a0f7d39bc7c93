//! What the program refuses: one line, with the place and without the content.

use super::{CANARY, Folder, program, ran, replay};

/// Exit 2, nothing on standard output, one line on standard error.
fn refused(arguments: &[&str]) -> String {
    let ran = replay(arguments);
    assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
    assert_eq!(ran.out, "", "{arguments:?}");
    assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
    assert!(!ran.err.contains(CANARY), "{arguments:?}: {}", ran.err);
    ran.err
}

#[test]
fn bad_arguments_are_named() {
    for (arguments, words) in [
        (&[][..], "<EVENT>"),
        (&["--frobnicate", "events"], "--frobnicate"),
        (&["--now", "noon", "events"], "--now"),
        (&["--endpoint-url", "http://localhost:1", "events"], "--table"),
        (&["--endpoint-url", "localhost", "--table", "t", "events"], "http://"),
        (&["--dump", "x.json", "events"], "--dump"),
        (&["schedule"], "--sched"),
        (&["schedule", "--now", "0"], "--sched"),
        (&["serve", "--port", "70000"], "--port"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let empty = folder.path("");
    for (arguments, words) in [
        (vec!["no/such.json"], "no/such.json: cannot read"),
        (vec![empty.as_str()], "no *.json or *.jsonl file in the folder"),
        (
            vec!["--items", "no/items.json", "events/first-use.json"],
            "no/items.json: cannot read",
        ),
        (
            vec!["--dump", "no/such/folder.json", "events/first-use.json"],
            "no/such/folder.json: cannot write",
        ),
    ] {
        let ran = replay(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(
            ran.err.contains(words) && ran.err.lines().count() == 1,
            "{arguments:?}: {}",
            ran.err
        );
    }
}

#[test]
fn malformed_events_are_refused_with_line_and_column() {
    let folder = Folder::new();
    let quoted = format!("\"{CANARY}\"");
    for (content, words) in [
        (
            "{\"Records\": [\n  {]\n}".to_owned(),
            "line 2, column 4: malformed JSON",
        ),
        (
            "[{\"eventName\"".to_owned(),
            "line 1, column 13: malformed JSON: the text ends",
        ),
        (quoted.clone(), "line 1, column 16: expected a Lambda event"),
        (
            format!("{{\"Records\":\n{quoted}}}"),
            "line 2, column 16: expected a Lambda event",
        ),
        (format!("{{{quoted}:1}}"), "line 1, column 20: expected a Lambda event"),
        (String::new(), "line 1, column 1: the file is empty"),
    ] {
        let path = folder.write("e.json", content);
        let message = refused(&[&path]);
        assert!(message.contains(&format!("e.json: {words}")), "{words}: {message}");
    }
}

#[test]
fn malformed_items_are_refused_with_line_and_column() {
    let folder = Folder::new();
    let quoted = format!("\"{CANARY}\"");
    for (content, words) in [
        (
            format!("[{{\"PK\": {quoted}}}]"),
            "line 1, column 24: expected an array of items",
        ),
        (format!("[\n{{\"PK\": {{{quoted}: 1}}}}]"), "line 2, column "),
        (
            format!("[{{\"a\": {{\"S\": {quoted}}}}}]"),
            "the items could not be put into the table: item 0 has no",
        ),
    ] {
        let items = folder.write("items.json", content);
        let message = refused(&["--items", &items, "events/first-use.json"]);
        assert!(message.contains(&format!("items.json: {words}")), "{words}: {message}");
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused_at_its_place() {
    let folder = Folder::new();
    let path = folder.write("e.json", b"{\n  \"a\xff\"}");
    let message = refused(&[&path]);
    assert!(message.contains("e.json: line 2, column 5: not UTF-8"), "{message}");
}

#[test]
fn a_malformed_neighbour_file_is_named_itself() {
    let folder = Folder::new();
    let path = folder.write("e.json", "[]");
    folder.write("e.table.json", format!("{{\"now_ms\": \"{CANARY}\"}}"));
    let message = refused(&[&path]);
    assert!(
        message.contains("e.table.json: line 1, column 27: expected"),
        "{message}"
    );
}

#[test]
fn odd_records_are_left_out_without_being_repeated() {
    let folder = Folder::new();
    let path = folder.write("e.json", format!("[\"{CANARY}\", {{\"eventName\": \"{CANARY}\"}}]"));
    let ran = replay([&path]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("left out: unreadable"), "{}", ran.out);
    assert!(!ran.out.contains(CANARY));
}

#[test]
fn a_table_that_does_not_answer_fails_no_refill_but_is_told() {
    // Port 9 discards: nothing listens there.
    let arguments = [
        "--endpoint-url",
        "http://127.0.0.1:9",
        "--table",
        "t",
        "--json",
        "events/hot-drip.json",
    ];
    let ran = ran(program().args(arguments).output().unwrap());
    assert!(ran.out.contains("\"verdict\":\"failed\""), "{} {}", ran.out, ran.err);
}

#[test]
fn a_batch_that_reports_failures_exits_with_1() {
    let arguments = [
        "--endpoint-url",
        "http://127.0.0.1:9",
        "--table",
        "t",
        "events/quota-doubling-1-2.json",
    ];
    let ran = replay(arguments);
    assert_eq!(ran.code, Some(1), "{} {}", ran.out, ran.err);
    assert!(
        ran.out.contains("failed: to be delivered again from sequence number"),
        "{}",
        ran.out
    );
}
