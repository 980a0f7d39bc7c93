//! `replay completions`: what a shell needs to complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::output::Output;

/// Prints the script for a shell.
pub fn print(shell: Shell, output: &mut Output) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "replay", &mut script);
    output.line(String::from_utf8_lossy(&script));
}
