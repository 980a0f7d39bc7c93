//! A batch's decisions, collected while it is worked on. Buckets are worked on at the same time, so nothing is printed
//! before the batch is done.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use limiter_aggregator::aggregate::{Observer, SkippedInput, Step};
use limiter_aggregator::plan::Group;
use limiter_aggregator::record::ReadRecord;

use crate::describe::{self, Decision};
use crate::names::Names;

/// Collects; see [`Report`].
pub struct Recorder<'n> {
    names: &'n Names,
    records: Cell<usize>,
    left_out: RefCell<Vec<LeftOut>>,
    /// By the place of the bucket's first record, which no other bucket has.
    buckets: RefCell<BTreeMap<usize, BucketReport>>,
}

/// All that one batch came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Records in the batch.
    pub records: usize,
    /// Those that changed no bucket, in their order.
    pub left_out: Vec<LeftOut>,
    /// Buckets in the order of their first records.
    pub buckets: Vec<BucketReport>,
}

/// A record that changed no bucket.
#[derive(Debug)]
pub struct LeftOut {
    /// Its place in the batch, from 1.
    pub record: usize,
    /// Why.
    pub why: String,
}

/// What was decided for one bucket.
#[derive(Debug)]
pub struct BucketReport {
    /// As it may be shown.
    pub name: String,
    /// In the order in which they were made.
    pub decisions: Vec<Decision>,
}

impl<'n> Recorder<'n> {
    /// A recorder for one batch.
    pub fn new(names: &'n Names) -> Self {
        Self {
            names,
            records: Cell::new(0),
            left_out: RefCell::default(),
            buckets: RefCell::default(),
        }
    }

    /// What was collected.
    pub fn into_report(self) -> Report {
        Report {
            records: self.records.get(),
            left_out: self.left_out.into_inner(),
            buckets: self.buckets.into_inner().into_values().collect(),
        }
    }
}

impl Observer for Recorder<'_> {
    fn batch(&self, records: usize) {
        self.records.set(records);
    }

    fn skipped(&self, read: &ReadRecord<'_>, reason: &SkippedInput) {
        self.left_out.borrow_mut().push(LeftOut {
            record: read.position.saturating_add(1),
            why: describe::left_out(reason),
        });
    }

    fn step(&self, group: &Group<'_>, step: &Step<'_>) {
        let first = group
            .changes
            .iter()
            .map(|change| change.position)
            .min()
            .unwrap_or(usize::MAX);
        let mut buckets = self.buckets.borrow_mut();
        let bucket = buckets.entry(first).or_insert_with(|| BucketReport {
            name: self.names.bucket(&group.key),
            decisions: Vec::new(),
        });
        bucket.decisions.push(describe::describe(step));
    }
}
