//! The Lambda's program.

use std::process::ExitCode;

use limiter_aggregator::config::FunctionSettings;
use limiter_aggregator::lambda;

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "this is where the process starts")]
    let environment = |variable: &str| std::env::var_os(variable);
    if lambda::init_logging(&environment).is_err() {
        // Nobody else in this process sets one up.
        return ExitCode::FAILURE;
    }
    lambda::silence_panics();
    let settings = match FunctionSettings::from_lookup(&environment) {
        Ok(settings) => settings,
        Err(error) => return failed("configuration", &error),
    };
    // One thread: a small function has a fraction of one CPU, and what is waited for are answers.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed("runtime", &error),
    };
    let served = runtime.block_on(async { lambda::serve(lambda::start(settings).await).await });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed("serving", &error),
    }
}

fn failed(during: &str, error: &dyn std::error::Error) -> ExitCode {
    tracing::error!(during, "{error}");
    ExitCode::FAILURE
}
