//! How a limit recovers, and by which schedules: read off a stored item (01-table, Kinds of limit; R1; ADR-137).
//!
//! Decides the kind of every limit once for every rule; refuses an item any of whose schedules will not decode. What
//! must stay true: a limit drips or resets, never both.

use crate::bucket::{ItemFields, Limit};
use crate::schedule::{ParameterSchedule, Parameters, ResetSchedule, ScheduleError, next_boundary};
use crate::units::{EpochMillis, Millitokens, ShardCount};

/// How a limit recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// Continuously, at a rate.
    Drip,
    /// Whole, at the edges of a reset schedule.
    Calendar,
    /// Whole, when a session window opens.
    Session,
    /// Not at all: a stored rate of zero without any reset is corrupt, and so is a rate without a period.
    Never,
}

/// A limit whose `tk`, `cp`, `ra` and `rp` are all integers; others take no part in R2 to R7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumericLimit {
    /// Balance in millitokens.
    pub balance: Millitokens,
    /// Undivided base parameters.
    pub base: Parameters,
}

impl NumericLimit {
    /// The four numbers, where all are there.
    pub fn of(limit: &Limit<'_>) -> Option<Self> {
        let base = Parameters {
            capacity: limit.capacity?,
            refill: limit.refill?,
            period_ms: limit.period_ms?,
        };
        Some(Self {
            balance: limit.balance?,
            base,
        })
    }
}

/// The schedules of one item, each distinct text decoded once.
#[derive(Debug, Default)]
pub struct ItemSchedules<'i> {
    parameters: Vec<(&'i str, ParameterSchedule)>,
    resets: Vec<(&'i str, ResetSchedule)>,
}

/// A limit's own text, else the item's; `-` blocks the item's. The empty text is no schedule.
fn in_force<'i>(own: Option<&'i str>, inherited: Option<&'i str>) -> Option<&'i str> {
    match own.filter(|text| !text.is_empty()) {
        Some("-") => None,
        Some(own) => Some(own),
        None => inherited.filter(|text| !text.is_empty()),
    }
}

impl<'i> ItemSchedules<'i> {
    /// Decodes the item's defaults and every limit's own schedules, in force or not.
    ///
    /// # Errors
    /// The first [`ScheduleError`]: the item is then left alone by R2 to R6.
    pub fn decode<'s>(
        fields: &ItemFields<'i>,
        limits: impl IntoIterator<Item = &'s Limit<'i>>,
    ) -> Result<Self, ScheduleError>
    where
        'i: 's,
    {
        let mut schedules = Self::default();
        schedules.add_parameters(fields, in_force(None, fields.sched))?;
        schedules.add_resets(fields, in_force(None, fields.rsched))?;
        for limit in limits {
            if !limit.is_wcu() {
                schedules.add_parameters(fields, in_force(limit.sched, fields.sched))?;
                schedules.add_resets(fields, in_force(limit.rsched, fields.rsched))?;
            }
        }
        Ok(schedules)
    }

    fn add_parameters(&mut self, fields: &ItemFields<'i>, text: Option<&'i str>) -> Result<(), ScheduleError> {
        let Some(text) = text else { return Ok(()) };
        if self.parameters.iter().all(|(known, _)| *known != text)
            && let Some(schedule) = ParameterSchedule::decode(text, fields.zone())?
        {
            self.parameters.push((text, schedule));
        }
        Ok(())
    }

    fn add_resets(&mut self, fields: &ItemFields<'i>, text: Option<&'i str>) -> Result<(), ScheduleError> {
        let Some(text) = text else { return Ok(()) };
        if self.resets.iter().all(|(known, _)| *known != text)
            && let Some(schedule) = ResetSchedule::decode(text, fields.zone())?
        {
            self.resets.push((text, schedule));
        }
        Ok(())
    }

    /// The parameter schedule in force for a limit; never one for `wcu` (R1).
    pub fn parameters(&self, fields: &ItemFields<'i>, limit: &Limit<'i>) -> Option<&ParameterSchedule> {
        let text = in_force(limit.sched, fields.sched).filter(|_| !limit.is_wcu())?;
        self.parameters
            .iter()
            .find(|(known, _)| *known == text)
            .map(|(_, schedule)| schedule)
    }

    /// The reset schedule in force for a limit; never one for `wcu`.
    pub fn resets(&self, fields: &ItemFields<'i>, limit: &Limit<'i>) -> Option<&ResetSchedule> {
        let text = in_force(limit.rsched, fields.rsched).filter(|_| !limit.is_wcu())?;
        self.resets
            .iter()
            .find(|(known, _)| *known == text)
            .map(|(_, schedule)| schedule)
    }

    /// How a limit recovers. A reset in force comes before everything, a window before a drip (01-table).
    pub fn recovery(&self, fields: &ItemFields<'i>, limit: &Limit<'i>, base: &Parameters) -> Recovery {
        if self.resets(fields, limit).is_some() {
            Recovery::Calendar
        } else if limit.window_length_s.is_some() && !limit.is_wcu() {
            Recovery::Session
        } else if base.refill > Millitokens::ZERO && base.period_ms > 0 {
            Recovery::Drip
        } else {
            Recovery::Never
        }
    }

    /// What a limit's parameters are at `now` (R1): scaled by schedule, not yet divided. `None` beyond 128 bits.
    pub fn effective(
        &self,
        fields: &ItemFields<'i>,
        limit: &Limit<'i>,
        base: Parameters,
        now: EpochMillis,
    ) -> Option<Parameters> {
        match self.parameters(fields, limit) {
            Some(schedule) => schedule.effective(base, now),
            None => Some(base),
        }
    }

    /// The earliest change of any active parameter entry and the earliest reset edge after `now`, over every
    /// schedule on the item, its defaults included (R6). `None` on an item without schedules.
    pub fn next_boundary(&self, now: EpochMillis) -> Option<EpochMillis> {
        let changes = self
            .parameters
            .iter()
            .filter_map(|(_, schedule)| next_boundary(Some(schedule), None, now));
        let edges = self
            .resets
            .iter()
            .filter_map(|(_, schedule)| next_boundary(None, Some(schedule), now));
        changes.chain(edges).min()
    }
}

/// A shard's part of a capacity: `wcu` is each partition's own budget and never divided (R1).
pub fn shard_share(limit: &Limit<'_>, amount: Millitokens, count: ShardCount) -> Millitokens {
    if limit.is_wcu() { amount } else { amount.share(count) }
}

/// The window start that a shard's balance reflects: its `wa`, or `rf` on older items (R4, ADR-140).
pub fn window_applied(limit: &Limit<'_>, last_refill: EpochMillis) -> EpochMillis {
    limit.window_applied.unwrap_or(last_refill)
}
