//! Calendar schedules: which parameters are in force, when a quota was last reset, when either changes next.
//!
//! Decides: what a compact schedule text means (01-table, "Compact schedules"), the effective parameters (R1), the
//! latest rising edge of a reset schedule (R3, ADR-137) and the next boundary with its search horizons (R6).
//! Refuses: any text that is not exactly the stored form. One bad entry refuses the whole schedule, because the
//! part that does decode would refill at a rate nobody asked for.
//! Must stay true: the same text, zone and instant give the same answer as in the clients, or a quota is granted
//! twice; no input panics; no float takes part; nothing here reads a clock.
//!
//! Time is sampled as the clients sample it: once per minute of UTC, at the minute's start. A minute matches if the
//! zone's local time at that instant does. So an hour that the zone skips never matches and a repeated one matches
//! twice, without any rule for either. Nothing matches outside the years 1 to 9999.
//!
//! - `compact`: the text of a schedule, taken apart into tokens;
//! - `cron_fields`: five cron fields as bit sets;
//! - `calendar`: those sets searched in plain local time, a month or an hour at a step;
//! - `zone`: the same search in real time, across the zone's transitions;
//! - `parameters`, `resets`: the two kinds of schedule; `boundary`: horizons and the earliest of both.

mod boundary;
mod calendar;
mod compact;
mod cron_fields;
mod parameters;
mod resets;
mod zone;

pub use boundary::next_boundary;
pub use compact::{EntryFault, Excerpt, ScheduleError};
pub use cron_fields::FieldName;
pub use parameters::{Adjustment, ParameterEntry, ParameterSchedule, Parameters};
pub use resets::ResetSchedule;
