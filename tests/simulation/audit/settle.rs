//! After quiet: everything delivered, no faults, no new use.

use std::collections::BTreeMap;

use super::{Snapshot, Verdict, require};
use crate::scenario::{Kind, WINDOW_MS};

/// Every shard agrees on the count, and no live window lags. `complete` says that no delivery was lost: only then has
/// the aggregator seen every raise and every opening.
pub fn settled(shards: &BTreeMap<u32, Snapshot>, now: i64, complete: bool) -> Verdict {
    let Some(zero) = shards.get(&0) else { return Ok(()) };
    for (id, shard) in shards {
        let seen = || format!("shard {id} at {now}: {shard:?}, shard 0 {zero:?}");
        require(!complete || shard.count == zero.count, "after quiet every shard agrees on the count", seen)?;
    }
    let starts = shards.values().filter_map(|shard| shard.limit(Kind::Session)).filter(|own| own.wa == own.ws).filter_map(|own| own.ws);
    let Some(newest) = starts.max().filter(|start| start + WINDOW_MS > now) else { return Ok(()) };
    for (id, shard) in shards {
        let Some(own) = shard.limit(Kind::Session) else { continue };
        let lags = own.ws.is_none_or(|start| start <= newest - WINDOW_MS) && (own.wa.is_some() || shard.rf < newest);
        let seen = || format!("shard {id} at {now}: {own:?}, newest {newest}");
        require(!complete || !lags, "after quiet no live window lags", seen)?;
    }
    Ok(())
}
