//! `replay`: runs stream events through the Lambda's own code, against an embedded engine or a real table, and says
//! in words what was decided for every shard and why.
//!
//! Decides how inputs are read and how decisions are shown; every rule lives in the library. Refuses bad arguments
//! and unreadable files with one line that names the place and never repeats content, because content holds entity
//! ids. What must stay true: exit 2 for those, exit 1 where a batch reports failures or an audit
//! finds a broken invariant, else 0; never a panic; no entity
//! id in any output unless a person asked for it with `--show-ids`.

mod args;
mod audit;
mod completions;
mod describe;
mod dlq;
mod failure;
mod input;
mod instant;
mod json_lines;
mod names;
mod output;
mod progress;
mod report;
mod run;
mod schedule;
mod serve;
mod tail;
mod target;
mod text;
mod totals;
mod version;

use std::process::ExitCode;

use args::{Arguments, Task};
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    // A panic's message may hold anything; its place is enough to find it by.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        failure::complain(&format!("internal error at {place}"));
    }));
    let arguments = match Arguments::from_command_line() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut output = Output::stdout();
    let done = carry_out(arguments, &mut output).and_then(|code| output.finish().map(|()| code));
    match done {
        Ok(code) => code,
        Err(failure) => {
            failure::complain(&failure.to_string());
            ExitCode::from(failure::EXIT_CODE)
        }
    }
}

fn carry_out(arguments: Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    match arguments.task {
        Some(Task::Schedule(asked)) => schedule::explain(&asked, output).map(|()| ExitCode::SUCCESS),
        Some(Task::Serve(asked)) => runtime
            .block_on(serve::serve(&asked, output))
            .map(|()| ExitCode::SUCCESS),
        Some(Task::Tail(asked)) => runtime.block_on(tail::tail(&asked, output)).map(|()| ExitCode::SUCCESS),
        Some(Task::Dlq(asked)) => runtime.block_on(dlq::dlq(&asked, output)),
        Some(Task::Audit(asked)) => runtime.block_on(audit::audit(&asked, output)),
        Some(Task::Version(asked)) => runtime
            .block_on(version::version(&asked, output))
            .map(|()| ExitCode::SUCCESS),
        Some(Task::Completions(asked)) => {
            completions::print(asked.shell, output);
            Ok(ExitCode::SUCCESS)
        }
        None => runtime.block_on(run::replay(&arguments.replay, output)),
    }
}
