//! Parameter schedules: what capacity, refill and period are in force (R1), and when that changes (R6).
//!
//! Decides which entry is active, the first that matches, and what it makes of the base. Refuses entries without a
//! modifier or with both kinds. Must stay true: whole numbers only, and an amount that leaves 128 bits is reported,
//! never wrapped.

use super::boundary::change_horizon;
use super::calendar::Direction;
use super::compact::{self, EntryFault, Excerpt, MODIFIER_TAGS, ScheduleError, Tokens};
use super::cron_fields::CronFields;
use super::zone::{UtcMinute, Zone, minute_of, start_of};
use crate::units::{EpochMillis, MILLITOKENS_PER_TOKEN, Millitokens};

/// Largest stored scale (per mille), capacity (tokens), refill amount (tokens) and refill period (seconds), in the
/// order of [`MODIFIER_TAGS`].
const LIMITS: [u64; 4] = [1_000_000, 1_000_000_000_000_000, 1_000_000_000_000_000, 1_000_000_000];

const PER_MILLE: i128 = 1000;
const MILLIS_PER_SECOND: i128 = 1000;

/// One limit's parameters for the whole entity, before division by the shard count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// `cp`.
    pub capacity: Millitokens,
    /// `ra`, refilled once per period.
    pub refill: Millitokens,
    /// `rp`, in milliseconds.
    pub period_ms: i128,
}

/// What a parameter entry does while it is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// Capacity and refill times this many thousandths.
    Scale {
        /// 1 to 1,000,000.
        per_mille: u32,
    },
    /// Each value given replaces the base's; at least one is.
    Replace {
        /// `c`.
        capacity: Option<Millitokens>,
        /// `a`.
        refill: Option<Millitokens>,
        /// `p`, in milliseconds.
        period_ms: Option<i128>,
    },
}

impl Adjustment {
    /// The parameters this makes of `base` (R1); `None` beyond 128 bits.
    ///
    /// A scaled amount is rounded toward zero, then raised to 1 millitoken, so that a limit is never scaled away
    /// altogether; a refill of 0 stays 0, because the limit recovers by reset.
    pub fn apply(self, base: Parameters) -> Option<Parameters> {
        match self {
            Self::Scale { per_mille } => {
                let scale = |amount: Millitokens| {
                    let product = amount.0.checked_mul(i128::from(per_mille))?;
                    Some(Millitokens((product / PER_MILLE).max(1)))
                };
                let refill = if base.refill == Millitokens::ZERO {
                    base.refill
                } else {
                    scale(base.refill)?
                };
                Some(Parameters {
                    capacity: scale(base.capacity)?,
                    refill,
                    period_ms: base.period_ms,
                })
            }
            Self::Replace {
                capacity,
                refill,
                period_ms,
            } => Some(Parameters {
                capacity: capacity.unwrap_or(base.capacity),
                refill: refill.unwrap_or(base.refill),
                period_ms: period_ms.unwrap_or(base.period_ms),
            }),
        }
    }

    fn decode(tokens: &Tokens<'_>) -> Result<Self, EntryFault> {
        let mut values = [None; 4];
        for (at, text) in tokens.modifiers.iter().enumerate() {
            values[at] = text
                .map(|text| positive(MODIFIER_TAGS[at], text, LIMITS[at]))
                .transpose()?;
        }
        // No overflow: the limits keep every product far inside 128 bits.
        let tokens = |value: u64| Millitokens(i128::from(value) * MILLITOKENS_PER_TOKEN);
        match values {
            [None, None, None, None] => Err(EntryFault::NoModifier),
            [Some(per_mille), None, None, None] => Ok(Self::Scale {
                per_mille: u32::try_from(per_mille).unwrap_or(u32::MAX),
            }),
            [None, capacity, refill, period] => Ok(Self::Replace {
                capacity: capacity.map(tokens),
                refill: refill.map(tokens),
                period_ms: period.map(|seconds| i128::from(seconds) * MILLIS_PER_SECOND),
            }),
            [Some(_), ..] => Err(EntryFault::ScaleAndReplacement),
        }
    }
}

fn positive(tag: char, text: &str, limit: u64) -> Result<u64, EntryFault> {
    match compact::digits(text) {
        None | Some(0) => Err(EntryFault::NotPositive {
            tag,
            text: Excerpt::of(text),
        }),
        Some(value) if value > limit => Err(EntryFault::TooLarge {
            tag,
            text: Excerpt::of(text),
            limit,
        }),
        Some(value) => Ok(value),
    }
}

/// One entry of a parameter schedule, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterEntry {
    /// The crontab line it stands for: `* 9-17 * * 1-5`.
    pub cron: String,
    /// What it does while it is active.
    pub adjustment: Adjustment,
}

/// A decoded parameter schedule: at least one entry, and the zone they are read in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSchedule {
    zone: Zone,
    entries: Vec<(CronFields, Adjustment)>,
    /// The entries as stored, behind the version.
    text: Box<str>,
}

impl ParameterSchedule {
    /// Decodes a compact parameter schedule in an IANA zone (absent reads as `UTC`, which the caller passes).
    ///
    /// The empty string is no schedule, `Ok(None)`.
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

    /// Its entries in order, as a person reads them.
    pub fn entries(&self) -> Vec<ParameterEntry> {
        let crons = self
            .text
            .split(';')
            .filter_map(|entry| Tokens::of(entry).ok())
            .map(|tokens| tokens.cron_text());
        let adjustments = self.entries.iter().map(|(_, adjustment)| *adjustment);
        crons
            .zip(adjustments)
            .map(|(cron, adjustment)| ParameterEntry { cron, adjustment })
            .collect()
    }

    /// The entry in force at `now`, counted from 0: the first that matches (R1).
    pub fn active_entry(&self, now: EpochMillis) -> Option<usize> {
        self.active_at(minute_of(now))
    }

    /// The parameters in force at `now` (R1): what the active entry makes of `base`, or `base` where none is active.
    /// `None` beyond 128 bits.
    pub fn effective(&self, base: Parameters, now: EpochMillis) -> Option<Parameters> {
        match self.active_entry(now).and_then(|at| self.entries.get(at)) {
            Some((_, adjustment)) => adjustment.apply(base),
            None => Some(base),
        }
    }

    /// The first minute after `now` at which another entry than now's is active, or none is (R6), in epoch
    /// milliseconds; `now` plus the horizon where that is not within it.
    pub fn next_change(&self, now: EpochMillis) -> EpochMillis {
        let at = minute_of(now);
        let active = self.active_at(at);
        let horizon = now.saturating_add(change_horizon(self.entries.iter().map(|(fields, _)| fields)));
        let mut bound = minute_of(horizon);
        let mut change = None;
        // The active entry gives way when it ends or an earlier one begins; entries after it cannot matter.
        for (position, (fields, _)) in self.entries.iter().enumerate() {
            let is_active = active == Some(position);
            if let Some(found) = self.zone.seek(fields, at + 1, !is_active, Direction::Forward, bound) {
                change = Some(found);
                bound = found;
            }
            if is_active {
                break;
            }
        }
        change.map_or(horizon, start_of)
    }

    fn active_at(&self, at: UtcMinute) -> Option<usize> {
        self.entries
            .iter()
            .position(|(fields, _)| self.zone.matches(fields, at))
    }
}

fn decode_entry(entry: &str) -> Result<(CronFields, Adjustment), EntryFault> {
    if entry.is_empty() {
        return Err(EntryFault::Empty);
    }
    let tokens = Tokens::of(entry)?;
    let adjustment = Adjustment::decode(&tokens)?;
    Ok((CronFields::parse(&tokens)?, adjustment))
}
