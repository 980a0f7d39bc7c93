//! After quiet: everything delivered, no faults, no new use.

use std::collections::{BTreeMap, BTreeSet};

use super::{Snapshot, Verdict, require};
use crate::scenario::{Kind, WINDOW_MS};

/// Every shard but a straggler agrees on the count, and no live window lags.
pub fn check(shards: &BTreeMap<u32, Snapshot>, stragglers: &BTreeSet<u32>, now: i64, complete: bool) -> Verdict {
    let Some(zero) = shards.get(&0) else { return Ok(()) };
    for (id, shard) in shards {
        let seen = || format!("shard {id} at {now}: {shard:?}, shard 0 {zero:?}");
        let agrees = shard.count == zero.count || stragglers.contains(id);
        require(!complete || agrees, "after quiet every shard agrees on the count", seen)?;
    }
    let starts = shards
        .values()
        .filter_map(|shard| shard.limit(Kind::Session))
        .filter(|own| own.wa == own.ws)
        .filter_map(|own| own.ws);
    let Some(newest) = starts.max().filter(|start| start + WINDOW_MS > now) else {
        return Ok(());
    };
    for (id, shard) in shards {
        let Some(own) = shard.limit(Kind::Session) else {
            continue;
        };
        let lags = own.ws.is_none_or(|start| start <= newest - WINDOW_MS) && (own.wa.is_some() || shard.rf < newest);
        let seen = || format!("shard {id} at {now}: {own:?}, newest {newest}");
        require(!complete || !lags, "after quiet no live window lags", seen)?;
    }
    Ok(())
}
