//! Dripping limits and the write budget: what is put in comes from time, up to a ceiling (R2, ADR-133).
//!
//! Exact with modern writers: a write that moves `rf` from r to r' puts in at most floor((r' - r) * rate / period), one
//! that leaves `rf` alone puts in nothing, and a clamp takes no more than lies above the ceiling. The count may rise
//! between the image and the write, so rate and ceiling are those of the lowest count since `rf` moved: the one-time
//! transient of ADR-133.

use std::collections::BTreeMap;

use super::snapshot::{Numbers, Snapshot};
use super::{Change, Event, Verdict, Writer, require};
use crate::scenario::Kind;

/// What was in force on a shard since `rf` last moved.
#[derive(Clone, Copy, Debug)]
struct Since {
    least_count: i128,
    most: Numbers,
    least_capacity: i128,
    least_consumed: [i128; 2],
    /// Somebody clamped under a clock behind `rf`, which leaves no mark: a client may do it again, an aggregator what
    /// its pins leave open, a second clamp of a balance above the ceiling again.
    clamped: bool,
}

/// The book of every shard.
#[derive(Clone, Debug)]
pub struct DripBook {
    since: BTreeMap<u32, Since>,
}

impl DripBook {
    pub fn new() -> Self {
        Self { since: BTreeMap::new() }
    }

    pub fn enter(&mut self, change: &Change, event: &Event<'_>, is_twin: bool) -> Verdict {
        let Some(new) = &change.new else {
            self.since.remove(&change.shard);
            return Ok(());
        };
        if let Some(old) = &change.old {
            let since = self
                .since
                .get(&change.shard)
                .copied()
                .unwrap_or_else(|| Since::new(old));
            if let (Some(before), Some(after)) = (old.limit(Kind::Drip), new.limit(Kind::Drip)) {
                Limit {
                    change,
                    event,
                    old,
                    new,
                    before,
                    after,
                    since: &since,
                    is_twin,
                    place: 0,
                }
                .check()?;
            }
            Limit {
                change,
                event,
                old,
                new,
                before: &old.wcu,
                after: &new.wcu,
                since: &since,
                is_twin,
                place: 1,
            }
            .check()?;
        }
        let moved = change.old.as_ref().is_none_or(|old| old.rf != new.rf);
        let since = self.since.entry(change.shard).or_insert_with(|| Since::new(new));
        if moved {
            *since = Since::new(new);
        }
        since.note(new);
        if let (Some(old), false) = (&change.old, moved) {
            let put_in = |shard: &Snapshot| shard.limit(Kind::Drip).map_or(0, Numbers::put_in);
            since.clamped |= put_in(new) < put_in(old);
        }
        Ok(())
    }
}

impl Since {
    fn new(snapshot: &Snapshot) -> Self {
        let drip = snapshot.limit(Kind::Drip).copied().unwrap_or_default();
        Self {
            least_count: snapshot.count,
            most: drip,
            least_capacity: drip.cp,
            least_consumed: [drip.tc, snapshot.wcu.tc],
            clamped: false,
        }
    }

    fn note(&mut self, snapshot: &Snapshot) {
        let drip = snapshot.limit(Kind::Drip).copied().unwrap_or_default();
        self.most.cp = self.most.cp.max(drip.cp);
        self.most.ra = self.most.ra.max(drip.ra);
        self.least_capacity = self.least_capacity.min(drip.cp);
        self.least_consumed[0] = self.least_consumed[0].min(drip.tc);
        self.least_consumed[1] = self.least_consumed[1].min(snapshot.wcu.tc);
    }
}

struct Limit<'l> {
    change: &'l Change,
    event: &'l Event<'l>,
    old: &'l Snapshot,
    new: &'l Snapshot,
    before: &'l Numbers,
    after: &'l Numbers,
    since: &'l Since,
    is_twin: bool,
    place: usize,
}

impl Limit<'_> {
    fn check(&self) -> Verdict {
        let put_in = self.after.put_in() - self.before.put_in();
        let seen = || {
            format!(
                "shard {} by {:?}: {:?} -> {:?}, rf {} -> {}",
                self.change.shard, self.event.writer, self.before, self.after, self.old.rf, self.new.rf
            )
        };
        if put_in > 0 {
            let elapsed = i128::from(self.new.rf - self.old.rf).max(0);
            let accrued = elapsed * self.rate() / self.before.rp.max(1);
            require(put_in <= accrued, "a drip puts in no more than rate times time", seen)?;
            // A refund may land above the ceiling, and an operator does not look whether one did.
            if !matches!(self.event.writer, Writer::Adjuster | Writer::Operator) {
                let spent = self.after.tc - self.before.tc;
                let most = self.ceiling().max(self.before.tk);
                require(
                    self.after.tk + spent.max(0) <= most,
                    "a drip stays below its ceiling",
                    seen,
                )?;
            }
        } else if put_in < 0 {
            let kept = self.after.put_in() >= self.lowest_ceiling() + self.since.least_consumed[self.place];
            let is_above = self.before.tk > self.lowest_ceiling() || self.event.writer != Writer::Aggregator;
            let again = self.since.clamped && is_above;
            require(
                kept || again || self.is_twin,
                "a clamp takes only what is above the ceiling, once",
                seen,
            )?;
        }
        Ok(())
    }

    /// What the parameter schedule leaves of an amount by the writer's clock (R1).
    fn in_force(&self, amount: i128) -> i128 {
        self.event.scenario.in_force(amount, self.event.now)
    }

    fn rate(&self) -> i128 {
        if self.place == 1 {
            self.before.ra
        } else {
            self.in_force(self.since.most.ra.max(self.before.ra)) / self.since.least_count
        }
    }

    fn ceiling(&self) -> i128 {
        if self.place == 1 {
            self.before.cp
        } else {
            self.in_force(self.since.most.cp.max(self.before.cp)) / self.since.least_count
        }
    }

    /// A clamp may have been planned at any count and capacity since `rf` moved.
    fn lowest_ceiling(&self) -> i128 {
        if self.place == 1 {
            self.before.cp
        } else {
            self.in_force(self.since.least_capacity.min(self.before.cp)) / self.old.count
        }
    }
}
