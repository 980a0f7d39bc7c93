//! What records that the stream gave up add to a snapshot afterwards (03-delivery, Dead letters).
//!
//! Decides what became of each record by what the snapshot says of its bucket shard: the guard (R12), and the marker,
//! which names the runs of records that were counted afterwards. Refuses to count a record below the guard unless it is
//! told to, because the snapshot does not say whether it was counted before the guard passed it. What must stay true: a
//! record that was counted afterwards lies in the marker from the same write on, whichever way it was counted, so that
//! no second run, of the same range or of another one that holds the record too, counts it again.

use std::collections::BTreeMap;

use super::super::guard::{Guard, guard_attribute};
use super::super::tally::RecordUsage;
use super::{LimitTotal, Snapshot, Sum};
use crate::item::{AttributeValue, Item, text};
use crate::record::SequenceNumber;
use crate::units::ShardId;
use crate::write::{Action, Condition, Update};

/// The attribute that holds a shard's marker: `first~last`, as guards are stored, separated by spaces. Text, which the
/// clients' readers pass over.
pub fn redriven_attribute(shard: ShardId) -> String {
    format!("#redriven{shard}")
}

/// What a snapshot says of a record that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Nothing later of its bucket shard was counted: it is counted as the stream would have had it counted.
    Due,
    /// A later change was counted, and the snapshot does not say whether this one was before.
    Overtaken,
    /// The guard is one of the range's own records: a delivery counted up to there.
    Counted,
    /// It was counted afterwards, in an earlier run.
    Redriven,
}

/// Records of one bucket shard with one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedriveRow<'i> {
    /// The bucket shard.
    pub shard: ShardId,
    /// What the snapshot says of the records.
    pub fate: Fate,
    /// How many they are.
    pub records: usize,
    /// What they add or have added, by limit.
    pub limits: BTreeMap<&'i str, LimitTotal>,
    /// Sequence number of the first.
    pub first: &'i SequenceNumber<'i>,
    /// Sequence number of the last.
    pub last: &'i SequenceNumber<'i>,
}

/// One write of what is to be counted.
#[derive(Clone, PartialEq, Eq)]
pub struct RedriveWrite {
    /// The write.
    pub update: Update,
    /// Whether it counts what was overtaken.
    pub counts_overtaken: bool,
}

/// What is left to do for one snapshot.
#[derive(Clone, PartialEq, Eq)]
pub struct RedrivePlan<'i> {
    /// Every record of the snapshot, by shard and fate.
    pub rows: Vec<RedriveRow<'i>>,
    /// The write; `None` where nothing is to be counted.
    pub write: Option<RedriveWrite>,
}

/// A marker that this program did not write: what was counted cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the marker of shard {shard} cannot be read")]
pub struct UnreadableMarker {
    /// Whose marker.
    pub shard: ShardId,
}

/// Runs of records that were counted afterwards: guards of the first and the last of each, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marker(Vec<(String, String)>);

impl Marker {
    fn of(shard: ShardId, stored: Option<&AttributeValue>) -> Result<Self, UnreadableMarker> {
        let unreadable = UnreadableMarker { shard };
        let text = match stored {
            None => return Ok(Self::default()),
            Some(AttributeValue::S(text)) => text,
            Some(_) => return Err(unreadable),
        };
        let run = |run: &str| {
            let (first, last) = run.split_once('~')?;
            (first <= last).then(|| (first.to_owned(), last.to_owned()))
        };
        text.split(' ')
            .map(run)
            .collect::<Option<_>>()
            .map(Self)
            .ok_or(unreadable)
    }

    fn holds(&self, guard: &str) -> bool {
        self.0
            .iter()
            .any(|(first, last)| (first.as_str()..=last).contains(&guard))
    }

    /// With these runs too; none of them meets one that is there.
    fn with(mut self, runs: Vec<(&Guard, &Guard)>) -> Self {
        let owned = |(first, last): (&Guard, &Guard)| (first.as_str().to_owned(), last.as_str().to_owned());
        self.0.extend(runs.into_iter().map(owned));
        self.0.sort();
        self
    }

    fn stored(&self) -> AttributeValue {
        let runs: Vec<String> = self.0.iter().map(|(first, last)| format!("{first}~{last}")).collect();
        text(runs.join(" "))
    }
}

impl<'i> Snapshot<'_, 'i> {
    /// What the records of a range add to the snapshot as it was found, `None` where there is none.
    ///
    /// # Errors
    /// Where a marker cannot be read; nothing of the snapshot can be counted then.
    pub fn redrive(&self, found: Option<&Item>, count_overtaken: bool) -> Result<RedrivePlan<'i>, UnreadableMarker> {
        let stored = |attribute: &str| found.and_then(|item| item.get(attribute)).cloned();
        let (mut rows, mut sum, mut is_overtaken) = (Vec::new(), Sum::default(), false);
        let (mut changes, mut conditions) = (Vec::new(), Vec::new());
        for (&shard, records) in &self.shards {
            let (guard_name, marker_name) = (guard_attribute(shard), redriven_attribute(shard));
            let (guard, marked) = (stored(&guard_name), stored(&marker_name));
            let marker = Marker::of(shard, marked.as_ref())?;
            let fates = fates(records, guard.as_ref(), &marker);
            rows.extend(rows_of(shard, records, &fates));
            let is_counted = |fate: Fate| fate == Fate::Due || fate == Fate::Overtaken && count_overtaken;
            let counted = || records.iter().zip(&fates).filter(|(_, fate)| is_counted(**fate));
            if counted().next().is_none() {
                continue;
            }
            for (record, fate) in counted() {
                sum.add(record);
                is_overtaken |= *fate == Fate::Overtaken;
            }
            if let Some((last, _)) = counted().rfind(|(_, fate)| **fate == Fate::Due) {
                changes.push(Action::Set {
                    attribute: guard_name.clone(),
                    value: text(last.guard.as_str()),
                });
            }
            changes.push(Action::Set {
                attribute: marker_name.clone(),
                value: marker.with(runs(records, &fates, is_counted)).stored(),
            });
            // The fates are those of exactly what was found.
            conditions.push(Condition::as_read(guard_name, guard));
            conditions.push(Condition::as_read(marker_name, marked));
        }
        let write = (sum.records > 0).then(|| RedriveWrite {
            update: self.update(sum.additions().chain(changes), conditions),
            counts_overtaken: is_overtaken,
        });
        Ok(RedrivePlan { rows, write })
    }
}

fn fates(records: &[&RecordUsage<'_>], guard: Option<&AttributeValue>, marker: &Marker) -> Vec<Fate> {
    // A guard that is no text says nothing about what was counted; the write replaces it.
    let guard = match guard {
        Some(AttributeValue::S(guard)) => Some(guard.as_str()),
        _ => None,
    };
    // Its record went with all before it that were delivered then, unless it was counted alone afterwards.
    let is_own =
        guard.is_some_and(|guard| !marker.holds(guard) && records.iter().any(|record| record.guard.as_str() == guard));
    let fate = |record: &&RecordUsage<'_>| {
        let place = record.guard.as_str();
        match guard {
            _ if marker.holds(place) => Fate::Redriven,
            Some(guard) if place <= guard && is_own => Fate::Counted,
            Some(guard) if place <= guard => Fate::Overtaken,
            _ => Fate::Due,
        }
    };
    records.iter().map(fate).collect()
}

fn rows_of<'i>(shard: ShardId, records: &[&RecordUsage<'i>], fates: &[Fate]) -> Vec<RedriveRow<'i>> {
    let mut rows: BTreeMap<Fate, (Sum<'i>, &'i SequenceNumber<'i>, &'i SequenceNumber<'i>)> = BTreeMap::new();
    for (record, fate) in records.iter().zip(fates) {
        let (sum, _, last) = rows
            .entry(*fate)
            .or_insert_with(|| (Sum::default(), record.sequence, record.sequence));
        sum.add(record);
        *last = record.sequence;
    }
    let row = |(fate, (sum, first, last)): (Fate, (Sum<'i>, _, _))| RedriveRow {
        shard,
        fate,
        records: sum.records,
        limits: sum.limits,
        first,
        last,
    };
    rows.into_iter().map(row).collect()
}

/// Runs of neighbours that are counted now.
fn runs<'r>(
    records: &'r [&RecordUsage<'_>],
    fates: &[Fate],
    is_counted: impl Fn(Fate) -> bool,
) -> Vec<(&'r Guard, &'r Guard)> {
    let mut runs: Vec<(&Guard, &Guard)> = Vec::new();
    let mut goes_on = false;
    for (record, fate) in records.iter().zip(fates) {
        let counted = is_counted(*fate);
        match runs.last_mut() {
            Some((_, last)) if counted && goes_on => *last = &record.guard,
            _ if counted => runs.push((&record.guard, &record.guard)),
            _ => {}
        }
        goes_on = counted;
    }
    runs
}
