//! `replay schedule`: a compact schedule in words.

use limiter_aggregator::clock;
use limiter_aggregator::schedule::{
    Adjustment, ParameterSchedule, Parameters, ResetSchedule, ScheduleError, next_boundary,
};
use limiter_aggregator::units::{EpochMillis, Millitokens};

use crate::args::ScheduleArguments;
use crate::failure::Failure;
use crate::instant;
use crate::output::Output;

/// Explains the schedules.
///
/// # Errors
/// Where one will not decode.
pub fn explain(asked: &ScheduleArguments, output: &mut Output) -> Result<(), Failure> {
    let now = asked.now.unwrap_or_else(clock::now);
    let undecodable = |option: &'static str| move |error: ScheduleError| Failure::new(format!("{option}: {error}"));
    let sched = asked.sched.as_deref().unwrap_or_default();
    let rsched = asked.rsched.as_deref().unwrap_or_default();
    let parameters = ParameterSchedule::decode(sched, &asked.tz).map_err(undecodable("--sched"))?;
    let resets = ResetSchedule::decode(rsched, &asked.tz).map_err(undecodable("--rsched"))?;
    output.line(format!("at {}, cron fields in {}", instant::show(now), asked.tz));
    if let Some(schedule) = &parameters {
        explain_parameters(schedule, now, output);
    }
    if let Some(schedule) = &resets {
        explain_resets(schedule, now, output);
    }
    match next_boundary(parameters.as_ref(), resets.as_ref(), now) {
        Some(boundary) => output.line(format!("next boundary: {}", instant::show(boundary))),
        None => output.line("no schedule, so no boundary"),
    }
    explain_effective(asked, parameters.as_ref(), now, output)
}

fn explain_parameters(schedule: &ParameterSchedule, now: EpochMillis, output: &mut Output) {
    output.line("parameter schedule; the first entry that matches is in force:");
    let active = schedule.active_entry(now);
    for (at, entry) in schedule.entries().iter().enumerate() {
        let mark = if active == Some(at) { ", in force now" } else { "" };
        let number = at + 1;
        output.line(format!(
            "  {number}. {}: {}{mark}",
            entry.cron,
            adjustment_words(entry.adjustment)
        ));
    }
    if active.is_none() {
        output.line("  none in force now: the base applies");
    }
    output.line(format!(
        "  looked at again: {}",
        instant::show(schedule.next_change(now))
    ));
}

fn explain_resets(schedule: &ResetSchedule, now: EpochMillis, output: &mut Output) {
    output.line("reset schedule; a reset is due when an entry begins to match:");
    for (at, cron) in schedule.cron_texts().iter().enumerate() {
        output.line(format!("  {}. {cron}", at + 1));
    }
    match schedule.previous_edge(now) {
        Some(edge) => output.line(format!("  last edge: {}", instant::show(edge))),
        None => output.line("  last edge: none within reach"),
    }
    output.line(format!(
        "  next edge, or when to look again: {}",
        instant::show(schedule.next_edge(now))
    ));
}

fn adjustment_words(adjustment: Adjustment) -> String {
    match adjustment {
        Adjustment::Scale { per_mille } => {
            // Thousandths of the base read like millitokens of a token.
            format!("capacity and refill times {}", Millitokens(per_mille.into()))
        }
        Adjustment::Replace {
            capacity,
            refill,
            period_ms,
        } => {
            let parts = [
                capacity.map(|tokens| format!("capacity {tokens} tokens")),
                refill.map(|tokens| format!("refill {tokens} tokens")),
                period_ms.map(|ms| format!("refill period {}", period_words(ms))),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

/// A period in seconds, exact to the millisecond.
fn period_words(millis: i128) -> String {
    format!("{} s", Millitokens(millis))
}

/// The parameters in force, where any of the base was given.
fn explain_effective(
    asked: &ScheduleArguments,
    schedule: Option<&ParameterSchedule>,
    now: EpochMillis,
    output: &mut Output,
) -> Result<(), Failure> {
    if asked.cp.is_none() && asked.ra.is_none() && asked.rp.is_none() {
        return Ok(());
    }
    let amount = |given: Option<i64>| Millitokens(given.unwrap_or_default().into());
    let base = Parameters {
        capacity: amount(asked.cp),
        refill: amount(asked.ra),
        period_ms: asked.rp.unwrap_or_default().into(),
    };
    let effective = match schedule {
        Some(schedule) => schedule.effective(base, now),
        None => Some(base),
    };
    let effective = effective.ok_or_else(|| Failure::new("the effective parameters are out of range"))?;
    output.line("effective parameters, before division by the shard count:");
    output.line(format!("  capacity {} tokens", effective.capacity));
    output.line(format!(
        "  refill {} tokens every {}",
        effective.refill,
        period_words(effective.period_ms)
    ));
    Ok(())
}
