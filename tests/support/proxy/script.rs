//! Which step a request gets: the list of its operation, else the general list, else the closure, else it passes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::answer::Answer;

/// What is done to one request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Forwards it and brings the engine's answer back.
    Pass,
    /// Answers this instead of forwarding.
    Answer(Answer),
    /// Forwards it, then answers this whatever the engine said.
    AnswerAfter(Answer),
    /// Waits, then passes it.
    Delay(Duration),
    /// Never answers, nor forwards.
    Stall,
    /// Forwards it, but never answers.
    StallAfter,
    /// Resets the connection instead of forwarding.
    ResetBefore,
    /// Forwards it, then resets the connection: applied, but the answer is lost.
    ResetAfter,
    /// Closes the connection without an answer and without forwarding, the way a service closes one that it took
    /// for idle just as the request was sent.
    CloseBefore,
    /// Passes it, then closes the connection without having said so.
    PassThenClose,
    /// Leaves this many of the last keys (BatchGetItem) or writes (BatchWriteItem) of the request unprocessed. What
    /// remains is forwarded; where nothing remains, nothing is.
    KeepBack(usize),
}

impl Step {
    /// Leaves a whole batch unprocessed.
    pub fn keep_back_all() -> Self {
        Self::KeepBack(usize::MAX)
    }
}

/// A request, as a script sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// For example `UpdateItem`.
    pub operation: &'a str,
    /// The how manieth of its operation, from 1.
    pub nth: usize,
    /// The how manieth at all, from 1.
    pub overall: usize,
    /// The body.
    pub body: &'a [u8],
}

type Decide = Box<dyn FnMut(&Call) -> Step + Send>;

/// See the module.
#[derive(Default)]
pub(super) struct Script {
    by_operation: BTreeMap<String, VecDeque<Step>>,
    any: VecDeque<Step>,
    otherwise: Option<Decide>,
}

impl Script {
    pub(super) fn list(&mut self, operation: &str, steps: impl IntoIterator<Item = Step>) {
        self.by_operation.entry(operation.to_owned()).or_default().extend(steps);
    }

    pub(super) fn list_any(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.any.extend(steps);
    }

    pub(super) fn otherwise(&mut self, decide: impl FnMut(&Call) -> Step + Send + 'static) {
        self.otherwise = Some(Box::new(decide));
    }

    pub(super) fn step(&mut self, call: &Call) -> Step {
        let listed = self.by_operation.get_mut(call.operation).and_then(VecDeque::pop_front);
        listed
            .or_else(|| self.any.pop_front())
            .or_else(|| self.otherwise.as_mut().map(|decide| decide(call)))
            .unwrap_or(Step::Pass)
    }
}
