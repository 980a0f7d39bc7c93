//! One quota's book: what was granted, to which slots, in which period, and what was admitted from it (ADR-145).
//!
//! A *holding* is one shard's grant of one period. It is fresh (a reset, a roll, an opening, or a new shard whose slot
//! nobody held), moved (a new shard funded by a sibling), or pending (a copy made while its reset was still due: a reset
//! replaces it before a modern client can spend it). Exact, in every scenario without old writers: consumption, refunds
//! and moves conserve what is held; nothing else is put in except by a grant, a top-up or an operator, and nothing is
//! taken out except by a clamp down to the ceiling; a shard is granted once per period; fresh grants of one instant
//! cover disjoint slots; admitted <= capacity. The allowances are in [`allowances`].

mod allowances;

use std::collections::{BTreeMap, BTreeSet};

use super::holding::{Holding, Origin, Since};
use super::snapshot::{Numbers, Snapshot, edge_of};
use super::{Event, Verdict, Writer, require};
use crate::scenario::{Kind, PERIOD_MS, Scenario};

/// The book of one quota.
#[derive(Clone, Debug)]
pub struct Ledger {
    kind: Kind,
    scenario: Scenario,
    holdings: Vec<Holding>,
    since: BTreeMap<u32, Since>,
    most_capacity: i128,
    /// The most that any shard of this life counted: shard 0 counts less only where it was lost, and with it the count.
    most_count: i128,
}

impl Ledger {
    pub fn new(kind: Kind, scenario: Scenario) -> Self {
        Self {
            kind,
            scenario,
            holdings: vec![],
            since: BTreeMap::new(),
            most_capacity: 0,
            most_count: 0,
        }
    }

    /// Enters one call.
    pub fn enter(&mut self, event: &Event<'_>, twins: &BTreeSet<u32>) -> Verdict {
        let counts = event.changes.iter().filter_map(|change| change.new.as_ref());
        self.most_count = counts.map(|new| new.count).fold(self.most_count, i128::max);
        let (mut inserted, mut debited) = (None, 0);
        for change in &event.changes {
            match (&change.old, &change.new) {
                (None, Some(new)) => inserted = Some((change.shard, new)),
                (Some(old), Some(new)) => {
                    let is_twin = twins.contains(&change.shard);
                    debited += self.modified(change.shard, old, new, event, is_twin)?;
                }
                (_, None) => self.removed(change.shard),
            }
        }
        match inserted {
            Some((shard, new)) => self.inserted(shard, new, debited, event)?,
            None => require(debited == 0, "nothing is put in or taken out but by a grant", || {
                format!(
                    "{:?} {debited} by {:?} at {}: {:?}",
                    self.kind, event.writer, event.now, event.changes
                )
            })?,
        }
        for change in &event.changes {
            self.note(change.shard, change.old.as_ref(), change.new.as_ref());
        }
        Ok(())
    }

    /// A shard changed. Answers what was taken out of it without a grant, for a sibling.
    fn modified(
        &mut self,
        shard: u32,
        old: &Snapshot,
        new: &Snapshot,
        event: &Event<'_>,
        is_twin: bool,
    ) -> Result<i128, super::Violation> {
        let (Some(before), Some(after)) = (old.limit(self.kind), new.limit(self.kind)) else {
            return Ok(0);
        };
        if self.kind == Kind::Calendar && edge_of(new.rf) < edge_of(old.rf) {
            self.taken_back(shard);
        }
        if before.length != after.length {
            self.lengthened(shard, after.length);
        }
        if self.is_swallowed(shard, old, new, before, after, event) {
            return Ok(0);
        }
        if self.is_regranted(old, new, before, after) {
            self.regranted(shard, old, new, event, is_twin)?;
            return Ok(0);
        }
        let consumed = after.tc - before.tc;
        self.consumed(shard, consumed, event)?;
        let put_in = after.put_in() - before.put_in();
        let seen = || {
            format!(
                "{:?} shard {shard} by {:?} at {}: {before:?} -> {after:?}",
                self.kind, event.writer, event.now
            )
        };
        if event.writer == Writer::Operator && put_in > 0 {
            let recorded = after.tu - before.tu + self.opened_twice(shard, old, before, after, event).unwrap_or(0);
            require(recorded >= put_in, "a top-up is recorded", seen)?;
            if let Some(holding) = self
                .holdings
                .iter_mut()
                .rev()
                .find(|holding| holding.shard == shard && holding.alive)
            {
                holding.topped_up += put_in;
            }
            return Ok(0);
        }
        let is_move = event.changes.iter().any(|change| change.old.is_none());
        let clamps = matches!(event.writer, Writer::Client | Writer::Operator) && !is_move;
        if put_in < 0 && clamps {
            let since = self.since.get(&shard).copied().unwrap_or_default();
            let size = before.gc.filter(|size| *size >= 1).unwrap_or(old.count);
            let ceiling = since.least_capacity.min(before.cp) / size + before.tu;
            let kept = after.put_in() + since.moved_out >= ceiling + since.least_consumed;
            // With `rf` unmoved and `vu` set back to 0 meanwhile, a second client cannot tell that the first clamped.
            let again = self.since.get(&shard).is_some_and(|since| since.unmarked);
            if let Some(since) = self.since.get_mut(&shard) {
                since.unmarked |= old.rf == new.rf;
            }
            return require(kept || again, "a clamp of a quota leaves its ceiling", || {
                format!("{}, least kept {ceiling} + {}", seen(), since.least_consumed)
            })
            .map(|()| 0);
        }
        Ok(put_in)
    }

    fn is_regranted(&self, old: &Snapshot, new: &Snapshot, before: &Numbers, after: &Numbers) -> bool {
        match self.kind {
            Kind::Calendar => edge_of(new.rf) > edge_of(old.rf) || after.rn != before.rn,
            _ => match (before.wa, after.wa) {
                // A window ended twice at one instant moves `ws` alone.
                (Some(applied), Some(moved)) => moved != applied || after.ws != before.ws && after.ws == Some(moved),
                (None, Some(moved)) => {
                    let opened = after.ws == Some(moved) && after.ws != before.ws;
                    opened || moved > old.rf && before.ws.is_some_and(|start| start >= moved)
                }
                _ => false,
            },
        }
    }

    fn regranted(&mut self, shard: u32, old: &Snapshot, new: &Snapshot, event: &Event<'_>, is_twin: bool) -> Verdict {
        let (Some(before), Some(after)) = (old.limit(self.kind), new.limit(self.kind)) else {
            return Ok(());
        };
        let seen = || {
            format!(
                "{:?} shard {shard} by {:?} at {}: {before:?} rf {} -> {after:?} rf {}",
                self.kind, event.writer, event.now, old.rf, new.rf
            )
        };
        let previous = self
            .holdings
            .iter()
            .rposition(|holding| holding.shard == shard && holding.alive);
        let is_operator = event.writer == Writer::Operator;
        let opened = after.ws.is_some_and(|start| start + after.length > event.now);
        if self.kind == Kind::Session && is_operator && !opened {
            // Every window ends here, also an earlier one that only a clock ahead saw the end of; the next request opens
            // another.
            for holding in self.holdings.iter_mut().filter(|holding| holding.shard == shard) {
                (holding.end, holding.alive, holding.excused) = (holding.end.min(event.now), false, true);
            }
            return Ok(());
        }
        let is_old = event.writer == Writer::OldRelease;
        require(after.gc.is_some() || is_old, "a grant records its size", seen)?;
        let size = after.gc.filter(|size| *size >= 1 && !is_old).unwrap_or(new.count);
        let share = after.cp / size;
        let is_roll = self.kind == Kind::Session && after.ws == before.ws;
        let spent = if is_roll {
            (before.tc - before.wtc.unwrap_or(before.tc)).max(0)
        } else {
            0
        };
        let since = self.since.get(&shard).copied().unwrap_or_default();
        // A top-up begins a period where one is due, and is on top of its grant.
        let topped_up = if is_operator { after.tu } else { 0 };
        let opened_twice = self.opened_twice(shard, old, before, after, event);
        let twice = opened_twice.unwrap_or(0);
        let granted = after.tk + after.tc - before.tc - topped_up;
        let least = if event.writer == Writer::Aggregator {
            share
        } else {
            share.min(since.least_capacity / size)
        };
        let late = before.tc - since.least_consumed.min(before.tc) + since.moved_out;
        // Clients do not pin `cp`, and `vu` = 0 does not show them a second change: only the aggregator is exact here.
        let most = if event.writer == Writer::Aggregator {
            share
        } else if is_old {
            share.max(since.most_capacity / since.least_count.max(1))
        } else {
            share.max(since.most_capacity / size)
        };
        // Neither an operator nor an old writer pins a balance that it raises.
        let is_pinned = matches!(event.writer, Writer::Aggregator | Writer::Client);
        let most = if before.tk > after.tk || !is_pinned {
            most + since.refunded
        } else {
            most
        };
        require(
            granted <= most - spent + twice,
            "a grant is no more than the share",
            seen,
        )?;
        // A roll pins the window only where it raises the balance: the next one may have been propagated meanwhile, and
        // grants the share when it is applied.
        let is_overtaken = after.put_in() <= before.put_in() && after.wa < after.ws;
        require(
            granted >= least - spent - late || is_twin || is_overtaken,
            "a grant is no less than the share",
            seen,
        )?;
        let (start, end) = self.period(new, after);
        if after.rn != before.rn {
            // An operator grants everything anew: what was granted before no longer counts.
            self.holdings.iter_mut().for_each(|holding| holding.excused = true);
            if let Some(place) = previous {
                self.holdings[place].end = self.holdings[place].end.min(event.now);
            }
        }
        let late = previous.is_some_and(|place| self.holdings[place].late);
        if let Some(place) = previous {
            let last = self.holdings[place];
            let again = last.start >= start && last.origin != Origin::Pending && after.rn == before.rn;
            let again = again && !last.taken_back && opened_twice.is_none();
            require(!again, "a shard is granted once per period", seen)?;
            self.holdings[place].alive = false;
            self.holdings[place].excused |= opened_twice.is_some();
            if last.origin == Origin::Pending {
                self.holdings.remove(place);
            }
        }
        let excused =
            self.is_count_lost(event) || late || size < event.truth || before.gc.is_none() && old.count < event.truth;
        let admitted = spent + (after.tc - before.tc);
        self.hold(
            Holding {
                shard,
                start,
                since: start.max(event.now),
                end,
                size,
                granted: share,
                capacity: after.cp,
                origin: Origin::Fresh,
                admitted,
                topped_up: topped_up + twice,
                unheeded: (granted + spent - share - twice).max(0),
                excused,
                late: false,
                taken_back: false,
                alive: true,
            },
            event,
        )
    }

    fn period(&self, snapshot: &Snapshot, numbers: &Numbers) -> (i64, i64) {
        match self.kind {
            Kind::Calendar => {
                let edge = edge_of(snapshot.rf);
                (edge, edge + PERIOD_MS)
            }
            _ => {
                let start = numbers.wa.or(numbers.ws).unwrap_or(snapshot.rf);
                (start, start + numbers.length)
            }
        }
    }

    fn inserted(&mut self, shard: u32, new: &Snapshot, debited: i128, event: &Event<'_>) -> Verdict {
        let Some(numbers) = new.limit(self.kind).copied() else {
            return Ok(());
        };
        let seen = || {
            format!(
                "{:?} shard {shard} by {:?} at {}, debited {debited}: {numbers:?} rf {}",
                self.kind, event.writer, event.now, new.rf
            )
        };
        let size = numbers.gc.filter(|size| *size >= 1).unwrap_or(new.count);
        let held = numbers.put_in();
        let (start, end) = self.period(new, &numbers);
        let mut holding = Holding {
            shard,
            start,
            since: start.max(event.now),
            end,
            size,
            granted: 0,
            capacity: numbers.cp,
            origin: Origin::Moved,
            admitted: numbers.tc,
            topped_up: 0,
            unheeded: 0,
            excused: self.is_count_lost(event) || numbers.gc.is_none() || size < event.truth,
            late: false,
            taken_back: false,
            alive: true,
        };
        // Its siblings are in a later period already: its own is over, and only late requests can spend it.
        holding.late = self.holdings.iter().any(|other| other.start >= end);
        // A window that an operator ended still looks open to a clock behind the operator's.
        let skew = self.scenario.skew;
        let ends_between_clocks = self.kind == Kind::Session && skew > 0 && end - event.now <= 2 * skew;
        holding.excused |= holding.late || ends_between_clocks || self.is_count_of_a_former_life(new, event);
        if debited != 0 || held == 0 {
            require(held == -debited, "a move puts in what it takes out", seen)?;
            // Moved out of a later period's grant, and admitted in this one.
            holding.granted = if holding.late { held } else { 0 };
            return self.hold(holding, event);
        }
        require(
            held == numbers.cp / size || numbers.gc.is_none(),
            "a fresh share is a share",
            seen,
        )?;
        holding.granted = numbers.cp / size;
        let is_copy = event.writer == Writer::Aggregator;
        let waits = match self.kind {
            Kind::Calendar => edge_of(event.now) > new.rf,
            _ => numbers.window_end().is_none_or(|end| end <= event.now) || numbers.ws != numbers.wa,
        };
        holding.origin = if is_copy && waits {
            Origin::Pending
        } else {
            Origin::Fresh
        };
        holding.excused |= self.holdings.iter().any(|old| self.was_pending(old, &holding, event));
        self.hold(holding, event)
    }

    /// A new holding: fresh grants of one instant cover disjoint slots.
    fn hold(&mut self, mut new: Holding, event: &Event<'_>) -> Verdict {
        new.excused |= self.kind == Kind::Session && self.holdings.iter().any(|old| old.is_staggered(&new));
        self.holdings
            .retain(|old| old.end + 2 * PERIOD_MS > new.start || old.alive);
        self.most_capacity = self.most_capacity.max(new.capacity);
        if new.origin == Origin::Fresh && !new.excused {
            let clash = self.holdings.iter().find(|old| {
                let least = old.size.min(new.size);
                old.origin == Origin::Fresh
                    && !old.excused
                    && old.since < new.end
                    && new.since < old.end
                    && i128::from(old.shard) % least == i128::from(new.shard) % least
            });
            require(clash.is_none(), "fresh grants cover disjoint slots", || {
                format!(
                    "{:?} by {:?} at {}: {clash:?} and {new:?}, {:?}",
                    self.kind, event.writer, event.now, event.changes
                )
            })?;
        }
        self.holdings.push(new);
        self.bounded(new.shard, new.since.max(event.now))
    }

    /// Admission: at no instant do the periods that contain it admit more than the capacity.
    fn bounded(&self, shard: u32, instant: i64) -> Verdict {
        let at = |holding: &&Holding| holding.at(instant);
        let admitted: i128 = self.holdings.iter().filter(at).map(|holding| holding.admitted).sum();
        let topped_up: i128 = self.holdings.iter().filter(at).map(|holding| holding.topped_up).sum();
        let excused: i128 = self
            .holdings
            .iter()
            .filter(at)
            .filter(|holding| holding.excused)
            .map(|holding| holding.granted)
            .sum();
        let unheeded: i128 = self.holdings.iter().filter(at).map(|holding| holding.unheeded).sum();
        let most = self.most_capacity + topped_up + excused + unheeded;
        require(admitted <= most, "admitted is at most the capacity", || {
            let holdings: Vec<_> = self.holdings.iter().filter(at).collect();
            format!(
                "{:?} shard {shard} at {instant}: {admitted} > {most}: {holdings:?}",
                self.kind
            )
        })
    }

    fn consumed(&mut self, shard: u32, amount: i128, event: &Event<'_>) -> Verdict {
        // A charge after the fact is no admission.
        if amount == 0 || event.writer == Writer::Adjuster && amount > 0 {
            return Ok(());
        }
        let Some(holding) = self
            .holdings
            .iter_mut()
            .rev()
            .find(|holding| holding.shard == shard && holding.alive)
        else {
            return Ok(());
        };
        holding.admitted += amount;
        if event.writer == Writer::OldRelease && holding.origin == Origin::Pending {
            holding.unheeded += amount.max(0);
        }
        let (since, end, pending) = (holding.since, holding.end, holding.origin == Origin::Pending);
        let late = event.now < end;
        // Old writers heed no `vu` (ADR-140).
        let is_old = event.writer == Writer::OldRelease;
        require(
            !pending || amount < 0 || late || is_old,
            "a pending copy is not spent",
            || {
                format!(
                    "{:?} shard {shard} by {:?} at {}: {amount}",
                    self.kind, event.writer, event.now
                )
            },
        )?;
        self.bounded(shard, since)?;
        self.bounded(shard, since.max(event.now))
    }

    fn removed(&mut self, shard: u32) {
        self.since.remove(&shard);
        // With the item its earlier windows are forgotten too, and another clock may open one that overlaps them.
        for holding in self.holdings.iter_mut().filter(|holding| holding.shard == shard) {
            holding.alive = false;
            holding.excused = true;
        }
    }

    fn note(&mut self, shard: u32, old: Option<&Snapshot>, new: Option<&Snapshot>) {
        let Some(after) = new.and_then(|new| new.limit(self.kind)) else {
            return;
        };
        let moved = old.zip(new).is_none_or(|(old, new)| old.rf != new.rf);
        let consumed = old
            .and_then(|old| old.limit(self.kind))
            .map_or(0, |before| after.tc - before.tc);
        let put_in = old
            .and_then(|old| old.limit(self.kind))
            .map_or(0, |before| after.put_in() - before.put_in());
        let since = self.since.entry(shard).or_default();
        if moved {
            *since = Since {
                least_consumed: after.tc,
                least_capacity: after.cp,
                most_capacity: after.cp,
                least_count: new.map_or(1, |new| new.count),
                refunded: 0,
                unmarked: false,
                moved_out: 0,
            };
        }
        since.least_consumed = since.least_consumed.min(after.tc);
        since.least_capacity = since.least_capacity.min(after.cp);
        since.most_capacity = since.most_capacity.max(after.cp);
        if !moved {
            since.refunded -= consumed.min(0);
            since.moved_out -= put_in.min(0);
        }
    }
}
