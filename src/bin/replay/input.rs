//! Events and items from files.
//!
//! Decides which files a path stands for and what each holds; refuses anything else before a table is touched. What
//! must stay true: a message names the file, the line and the column, never content.

mod json;

use std::path::{Path, PathBuf};

use limiter_aggregator::item::Item;
use limiter_aggregator::units::EpochMillis;
use serde::Deserialize;

use crate::failure::Failure;

/// What an event's neighbour file supplies.
#[derive(Debug, Deserialize)]
pub struct Sidecar {
    /// What the event is, in words.
    pub about: Option<String>,
    /// The instant at which to replay it.
    pub now_ms: Option<i64>,
    /// Every item of the table before it.
    #[serde(default)]
    pub items: Vec<Item>,
}

/// A neighbour file where only the items are wanted, and must be there.
#[derive(Debug, Deserialize)]
struct TableFile {
    items: Vec<Item>,
}

/// One EVENT, read.
#[derive(Debug)]
pub struct Input {
    /// Where it comes from.
    pub path: PathBuf,
    /// Lambda events, worked on one after the other on one table.
    pub events: Vec<Event>,
    /// Its neighbour file, where there is one.
    pub sidecar: Option<Sidecar>,
}

/// One Lambda event.
#[derive(Debug)]
pub struct Event {
    /// As JSON text.
    pub json: String,
    /// When it was worked on, where it was captured from a live stream.
    pub captured_at: Option<EpochMillis>,
}

impl Event {
    /// # Errors
    /// Where there is a `now_ms` that is no integer.
    fn read(json: String) -> Result<Self, json::Fault> {
        #[derive(Deserialize)]
        struct Captured {
            now_ms: Option<i64>,
        }
        let captured: Captured = json::parse(&json, "an integer in now_ms")?;
        Ok(Self {
            json,
            captured_at: captured.now_ms.map(EpochMillis),
        })
    }
}

impl Input {
    /// Where the neighbour file is, if there is one.
    pub fn sidecar_path(&self) -> PathBuf {
        sidecar_path(&self.path)
    }

    /// The instant that the neighbour file names.
    pub fn now(&self) -> Option<EpochMillis> {
        self.sidecar.as_ref()?.now_ms.map(EpochMillis)
    }
}

/// Reads everything that the paths stand for, folders in the order of their names.
///
/// # Errors
/// At the first file that cannot be read.
pub fn read_events(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.is_dir() {
            for file in event_files(path)? {
                inputs.push(read_event_file(file)?);
            }
        } else {
            inputs.push(read_event_file(path.clone())?);
        }
    }
    Ok(inputs)
}

/// Reads items: a JSON array of them, or a file that stands beside an event.
///
/// # Errors
/// Where the file cannot be read or holds anything else.
pub fn read_items(path: &Path) -> Result<Vec<Item>, Failure> {
    let text = read_text(path)?;
    let read = if text.trim_start().starts_with('{') {
        json::parse(&text, "an array of items in DynamoDB JSON, or an object with one")
            .map(|file: TableFile| file.items)
    } else {
        json::parse(&text, "an array of items in DynamoDB JSON")
    };
    read.map_err(|fault| Failure::about(path, fault))
}

/// Reads JSON values that follow each other: a file of one, or of one a line. `-` is standard input.
///
/// # Errors
/// Where the file cannot be read, holds no value, or something that is none.
pub fn read_values(path: &Path) -> Result<Vec<String>, Failure> {
    let text = match path.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()).map_err(|error| Failure::system(path, "read", &error))?,
        false => read_text(path)?,
    };
    json::values(&text).map_err(|fault| Failure::about(path, fault))
}

fn event_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |error: std::io::Error| Failure::system(folder, "list the folder", &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if is_event_file(&path) && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::about(folder, "no *.json or *.jsonl file in the folder"));
    }
    files.sort();
    Ok(files)
}

fn is_event_file(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return false;
    };
    name.ends_with(".jsonl") || name.ends_with(".json") && !name.ends_with(".table.json")
}

fn read_event_file(path: PathBuf) -> Result<Input, Failure> {
    let text = read_text(&path)?;
    let read = || {
        json::batches(&text)?
            .into_iter()
            .map(Event::read)
            .collect::<Result<_, _>>()
    };
    let events = read().map_err(|fault| Failure::about(&path, fault))?;
    let sidecar = read_sidecar(&path)?;
    Ok(Input { path, events, sidecar })
}

/// `NAME.table.json` beside `NAME.json`.
fn sidecar_path(event: &Path) -> PathBuf {
    event.with_extension("table.json")
}

fn read_sidecar(event: &Path) -> Result<Option<Sidecar>, Failure> {
    let path = sidecar_path(event);
    if !path.is_file() {
        return Ok(None);
    }
    let text = read_text(&path)?;
    let sidecar = json::parse(&text, "an object with about, now_ms and items");
    sidecar.map(Some).map_err(|fault| Failure::about(&path, fault))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::system(path, "read", &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let (line, column) = json::place(error.as_bytes(), error.utf8_error().valid_up_to());
        Failure::about(path, format_args!("line {line}, column {column}: not UTF-8"))
    })?;
    // Some editors begin a file with a byte order mark, which JSON does not know.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
