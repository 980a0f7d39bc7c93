//! What never goes backward, whoever writes (ADR-140: `rf`; ADR-145: counts).

use super::{Change, Event, Verdict, Writer, require};
use crate::scenario::{Kind, SHORT_WINDOW_S};

/// `lengths` says that an operator changes the length of windows; `is_twin`, that the item passes for a former one, whose
/// count is then written.
pub fn check(change: &Change, event: &Event<'_>, lengths: bool, is_twin: bool) -> Verdict {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return Ok(());
    };
    let seen = || format!("shard {} by {:?}: {old:?} -> {new:?}", change.shard, event.writer);
    // Writers before ADR-140 stamp their own clock.
    let keeps_rf = event.writer != Writer::OldRelease;
    require(!keeps_rf || new.rf >= old.rf, "rf never goes backward", seen)?;
    require(new.count >= old.count, "shard_count never goes backward", seen)?;
    require(new.count <= 32, "never more than 32 shards", seen)?;
    for kind in Kind::ALL {
        let (Some(before), Some(after)) = (old.limit(kind), new.limit(kind)) else {
            continue;
        };
        let refunds = event.writer == Writer::Adjuster;
        require(refunds || after.tc >= before.tc, "tc never goes backward", seen)?;
        require(
            is_twin || after.gc == before.gc || after.gc.is_none_or(|size| size <= new.count),
            "gc is a count the shard knew of",
            seen,
        )?;
        // An operator's reset of a session ends the window that is open.
        if let (Some(start), Some(moved)) = (before.ws, after.ws)
            && start != moved
            && event.writer != Writer::Operator
        {
            // A client pins `vu`, and cannot tell a propagation's 0 from an earlier one: it may open a window over one
            // that it was not shown, but never over one that the shard had applied (ADR-140, "staggered").
            let unseen = event.writer == Writer::Client && old.vu == Some(0) && before.wa.is_none_or(|wa| wa < start);
            // Nor can it tell that the length changed meanwhile.
            let length = match event.writer {
                Writer::Client if lengths => SHORT_WINDOW_S * 1000,
                _ => before.length,
            };
            let last = if unseen {
                before.wa.unwrap_or(moved - length)
            } else {
                start
            };
            require(
                moved >= last + length,
                "a window opens only after the last has ended",
                seen,
            )?;
        }
        if let (Some(applied), Some(moved)) = (before.wa, after.wa)
            && event.writer != Writer::Operator
        {
            require(moved >= applied, "wa never goes backward", seen)?;
        }
    }
    Ok(())
}
