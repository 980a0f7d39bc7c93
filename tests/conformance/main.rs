//! The conformance vectors: the published ones, or any others of the same form in the folder `CONFORMANCE_DIR`.
#![allow(clippy::disallowed_methods)] // Tests read where their data is.

mod batch_vectors;
mod schedule_vectors;

use std::path::{Path, PathBuf};

use batch_vectors::Scope;

/// How many failures are shown.
const FAILURES_SHOWN: usize = 20;

/// What is compared after a batch.
const SCOPE: Scope = Scope::Everything;

/// What came of a file of vectors.
pub struct Outcome {
    /// How many had the right answer.
    pub passed: usize,
    /// What was wrong with each that had not.
    pub failures: Vec<String>,
}

impl Outcome {
    fn must_be_right(self) {
        let shown: Vec<&str> = self.failures.iter().take(FAILURES_SHOWN).map(String::as_str).collect();
        assert!(
            self.failures.is_empty(),
            "{} passed, {} failed:\n{}",
            self.passed,
            self.failures.len(),
            shown.join("\n")
        );
        assert!(self.passed > 0, "no vectors in the file");
        println!("{} vectors passed", self.passed);
    }
}

/// A file of vectors in `CONFORMANCE_DIR`, or the copy beside this file.
fn vectors(file: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    std::env::var_os("CONFORMANCE_DIR")
        .map_or_else(beside, PathBuf::from)
        .join(file)
}

#[test]
fn every_schedule_vector_has_the_right_answer() {
    schedule_vectors::check(&vectors("schedule.jsonl")).must_be_right();
}

#[tokio::test]
async fn every_refill_vector_leaves_the_right_table() {
    batch_vectors::check(&vectors("refills.jsonl"), SCOPE)
        .await
        .must_be_right();
}

#[tokio::test]
async fn every_batch_vector_leaves_the_right_table() {
    batch_vectors::check(&vectors("batches.jsonl"), SCOPE)
        .await
        .must_be_right();
}
