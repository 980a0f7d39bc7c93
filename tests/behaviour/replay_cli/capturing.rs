//! Events without a table: captured from a live stream, or found somewhere.

use serde_json::{Value, json};

use super::serving::serve;
use super::{CANARY, Folder, canary, event, program, ran, replay};

#[test]
fn what_a_dry_tail_captures_is_decided_alike_when_it_is_replayed() {
    let folder = Folder::new();
    let path = canary(&folder);
    let served = serve(&["--items", &folder.path("c.table.json")]);
    let on_table = ["--endpoint-url", &served.endpoint, "--table", &served.table];
    // Changes of a bucket that another aggregator has refilled.
    assert_eq!(replay(on_table.into_iter().chain([path.as_str()])).code, Some(0));
    let captured = folder.path("captured.jsonl");
    let tail = [
        "tail",
        "--window",
        "0",
        "--batch-size",
        "3",
        "--until-idle",
        "1",
        "--capture",
        &captured,
    ];
    let dry = program()
        .env("DRY_RUN", "true")
        .args(tail)
        .args(on_table)
        .output()
        .unwrap();
    let dry = ran(dry);
    assert_eq!((dry.code, dry.err.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(&captured).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        events.len() > 1 && events.iter().all(|event| event["now_ms"].is_i64()),
        "{text}"
    );
    let told: Vec<Value> = dry
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let batches = told.iter().filter(|line| line["outcome"].is_string());
    let decided: Vec<[u64; 3]> = batches
        .map(|line| ["records", "refills", "snapshots"].map(|name| line[name].as_u64().unwrap()))
        .collect();
    assert!(decided.iter().any(|[_, _, snapshots]| *snapshots > 0), "{}", dry.out);
    let ran = replay(["--json", &captured]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let replayed = (1..=events.len()).map(|number| {
        let name = format!("{captured} event {number}");
        let of_event = || lines.iter().filter(|line| line["event"] == name.as_str());
        let written = |rule: &str| {
            let written = of_event().filter(|line| line["rule"] == rule && line["verdict"] == "written");
            written.count() as u64
        };
        let end = of_event().find(|line| line["rule"] == "batch").unwrap();
        [end["records"].as_u64().unwrap(), written("refill"), written("usage")]
    });
    assert_eq!(replayed.collect::<Vec<_>>(), decided);
    assert!(!ran.out.contains(CANARY) && text.contains(CANARY));
}

#[test]
fn without_a_table_the_records_images_are_the_table() {
    let folder = Folder::new();
    let alone = folder.write("alone.json", event("hot-drip.json"));
    let dump = folder.path("dump.json");
    let ran = replay(["--now", "2026-11-02T13:59:34.850Z", "--dump", &dump, &alone]);
    assert!(ran.out.contains("refill written"), "{}", ran.out);
    let items: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(dump).unwrap()).unwrap();
    let bucket = items.iter().find(|item| item["SK"]["S"] == "#STATE").unwrap();
    assert_eq!(bucket["b_rpm_tk"]["N"], "2800");
    // Items that somebody gives are the table, and nothing is put over them.
    let none = folder.write("none.json", "[]");
    let ran = replay(["--now", "2026-11-02T13:59:34.850Z", "--items", &none, &alone]);
    assert!(ran.out.contains("refill dropped"), "{}", ran.out);
}

#[test]
fn a_captured_event_finds_its_images_over_the_items_and_no_item_that_was_removed() {
    let folder = Folder::new();
    let mut whole: Value = serde_json::from_str(&event("hot-drip.json")).unwrap();
    whole["now_ms"] = json!(1_793_627_974_850_i64);
    let last = whole["Records"].as_array().unwrap().last().unwrap()["dynamodb"].clone();
    let mut removed = whole.clone();
    removed["Records"] = json!([{ "eventName": "REMOVE", "dynamodb": {
        "Keys": last["Keys"], "OldImage": last["NewImage"], "SequenceNumber": "999999999999999999999999",
    } }]);
    let (none, dump) = (folder.write("none.json", "[]"), folder.path("dump.json"));
    let lines = folder.write("both.jsonl", format!("{whole}\n{removed}\n"));
    let ran = replay(["--items", &none, "--dump", &dump, &lines]);
    assert!(ran.out.contains("at 2026-11-02T13:59:34.850Z"), "{}", ran.out);
    assert!(ran.out.contains("refill written"), "{}", ran.out);
    let items: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(dump).unwrap()).unwrap();
    assert!(items.iter().all(|item| item["SK"]["S"] != "#STATE"));
}

#[test]
fn an_instant_that_is_none_is_refused_by_its_place() {
    let folder = Folder::new();
    let path = folder.write("e.json", r#"{"now_ms": "secret", "Records": []}"#);
    let ran = replay([&path]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("expected an integer in now_ms") && !ran.err.contains("secret"),
        "{}",
        ran.err
    );
}
