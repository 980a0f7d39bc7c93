//! Transactions: every member judged against the items as they are, then all stored or none; and the tokens by which
//! a repeat is known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::change::{self, Change};
use super::{Invalid, condition, value};
use crate::item::{Item, key_of};
use crate::key::ItemKey;
use crate::units::EpochMillis;
use crate::write::{Put, Transaction, TransactionAction};

/// How long a token is remembered (platform facts).
const TOKEN_MILLIS: i64 = 10 * 60 * 1000;
/// Most members, and longest token in characters.
const MAX_MEMBERS: usize = 100;
const MAX_TOKEN: usize = 36;

/// What a member that may go ahead does to its item.
pub(super) enum Effect<'a> {
    /// Nothing; it was only a check.
    None,
    /// These attributes change.
    Change(Vec<Change<'a>>),
    /// This is the item now.
    Replace(Item),
}

/// What a member comes to, its item being as it is.
pub(super) enum Verdict<'a> {
    /// It may go ahead.
    Passed(Effect<'a>),
    /// Its condition does not hold.
    ConditionFailed,
    /// It cannot be carried out on what is stored.
    Invalid,
}

/// The item that a member is about; `None` for a put of an item without a key.
pub(super) fn key(action: &TransactionAction) -> Option<ItemKey> {
    match action {
        TransactionAction::Put(put) => key_of(&put.item),
        TransactionAction::Update(update) => Some(update.key.clone()),
        TransactionAction::Check(check) => Some(check.key.clone()),
    }
}

/// Refuses a transaction that DynamoDB refuses whatever is stored. Gives the members' keys, in order.
pub(super) fn check(transaction: &Transaction) -> Result<Vec<ItemKey>, Invalid> {
    let token = (1..=MAX_TOKEN).contains(&transaction.token.chars().count());
    let members = (1..=MAX_MEMBERS).contains(&transaction.actions.len());
    if !token || !members {
        return Err(Invalid);
    }
    let keys = transaction.actions.iter().map(|action| {
        match action {
            TransactionAction::Put(put) => check_put(put)?,
            // The request has a mandatory place for what these two leave out.
            TransactionAction::Update(update) if update.actions.is_empty() => return Err(Invalid),
            TransactionAction::Check(check) if check.conditions.is_empty() => return Err(Invalid),
            TransactionAction::Update(update) => change::check(update)?,
            TransactionAction::Check(check) => {
                change::check_key(&check.key)?;
                condition::check(&check.conditions)?;
            }
        }
        key(action).ok_or(Invalid)
    });
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let different: BTreeSet<&ItemKey> = keys.iter().collect();
    if different.len() == keys.len() {
        Ok(keys)
    } else {
        Err(Invalid)
    }
}

fn check_put(put: &Put) -> Result<(), Invalid> {
    change::check_key(&key_of(&put.item).ok_or(Invalid)?)?;
    condition::check(&put.conditions)?;
    put.item.values().try_for_each(value::check)
}

/// An item as it is stored when put as a whole.
pub(super) fn stored_item(item: &Item) -> Result<Item, Invalid> {
    item.iter()
        .map(|(name, value)| Ok((name.clone(), value::stored(value)?)))
        .collect()
}

/// What a checked member comes to.
pub(super) fn judge<'a>(action: &'a TransactionAction, item: Option<&Item>) -> Verdict<'a> {
    let conditions = match action {
        TransactionAction::Put(put) => &put.conditions,
        TransactionAction::Update(update) => &update.conditions,
        TransactionAction::Check(check) => &check.conditions,
    };
    if !condition::hold(conditions, item) {
        return Verdict::ConditionFailed;
    }
    let effect = match action {
        TransactionAction::Put(put) => stored_item(&put.item).map(Effect::Replace),
        TransactionAction::Update(update) => change::work_out(&update.actions, item).map(Effect::Change),
        TransactionAction::Check(_) => Ok(Effect::None),
    };
    effect.map_or(Verdict::Invalid, Verdict::Passed)
}

/// The transactions that took effect within the last ten minutes, by token. Those that did not are not remembered:
/// a repeat of them is judged anew, as by DynamoDB.
#[derive(Default)]
pub(super) struct Tokens {
    known: BTreeMap<String, Transaction>,
    /// In the order of their expiry.
    expiry: VecDeque<(EpochMillis, String)>,
}

impl Tokens {
    /// The transaction that took effect under this token, if it is still remembered.
    pub(super) fn get(&mut self, token: &str, now: EpochMillis) -> Option<&Transaction> {
        while self.expiry.front().is_some_and(|(expiry, _)| *expiry <= now) {
            let (_, expired) = self.expiry.pop_front()?;
            self.known.remove(&expired);
        }
        self.known.get(token)
    }

    /// Remembers a transaction that took effect.
    pub(super) fn insert(&mut self, transaction: &Transaction, now: EpochMillis) {
        let token = &transaction.token;
        self.known.insert(token.clone(), transaction.clone());
        self.expiry.push_back((now.saturating_add(TOKEN_MILLIS), token.clone()));
    }
}
