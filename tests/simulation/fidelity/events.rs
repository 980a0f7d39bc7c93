//! What a script exercised, read off the writes that took effect.

use limiter_aggregator::bucket::{LimitField, WCU, attribute};
use limiter_aggregator::item::number;
use limiter_aggregator::table::{TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Action, Transaction, TransactionAction, Update};

use crate::port::{Answer, Call};
use crate::scenario::Kind;

/// The names of what a call did; nothing for a read.
pub fn of(call: &Call, answer: &Answer) -> Vec<&'static str> {
    match (call, answer) {
        (Call::Update(update), Answer::Update(Ok(UpdateOutcome::Applied))) => of_update(update),
        (Call::UpdateReturning(update), Answer::UpdateReturning(Ok(Ok(_)))) => of_update(update),
        (Call::UpdateReturning(_), Answer::UpdateReturning(Ok(Err(_)))) => vec!["a condition failed"],
        (Call::Transact(transaction), Answer::Transact(Ok(TransactionOutcome::Applied))) => of_transaction(transaction),
        (Call::Update(_), Answer::Update(Ok(UpdateOutcome::LostRace { .. }))) => vec!["a condition failed"],
        (Call::Transact(_), Answer::Transact(Ok(TransactionOutcome::LostRace { .. }))) => {
            vec!["a transaction was cancelled"]
        }
        _ => vec![],
    }
}

fn sets(update: &Update, name: &str) -> bool {
    update
        .actions
        .iter()
        .any(|action| matches!(action, Action::Set { attribute, .. } if attribute == name))
}

fn sets_zero(update: &Update, name: &str) -> bool {
    let zero = number(0);
    update
        .actions
        .iter()
        .any(|action| matches!(action, Action::Set { attribute, value } if attribute == name && *value == zero))
}

fn adds(update: &Update, name: &str) -> Option<i128> {
    update.actions.iter().find_map(|action| match action {
        Action::Add { attribute, delta } if attribute == name => Some(*delta),
        _ => None,
    })
}

fn of_update(update: &Update) -> Vec<&'static str> {
    let of_quotas = |field: LimitField| {
        [Kind::Calendar, Kind::Session]
            .into_iter()
            .any(|kind| sets(update, &attribute(kind.limit(), field)))
    };
    let consumed = Kind::ALL
        .into_iter()
        .find_map(|kind| adds(update, &attribute(kind.limit(), LimitField::Tc)));
    let session = |field| attribute(Kind::Session.limit(), field);
    if adds(update, &attribute(WCU, LimitField::Tc)).is_some() {
        return vec!["fast path"];
    }
    if sets(update, "rf") {
        let mut events = vec!["slow path"];
        if of_quotas(LimitField::Gc) {
            events.push(match () {
                () if sets(update, &session(LimitField::Ws)) => "window opened",
                () if sets(update, &session(LimitField::Gc)) => "window rolled",
                () => "reset edge rolled over",
            });
        }
        return events;
    }
    if sets(update, "shard_count") {
        let others = update.actions.len() > 1;
        return vec![if others {
            "count raised, grant frozen"
        } else if update.return_item_on_failure {
            "doubled"
        } else {
            "doubling fanned out"
        }];
    }
    if sets(update, &session(LimitField::Ws)) {
        return vec!["window fanned out"];
    }
    if sets(update, &attribute(Kind::Drip.limit(), LimitField::Cp)) || of_quotas(LimitField::Cp) {
        return vec!["configuration fanned out"];
    }
    match consumed {
        Some(..=-1) if sets_zero(update, "vu") => vec!["refund above the ceiling"],
        Some(..=-1) => vec!["refund"],
        Some(_) if update.conditions.len() == 1 => vec!["later charge"],
        Some(_) => vec!["consumption alone"],
        None => vec![],
    }
}

fn of_transaction(transaction: &Transaction) -> Vec<&'static str> {
    let mut events = Vec::new();
    let put = transaction.actions.iter().find_map(|action| match action {
        TransactionAction::Put(put) => Some(put),
        _ => None,
    });
    let updates: Vec<&Update> = transaction
        .actions
        .iter()
        .filter_map(|action| match action {
            TransactionAction::Update(update) => Some(update),
            _ => None,
        })
        .collect();
    let tops_up = |kind: Kind| {
        updates
            .iter()
            .any(|update| sets(update, &attribute(kind.limit(), LimitField::Tu)))
    };
    match put {
        Some(put) => {
            events.push("shard created");
            if !updates.is_empty() {
                events.push("funded by a move");
            }
            let session = |field| put.item.get(&attribute(Kind::Session.limit(), field));
            if session(LimitField::Ws).is_some() && session(LimitField::Ws) != put.item.get("rf") {
                events.push("window joined");
            }
        }
        None if Kind::ALL.into_iter().any(tops_up) => events.push("topped up"),
        None => events.push("reset by the operator"),
    }
    events
}
