//! Every event of a reading in a file, for a replay.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::handler::Batch;
use crate::failure::Failure;

/// The file. It holds entity ids, as the stream does.
pub struct Capture {
    path: PathBuf,
    file: File,
}

impl Capture {
    /// Goes on behind what the file holds.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn append_to(path: &Path) -> Result<Self, Failure> {
        let opened = File::options().append(true).create(true).open(path);
        Ok(Self {
            file: opened.map_err(|error| Failure::system(path, "open", &error))?,
            path: path.to_owned(),
        })
    }

    /// Adds a batch: a line with the Lambda's event, and with the instant in it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn keep(&self, batch: &Batch) -> Result<(), Failure> {
        let write = || {
            let mut event: Map<String, Value> = serde_json::from_str(&batch.event)?;
            event.insert("now_ms".to_owned(), batch.now.0.into());
            writeln!(&self.file, "{}", Value::Object(event))
        };
        write().map_err(|error: std::io::Error| Failure::system(&self.path, "write", &error))
    }
}
