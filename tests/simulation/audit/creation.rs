//! What an aggregator may create (R8 step 3, R9, R10).

use std::collections::BTreeMap;

use super::snapshot::{Numbers, Snapshot, edge_of};
use super::{Event, Verdict, require};
use crate::scenario::Kind;

pub fn check(shard: u32, new: &Snapshot, event: &Event<'_>) -> Verdict {
    let seen = || {
        format!(
            "shard {shard} at {}, truth {}: {new:?}, owner {:?}",
            event.now, event.truth, event.owner
        )
    };
    require(
        new.decodes,
        "nothing is copied with a schedule that will not decode",
        seen,
    )?;
    require(
        stamp_holds(new, event),
        "buckets of a deleted entity do not come back",
        seen,
    )?;
    let Some(zero) = event.shown_of(0) else {
        return require(false, "nothing is created unread", seen);
    };
    require(
        zero.count == new.count,
        "a shard is created only at shard 0's count",
        seen,
    )?;
    require(
        new.wcu.tk == new.wcu.cp && new.wcu.tc == 0,
        "a new shard has its whole write budget",
        seen,
    )?;
    for kind in Kind::ALL {
        let (Some(numbers), Some(source)) = (new.limit(kind), zero.limit(kind)) else {
            continue;
        };
        let of = |own: &Numbers| (own.cp, own.ra, own.rp, own.length);
        let same = of(numbers) == of(source);
        require(same, "nothing is created from an image that an operator overtook", seen)?;
        require(numbers.tc == 0, "a new shard has consumed nothing", seen)?;
        require(
            numbers.wtc.is_none_or(|consumed| consumed == 0),
            "a copy's wtc counts from its own tc",
            seen,
        )?;
        if kind == Kind::Drip {
            require(
                numbers.tk == event.scenario.in_force(numbers.cp, event.now) / new.count,
                "a new shard starts with its share of a drip",
                seen,
            )?;
        } else {
            require(
                numbers.gc == Some(new.count) && numbers.tu == 0,
                "a new grant records its size",
                seen,
            )?;
            donor(shard, kind, new, numbers, event)?;
        }
    }
    Ok(())
}

/// R10: the owner exists and carries the image's stamp, or neither has one.
fn stamp_holds(new: &Snapshot, event: &Event<'_>) -> bool {
    let owner = event.owner.clone().unwrap_or_default();
    let generation = match new.stamp.0 {
        Some(0) | None => owner.0.unwrap_or(0) == 0,
        stamp => owner.0 == stamp,
    };
    generation && owner.1 == new.stamp.1 && (event.owner.is_some() || new.stamp == (None, None))
}

/// R9: the smallest grant that covers the slot pays, the lowest shard among equals. Exact on what was shown.
fn donor(shard: u32, kind: Kind, new: &Snapshot, numbers: &Numbers, event: &Event<'_>) -> Verdict {
    let read: BTreeMap<u32, Snapshot> = event
        .shown
        .iter()
        .filter_map(|(id, item)| Some((*id, Snapshot::of(item.as_ref()?))))
        .collect();
    let current = |item: &Snapshot, own: &Numbers| match kind {
        Kind::Calendar => edge_of(event.now) <= item.rf,
        _ => own.window_end().is_some_and(|end| end > event.now) && own.ws <= own.wa.or(Some(item.rf)),
    };
    let mut payer: Option<(i128, u32)> = None;
    for (id, item) in &read {
        let Some(own) = item.limit(kind).filter(|own| current(item, own)) else {
            continue;
        };
        let size = own.grant_size(item.count);
        if i128::from(*id) % size == i128::from(shard) % size && payer.is_none_or(|(largest, _)| size > largest) {
            payer = Some((size, *id));
        }
    }
    let debited: Vec<u32> = event
        .changes
        .iter()
        .filter(|change| change.shard != shard && moved(change, kind))
        .map(|change| change.shard)
        .collect();
    let seen = || {
        format!(
            "{kind:?} of shard {shard} at {}: payer {payer:?}, debited {debited:?}, {numbers:?}, rf {}",
            event.now, new.rf
        )
    };
    match payer {
        None => require(
            debited.is_empty() && numbers.tk == numbers.cp / new.count,
            "a slot nobody holds gets a fresh share",
            seen,
        ),
        Some((_, id)) => {
            // Not only as it was read: a donor that was granted anew meanwhile would pay from what is another period's. A
            // start that was propagated to it since leaves its balance what it was.
            let donors = event.changes.iter().filter(|change| change.shard == id);
            for paid in donors
                .filter_map(|change| change.old.as_ref())
                .filter(|_| debited == [id])
            {
                let wa = |item: &Snapshot| item.limit(kind).and_then(|own| own.wa);
                let same = match kind {
                    Kind::Calendar => edge_of(event.now) <= paid.rf,
                    _ => read.get(&id).map(wa) == Some(wa(paid)),
                };
                require(same, "a donor pays from its grant of this period", || {
                    format!("{}, {paid:?}", seen())
                })?;
            }
            require(
                debited.iter().all(|other| *other == id),
                "the smallest covering grant pays",
                seen,
            )?;
            require(
                numbers.tk == 0 || debited == [id],
                "a covered slot is moved, not minted",
                seen,
            )?;
            require(
                current(new, numbers),
                "nothing is moved to a copy that still waits for its reset",
                seen,
            )
        }
    }
}

fn moved(change: &super::Change, kind: Kind) -> bool {
    let balance = |snapshot: &Option<Snapshot>| snapshot.as_ref().and_then(|shard| shard.limit(kind)).map(|own| own.tk);
    balance(&change.old) != balance(&change.new)
}
