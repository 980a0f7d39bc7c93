//! After quiet: everything delivered, no faults, no new use.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Event, Snapshot, Verdict, Writer, require};
use crate::scenario::Kind;

/// What nothing has to bring to rest.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// Shards that a client made at a count which shard 0 had left behind: nothing raises them if their client does
    /// not (ADR-133 does not pin a creation to the count it was planned at).
    stragglers: BTreeSet<u32>,
    /// Starts of windows that an operator ended: a shard made from an image before that still joins one, and no other
    /// shard is to follow it.
    ended: BTreeSet<i64>,
    /// Until when, by any clock, a window may have been opened before an operator last gave a shard's windows another length:
    /// it may have been left alone for it (R11).
    lengthened: i64,
}

impl Settlement {
    /// Takes note of a change.
    pub fn enter(&mut self, change: &Change, event: &Event<'_>) {
        let window = |snapshot: &Snapshot| snapshot.limit(Kind::Session).and_then(|own| own.ws);
        match (&change.old, &change.new, event.writer) {
            (None, Some(new), Writer::Client) if new.count < event.truth => {
                self.stragglers.insert(change.shard);
            }
            (Some(old), Some(new), Writer::Operator) if window(new) < window(old) => self.ended.extend(window(old)),
            _ => {}
        }
        let length = |snapshot: &Option<Snapshot>| Some(snapshot.as_ref()?.limit(Kind::Session)?.length);
        if change.old.is_some() && change.new.is_some() && length(&change.old) != length(&change.new) {
            self.lengthened = self.lengthened.max(event.now + event.scenario.skew);
        }
    }

    /// Where every record was delivered: every shard but a straggler agrees on the count, and no live window lags. `skew`: how far
    /// a clock may be off.
    pub fn check(&self, shards: &BTreeMap<u32, Snapshot>, now: i64, skew: i64, complete: bool) -> Verdict {
        let Some(zero) = shards.get(&0).filter(|_| complete) else {
            return Ok(());
        };
        for (id, shard) in shards {
            let seen = || format!("shard {id} at {now}: {shard:?}, shard 0 {zero:?}");
            let agrees = shard.count == zero.count || self.stragglers.contains(id);
            require(agrees, "after quiet every shard agrees on the count", seen)?;
        }
        let applied = shards
            .values()
            .filter_map(|shard| shard.limit(Kind::Session))
            .filter(|own| own.wa == own.ws);
        let opened = applied.filter_map(|own| Some((own.ws?, own.length)));
        let newest = opened.filter(|(start, _)| !self.ended.contains(start)).max();
        // Live by every clock: R11 skips a window that has ended by the aggregator's.
        let is_live = |start: i64, length: i64| start > self.lengthened && start + length > now + skew;
        let Some((newest, length)) = newest.filter(|(start, length)| is_live(*start, *length)) else {
            return Ok(());
        };
        for (id, shard) in shards {
            let Some(own) = shard.limit(Kind::Session) else {
                continue;
            };
            // Another length means that an operator changed it meanwhile: left alone (R11).
            let lags = own.ws.is_none_or(|start| start <= newest - length)
                && own.length == length
                && (own.wa.is_some() || shard.rf < newest);
            let seen = || format!("shard {id} at {now}: {own:?}, newest {newest}");
            require(!lags, "after quiet no live window lags", seen)?;
        }
        Ok(())
    }
}
