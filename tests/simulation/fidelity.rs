//! Operation scripts through the simulated clients: what `tests/fidelity` holds against the published client.
//!
//! - [`script`]: a script, and its JSON. [`generate`]: scripts drawn from a seed.
//! - [`stage`]: plays a script, one operation after the other, on the in-memory table. [`events`]: what that exercised.
//!
//! A played script carries how each operation ended and every item that is left. Clocks, draws of shards, scripts and
//! the write budget are all in the script, so that another implementation can play the very same.

mod events;
mod generate;
mod script;
mod stage;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use script::Script;

use crate::arguments::FidelityArguments;

/// Generates scripts, or reads them, plays them, and writes what came of them: one JSON object a line.
///
/// # Errors
/// Where a file cannot be read or written, or a line is no script.
pub fn run(arguments: &FidelityArguments) -> io::Result<()> {
    let mut output = BufWriter::new(File::create(&arguments.write)?);
    match &arguments.read {
        Some(path) => {
            for script in read(path)? {
                write(&mut output, &script)?;
            }
        }
        None => {
            for number in 0..arguments.scripts {
                write(&mut output, &generate::script(arguments.seed, number))?;
            }
        }
    }
    output.flush()
}

fn read(path: &Path) -> io::Result<Vec<Script>> {
    BufReader::new(File::open(path)?)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

fn write(output: &mut impl Write, script: &Script) -> io::Result<()> {
    let played = stage::play(script);
    serde_json::to_writer(&mut *output, &played)?;
    output.write_all(b"\n")
}
