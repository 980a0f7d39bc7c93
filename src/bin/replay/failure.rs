//! What ends a replay early: bad arguments, unreadable files, an engine or a table that does not answer.

use std::fmt;
use std::io::Write;
use std::path::Path;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// What a failed run exits with.
pub const EXIT_CODE: u8 = 2;

/// One line for a person. Built from places and kinds, never from a file's content, which may hold entity ids.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure in these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A failure about a file or folder.
    pub fn about(path: &Path, message: impl fmt::Display) -> Self {
        Self(format!("{}: {message}", path.display()))
    }

    /// The operating system refused to read or write a file or folder.
    pub fn system(path: &Path, attempt: &str, error: &std::io::Error) -> Self {
        Self::about(path, format_args!("cannot {attempt}: {error}"))
    }
}

/// What a request on a table met. Messages of the service may repeat keys, so that only its code is told.
pub fn refused<E: ProvideErrorMetadata, R>(operation: &str, table: &str, error: &SdkError<E, R>) -> Failure {
    let code = match error.as_service_error() {
        Some(refusal) => refusal.code().unwrap_or("an answer without a code"),
        None => "no answer",
    };
    Failure::new(format!("table {table}: {operation} failed: {code}"))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One line on standard error; if that is closed, nobody is left to tell.
pub fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "replay: {message}");
}
