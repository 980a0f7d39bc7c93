//! The arguments of this test program: its own, and those that `cargo test` hands to every test program.

use std::path::PathBuf;

/// What was asked for with `fidelity`.
#[derive(Debug, Default)]
pub struct FidelityArguments {
    /// `--scripts N`: how many are generated.
    pub scripts: u64,
    /// `--seed S`: what they are drawn from.
    pub seed: u64,
    /// `--read FILE`: scripts to play in their place, one JSON object a line.
    pub read: Option<PathBuf>,
    /// `--write FILE`: where they go with what came of them.
    pub write: PathBuf,
}

/// What was asked for.
#[derive(Debug, Default)]
pub struct Arguments {
    /// `--seeds N`.
    pub seeds: Option<u64>,
    /// `--from S`.
    pub from: u64,
    /// `--until-first`: stop at the first failing seed, and ask for no coverage.
    pub until_first: bool,
    /// `--list`: run nothing.
    pub lists: bool,
    /// `fidelity --write FILE`: scripts for `tests/fidelity`, and nothing else.
    pub fidelity: Option<FidelityArguments>,
    filters: Vec<String>,
}

impl Arguments {
    /// Reads arguments; unknown flags are the test harness's, and mean nothing here.
    pub fn read(arguments: impl Iterator<Item = String>) -> Self {
        let mut read = Self::default();
        let mut fidelity = FidelityArguments::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|text| text.parse().ok());
            match argument.as_str() {
                "--scripts" => fidelity.scripts = number().unwrap_or(0),
                "--seed" => fidelity.seed = number().unwrap_or(0),
                "--read" => fidelity.read = arguments.next().map(PathBuf::from),
                "--write" => fidelity.write = arguments.next().map(PathBuf::from).unwrap_or_default(),
                "--seeds" => read.seeds = number(),
                "--from" => read.from = number().unwrap_or(0),
                "--until-first" => read.until_first = true,
                "--list" => read.lists = true,
                flag if flag.starts_with('-') => {}
                filter => read.filters.push(filter.to_owned()),
            }
        }
        read.fidelity = Some(fidelity).filter(|_| read.filters.iter().any(|filter| filter == "fidelity"));
        read
    }

    /// Whether a check is wanted: all are, unless some are named.
    pub fn selects(&self, check: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| check.contains(filter.as_str()))
    }
}
