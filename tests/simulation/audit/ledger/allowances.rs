//! The allowances, each zero unless its event happened:
//! - *stale*: a grant sized at a lower count than shard 0's at that moment may overlap another, by its own size
//!   (ADR-145, "a create is not pinned to the count it planned at"; ADR-133, "only while every shard agrees");
//! - *lost*: the slots of a shard that was removed may be granted again, by the size of its grant (ADR-139, "losing
//!   every shard of a bucket"); once shard 0 was lost, the count is, and every grant until the entity is made anew; a client may
//!   know a count of the entity's last life;
//! - *unrecorded*: a grant without `gc` may be read as smaller than it was, once (ADR-145, "a shard written before the
//!   record exists");
//! - *late*: a request whose clock lies before the period's end may spend a pending copy, or make a shard of a period
//!   that its siblings have left behind, by that share, fresh or moved (02-rules, known and accepted: clocks apart);
//! - *staggered*: a shard whose window began before a sibling's opens its next one while the sibling's still runs, and is
//!   then granted a slot that the sibling was granted at a lower count, by its own share (ADR-140, "a lost propagation
//!   write leaves one shard offset until the next rollover");
//! - *pending sibling*: a client's creation finds a sibling that still waits for its reset, at a count that lags, and so
//!   nobody who holds the slot. Until its raise lands the sibling may be reset at the old count, and the slot is granted
//!   twice, by the new shard's own share (seen in the published client's requests; no clause allows it);
//! - *opened twice*: an operator's top-up pins `rf` and the count alone; a window that a request has opened or applied since, in the
//!   very millisecond that `rf` names or under a clock behind it, is granted once more, less what the operator saw left
//!   (seen in the published client's requests; no clause allows it);
//! - *refunded*: a reset that lowers a balance grants what was refunded between its image and its write on top (R6 pins
//!   `tk` from above for raised balances only);
//! - *moved*: a reset planned before a move out of the shard grants less, by what was moved. Never more.

use super::super::snapshot::{Numbers, Snapshot, edge_of};
use super::super::{Event, Writer};
use super::{Holding, Ledger};
use crate::scenario::{Kind, PERIOD_MS};

impl Ledger {
    /// An old writer's clock took `rf` back before the edge: the reset will be made again.
    pub(super) fn taken_back(&mut self, shard: u32) {
        let mut own = self.holdings.iter_mut();
        if let Some(holding) = own.rfind(|holding| holding.shard == shard && holding.alive) {
            (holding.taken_back, holding.excused) = (true, true);
        }
    }

    /// An operator gave the windows another length, shard by shard: until the next window nothing that was granted says
    /// how much may be granted beside it.
    pub(super) fn lengthened(&mut self, shard: u32, length: i64) {
        for holding in &mut self.holdings {
            holding.excused = true;
            if holding.shard == shard && holding.alive {
                holding.end = holding.start + length;
            }
        }
    }

    /// A writer whose clock lies before an edge moves `rf` to a window's start after it: the reset is lost, the balance
    /// stays what it was until the next one. Less is granted, never more (a fault of R6's `rf`, see the notes).
    pub(super) fn is_swallowed(
        &mut self,
        shard: u32,
        old: &Snapshot,
        new: &Snapshot,
        before: &Numbers,
        after: &Numbers,
        event: &Event<'_>,
    ) -> bool {
        // The window that was read; another may have been propagated since.
        let starts = new.limit(Kind::Session).map(|session| [session.ws, session.wa]);
        let topped_up = if event.writer == Writer::Operator {
            after.tu - before.tu
        } else {
            0
        };
        let swallowed = self.kind == Kind::Calendar
            && edge_of(new.rf) > edge_of(old.rf)
            && starts.is_some_and(|starts| starts.contains(&Some(new.rf)))
            && event.now < edge_of(new.rf)
            && after.put_in() == before.put_in() + topped_up;
        let own = |holding: &&mut Holding| swallowed && holding.shard == shard && holding.alive;
        for holding in self.holdings.iter_mut().filter(own) {
            (holding.excused, holding.end) = (true, edge_of(new.rf) + PERIOD_MS);
            holding.topped_up += topped_up;
        }
        swallowed
    }

    /// What an operator's top-up grants beside, where it did not see the window that is applied: the share that it saw
    /// due, less what it saw.
    pub(super) fn opened_twice(
        &self,
        shard: u32,
        old: &Snapshot,
        before: &Numbers,
        after: &Numbers,
        event: &Event<'_>,
    ) -> Option<i128> {
        let seen = event.shown_of(shard).filter(|shown| shown.rf == old.rf)?;
        let seen = seen.limit(self.kind)?;
        let is_unseen = event.writer == Writer::Operator && self.kind == Kind::Session && seen.wa < before.wa;
        is_unseen.then(|| (after.cp / old.count - seen.tk).max(0))
    }

    /// Whether a client made a shard at a count that it knows from an earlier life: siblings that came after it
    /// looked were made at a lower one.
    pub(super) fn is_count_of_a_former_life(&self, new: &Snapshot, event: &Event<'_>) -> bool {
        let lower = |zero: Snapshot| zero.count < new.count;
        event.reborn && event.writer == Writer::Client && event.shown_of(0).is_none_or(lower)
    }

    /// Whether a client's new shard found this sibling waiting for the reset that it was granted since, at a lower count.
    pub(super) fn was_pending(&self, sibling: &Holding, new: &Holding, event: &Event<'_>) -> bool {
        if event.writer != Writer::Client {
            return false;
        }
        let Some(shown) = event.shown_of(sibling.shard) else {
            return false;
        };
        let Some(numbers) = shown.limit(self.kind) else {
            return false;
        };
        sibling.alive && sibling.size < new.size && self.period(&shown, numbers).0 < sibling.start
    }

    pub(super) fn is_count_lost(&self, event: &Event<'_>) -> bool {
        event.truth < self.most_count
    }
}
