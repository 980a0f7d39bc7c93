//! Window propagation (R11, ADR-140): what the opener of a session window tells its siblings, repeated, so that a
//! client's lost write heals within one batch.
//!
//! Decides which changes opened a window, which siblings must be read, and which of those lag. Refuses windows that
//! have ended and siblings in a live window of their own. What must stay true: only a start travels, never tokens;
//! a start is written only over a window that had ended by then.

use std::collections::{BTreeMap, BTreeSet};

use super::group::Group;
use super::recovery::{ItemSchedules, NumericLimit, Recovery};
use super::shard_state::ShardState;
use crate::bucket::{Bucket, Limit, LimitField, WCU, attribute};
use crate::item::{Item, number};
use crate::record::SequenceNumber;
use crate::units::{EpochMillis, MAX_SHARD_COUNT, Millitokens, ShardCount, ShardId};
use crate::write::{Action, Comparison, Condition, Update};

/// A window that a change shows to be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening<'s> {
    /// The session quota.
    pub limit: &'s str,
    /// The window's start.
    pub start: EpochMillis,
    /// The window's length in seconds.
    pub length_s: i64,
    /// The shard that opened or joined it.
    pub shard: ShardId,
    /// The record that shows it, for redelivery.
    pub sequence: Option<&'s SequenceNumber<'s>>,
}

impl Opening<'_> {
    fn length_ms(&self) -> i64 {
        self.length_s.saturating_mul(1000)
    }

    /// A sibling's own window had ended by the start if it began at or before this.
    fn latest_ended_start(&self) -> EpochMillis {
        self.start.saturating_add(-self.length_ms())
    }
}

/// What a group's batch asks of its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowPlan<'s> {
    /// The newest live start of each limit, by name.
    pub openings: Vec<Opening<'s>>,
    /// The shards to read, once for all openings; empty where the batch's own images show every one at its start.
    pub reads: Vec<ShardId>,
    /// Shards as far as any image counted them.
    pub count: ShardCount,
}

/// A start to be written to a sibling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowWrite<'s> {
    /// The window.
    pub opening: Opening<'s>,
    /// The sibling.
    pub shard: ShardId,
    /// The typed write.
    pub update: Update,
}

/// Plans the propagation of the windows that a group's changes opened. `None` where they opened none that is live.
pub fn plan_windows<'s>(
    group: &'s Group<'_>,
    states: &BTreeMap<ShardId, ShardState<'s>>,
    now: EpochMillis,
) -> Option<WindowPlan<'s>> {
    let mut newest: BTreeMap<&str, Opening<'s>> = BTreeMap::new();
    for change in &group.changes {
        let opened = opened_by(change);
        for opening in opened
            .into_iter()
            .filter(|opening| opening.start.saturating_add(opening.length_ms()) > now)
        {
            let known = newest.entry(opening.limit).or_insert(opening);
            if opening.start > known.start {
                *known = opening;
            }
        }
    }
    if newest.is_empty() {
        return None;
    }
    let openings: Vec<_> = newest.into_values().collect();
    let counts = group
        .changes
        .iter()
        .flat_map(|change| [Some(&change.new), change.old.as_ref()])
        .flatten();
    let count = counts
        .map(|bucket| bucket.fields.shard_count())
        .fold(ShardCount::ONE, ShardCount::max);
    let count = count.min(MAX_SHARD_COUNT);
    let shown = |shard: ShardId, opening: &Opening<'_>| {
        let limit = states.get(&shard).and_then(|state| state.last.limit(opening.limit));
        shard == opening.shard || limit.is_some_and(|limit| limit.window_start == Some(opening.start))
    };
    let lags = |shard: &ShardId| openings.iter().any(|opening| !shown(*shard, opening));
    let reads = (0..count.get()).map(ShardId).filter(lags).collect();
    Some(WindowPlan { openings, reads, count })
}

/// The windows that one change opened: a session quota's start is new, and the shard's balance reflects it.
fn opened_by<'s>(change: &'s super::change::BucketChange<'_>) -> Vec<Opening<'s>> {
    let bucket = &change.new;
    let sessions = bucket.limits.iter().filter(|limit| limit.window_length_s.is_some());
    let moved = |limit: &&Limit<'_>| {
        let before = change
            .old
            .as_ref()
            .and_then(|old| old.limit(limit.name))
            .and_then(|old| old.window_start);
        limit.window_start.is_some() && limit.window_start != before && limit.window_applied == limit.window_start
    };
    let mut moved = sessions.filter(moved).peekable();
    // A shard that was made as a copy has consumed nothing, and opened nothing.
    let consumed = |limit: &Limit<'_>| limit.name != WCU && limit.consumed.is_some_and(|tc| tc > Millitokens::ZERO);
    if moved.peek().is_none() || change.old.is_none() && !bucket.limits.iter().any(consumed) {
        return Vec::new();
    }
    // A schedule that will not decode leaves open whether the limit is a session quota at all.
    let Ok(schedules) = ItemSchedules::decode(&bucket.fields, &bucket.limits) else {
        return Vec::new();
    };
    let is_session = |limit: &&Limit<'_>| {
        NumericLimit::of(limit)
            .is_some_and(|numbers| schedules.recovery(&bucket.fields, limit, &numbers.base) == Recovery::Session)
    };
    let opening = |limit: &'s Limit<'s>| {
        let (start, length_s) = limit.window_start.zip(limit.window_length_s)?;
        Some(Opening {
            limit: limit.name,
            start,
            length_s,
            shard: change.shard(),
            sequence: change.sequence,
        })
    };
    moved.filter(is_session).filter_map(opening).collect()
}

impl<'s> WindowPlan<'s> {
    /// The writes, given what was read. A sibling that does not exist, is in a live window of its own, was given
    /// another length, or has no mark of what its balance reflects while its `rf` is past the start, is left alone.
    /// Shards that only a read showed to exist are written unread: the conditions decide.
    pub fn writes(&self, group: &Group<'_>, read: &BTreeMap<ShardId, Option<Item>>) -> Vec<WindowWrite<'s>> {
        let buckets: BTreeMap<ShardId, Bucket<'_>> = read
            .iter()
            .filter_map(|(shard, item)| Some((*shard, Bucket::from_item(item.as_ref()?).ok()?)))
            .collect();
        let counted = buckets
            .values()
            .map(|bucket| bucket.fields.shard_count())
            .fold(self.count, ShardCount::max);
        let unread = (self.count.get()..counted.min(MAX_SHARD_COUNT).get()).map(ShardId);
        let targets: BTreeSet<ShardId> = buckets.keys().copied().chain(unread).collect();
        let mut writes = Vec::new();
        for opening in &self.openings {
            for shard in targets.iter().filter(|shard| **shard != opening.shard) {
                let update = match buckets.get(shard) {
                    Some(bucket) => lagging(group, *shard, bucket, opening),
                    None => Some(update(group, *shard, opening, unread_length(opening))),
                };
                writes.extend(update.map(|update| WindowWrite {
                    opening: *opening,
                    shard: *shard,
                    update,
                }));
            }
        }
        writes
    }
}

fn lagging(group: &Group<'_>, shard: ShardId, bucket: &Bucket<'_>, opening: &Opening<'_>) -> Option<Update> {
    let absent = Limit::default();
    let limit = bucket.limit(opening.limit).unwrap_or(&absent);
    let ended = limit
        .window_start
        .is_none_or(|start| start <= opening.latest_ended_start());
    let same_length = limit.window_length_s.is_none_or(|length| length == opening.length_s);
    let is_older = bucket
        .fields
        .last_refill
        .is_some_and(|last_refill| last_refill < opening.start);
    let marked = limit.window_applied.is_some() || is_older;
    let length = attribute(opening.limit, LimitField::Rsa);
    let as_read = Condition::as_read(length, limit.window_length_s.map(|length| number(length.into())));
    (ended && same_length && marked).then(|| update(group, shard, opening, as_read))
}

fn unread_length(opening: &Opening<'_>) -> Condition {
    let length = attribute(opening.limit, LimitField::Rsa);
    let same = Condition::compare(&length, Comparison::Equal, opening.length_s.into());
    Condition::Any(vec![Condition::Absent(length), same])
}

fn update(group: &Group<'_>, shard: ShardId, opening: &Opening<'_>, length: Condition) -> Update {
    let field = |field| attribute(opening.limit, field);
    let set = |attribute: String, value: i64| Action::Set {
        attribute,
        value: number(value.into()),
    };
    let start = field(LimitField::Ws);
    let ended = Condition::compare(&start, Comparison::AtMost, opening.latest_ended_start().0.into());
    let older = Condition::compare("rf", Comparison::Less, opening.start.0.into());
    Update {
        key: group.key.bucket(shard),
        conditions: vec![
            Condition::item_exists(),
            Condition::Any(vec![Condition::Absent(start.clone()), ended]),
            length,
            Condition::Any(vec![Condition::Exists(field(LimitField::Wa)), older]),
        ],
        actions: vec![
            set(start, opening.start.0),
            set(field(LimitField::Rsa), opening.length_s),
            set("vu".to_owned(), 0),
            // What the sibling spends from here on is spent in the new window and charged at its roll.
            Action::SetFrom {
                attribute: field(LimitField::Wtc),
                source: field(LimitField::Tc),
                default: number(0),
            },
        ],
        return_item_on_failure: false,
    }
}
