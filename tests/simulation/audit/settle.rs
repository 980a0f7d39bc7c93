//! After quiet: everything delivered, no faults, no new use.

use std::collections::{BTreeMap, BTreeSet};

use super::{Snapshot, Verdict, require};
use crate::scenario::Kind;

/// Every shard but a straggler agrees on the count, and no live window lags.
pub fn check(shards: &BTreeMap<u32, Snapshot>, stragglers: &BTreeSet<u32>, now: i64, complete: bool) -> Verdict {
    let Some(zero) = shards.get(&0) else { return Ok(()) };
    for (id, shard) in shards {
        let seen = || format!("shard {id} at {now}: {shard:?}, shard 0 {zero:?}");
        let agrees = shard.count == zero.count || stragglers.contains(id);
        require(!complete || agrees, "after quiet every shard agrees on the count", seen)?;
    }
    let applied = shards
        .values()
        .filter_map(|shard| shard.limit(Kind::Session))
        .filter(|own| own.wa == own.ws);
    let opened = applied.filter_map(|own| Some((own.ws?, own.length))).max();
    let Some((newest, length)) = opened.filter(|(start, length)| start + length > now) else {
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
        require(!complete || !lags, "after quiet no live window lags", seen)?;
    }
    Ok(())
}
