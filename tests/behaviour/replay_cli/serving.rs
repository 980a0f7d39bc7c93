//! `replay serve`, and a replay on a table that is not the program's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::{Folder, event, program, replay};

pub(super) struct Served {
    child: Child,
    pub(super) endpoint: String,
    pub(super) table: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn serve(arguments: &[&str]) -> Served {
    let mut child = program()
        .args(["serve", "--port", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = |word: &str| {
        let line = lines.next().unwrap().unwrap();
        line.strip_prefix(word).unwrap().trim().to_owned()
    };
    Served {
        endpoint: told("endpoint"),
        table: told("table"),
        child,
    }
}

#[test]
fn a_served_table_can_be_replayed_on_and_dumped_without_any_environment() {
    let folder = Folder::new();
    let whole: serde_json::Value = serde_json::from_str(&event("hot-drip.table.json")).unwrap();
    let items = folder.write("items.json", whole["items"].to_string());
    let served = serve(&["--items", &items]);
    let dump = folder.path("dump.json");
    let on_table = ["--endpoint-url", &served.endpoint, "--table", &served.table];
    let ran = replay(on_table.into_iter().chain(["--dump", &dump, "events/hot-drip.json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("refill written"), "{}", ran.out);
    // The table is the same one now: what the neighbour file holds is not put into it again.
    let ran = replay(on_table.into_iter().chain(["events/hot-drip.json"]));
    assert!(ran.out.contains("refill dropped"), "{}", ran.out);
    let dumped: Vec<serde_json::Value> = serde_json::from_str(&std::fs::read_to_string(dump).unwrap()).unwrap();
    // What was there, and the snapshots of an hour and of a day.
    assert_eq!(dumped.len(), whole["items"].as_array().unwrap().len() + 2);
}

#[test]
fn a_file_that_stands_beside_an_event_serves_its_items() {
    let served = serve(&["--items", "events/hot-drip.table.json"]);
    let on_table = ["--endpoint-url", &served.endpoint, "--table", &served.table];
    let ran = replay(on_table.into_iter().chain(["events/hot-drip.json"]));
    assert!(ran.out.contains("refill written"), "{}", ran.out);
    let refused = replay(["serve", "--port", "0", "--items", "events/hot-drip.json"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("an object with one"), "{}", refused.err);
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let served = serve(&[]);
    let port = served.endpoint.rsplit(':').next().unwrap().to_owned();
    let ran = replay(["serve", "--port", &port]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("cannot listen on"), "{}", ran.err);
}
