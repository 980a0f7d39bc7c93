//! A request: the fast path, and where it fails the slow one (ADR-133).

use limiter_aggregator::bucket::{LimitField, WCU};
use limiter_aggregator::item::{Item, number};
use limiter_aggregator::table::{Table, UpdateOutcome};
use limiter_aggregator::write::{Action, Comparison, Condition, Update};

use super::create::create;
use super::doubling::double;
use super::materialise::{Pass, pass};
use super::refund::Lease;
use super::{Client, Ended, add, at_least, at_most, field, integer, shard_key};
use crate::scenario::{Kind, WINDOW_MS, WINDOW_S};

/// What one write of the write budget costs.
const WRITE: i128 = 1000;
/// How often the slow path starts over.
const ATTEMPTS: u32 = 3;

/// One request for `amount` of every limit, on a shard drawn from those that the client knows.
pub async fn acquire(client: Client, draw: u32, amount: i128) -> Ended {
    let shard = draw % client.known.get();
    let ended = acquire_on(&client, shard, draw, amount).await;
    client.release();
    ended
}

async fn acquire_on(client: &Client, shard: u32, draw: u32, amount: i128) -> Ended {
    match spend(client, shard, amount).await {
        Spent::Yes => return Ended::Admitted(Lease::new(client, shard, amount)),
        Spent::Unknown => return Ended::Done,
        Spent::No(None) => {}
        Spent::No(Some(item)) if is_short_of_writes(&item) => {
            double(client, &item).await;
            let other = draw.wrapping_mul(7).wrapping_add(1) % client.known.get();
            return match spend(client, other, amount).await {
                Spent::Yes => Ended::Admitted(Lease::new(client, other, amount)),
                Spent::Unknown => Ended::Done,
                Spent::No(_) => slow(client, other, amount).await,
            };
        }
        Spent::No(Some(_)) => {}
    }
    slow(client, shard, amount).await
}

enum Spent {
    Yes,
    No(Option<Item>),
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
    match client.table.update(&update).await {
        Ok(UpdateOutcome::Applied) => Spent::Yes,
        Ok(UpdateOutcome::LostRace { found }) => {
            if let Some(item) = &found {
                client.learn(item);
            }
            Spent::No(found)
        }
        Err(_) => Spent::Unknown,
    }
}

fn is_short_of_writes(item: &Item) -> bool {
    integer(item, &field(WCU, LimitField::Tk)).is_some_and(|balance| balance < WRITE)
}

/// The slow path on the same shard: bring it up to date and consume, or make it.
pub(super) async fn slow(client: &Client, shard: u32, amount: i128) -> Ended {
    for _ in 0..ATTEMPTS {
        let Some(item) = client.read_shard(shard).await else {
            match create(client, shard, amount).await {
                Some(ended) => return ended,
                None => continue,
            }
        };
        let Some(pass) = pass(&item, client.now) else {
            return Ended::Refused;
        };
        if !pass.admits(amount) {
            return Ended::Refused;
        }
        if pass.opened().next().is_some() {
            client.hold();
        }
        match client.table.update(&pass.update(&item, shard, amount)).await {
            Ok(UpdateOutcome::Applied) => {
                propagate(client, shard, &pass).await;
                return Ended::Admitted(Lease::new(client, shard, amount));
            }
            Ok(UpdateOutcome::LostRace { .. }) => {}
            Err(_) => return Ended::Done,
        }
        client.release();
        match client.table.update(&pass.consumption(shard, amount)).await {
            Ok(UpdateOutcome::Applied) => return Ended::Admitted(Lease::new(client, shard, amount)),
            Ok(UpdateOutcome::LostRace { .. }) => {}
            Err(_) => return Ended::Done,
        }
    }
    Ended::Refused
}

async fn propagate(client: &Client, shard: u32, pass: &Pass) {
    for (limit, start) in pass.opened() {
        propagate_window(client, shard, limit, start).await;
    }
    client.release();
}

/// Tells every other shard of a window that was just opened (ADR-140): the start, never tokens.
pub(super) async fn propagate_window(client: &Client, shard: u32, limit: &str, start: i64) {
    let start_field = field(limit, LimitField::Ws);
    for sibling in (0..client.known.get()).filter(|sibling| *sibling != shard) {
        let consumed = field(limit, LimitField::Tc);
        let actions = vec![
            super::set(&start_field, start.into()),
            super::set(field(limit, LimitField::Rsa), WINDOW_S.into()),
            super::set("vu", 0),
            Action::SetFrom {
                attribute: field(limit, LimitField::Wtc),
                source: consumed,
                default: number(0),
            },
        ];
        let applied = Condition::Exists(field(limit, LimitField::Wa));
        let older = Condition::compare("rf", Comparison::Less, start.into());
        let ended = at_most(&start_field, i128::from(start - WINDOW_MS));
        let conditions = vec![
            Condition::item_exists(),
            Condition::Any(vec![applied, older]),
            Condition::Any(vec![Condition::Absent(start_field.clone()), ended]),
        ];
        let update = Update {
            key: shard_key(sibling),
            actions,
            conditions,
            return_item_on_failure: false,
        };
        if client.table.update(&update).await.is_err() {
            return;
        }
    }
}
