//! The archive's part of a batch: one upload for each day of which audit records expired (03-delivery, Archive).

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use super::outcome::{Ending, Failures, Unfinished};
use super::{Aggregator, ArchiveResult, Budget, Observer};
use crate::archive::{Archive, Day};
use crate::table::Table;

impl<T: Table, A: Archive> Aggregator<T, A> {
    /// One day, contained as a group is. What is owed is the day's lowest record; that buckets and usage behind it come
    /// again too changes nothing about them.
    pub(super) async fn keep(&self, day: &Day<'_>, budget: &Budget, observer: &impl Observer, failures: &Failures) {
        let upload = budget.limit(self.upload(day));
        let result = match AssertUnwindSafe(upload).catch_unwind().await {
            Ok(Some(result)) => result,
            Ok(None) => ArchiveResult::CutShort,
            // The payload may hold anything: it is dropped unseen.
            Err(_panic) => ArchiveResult::Panicked,
        };
        observer.archive(day, &result);
        if Ending::of_archive(&result).is_owed() {
            failures.add(Unfinished::of_day(day));
        }
    }

    async fn upload(&self, day: &Day<'_>) -> ArchiveResult {
        let archive = match &self.archive {
            Some(archive) if !self.settings.dry_run => archive,
            // Without an archive there is no day to keep.
            Some(_) | None => return ArchiveResult::DryRun,
        };
        match archive.put(&day.object()).await {
            Ok(()) => ArchiveResult::Stored,
            Err(fault) => ArchiveResult::Failed(fault),
        }
    }
}
