//! What an observer sees of usage.

use std::cell::RefCell;

use limiter_aggregator::aggregate::{Observer, SkippedInput, Step, WriteResult};
use limiter_aggregator::plan::Group;
use limiter_aggregator::plan::usage::UncountedReason;
use limiter_aggregator::record::ReadRecord;

/// One snapshot's step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSeen {
    pub window: &'static str,
    /// Events of the last planned write; none where nothing was left to write.
    pub events: Option<u64>,
    pub repeats: usize,
    pub beyond: usize,
    pub calls: u32,
    pub result: Option<WriteResult>,
}

/// Collects usage steps, and names every other one.
#[derive(Debug, Default)]
pub struct Seen {
    pub snapshots: RefCell<Vec<SnapshotSeen>>,
    pub uncounted: RefCell<Vec<UncountedReason>>,
    pub reserved: RefCell<Vec<String>>,
    pub others: RefCell<Vec<String>>,
}

impl Observer for Seen {
    fn batch(&self, _: usize) {}

    fn skipped(&self, _: &ReadRecord<'_>, _: &SkippedInput) {}

    fn step(&self, _: &Group<'_>, step: &Step<'_>) {
        match step {
            Step::Usage {
                snapshot,
                write,
                left_out,
                calls,
                result,
            } => self.snapshots.borrow_mut().push(SnapshotSeen {
                window: snapshot.window.kind.as_str(),
                events: write.map(|write| write.events),
                repeats: left_out.repeats,
                beyond: left_out.beyond,
                calls: *calls,
                result: (*result).cloned(),
            }),
            Step::UsageUncounted(record) => self.uncounted.borrow_mut().push(record.reason),
            Step::UsageReservedName { limit } => self.reserved.borrow_mut().push((*limit).to_owned()),
            other => {
                let name = format!("{other:?}");
                let end = name.find([' ', '(']).unwrap_or(name.len());
                self.others.borrow_mut().push(name[..end].to_owned());
            }
        }
    }
}
