//! `replay tail` on the table of a `replay serve`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::serving::serve;
use super::{CANARY, Folder, Ran, canary, event, program, ran, replay};
use crate::support::proxy::{Answer, Proxy, Step};

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tail<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Child {
    let mut command = program();
    command.arg("tail").args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended_by(signal: &str, child: Child) -> Ran {
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    ran(child.wait_with_output().unwrap())
}

#[test]
fn every_change_of_a_served_table_is_worked_on_once_and_its_echo_settles() {
    let folder = Folder::new();
    let path = canary(&folder);
    let items = folder.path("c.table.json");
    let served = serve(&["--items", &items]);
    let on_table = ["--endpoint-url", &served.endpoint, "--table", &served.table];
    // What the replay writes is what the tail then reads.
    assert_eq!(replay(on_table.into_iter().chain([path.as_str()])).code, Some(0));
    let checkpoints = folder.path("checkpoints.json");
    let arguments = [
        "tail",
        "--window",
        "0",
        "--until-idle",
        "1",
        "--checkpoints",
        &checkpoints,
    ];
    let first = replay(arguments.into_iter().chain(on_table));
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    let told = lines(&first.out);
    let batches: Vec<&Value> = told
        .iter()
        .filter(|line| line["records"].is_u64() && line["end"].is_null())
        .collect();
    assert!(
        batches.iter().all(|batch| batch["outcome"] == "complete"),
        "{}",
        first.out
    );
    let end = told.last().unwrap();
    let records = event("hot-drip.table.json").matches("\"PK\"").count();
    assert!(end["records"].as_u64().unwrap() > records as u64, "{end}");
    assert_eq!(end["failures"], 0);
    assert!(!first.out.contains(CANARY));
    let second = replay(arguments.into_iter().chain(on_table));
    assert_eq!(lines(&second.out).last().unwrap()["records"], 0, "{}", second.out);
}

#[test]
fn a_signal_ends_it_cleanly() {
    let served = serve(&[]);
    let mut child = tail(["--endpoint-url", &served.endpoint, "--table", &served.table]);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(child.try_wait().unwrap(), None, "it went on by itself");
    let ran = ended_by("-TERM", child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(lines(&ran.out).last().unwrap()["end"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_is_told_of_and_comes_again_until_a_signal() {
    let folder = Folder::new();
    let _ = canary(&folder);
    let served = serve(&["--items", &folder.path("c.table.json")]);
    let proxy = Proxy::start(served.endpoint.strip_prefix("http://").unwrap().parse().unwrap()).await;
    let endpoint = proxy.endpoint_url();
    let on_table = ["--endpoint-url", &endpoint, "--table", &served.table];
    assert_eq!(
        replay(on_table.into_iter().chain([folder.path("c.json").as_str()])).code,
        Some(0)
    );
    proxy.always("UpdateItem", Step::Answer(Answer::throughput_exceeded()));
    let child = tail(["--window", "0"].into_iter().chain(on_table));
    tokio::time::sleep(Duration::from_secs(4)).await;
    let ran = ended_by("-INT", child);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = lines(&ran.out);
    let failed: Vec<&Value> = told.iter().filter(|line| line["outcome"] == "incomplete").collect();
    assert!(failed.len() > 1, "{}", ran.out);
    assert!(
        failed
            .iter()
            .all(|batch| batch["retry_from"] == failed[0]["retry_from"]),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("requests failed") && ran.err.contains("UpdateItem"),
        "{}",
        ran.err
    );
    assert!(!ran.out.contains(CANARY) && !ran.err.contains(CANARY));
}

#[test]
fn a_table_that_is_not_there_is_named() {
    let served = serve(&[]);
    let ran = replay(["tail", "--endpoint-url", &served.endpoint, "--table", "other"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err
            .contains("table other: DescribeTable failed: ResourceNotFoundException"),
        "{}",
        ran.err
    );
}

#[test]
fn completions_know_every_subcommand() {
    let ran = replay(["completions", "bash"]);
    assert_eq!(ran.code, Some(0));
    for task in ["schedule", "serve", "tail"] {
        assert!(ran.out.contains(&format!("replay__subcmd__{task}")) || ran.out.contains(&format!("replay__{task}")));
    }
}
