//! A request: the fast path, and where it goes when that fails (ADR-133).

use limiter_aggregator::bucket::{LimitField, WCU};
use limiter_aggregator::item::{Item, number};
use limiter_aggregator::write::{Comparison, Condition, Update};

use super::doubling::double;
use super::materialise::pass;
use super::refund::Lease;
use super::slow::slow;
use super::{Client, Draws, Ended, add, at_least, count_of, field, instant, integer, shard_key};
use crate::scenario::Kind;

/// What one write of the write budget costs.
const WRITE: i128 = 1000;
/// How many other shards are tried where one is short of tokens.
const OTHERS: u32 = 2;

/// One request for `amount` of every limit, on a shard drawn from those that the client knows.
pub async fn acquire(client: Client, draw: u32, amount: i128) -> Ended {
    let mut draws = Draws(draw);
    let ended = match fast(&client, &mut draws, amount).await {
        Fast::Ended(ended) => ended,
        Fast::Slow { shard, count } => slow(&client, &mut draws, shard, count, amount).await,
    };
    client.release();
    ended
}

/// How the fast path ended.
enum Fast {
    /// With an answer.
    Ended(Ended),
    /// With a shard to bring up to date or to make, and the count that was seen, if one was.
    Slow { shard: u32, count: Option<u32> },
}

/// Why a shard did not admit a request.
enum Short {
    /// Its `vu` has passed: what it holds says nothing.
    Stale,
    /// Its write budget is used up, whatever else is.
    Writes,
    /// A limit is.
    Tokens,
    /// Nothing is: `vu` is 0 where that can only lower a balance.
    Stamp,
}

async fn fast(client: &Client, draws: &mut Draws, amount: i128) -> Fast {
    let shard = draws.below(client.known.get());
    let item = match spend(client, shard, amount).await {
        Spent::Yes(lease) => return Fast::Ended(Ended::Admitted(lease)),
        Spent::Unknown => return Fast::Ended(Ended::Done),
        Spent::Missing => return Fast::Slow { shard, count: None },
        Spent::No(item) => item,
    };
    let count = count_of(&item);
    let here = Fast::Slow {
        shard,
        count: Some(count),
    };
    match why(client, &item, amount) {
        Short::Stale => here,
        Short::Writes if !could_admit(client, &item, amount) => Fast::Ended(Ended::Refused),
        Short::Writes if writes_recover(client, &item) => here,
        Short::Writes => {
            let doubled = double(client, count).await;
            let added = doubled.saturating_sub(count);
            let shard = if added > 0 { count + draws.below(added) } else { shard };
            Fast::Slow {
                shard,
                count: Some(doubled),
            }
        }
        Short::Stamp if count > 1 => here,
        Short::Stamp | Short::Tokens => match elsewhere(client, draws, shard, count, amount).await {
            Some(other) => other,
            None if could_admit(client, &item, amount) => here,
            None => Fast::Ended(Ended::Refused),
        },
    }
}

/// The fast path on a few other shards, until one of them admits the request or has to be made or brought up to date.
async fn elsewhere(client: &Client, draws: &mut Draws, first: u32, count: u32, amount: i128) -> Option<Fast> {
    let mut untried: Vec<u32> = (0..count).filter(|shard| *shard != first).collect();
    for _ in 0..OTHERS {
        let shard = draws.of(&untried)?;
        untried.retain(|other| *other != shard);
        let there = Fast::Slow {
            shard,
            count: Some(count),
        };
        match spend(client, shard, amount).await {
            Spent::Yes(lease) => return Some(Fast::Ended(Ended::Admitted(lease))),
            Spent::Unknown => return Some(Fast::Ended(Ended::Done)),
            Spent::Missing => return Some(there),
            Spent::No(item) => match why(client, &item, amount) {
                Short::Stale | Short::Stamp => return Some(there),
                Short::Writes | Short::Tokens => {}
            },
        }
    }
    None
}

fn why(client: &Client, item: &Item, amount: i128) -> Short {
    // Without a quota nothing but a clamp can be due where `vu` is 0.
    let only_clamps = !client.scenario.has(Kind::Calendar) && !client.scenario.has(Kind::Session);
    match instant(item, "vu") {
        Some(0) if only_clamps => {}
        Some(until) if until <= client.now => return Short::Stale,
        _ => {}
    }
    let has = |limit: &str, amount: i128| {
        integer(item, &field(limit, LimitField::Tk)).is_some_and(|balance| balance >= amount)
    };
    let kinds = Kind::ALL.into_iter().filter(|kind| client.scenario.has(*kind));
    match () {
        () if !has(WCU, WRITE) => Short::Writes,
        () if !kinds.into_iter().all(|kind| has(kind.limit(), amount)) => Short::Tokens,
        () => Short::Stamp,
    }
}

/// Whether a shard admits the amount once it is brought up to date.
fn could_admit(client: &Client, item: &Item, amount: i128) -> bool {
    pass(item, client.now).is_none_or(|pass| pass.admits(amount))
}

/// Whether the write budget only waits for somebody to refill it: then the partition is not hot.
fn writes_recover(client: &Client, item: &Item) -> bool {
    let budget = |pass: super::materialise::Pass| pass.limits.into_iter().find(|limit| limit.limit == WCU);
    pass(item, client.now)
        .and_then(budget)
        .is_some_and(|budget| budget.balance >= WRITE)
}

enum Spent {
    Yes(Lease),
    No(Item),
    Missing,
    Unknown,
}

/// The fast path: one conditional addition, nothing evaluated.
async fn spend(client: &Client, shard: u32, amount: i128) -> Spent {
    let mut actions = vec![
        add(field(WCU, LimitField::Tk), -WRITE),
        add(field(WCU, LimitField::Tc), WRITE),
    ];
    let later = Condition::Compare("vu".to_owned(), Comparison::Greater, number(client.now.into()));
    let mut conditions = vec![
        Condition::item_exists(),
        at_least(field(WCU, LimitField::Tk), WRITE),
        Condition::Any(vec![Condition::Absent("vu".to_owned()), later]),
    ];
    for kind in Kind::ALL.into_iter().filter(|kind| client.scenario.has(*kind)) {
        conditions.push(at_least(field(kind.limit(), LimitField::Tk), amount));
        actions.push(add(field(kind.limit(), LimitField::Tk), -amount));
        actions.push(add(field(kind.limit(), LimitField::Tc), amount));
    }
    let update = Update {
        key: shard_key(shard),
        actions,
        conditions,
        return_item_on_failure: true,
    };
    match client.table.update_returning(&update).await {
        Ok(Ok(item)) => {
            client.learn(&item);
            Spent::Yes(Lease::new(shard, amount, item))
        }
        Ok(Err(Some(item))) => {
            client.learn(&item);
            Spent::No(item)
        }
        Ok(Err(None)) => Spent::Missing,
        Err(_) => Spent::Unknown,
    }
}
