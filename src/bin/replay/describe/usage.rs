//! Usage snapshots in words (R12).

use limiter_aggregator::aggregate::WriteResult;
use limiter_aggregator::key::window_start_text;
use limiter_aggregator::plan::usage::{LeftOut, Snapshot, SnapshotWrite, Uncounted, UncountedReason};
use limiter_aggregator::write::{Action, Comparison, Condition};

use super::{Decision, Verdict, fault_words};
use crate::names::printable;
use crate::totals::counted;

const RULE: &str = "usage";

pub(super) fn describe(
    snapshot: &Snapshot<'_, '_>,
    write: Option<&SnapshotWrite<'_>>,
    left_out: LeftOut,
    result: Option<&WriteResult>,
) -> Decision {
    let name = format!(
        "the {} snapshot of {}",
        snapshot.window.kind.as_str(),
        window_start_text(snapshot.window.start).unwrap_or_default()
    );
    let repeats = repeats(left_out);
    let Some(write) = write else {
        return Decision::nothing(None, RULE, format!("{name} has counted every record before{repeats}"));
    };
    let why = format!("{name}: {}{repeats}", additions(write));
    let (verdict, why) = match result {
        Some(WriteResult::Applied) => (Verdict::Written, why),
        Some(WriteResult::DryRun) | None => (Verdict::DryRun, why),
        Some(WriteResult::LostRace) => (
            Verdict::Failed,
            format!("{why}; but somebody else kept changing it, which may pass"),
        ),
        Some(WriteResult::Failed(fault)) => (Verdict::Failed, format!("{why}; but {}", fault_words(fault))),
    };
    Decision {
        verdict,
        changes: added(write),
        conditions: write.update.conditions.iter().map(condition).collect(),
        ..Decision::nothing(None, RULE, why)
    }
}

fn additions(write: &SnapshotWrite<'_>) -> String {
    let limits = write.limits.iter().map(|(limit, total)| match total.overdrafts {
        0 => format!("{} {:+}", printable(limit), total.tokens),
        overdrafts => format!(
            "{} {:+} ({} into debt)",
            printable(limit),
            total.tokens,
            counted(usize::try_from(overdrafts).unwrap_or(usize::MAX), "time")
        ),
    });
    let limits: Vec<String> = limits.collect();
    format!("{} in {}", limits.join(", "), counted(write.records, "record"))
}

/// What the write adds: whole tokens, and counts. What the item says of itself repeats the entity id.
fn added(write: &SnapshotWrite<'_>) -> Vec<String> {
    let actions = write.update.actions.iter();
    let added = actions.filter_map(|action| match action {
        Action::Add { attribute, delta } => Some(format!("{} {delta:+}", printable(attribute))),
        _ => None,
    });
    added.collect()
}

/// The guard's value is a place in the stream, of which only the order matters.
fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Absent(guard) => format!("{guard} is absent"),
        Condition::Compare(guard, Comparison::Equal, _) => format!("{guard} is as it was found"),
        Condition::Any(either) => either.iter().map(self::condition).collect::<Vec<_>>().join(" or "),
        Condition::All(all) => all.iter().map(self::condition).collect::<Vec<_>>().join(" and "),
        Condition::Exists(guard) | Condition::Compare(guard, ..) => format!("{guard} is below these records"),
    }
}

fn repeats(left_out: LeftOut) -> String {
    let LeftOut { repeats, beyond } = left_out;
    let mut words = String::new();
    if repeats > 0 {
        words.push_str(&format!("; {} counted before", counted(repeats, "record")));
    }
    if beyond > 0 {
        words.push_str(&format!(
            "; {} below what later batches have counted",
            counted(beyond, "record")
        ));
    }
    words
}

pub(super) fn uncounted(record: &Uncounted<'_>) -> Decision {
    Decision::nothing(Some(record.shard), RULE, uncounted_words(record.reason))
}

/// Why a record's usage is in no snapshot.
pub fn uncounted_words(reason: UncountedReason) -> &'static str {
    match reason {
        UncountedReason::BeforeTakeover => "a record was created before USAGE_NOT_BEFORE",
        UncountedReason::NoSequence => "a record has no sequence number, so a repeat could not be told from it",
        UncountedReason::ShardBeyondLimit => "a record is of a shard beyond the 32 that may exist",
        UncountedReason::NoInstant => "a record has neither a creation time nor an rf that could be read",
        UncountedReason::AmountBeyondRange => "a record's amount is beyond 128 bits",
    }
}

pub(super) fn reserved_name(limit: &str) -> Decision {
    let limit = printable(limit);
    Decision::nothing(
        None,
        RULE,
        format!("the limit {limit} is left out: the snapshot has an attribute of that name"),
    )
}
