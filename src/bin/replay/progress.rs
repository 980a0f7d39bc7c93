//! How far a replay of several files is: a bar on standard error, for a person whose output goes elsewhere.
//!
//! On a terminal that shows the decisions themselves they are progress enough, and a bar would stand between them.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shown alone, a single file would be over before it is read.
const LEAST_FILES: usize = 2;

/// A bar that counts files.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many files, or none that anybody sees.
    pub fn of(files: usize) -> Self {
        let is_watched = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        let target = match is_watched && files >= LEAST_FILES {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(u64::try_from(files).ok(), target);
        let style = ProgressStyle::with_template("{pos} of {len} files {wide_bar} {eta} left");
        // A template that is refused leaves the default bar.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.tick();
        Self(bar)
    }

    /// One more file is done.
    pub fn one_more(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    /// Leaves nothing behind, whatever ended the work.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
