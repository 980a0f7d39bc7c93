//! The replay program from outside: what it prints, what it refuses, and what it exits with.

mod audits;
mod capturing;
mod dead_letters;
mod progress;
mod refusals;
mod schedules;
mod secrecy;
mod serving;
mod tailing;
mod versions;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// An entity id that no output may hold.
const CANARY: &str = "sk-canary-4711";

/// The program in an empty environment, in the project's folder.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command.env_clear().current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn replay<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    ran(program().args(arguments).output().unwrap())
}

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn event(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("events").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// `hot-drip` with its entity renamed, event and table.
fn canary(folder: &Folder) -> String {
    folder.write("c.table.json", event("hot-drip.table.json").replace("user-1", CANARY));
    folder.write("c.json", event("hot-drip.json").replace("user-1", CANARY))
}

#[test]
fn all_captures_run_in_name_order_and_say_why() {
    let ran = replay(["events/"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let headings: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("events/")).collect();
    assert_eq!(headings.len(), 9, "{}", ran.out);
    assert!(headings.is_sorted());
    for words in [
        "rpm: 0.4 -> 2.8 of 60 tokens; rpm would not last another such batch, which used 61",
        "rpm was above its ceiling and is clamped",
        "session enters the window of 2026-11-03T01:59:33.150Z",
        "record 1 left out: an item was removed",
        "totals: 9 events, 73 records (1 left out), 8 buckets",
    ] {
        assert!(ran.out.contains(words), "{words} is missing in\n{}", ran.out);
    }
}

#[test]
fn the_shells_folder_without_a_slash_is_no_subcommand() {
    let ran = replay(["events", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn explain_shows_every_limit_and_every_condition() {
    let ran = replay(["--explain", "events/hot-drip.json"]);
    for words in [
        "(drips; used 61 in this batch; a reason to write)",
        "change: last refill (rf) set to 2026-11-02T13:59:34.850Z",
        "only if: last refill (rf) is 2026-11-02T13:59:32.450Z",
        "only if: rpm capacity (cp) is 60",
    ] {
        assert!(ran.out.contains(words), "{words} is missing in\n{}", ran.out);
    }
}

#[test]
fn json_is_one_object_a_line_with_amounts_in_tokens() {
    let ran = replay(["--json", "events/hot-drip.json"]);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let refill = lines.iter().find(|line| line["rule"] == "refill").unwrap();
    assert_eq!((&refill["verdict"], &refill["shard"]), (&"written".into(), &0.into()));
    let rpm = refill["limits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|limit| limit["limit"] == "rpm")
        .unwrap();
    assert_eq!((&rpm["before"], &rpm["after"]), (&Value::from(0.4), &Value::from(2.8)));
    assert_eq!(lines[lines.len() - 2]["verdict"], "complete");
    assert_eq!(lines[lines.len() - 1]["totals"]["records"], 61);
}

#[test]
fn entity_ids_are_shown_on_request_only() {
    let folder = Folder::new();
    let path = canary(&folder);
    for options in [&[][..], &["--json"], &["--explain"], &["--explain", "--json"]] {
        let ran = replay(options.iter().copied().chain([path.as_str()]));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(!ran.out.contains(CANARY) && !ran.err.contains(CANARY), "{options:?}");
        let ran = replay(options.iter().copied().chain(["--show-ids", path.as_str()]));
        assert!(ran.out.contains(CANARY), "{options:?}");
    }
}

#[test]
fn hashes_of_one_id_differ_between_runs() {
    let bucket = || {
        let ran = replay(["--json", "events/hot-drip.json"]);
        let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
        first["bucket"].as_str().unwrap().to_owned()
    };
    assert_ne!(bucket(), bucket());
}

#[test]
fn a_dump_is_the_table_and_can_be_put_back() {
    let folder = Folder::new();
    let (first, second) = (folder.path("first.json"), folder.path("second.json"));
    let ran = replay(["--dump", &first, "events/hot-drip.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The refill has moved `rf` on, so a second delivery changes nothing.
    let ran = replay(["--items", &first, "--dump", &second, "events/hot-drip.json"]);
    assert!(ran.out.contains("no longer as the records show it"), "{}", ran.out);
    let [first, second]: [Vec<Value>; 2] =
        [first, second].map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap());
    assert_eq!(first, second);
    let bucket = first.iter().find(|item| item["SK"]["S"] == "#STATE").unwrap();
    assert_eq!(bucket["b_rpm_tk"]["N"], "2800");
}

#[test]
fn now_is_given_by_argument_then_by_the_neighbour_file() {
    for (options, instant) in [
        (&[][..], "at 2026-11-02T13:59:34.850Z"),
        (&["--now", "1793627975000"], "at 2026-11-02T13:59:35Z"),
        (&["--now", "2026-11-02T14:59:36+01:00"], "at 2026-11-02T13:59:36Z"),
    ] {
        let ran = replay(options.iter().copied().chain(["events/hot-drip.json"]));
        assert!(ran.out.contains(instant), "{instant} is missing in {}", ran.out);
    }
}

#[test]
fn records_may_come_as_an_event_an_array_or_lines() {
    let folder = Folder::new();
    let whole: Value = serde_json::from_str(&event("session-rollover.json")).unwrap();
    let records = whole["Records"].as_array().unwrap();
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let table = event("session-rollover.table.json");
    let printed = |name: &str, content: String| {
        let path = folder.write(name, content);
        folder.write("e.table.json", &table);
        let ran = replay([&path]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        // Behind the heading and without the hash.
        ran.out
            .lines()
            .skip(1)
            .filter(|line| !line.contains("bucket "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let wanted = printed("e.json", whole.to_string());
    assert!(wanted.iter().any(|line| line.contains("4 records")), "{wanted:?}");
    let array = whole["Records"].to_string();
    assert_eq!(printed("e.json", array), wanted);
    assert_eq!(printed("e.jsonl", lines.join("\n")), wanted);
    assert_eq!(printed("e.jsonl", format!("{whole}\n")), wanted);
}

#[test]
fn several_events_of_one_file_run_one_after_another_on_one_table() {
    let folder = Folder::new();
    let whole: Value = serde_json::from_str(&event("hot-drip.json")).unwrap();
    folder.write("e.table.json", event("hot-drip.table.json"));
    let path = folder.write("e.jsonl", format!("{whole}\n{whole}\n"));
    let ran = replay([&path]);
    assert!(
        ran.out.contains("e.jsonl event 2") && ran.out.contains("refill dropped"),
        "{}",
        ran.out
    );
}

#[test]
fn a_closed_standard_output_stops_nothing() {
    let folder = Folder::new();
    let dump = folder.path("dump.json");
    let mut child = program()
        .args(["--explain", "--dump", &dump, "events/hot-drip.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(std::fs::metadata(dump).is_ok());
}
