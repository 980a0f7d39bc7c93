//! No entity id in what replay prints, whatever the event is and whatever fails.

use super::{CANARY, Folder, program, ran};
use crate::support::captures::Capture;
use crate::support::faults::every_fault;
use crate::support::proxy::Step;
use crate::support::scene::{Scene, TABLE};

/// What is printed for an event on a real table, with every detail.
async fn printed(scene: &Scene, arguments: &[&str]) -> String {
    let endpoint = scene.proxy.endpoint_url();
    let mut command = program();
    command
        .args(["--explain", "--endpoint-url", &endpoint, "--table", TABLE])
        .args(arguments)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test");
    // The proxy runs on this thread's runtime, so the program must be waited for elsewhere.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await;
    let ran = ran(output.unwrap());
    assert!(matches!(ran.code, Some(0..=2)), "{:?}: {}", ran.code, ran.err);
    format!("{}\n{}", ran.out, ran.err)
}

fn assert_silent(printed: &str) {
    assert!(!printed.trim().is_empty());
    for line in printed.lines() {
        assert!(!line.contains(CANARY), "{line}");
    }
}

#[tokio::test]
async fn every_event() {
    let folder = Folder::new();
    for capture in Capture::all() {
        let capture = capture.with_entity(CANARY);
        let path = folder.write(&format!("{}.json", capture.name), &capture.event);
        let scene = Scene::with(&capture.items).await;
        let now = capture.now.0.to_string();
        for format in [&[][..], &["--json"]] {
            let arguments = [&["--now", &now, path.as_str()][..], format].concat();
            assert_silent(&printed(&scene, &arguments).await);
        }
    }
}

#[tokio::test]
async fn every_failure() {
    let folder = Folder::new();
    for name in ["quota-doubling-2-4", "session-rollover-lost-fanout"] {
        let capture = Capture::read(name).with_entity(CANARY);
        let path = folder.write(&format!("{name}.json"), &capture.event);
        let scene = Scene::with(&capture.items).await;
        let now = capture.now.0.to_string();
        for fault in every_fault(CANARY) {
            scene.proxy.script(move |call| match &fault {
                Step::KeepBack(_) if call.operation != "BatchGetItem" => Step::Pass,
                fault => fault.clone(),
            });
            assert_silent(&printed(&scene, &["--now", &now, &path]).await);
        }
    }
}
