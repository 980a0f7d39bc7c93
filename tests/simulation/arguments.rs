//! The arguments of this test program: its own, and those that `cargo test` hands to every test program.

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
    filters: Vec<String>,
}

impl Arguments {
    /// Reads arguments; unknown flags are the test harness's, and mean nothing here.
    pub fn read(arguments: impl Iterator<Item = String>) -> Self {
        let mut read = Self::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|text| text.parse().ok());
            match argument.as_str() {
                "--seeds" => read.seeds = number(),
                "--from" => read.from = number().unwrap_or(0),
                "--until-first" => read.until_first = true,
                "--list" => read.lists = true,
                flag if flag.starts_with('-') => {}
                filter => read.filters.push(filter.to_owned()),
            }
        }
        read
    }

    /// Whether a check is wanted: all are, unless some are named.
    pub fn selects(&self, check: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| check.contains(filter.as_str()))
    }
}
