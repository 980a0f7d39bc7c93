//! Standard output, whose reader may go away at any time: `replay … | head`.

use std::io::{BufWriter, ErrorKind, Stdout, Write};

use crate::failure::Failure;

/// Standard output. Once the reader is gone, what is written is dropped, and the work goes on to its end: half a
/// batch on a real table would be worse than an unread line.
pub struct Output {
    writer: BufWriter<Stdout>,
    state: State,
}

enum State {
    Open,
    /// Nobody reads any more.
    Closed,
    Failed(std::io::Error),
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Self {
            writer: BufWriter::new(std::io::stdout()),
            state: State::Open,
        }
    }

    /// One line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.attempt(|writer| writeln!(writer, "{}", text.as_ref()));
    }

    /// Hands over what was written so far.
    pub fn flush(&mut self) {
        self.attempt(BufWriter::flush);
    }

    /// The end of all output.
    ///
    /// # Errors
    /// Where it could not be written for another reason than that nobody reads it.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.flush();
        match &self.state {
            State::Open | State::Closed => Ok(()),
            State::Failed(error) => Err(Failure::new(format!("cannot write to standard output: {error}"))),
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<Stdout>) -> std::io::Result<()>) {
        if !matches!(self.state, State::Open) {
            return;
        }
        if let Err(error) = write(&mut self.writer) {
            self.state = match error.kind() {
                ErrorKind::BrokenPipe => State::Closed,
                _ => State::Failed(error),
            };
        }
    }
}
