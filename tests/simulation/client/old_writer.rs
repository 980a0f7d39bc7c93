//! Writers from before windows and grants were recorded: they ignore `vu`, know neither `wa` nor `gc`, and stamp `rf`
//! from their own clock, even backward (ADR-140, "two further hazards").

use limiter_aggregator::bucket::LimitField;
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::write::{Condition, Update};

use super::materialise::{Due, pass};
use super::refund::{Lease, written};
use super::{Client, Ended, add, as_read, at_least, field, set, shard_key};
use crate::scenario::Kind;

/// One request of an old writer.
pub async fn old_acquire(client: Client, draw: u32, amount: i128) -> Ended {
    let shard = draw % client.known.get();
    match client
        .table
        .update_returning(&consumption(&client, shard, amount))
        .await
    {
        Ok(Ok(item)) => return Ended::Admitted(Lease::new(shard, amount, item)),
        Ok(Err(_)) => {}
        Err(_) => return Ended::Done,
    }
    let Some(item) = client.read_shard(shard).await else {
        return Ended::Refused;
    };
    client.learn(&item);
    let Some(pass) = pass(&item, client.now) else {
        return Ended::Refused;
    };
    let mut update = consumption(&client, shard, amount);
    update.actions.clear();
    update.conditions = vec![as_read(&item, "rf")];
    update.actions.push(set("rf", client.now.into()));
    for limit in pass.limits.iter().filter(|limit| Kind::of(&limit.limit).is_some()) {
        // It drips and resets as it knows, but a window is nothing to it.
        let balance = if matches!(limit.due, Due::Drip | Due::Reset) {
            limit.balance
        } else {
            limit.read
        };
        if balance < amount {
            return Ended::Refused;
        }
        let stored = field(&limit.limit, LimitField::Tk);
        update.actions.push(add(&stored, balance - limit.read - amount));
        update.actions.push(add(field(&limit.limit, LimitField::Tc), amount));
        update.conditions.push(Condition::Exists(stored));
    }
    match client.table.update(&update).await {
        Ok(UpdateOutcome::Applied) => Ended::Admitted(Lease::new(shard, amount, written(&item, &update))),
        Ok(UpdateOutcome::LostRace { .. }) | Err(_) => Ended::Refused,
    }
}

fn consumption(client: &Client, shard: u32, amount: i128) -> Update {
    let mut update = Update {
        key: shard_key(shard),
        actions: vec![],
        conditions: vec![Condition::item_exists()],
        return_item_on_failure: false,
    };
    for kind in Kind::ALL.into_iter().filter(|kind| client.scenario.has(*kind)) {
        update
            .conditions
            .push(at_least(field(kind.limit(), LimitField::Tk), amount));
        update.actions.push(add(field(kind.limit(), LimitField::Tk), -amount));
        update.actions.push(add(field(kind.limit(), LimitField::Tc), amount));
    }
    update
}
