//! How far each shard has been worked on, in memory or in a file as well.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How far a shard is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The work of this sequence number and of everything before is done.
    After(String),
    /// Nothing more will come of it.
    Finished,
}

/// Why a checkpoint file is of no use. Never repeats its content.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It cannot be read or written.
    #[error("{}: cannot {attempt}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        attempt: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error("{}: no checkpoints of a stream", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// It belongs to another stream.
    #[error("{}: checkpoints of another stream, {found}", path.display())]
    OtherStream {
        /// The file.
        path: PathBuf,
        /// That stream's ARN.
        found: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Stored {
    stream: String,
    shards: BTreeMap<String, Progress>,
}

/// The checkpoints of one stream.
#[derive(Debug)]
pub struct Checkpoints {
    stream: String,
    path: Option<PathBuf>,
    shards: BTreeMap<String, Progress>,
}

impl Checkpoints {
    /// Checkpoints that end with the process.
    pub fn in_memory(stream: impl Into<String>) -> Self {
        Self {
            stream: stream.into(),
            path: None,
            shards: BTreeMap::new(),
        }
    }

    /// Checkpoints in a file, which may not be there yet.
    ///
    /// # Errors
    /// Where the file cannot be read, or is about something else.
    pub fn in_file(stream: impl Into<String>, path: PathBuf) -> Result<Self, CheckpointError> {
        let mut checkpoints = Self::in_memory(stream);
        match std::fs::read(&path) {
            Ok(content) => {
                let Ok(stored) = serde_json::from_slice::<Stored>(&content) else {
                    return Err(CheckpointError::Unreadable { path });
                };
                if stored.stream != checkpoints.stream {
                    let found = stored.stream;
                    return Err(CheckpointError::OtherStream { path, found });
                }
                checkpoints.shards = stored.shards;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => {
                let attempt = "read";
                return Err(CheckpointError::File { path, attempt, source });
            }
        }
        checkpoints.path = Some(path);
        Ok(checkpoints)
    }

    /// How far a shard is; `None` if nothing of it has been done.
    pub fn of(&self, shard: &str) -> Option<&Progress> {
        self.shards.get(shard)
    }

    /// Whether nothing more will come of a shard.
    pub fn is_finished(&self, shard: &str) -> bool {
        self.of(shard) == Some(&Progress::Finished)
    }

    /// Whether nothing was ever done.
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    /// Notes how far a shard is, in the file too.
    ///
    /// # Errors
    /// Where the file cannot be written; it then holds what it held.
    pub fn set(&mut self, shard: &str, progress: Progress) -> Result<(), CheckpointError> {
        self.shards.insert(shard.to_owned(), progress);
        let Some(path) = &self.path else { return Ok(()) };
        let stored = Stored {
            stream: self.stream.clone(),
            shards: self.shards.clone(),
        };
        replace(path, &stored).map_err(|source| CheckpointError::File {
            path: path.clone(),
            attempt: "write",
            source,
        })
    }
}

/// Whoever reads the file at any time finds the old content or the new one, whole.
fn replace(path: &Path, stored: &Stored) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = std::fs::File::create(&beside)?;
    serde_json::to_writer_pretty(&mut file, stored)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}
