//! Reset schedules: the latest and the next rising edge (R3, R6, ADR-137).
//!
//! Decides when a calendar quota was last due for its full grant. An entry is a window of matching minutes and its
//! rising edge the first of them: a minute that matches where the minute before, in elapsed time, does not. Refuses
//! entries with a modifier. Must stay true: each entry has edges and a horizon of its own, windows of different
//! entries do not merge.

use super::boundary::edge_horizon;
use super::calendar::Direction;
use super::compact::{self, EntryFault, MODIFIER_TAGS, ScheduleError, Tokens};
use super::cron_fields::CronFields;
use super::zone::{UtcMinute, Zone, minute_of, start_of};
use crate::units::EpochMillis;

/// A decoded reset schedule: at least one entry, and the zone they are read in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetSchedule {
    zone: Zone,
    entries: Vec<CronFields>,
    /// The entries as stored, behind the version.
    text: Box<str>,
}

impl ResetSchedule {
    /// Decodes a compact reset schedule in an IANA zone (absent reads as `UTC`, which the caller passes).
    ///
    /// The empty string is no schedule, `Ok(None)`. An empty entry is every minute, which has no edge.
    ///
    /// # Errors
    /// Any text that is not exactly the stored form, an unknown zone or a date that can never occur.
    pub fn decode(compact: &str, zone: &str) -> Result<Option<Self>, ScheduleError> {
        let Some(body) = compact::entries(compact)? else {
            return Ok(None);
        };
        let zone = Zone::named(zone)?;
        let entries = compact::decode_entries(body, decode_entry)?;
        Ok(Some(Self {
            zone,
            entries,
            text: body.into(),
        }))
    }

    /// How many entries it has, at least 1.
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// The IANA name of its zone.
    pub fn zone(&self) -> &'static str {
        self.zone.name()
    }

    /// The crontab line each entry stands for, in order: `0 0 1 * *`.
    pub fn cron_texts(&self) -> Vec<String> {
        self.text
            .split(';')
            .filter_map(|entry| Tokens::of(entry).ok())
            .map(|tokens| tokens.cron_text())
            .collect()
    }

    /// The latest rising edge at or before `now` over all entries (R3), in epoch milliseconds.
    ///
    /// `None` where no entry has one within its horizon; the minute before an edge must lie within it too (R6).
    pub fn previous_edge(&self, now: EpochMillis) -> Option<EpochMillis> {
        let at = minute_of(now);
        let mut latest: Option<UtcMinute> = None;
        for entry in &self.entries {
            let horizon = minute_of(now.saturating_add(-edge_horizon(entry)));
            // Only an edge later than the latest so far matters: its minute before is that one at the earliest.
            let bound = latest.map_or(horizon, |latest| horizon.max(latest));
            latest = self.edge_before(entry, at, bound).or(latest);
        }
        latest.map(start_of)
    }

    /// The first rising edge after `now` over all entries (R6), in epoch milliseconds; for an entry without one
    /// within its horizon, `now` plus that horizon.
    pub fn next_edge(&self, now: EpochMillis) -> EpochMillis {
        let at = minute_of(now);
        let mut earliest = EpochMillis(i64::MAX);
        for entry in &self.entries {
            let horizon = now.saturating_add(edge_horizon(entry)).min(earliest);
            earliest = self.edge_after(entry, at, minute_of(horizon)).map_or(horizon, start_of);
        }
        earliest
    }

    /// The latest edge up to `at` whose minute before is not before `bound`.
    fn edge_before(&self, entry: &CronFields, at: UtcMinute, bound: UtcMinute) -> Option<UtcMinute> {
        let inside = self.zone.seek(entry, at, true, Direction::Backward, bound)?;
        let outside = self.zone.seek(entry, inside - 1, false, Direction::Backward, bound)?;
        Some(outside + 1)
    }

    /// The first edge later than `at`, up to `bound`.
    fn edge_after(&self, entry: &CronFields, at: UtcMinute, bound: UtcMinute) -> Option<UtcMinute> {
        let outside = if self.zone.matches(entry, at) {
            self.zone.seek(entry, at + 1, false, Direction::Forward, bound)?
        } else {
            at
        };
        self.zone.seek(entry, outside + 1, true, Direction::Forward, bound)
    }
}

fn decode_entry(entry: &str) -> Result<CronFields, EntryFault> {
    let tokens = Tokens::of(entry)?;
    match MODIFIER_TAGS
        .iter()
        .zip(tokens.modifiers)
        .find(|(_, value)| value.is_some())
    {
        Some((tag, _)) => Err(EntryFault::ModifierInReset(*tag)),
        None => CronFields::parse(&tokens),
    }
}
