//! Schedules from outside: known behaviours, a slow oracle that looks at every minute, and another cron library.

mod against_cron_crate;
mod against_every_minute;
mod behaviours;
mod oracle;
mod texts;
