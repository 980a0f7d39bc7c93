//! A shard that does not exist, made by the client that needs it: quotas funded by a move where a sibling was granted
//! the slot (ADR-133, ADR-145), a live window joined (ADR-140).

mod plan;

use std::collections::BTreeMap;

use limiter_aggregator::bucket::{Bucket, LimitField};
use limiter_aggregator::item::{Item, number};
use limiter_aggregator::plan::quota::grant_size;
use limiter_aggregator::table::{Consistency, Table, TransactionOutcome};
use limiter_aggregator::write::{Action, Comparison, Condition, Update};

use super::refund::Lease;
use super::slow::{Place, Planned, consume, propagate_window};
use super::{Client, Ended, count_of, field, instant, set, shard_key};
use crate::scenario::{GROUP, Kind};
use plan::Plan;

/// Makes a shard and admits the amount on it, if the shard allows that.
pub(super) async fn create(client: &Client, place: &Place, amount: i128) -> Planned {
    client.hold();
    let made = try_create(client, place, amount).await;
    client.release();
    made
}

async fn try_create(client: &Client, place: &Place, amount: i128) -> Planned {
    let configuration = client.configuration.borrow().clone();
    let read = client.table.read(&[GROUP.meta()], Consistency::Eventual).await;
    let Ok(owner) = read.map(|items| items.into_iter().next().flatten()) else {
        return Planned::Ended(Ended::Done);
    };
    let Ok(siblings) = siblings(client, place).await else {
        return Planned::Ended(Ended::Done);
    };
    let count = siblings.values().map(count_of).fold(place.count, u32::max);
    let mut plan = Plan::new(client, configuration, place.shard, count, owner.as_ref());
    let grants = plan.grants(client, &siblings);
    if grants.iter().any(|grant| grant.is_fresh()) && !raise_lagging(client, &siblings, count).await {
        return Planned::Ended(Ended::Done);
    }
    let window = match window(client, place.shard).await {
        Ok(window) => window,
        Err(()) => return Planned::Ended(Ended::Done),
    };
    plan.limits(client, &grants, &siblings, window, place.moves);
    let admitted = kinds(client).all(|kind| plan.balance(kind) >= amount);
    if !admitted && !plan.moves() {
        return Planned::Ended(Ended::Refused);
    }
    let (item, transaction) = plan.transaction(owner.as_ref(), if admitted { amount } else { 0 }, client);
    match client.table.transact(&transaction).await {
        Ok(TransactionOutcome::Applied) => {}
        Ok(TransactionOutcome::LostRace { .. }) if !admitted => return Planned::Ended(Ended::Refused),
        Ok(TransactionOutcome::LostRace { failed }) if failed.contains(&(transaction.actions.len() - 1)) => {
            return Planned::OwnerMoved;
        }
        Ok(TransactionOutcome::LostRace { .. }) if plan.moves() => return Planned::MoveLost,
        Ok(TransactionOutcome::LostRace { .. }) => {
            client.release();
            return consume(client, place.shard, amount, &plan.begun(client), None).await;
        }
        Err(_) => return Planned::Ended(Ended::Done),
    }
    repair(client, place.shard, count).await;
    if let Some(opened) = plan.opens() {
        propagate_window(client, place.shard, count, &opened).await;
    }
    Planned::Ended(if admitted {
        Ended::Admitted(Lease::new(place.shard, amount, item))
    } else {
        Ended::Refused
    })
}

fn kinds(client: &Client) -> impl Iterator<Item = Kind> + use<> {
    let scenario = client.scenario;
    Kind::ALL.into_iter().filter(move |kind| scenario.has(*kind))
}

fn quotas(client: &Client) -> impl Iterator<Item = Kind> + use<> {
    kinds(client).filter(|kind| *kind != Kind::Drip)
}

/// Every other shard, where a quota has to be funded.
async fn siblings(client: &Client, place: &Place) -> Result<BTreeMap<u32, Item>, ()> {
    if place.count <= 1 || quotas(client).next().is_none() {
        return Ok(BTreeMap::new());
    }
    let others: Vec<u32> = (0..32).filter(|other| *other != place.shard).collect();
    let keys: Vec<_> = others.iter().map(|other| shard_key(*other)).collect();
    let read = client.table.read(&keys, Consistency::Eventual).await.map_err(|_| ())?;
    let found = others.into_iter().zip(read);
    Ok(found.filter_map(|(other, item)| Some((other, item?))).collect())
}

/// The window on shard 0, which a new shard joins if it is live.
async fn window(client: &Client, shard: u32) -> Result<Option<i64>, ()> {
    if shard == 0 || !client.scenario.has(Kind::Session) {
        return Ok(None);
    }
    let read = client
        .table
        .read(&[shard_key(0)], Consistency::Strong)
        .await
        .map_err(|_| ())?;
    let start = field(Kind::Session.limit(), LimitField::Ws);
    Ok(read
        .into_iter()
        .next()
        .flatten()
        .and_then(|zero| instant(&zero, &start)))
}

/// Before a grant that no sibling covers, a sibling that has not heard of the count is told, with the size of its own
/// grant: it is not to cover the slot once it is reset (ADR-145). Answers whether every answer came.
async fn raise_lagging(client: &Client, siblings: &BTreeMap<u32, Item>, count: u32) -> bool {
    for (sibling, item) in siblings.iter().filter(|(_, item)| count_of(item) < count) {
        if client
            .table
            .update(&freeze(client, *sibling, item, count))
            .await
            .is_err()
        {
            return false;
        }
    }
    true
}

pub(super) fn freeze(client: &Client, shard: u32, item: &Item, count: u32) -> Update {
    let mut actions = vec![set("shard_count", count.into())];
    if let Ok(bucket) = Bucket::from_item(item) {
        for kind in quotas(client) {
            let capacity = client.configuration.borrow().parameters(kind).capacity;
            let limit = bucket.limit(kind.limit()).filter(|limit| limit.balance.is_some());
            actions.extend(limit.map(|limit| {
                let size = grant_size(limit, bucket.fields.shard_count(), capacity);
                keep_grant_size(kind, size.get())
            }));
        }
    }
    raise(shard, count, actions)
}

fn keep_grant_size(kind: Kind, size: u32) -> Action {
    let attribute = field(kind.limit(), LimitField::Gc);
    Action::SetFrom {
        source: attribute.clone(),
        attribute,
        default: number(size.into()),
    }
}

fn raise(shard: u32, count: u32, actions: Vec<Action>) -> Update {
    Update {
        key: shard_key(shard),
        actions,
        conditions: vec![Condition::compare("shard_count", Comparison::Less, count.into())],
        return_item_on_failure: false,
    }
}

/// A doubling that landed meanwhile could not reach the shard: it is raised, with the size of its grant (ADR-145).
async fn repair(client: &Client, shard: u32, count: u32) {
    if shard == 0 || quotas(client).next().is_none() {
        return;
    }
    let Some(zero) = client.read_shard(0).await else { return };
    let raised = count_of(&zero);
    if raised <= count {
        return;
    }
    let mut actions = vec![set("shard_count", raised.into())];
    actions.extend(quotas(client).map(|kind| keep_grant_size(kind, count)));
    let _raised = client.table.update(&raise(shard, raised, actions)).await;
}
