//! What an operator does to every shard at once: other limits, a top-up, a reset (ADR-145, I1, I7, I8).

use std::collections::BTreeMap;

use limiter_aggregator::bucket::LimitField;
use limiter_aggregator::item::Item;
use limiter_aggregator::table::{Consistency, Table};
use limiter_aggregator::write::{Action, Condition, Transaction, TransactionAction, Update};

use super::materialise::{Due, Pass, pass};
use super::{Client, Ended, add, as_read, field, integer, reset_counter, set, shard_key};
use crate::scenario::{Kind, WINDOW_MS};

/// One thing an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets every limit to so many thousandths of its base.
    Configure(u16),
    /// Adds to every quota above its grant.
    TopUp(i128),
    /// Grants every quota anew.
    Reset,
}

/// Carries an operation out on every shard that exists.
pub async fn operate(client: Client, operation: Operation) -> Ended {
    match operation {
        Operation::Configure(per_mille) => configure(&client, per_mille).await,
        Operation::TopUp(amount) => regrant(&client, Some(amount)).await,
        Operation::Reset => regrant(&client, None).await,
    }
    client.release();
    Ended::Done
}

async fn shards(client: &Client) -> BTreeMap<u32, Item> {
    let keys: Vec<_> = (0..32).map(shard_key).collect();
    let read = client.table.read(&keys, Consistency::Strong).await.unwrap_or_default();
    (0..32)
        .zip(read)
        .filter_map(|(shard, item)| Some((shard, item?)))
        .collect()
}

/// The configuration first, then every shard, then those that came into being meanwhile.
async fn configure(client: &Client, per_mille: u16) {
    client.hold();
    client.configuration.borrow_mut().per_mille = per_mille.into();
    let mut told = BTreeMap::new();
    for _ in 0..2 {
        for (shard, item) in shards(client).await {
            if told.insert(shard, ()).is_none() && !tell(client, shard, &item).await {
                return;
            }
        }
    }
}

async fn tell(client: &Client, shard: u32, item: &Item) -> bool {
    let mut actions = vec![set("vu", 0)];
    for kind in Kind::ALL
        .into_iter()
        .filter(|kind| item.contains_key(&field(kind.limit(), LimitField::Cp)))
    {
        let parameters = client.configuration.borrow().parameters(kind);
        actions.push(set(field(kind.limit(), LimitField::Cp), parameters.capacity.0));
        actions.push(set(field(kind.limit(), LimitField::Ra), parameters.refill.0));
        actions.push(set(field(kind.limit(), LimitField::Rp), parameters.period_ms));
    }
    let conditions = vec![Condition::item_exists()];
    let update = Update {
        key: shard_key(shard),
        actions,
        conditions,
        return_item_on_failure: false,
    };
    client.table.update(&update).await.is_ok()
}

/// A top-up or a reset: every shard brought up to date and changed, in one transaction.
async fn regrant(client: &Client, top_up: Option<i128>) {
    client.hold();
    let shards = shards(client).await;
    let passes: Vec<_> = shards
        .iter()
        .filter_map(|(shard, item)| Some((*shard, item, pass(item, client.now)?)))
        .collect();
    let at_rest = |pass: &Pass| {
        pass.limits
            .iter()
            .all(|limit| matches!(limit.due, Due::Drip | Due::Rest))
    };
    // Where a window would have to be opened first, the operator comes back later.
    if passes.is_empty() || top_up.is_some() && !passes.iter().all(|(_, _, pass)| at_rest(pass)) {
        return;
    }
    let part = top_up.map(|amount| amount / i128::try_from(passes.len()).unwrap_or(1));
    let members = passes
        .iter()
        .map(|(shard, item, pass)| TransactionAction::Update(member(*shard, item, pass, part, client)));
    let transaction = Transaction {
        actions: members.collect(),
        token: client.token(),
    };
    let _done = client.table.transact(&transaction).await;
}

fn member(shard: u32, item: &Item, pass: &Pass, part: Option<i128>, client: &Client) -> Update {
    let rf = (integer(item, "rf").unwrap_or(0) + 1).max(client.now.into());
    let mut actions = vec![set("rf", rf), set("vu", 0)];
    for limit in &pass.limits {
        let change = match (Kind::of(&limit.limit), part) {
            (None | Some(Kind::Drip), _) => limit.balance - limit.read,
            (Some(_), Some(part)) => {
                let before = integer(item, &field(&limit.limit, LimitField::Tu)).unwrap_or(0);
                actions.push(set(field(&limit.limit, LimitField::Tu), before + part));
                limit.balance - limit.read + part
            }
            (Some(Kind::Calendar), None) => {
                actions.push(set(field(&limit.limit, LimitField::Gc), pass.count.into()));
                actions.push(add(reset_counter(&limit.limit), 1));
                actions.push(Action::Remove {
                    attribute: field(&limit.limit, LimitField::Tu),
                });
                let capacity = integer(item, &field(&limit.limit, LimitField::Cp)).unwrap_or(0);
                capacity / i128::from(pass.count) - limit.read
            }
            (Some(Kind::Session), None) => {
                let ended = i128::from(client.now - WINDOW_MS);
                actions.push(set(field(&limit.limit, LimitField::Ws), ended));
                actions.push(set(field(&limit.limit, LimitField::Wa), ended));
                actions.push(Action::Remove {
                    attribute: field(&limit.limit, LimitField::Wtc),
                });
                0
            }
        };
        if change != 0 {
            actions.push(add(field(&limit.limit, LimitField::Tk), change));
        }
    }
    let conditions = vec![as_read(item, "rf"), as_read(item, "shard_count")];
    Update {
        key: shard_key(shard),
        actions,
        conditions,
        return_item_on_failure: false,
    }
}
