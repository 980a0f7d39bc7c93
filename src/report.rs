//! What one batch came to: counts, one warning per kind of trouble, and how to find a bucket in the log without its id
//! (03-delivery, Logs and metrics).
//!
//! Decides what is said and how often. Refuses to say anything that could hold an entity id: buckets appear as keyed
//! hashes, faults as codes, records as event ids. What must stay true: a batch gives a bounded number of lines however
//! many records are odd, and everything that was decided is in some count.

mod counts;
mod decision;
mod metrics;
mod warnings;

pub use counts::{Counts, Skips};
pub use metrics::{Invocation, MetricsTarget, metrics_line};

use std::cell::RefCell;

use crate::aggregate::{ArchiveResult, Observer, SkippedInput, Step};
use crate::archive::Day;
use crate::correlation::Correlator;
use crate::plan::{Group, SkippedRecord};
use crate::record::ReadRecord;
use crate::units::ShardId;
use decision::{Decision, Trouble};
use warnings::{Kind, Warnings};

/// Decisions of a dry run that are shown in full; a longer batch only counts the rest.
const MOST_DECISIONS_SHOWN: u64 = 100;

/// Watches one batch.
#[derive(Debug)]
pub struct Report<'c> {
    correlator: &'c Correlator,
    dry_run: bool,
    counts: RefCell<Counts>,
    warnings: RefCell<Warnings>,
}

impl<'c> Report<'c> {
    /// A report on a batch that has yet to begin. In a dry run it also says what would have been written.
    pub fn new(correlator: &'c Correlator, dry_run: bool) -> Self {
        Self {
            correlator,
            dry_run,
            counts: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Says what went wrong, one line per kind, and hands out the counts.
    pub fn close(self) -> Counts {
        self.warnings.into_inner().say();
        self.counts.into_inner()
    }

    fn warn(&self, kind: Kind, example: Option<String>, detail: impl FnOnce() -> String) {
        self.warnings.borrow_mut().add(kind, example, detail);
    }

    /// No example is named: an object's key says when something happened to somebody.
    fn warn_archive(&self, operation: &'static str, code: &str) {
        let code = code.to_owned();
        self.warn(Kind::Archive { operation, code }, None, String::new);
    }

    /// The bucket as it may appear in the log: `hash/shard`, or the hash alone.
    fn name(&self, group: &Group<'_>, shard: Option<ShardId>) -> String {
        let tag = self.correlator.tag(&group.key);
        match shard {
            Some(shard) => format!("{tag}/{shard}"),
            None => tag.to_string(),
        }
    }

    /// What a dry run would have done is what an operator wants to see; otherwise decisions are for debugging.
    fn show(&self, group: &Group<'_>, decision: &Decision, written_so_far: u64) {
        let rule = decision.rule;
        if self.dry_run && decision.is_write {
            if written_so_far <= MOST_DECISIONS_SHOWN {
                tracing::info!(rule, bucket = self.name(group, decision.shard), "would write");
            }
        } else {
            tracing::debug!(rule, bucket = self.name(group, decision.shard), ending = ?decision.ending, "decided");
        }
    }
}

impl Observer for Report<'_> {
    fn batch(&self, records: usize) {
        self.counts.borrow_mut().records = number(records);
    }

    fn groups(&self, groups: usize) {
        self.counts.borrow_mut().groups = number(groups);
    }

    fn other_view(&self, read: &ReadRecord<'_>) {
        self.counts.borrow_mut().missing_images += 1;
        self.warn(Kind::View, event_id(read), || known_view(read).to_owned());
    }

    fn skipped(&self, read: &ReadRecord<'_>, reason: &SkippedInput) {
        self.counts.borrow_mut().add_skipped(reason);
        match reason {
            SkippedInput::Unreadable(error) => self.warn(Kind::Unreadable, event_id(read), || error.to_string()),
            SkippedInput::Record(SkippedRecord::Unreadable(error)) => {
                self.warn(Kind::Unreadable, event_id(read), || error.to_string());
            }
            SkippedInput::Record(SkippedRecord::MissingImage) if !read.has_other_view() => {
                self.counts.borrow_mut().missing_images += 1;
                self.warn(Kind::View, event_id(read), || known_view(read).to_owned());
            }
            SkippedInput::Record(
                SkippedRecord::MissingImage
                | SkippedRecord::NotABucket
                | SkippedRecord::Removed
                | SkippedRecord::NoEntity,
            ) => {}
        }
    }

    fn archive(&self, day: &Day<'_>, result: &ArchiveResult) {
        self.counts.borrow_mut().add_archive(number(day.records()), result);
        match result {
            ArchiveResult::Stored => {}
            ArchiveResult::DryRun => tracing::info!(rule = "archive", records = day.records(), "would write"),
            ArchiveResult::Failed(fault) => self.warn_archive(fault.operation, &fault.code),
            ArchiveResult::CutShort => self.warn_archive("PutObject", "deadline"),
            ArchiveResult::Panicked => self.warn_archive("PutObject", "panicked"),
        }
    }

    fn step(&self, group: &Group<'_>, step: &Step<'_>) {
        let decision = Decision::of(step);
        let written = {
            let mut counts = self.counts.borrow_mut();
            counts.add_step(step, &decision);
            counts.written
        };
        self.show(group, &decision, written);
        if let Some(Trouble { kind, example, detail }) = decision.trouble {
            let example = example.unwrap_or_else(|| self.name(group, decision.shard));
            self.warn(kind, Some(example), || detail);
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The event's id, unless it looks like something else.
fn event_id(read: &ReadRecord<'_>) -> Option<String> {
    read.event_id.as_deref().and_then(presentable_id)
}

fn presentable_id(id: &str) -> Option<String> {
    const LONGEST: usize = 64;
    let looks_like_one =
        !id.is_empty() && id.len() <= LONGEST && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    looks_like_one.then(|| id.to_owned())
}

fn known_view(read: &ReadRecord<'_>) -> &'static str {
    match read.view_type.as_deref() {
        None => "the stream does not say its view type",
        Some("KEYS_ONLY") => "the stream's view type is KEYS_ONLY",
        Some("NEW_IMAGE") => "the stream's view type is NEW_IMAGE",
        Some("OLD_IMAGE") => "the stream's view type is OLD_IMAGE",
        Some("NEW_AND_OLD_IMAGES") => "an image is missing although the view type is NEW_AND_OLD_IMAGES",
        Some(_) => "the stream's view type is unknown",
    }
}
