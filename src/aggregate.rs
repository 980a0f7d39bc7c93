//! One batch, from the event's text to the answer for the stream: decode, group, plan, execute (03-delivery).
//!
//! Decides the order of work and what is reported for redelivery; how a balance moves is decided in [`crate::plan`],
//! how a write is carried out in [`crate::table`]. What must stay true: only usage, the reads and raises of a
//! propagation, windows and the archive are ever reported; nothing is reported as done that was not.

// One bucket's panic is contained, which takes unwinding.
#[cfg(not(panic = "unwind"))]
compile_error!("this program needs `panic = \"unwind\"`; a build tool has set another strategy");

mod archive;
mod budget;
mod group;
mod ledger;
mod observe;
mod outcome;
mod propagation;
mod usage;
mod windows;

pub use budget::Budget;
pub use observe::{ArchiveResult, NewShardResult, Observer, SkippedInput, Step, WriteResult};
pub use outcome::{BatchOutcome, Ending};

use std::panic::AssertUnwindSafe;

use futures::future::Either;
use futures::{FutureExt, StreamExt};

use crate::archive::{Archive, ExpiredAudit, NoArchive, days};
use crate::config::Settings;
use crate::plan::{BucketChange, Group, group_changes};
use crate::record::{EventError, ReadRecord, read_event};
use crate::table::Table;
use crate::units::EpochMillis;
use ledger::Ledger;
use outcome::Failures;
use usage::WarnedNames;

/// Works on batches against one table.
pub struct Aggregator<T, A = NoArchive> {
    table: T,
    archive: Option<A>,
    settings: Settings,
}

impl<T: Table> Aggregator<T> {
    /// An aggregator for a table.
    pub fn new(table: T, settings: Settings) -> Self {
        Self {
            table,
            archive: None,
            settings,
        }
    }
}

impl<T: Table, A: Archive> Aggregator<T, A> {
    /// The same with an archive for audit records that expire; without one they are left out.
    pub fn archiving_to<B: Archive>(self, archive: Option<B>) -> Aggregator<T, B> {
        Aggregator {
            table: self.table,
            archive,
            settings: self.settings,
        }
    }

    /// The table it works on.
    pub fn table(&self) -> &T {
        &self.table
    }

    /// Works on one event. `now` is the instant that every rule sees; `budget` says when to stop starting work.
    /// Every decision is shown to the observer as it is made.
    ///
    /// # Errors
    /// Only when the text is no stream event at all: nothing can be said about any record.
    pub async fn handle(
        &self,
        event: &str,
        now: EpochMillis,
        budget: &Budget,
        observer: &impl Observer,
    ) -> Result<BatchOutcome, EventError> {
        let records = read_event(event)?;
        observer.batch(records.len());
        for read in records.iter().filter(|read| read.has_other_view()) {
            observer.other_view(read);
        }
        let mut expired = Vec::new();
        let changes = records.iter().filter_map(|read| match self.expired_audit(read, now) {
            Some(audit) => {
                expired.push(audit);
                None
            }
            None => readable_change(read, observer),
        });
        let groups = group_changes(changes);
        observer.groups(groups.len());
        let shared = Shared::default();
        let days = days(expired);
        let uploads = days
            .iter()
            .map(|day| Either::Left(self.keep(day, budget, observer, &shared.failures)));
        let work = groups
            .iter()
            .map(|group| Either::Right(self.work_on(group, now, budget, observer, &shared)));
        futures::stream::iter(uploads.chain(work))
            .buffer_unordered(self.settings.max_in_flight)
            .collect::<()>()
            .await;
        Ok(shared.failures.into_outcome())
    }

    /// The record as an audit record that expired, if such are archived.
    fn expired_audit<'i>(&self, read: &'i ReadRecord<'i>, now: EpochMillis) -> Option<ExpiredAudit<'i>> {
        self.archive.as_ref()?;
        ExpiredAudit::of(read.record.as_ref().ok()?, now)
    }

    /// One group, contained: neither a panic nor the deadline touches its neighbours.
    async fn work_on(
        &self,
        group: &Group<'_>,
        now: EpochMillis,
        budget: &Budget,
        observer: &impl Observer,
        shared: &Shared,
    ) {
        let ledger = Ledger::default();
        let run = group::GroupRun {
            table: &self.table,
            settings: &self.settings,
            group,
            now,
            budget,
            observer,
            warned_names: &shared.warned_names,
            ledger: &ledger,
        };
        let owed = match AssertUnwindSafe(run.run()).catch_unwind().await {
            Ok(true) => ledger.owed(),
            Ok(false) => {
                observer.step(group, &Step::CutShort);
                ledger.owed()
            }
            Err(_panic) => {
                // The payload may hold anything, an entity id included: it is dropped unseen.
                observer.step(group, &Step::Panicked);
                ledger.owed_despite_panic()
            }
        };
        shared.failures.add(owed);
    }
}

/// What a batch's groups have in common.
#[derive(Default)]
struct Shared {
    failures: Failures,
    warned_names: WarnedNames,
}

/// A record as a bucket change; everything else is shown to the observer with its reason.
fn readable_change<'i>(read: &'i ReadRecord<'i>, observer: &impl Observer) -> Option<BucketChange<'i>> {
    let skipped = match &read.record {
        Ok(record) => match BucketChange::read(read.position, record) {
            Ok(change) => return Some(change),
            Err(reason) => SkippedInput::Record(reason),
        },
        Err(error) => SkippedInput::Unreadable(error.clone()),
    };
    observer.skipped(read, &skipped);
    None
}
