//! What an aggregator may write to a shard that exists (R3 to R8, R11).

use super::snapshot::{Numbers, Snapshot, edge_of};
use super::{Event, Verdict, require};
use crate::scenario::{HALF_MS, Kind};

pub fn check(shard: u32, old: &Snapshot, new: &Snapshot, event: &Event<'_>, is_twin: bool) -> Verdict {
    let seen = || {
        format!(
            "shard {shard} at {}: {old:?} -> {new:?}, shown {:?}",
            event.now,
            event.shown.keys()
        )
    };
    if old.count != new.count {
        return count(shard, old, new, event);
    }
    for kind in Kind::ALL {
        let (Some(before), Some(after)) = (old.limit(kind), new.limit(kind)) else {
            continue;
        };
        require(before.tc == after.tc, "the aggregator never consumes", seen)?;
        require(
            (before.cp, before.ra, before.rp) == (after.cp, after.ra, after.rp),
            "parameters are not written",
            seen,
        )?;
        if kind == Kind::Session {
            window(before, after, old, new, event)?;
        }
    }
    if old.rf != new.rf {
        locked(shard, old, new, event)?;
    }
    let refills = old.rf != new.rf || old.wcu.tk != new.wcu.tk;
    // `vu` shows a schedule that turned bad after the image, unless it was 0 before.
    require(
        !refills || old.decodes || old.vu == Some(0),
        "an item whose schedule will not decode is left alone",
        seen,
    )?;
    // A twin's `vu` is moved by what the item before it held.
    if is_twin { Ok(()) } else { restamp(old, new, event) }
}

/// R6: what moves `rf` was planned on an image that nobody has materialised since, and whose windows stand.
fn locked(shard: u32, old: &Snapshot, new: &Snapshot, event: &Event<'_>) -> Verdict {
    let Some(image) = event.images.get(&shard) else {
        return require(false, "nothing is refilled unseen", || format!("shard {shard}"));
    };
    let seen = || format!("shard {shard} at {}: image {image:?}, {old:?} -> {new:?}", event.now);
    require(
        (image.rf, image.vu) == (old.rf, old.vu),
        "a refill holds on to its image",
        seen,
    )?;
    let applied = |shard: &Snapshot| shard.limit(Kind::Session).map(|own| own.wa);
    require(
        applied(image) == applied(old),
        "a refill holds on to the window it saw applied",
        seen,
    )?;
    let regrants = |kind| {
        new.limit(kind)
            .is_some_and(|own| old.limit(kind).is_some_and(|was| own.gc != was.gc))
    };
    let grants = regrants(Kind::Calendar) || regrants(Kind::Session);
    require(
        !grants || old.count <= image.count,
        "nothing is granted at a count that was left behind",
        seen,
    )
}

/// R7 on shard 0, R8 on the others.
fn count(shard: u32, old: &Snapshot, new: &Snapshot, event: &Event<'_>) -> Verdict {
    let seen = || {
        format!(
            "shard {shard} at {}, truth {}: {old:?} -> {new:?}, shown {:?}",
            event.now,
            event.truth,
            event.shown_of(shard)
        )
    };
    if shard == 0 {
        return require(new.count == (old.count * 2).min(32), "a doubling doubles once", seen);
    }
    // A rise of the entity's last life raises the shards of this one: R8 does not look at shard 0 before it raises.
    require(
        new.count <= event.truth || event.truth == 0 || event.reborn,
        "no shard counts more than shard 0",
        seen,
    )?;
    for kind in [Kind::Calendar, Kind::Session] {
        let (Some(before), Some(after)) = (old.limit(kind), new.limit(kind)) else {
            continue;
        };
        require(before.tk == after.tk, "a raise moves no tokens", seen)?;
        require(
            before.gc.is_none_or(|size| after.gc == Some(size)),
            "a raise keeps a recorded grant",
            seen,
        )?;
        // What was read is frozen, if it could be read: not an item of the entity's next life, which a rise of the last
        // one raises unread where its image will not decode.
        let was_readable = event
            .shown_of(shard)
            .is_some_and(|shown| shown.decodes && shown.stamp == old.stamp);
        require(
            !was_readable || !old.decodes || after.gc.is_some(),
            "a raise records the grant it found",
            seen,
        )?;
    }
    Ok(())
}

/// R4 and R11 on a session quota.
fn window(before: &Numbers, after: &Numbers, old: &Snapshot, new: &Snapshot, event: &Event<'_>) -> Verdict {
    let seen = || {
        format!(
            "at {}: {before:?} -> {after:?}, rf {} -> {}, vu {:?}",
            event.now, old.rf, new.rf, new.vu
        )
    };
    // Another length means that an operator changed it: left alone (R11).
    require(
        before.length == 0 || after.length == before.length,
        "the aggregator gives no window another length",
        seen,
    )?;
    if after.ws != before.ws {
        require(after.tk == before.tk, "only a start travels, never tokens", seen)?;
        require(after.wa == before.wa, "a propagated window is not yet applied", seen)?;
        require(
            after.wtc == Some(before.tc),
            "a window records what was consumed before it",
            seen,
        )?;
        require(new.vu == Some(0), "a propagated window stops the fast path", seen)?;
        let start = after.ws.unwrap_or(0);
        let ended = before.ws.is_none_or(|own| own <= start - after.length);
        require(ended, "a start is written only over a window that had ended", seen)?;
        require(
            before.wa.is_some() || old.rf < start,
            "an unmarked shard is told only of later windows",
            seen,
        )?;
        require(
            start + after.length > event.now,
            "an ended window is not propagated",
            seen,
        )?;
    }
    if after.wa != before.wa && after.tk != before.tk {
        require(
            after.wa == before.ws,
            "a roll applies the window that was propagated",
            seen,
        )?;
        require(
            before.window_end().is_some_and(|end| end > event.now),
            "an ended window is not rolled",
            seen,
        )?;
    }
    Ok(())
}

/// R6: `vu` is moved only when it has expired, to no later than the next boundary, and with nothing above its ceiling.
fn restamp(old: &Snapshot, new: &Snapshot, event: &Event<'_>) -> Verdict {
    if old.vu == new.vu || new.vu == Some(0) {
        return Ok(());
    }
    let seen = || format!("at {}: {old:?} -> {new:?}", event.now);
    let Some((before, after)) = old.vu.zip(new.vu) else {
        return require(false, "vu is neither made nor removed", seen);
    };
    require(
        before <= event.now && after > event.now,
        "vu is moved only when expired, and into the future",
        seen,
    )?;
    if new.limit(Kind::Calendar).is_some() {
        require(
            after <= edge_of(event.now) + crate::scenario::PERIOD_MS,
            "vu ends at the next edge",
            seen,
        )?;
    }
    if new.limit(Kind::Drip).is_some() && event.scenario.scheduled {
        let half = event.now - event.now.rem_euclid(HALF_MS) + HALF_MS;
        require(after <= half, "vu ends with the parameters in force", seen)?;
    }
    if let Some(session) = new.limit(Kind::Session) {
        let end = session.window_end().unwrap_or(event.now);
        require(after <= end, "vu ends with the window", seen)?;
    }
    for kind in [Kind::Calendar, Kind::Session] {
        let (Some(was), Some(is)) = (old.limit(kind), new.limit(kind)) else {
            continue;
        };
        let rests = was.tk == is.tk && was.gc == is.gc;
        let ceiling = is.cp / is.grant_size(new.count) + is.tu;
        require(
            !rests || is.tk <= ceiling,
            "vu is not moved while a quota is above its ceiling",
            seen,
        )?;
    }
    Ok(())
}
