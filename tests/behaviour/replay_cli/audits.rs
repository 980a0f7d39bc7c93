//! `replay audit` on the table of a `replay serve`.

use serde_json::{Value, json};

use super::serving::{Served, serve};
use super::{CANARY, Folder, Ran, replay};

/// Two shards of a session quota of 100 tokens that hold so much, in a window that began a second before the instant.
fn served(folder: &Folder, held: [i64; 2]) -> Served {
    let shard = |id: usize, held: i64| {
        let mut item = json!({
            "PK": { "S": format!("ns/BUCKET#{CANARY}#api#{id}") }, "SK": { "S": "#STATE" },
            "entity_id": { "S": CANARY }, "resource": { "S": "api" },
        });
        for (name, value) in [
            ("rf", 999_000),
            ("shard_count", 2),
            ("b_q_tk", held * 1_000),
            ("b_q_cp", 100_000),
            ("b_q_ra", 0),
            ("b_q_rp", 0),
            ("b_q_tc", 0),
            ("b_q_gc", 2),
            ("b_q_rsa", 3_600),
            ("b_q_ws", 999_000),
            ("b_q_wa", 999_000),
        ] {
            item[name] = json!({ "N": value.to_string() });
        }
        item
    };
    let items = json!([shard(0, held[0]), shard(1, held[1])]);
    serve(&["--items", &folder.write("items.json", items.to_string())])
}

fn audit(served: &Served, more: &[&str]) -> Ran {
    let on_table = [
        "audit",
        "--endpoint-url",
        &served.endpoint,
        "--table",
        &served.table,
        "--now",
        "1000000",
    ];
    replay(on_table.iter().chain(more))
}

#[test]
fn a_clean_table_has_nothing_to_show() {
    let folder = Folder::new();
    let clean = audit(&served(&folder, [50, 50]), &[]);
    assert_eq!((clean.code, clean.err.as_str()), (Some(0), ""));
    assert_eq!(clean.out, "1 buckets, 2 shards\nnothing found\n");
}

#[test]
fn an_overlap_is_an_exit_code_and_names_nobody_unless_asked() {
    let folder = Folder::new();
    let served = served(&folder, [60, 50]);
    let found = audit(&served, &[]);
    assert_eq!(found.code, Some(1), "{}", found.err);
    assert!(
        found.out.contains("over_granted: 1") && found.out.contains("hold 110 of 100 tokens"),
        "{}",
        found.out
    );
    assert!(!found.out.contains(CANARY));
    assert!(audit(&served, &["--show-ids"]).out.contains(CANARY));
    let other = audit(&served, &["--entity", "another"]);
    assert_eq!(
        (other.code, other.out.as_str()),
        (Some(0), "0 buckets, 0 shards\nnothing found\n")
    );
    let told = audit(&served, &["--json", "--entity", CANARY]).out;
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({ "buckets": 1, "shards": 2, "findings": { "over_granted": 1 } })
    );
    assert_eq!(
        (&lines[1]["kind"], &lines[1]["broken"]),
        (&json!("over_granted"), &json!(true))
    );
}
