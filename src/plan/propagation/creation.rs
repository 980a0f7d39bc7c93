//! The creation of shards after a rise: each a copy of shard 0's image, its quotas funded, in one transaction
//! (R8 step 3, R9, R10).
//!
//! Shards are planned one at a time, each seeing what its donors have left after those before it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use super::pending::PendingGrant;
use super::{CreationRefusal, ImageRules, Propagation, Siblings};
use crate::bucket::{Bucket, Limit, LimitField, attribute, parse_attribute};
use crate::item::{AttributeValue, Item, number, text};
use crate::plan::funding::{Funding, Grant, fund};
use crate::plan::owner::owner_check;
use crate::plan::quota::{Period, Quota, grant_size};
use crate::schedule::Parameters;
use crate::units::{Millitokens, ShardCount, ShardId};
use crate::write::{Action, Check, Comparison, Condition, Put, Transaction, TransactionAction, Update};

/// Why one shard is left to the clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardRefusal {
    /// A quota would be paid by a sibling, but shard 0's image still waits for the period's reset: the copy would
    /// inherit that and be paid twice.
    ResetPendingOnImage {
        /// The quota.
        limit: String,
    },
}

/// How one quota of a new shard is funded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaFunding<'s> {
    /// The quota.
    pub limit: &'s str,
    /// Who pays, and how much.
    pub funding: Funding,
}

/// A shard to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewShard<'s> {
    /// Which one.
    pub shard: ShardId,
    /// Its quotas, by name.
    pub fundings: Vec<QuotaFunding<'s>>,
    /// The typed write.
    pub transaction: Transaction,
}

/// The creation of all shards of one rise.
#[derive(Debug)]
pub struct Creation<'s, 'p> {
    propagation: &'p Propagation<'s>,
    rules: &'p ImageRules<'s>,
    /// Shard 0's image, less what no copy carries.
    template: Item,
    owner: Check,
    siblings: Vec<(ShardId, Bucket<'s>)>,
    /// Current grants per quota of the image, in its order.
    grants: Vec<Vec<Grant>>,
    /// Grants that a reset would bring, per quota likewise.
    pending: Vec<Vec<PendingGrant>>,
}

impl<'s, 'p> Creation<'s, 'p> {
    pub(super) fn new(
        propagation: &'p Propagation<'s>,
        rules: &'p ImageRules<'s>,
        siblings: &'s Siblings,
    ) -> Result<Self, CreationRefusal> {
        let mut buckets = Vec::with_capacity(siblings.len());
        for (shard, item) in siblings {
            let Some(item) = item else { continue };
            buckets.push((
                *shard,
                Bucket::from_item(item).map_err(|_unreadable| CreationRefusal::Unreadable)?,
            ));
        }
        let grants = rules
            .quotas
            .iter()
            .map(|quota| current_grants(quota, &buckets, propagation))
            .collect();
        let (to, now) = (propagation.rise.to, propagation.now);
        let pending = rules
            .quotas
            .iter()
            .map(|quota| PendingGrant::all(quota, &buckets, to, now))
            .collect();
        let template = template(propagation, rules)?;
        let owner = owner_check(&propagation.change.key.group, &propagation.change.new.fields);
        Ok(Self {
            propagation,
            rules,
            template,
            owner,
            siblings: buckets,
            grants,
            pending,
        })
    }

    /// Plans one of the new shards.
    ///
    /// # Errors
    /// [`ShardRefusal`] says why the shard is left to the clients.
    pub fn plan(&self, shard: ShardId) -> Result<NewShard<'s>, ShardRefusal> {
        let count = self.propagation.rise.to;
        let mut fundings = Vec::with_capacity(self.rules.quotas.len());
        for (quota, grants) in self.rules.quotas.iter().zip(&self.grants) {
            let funding = fund(shard, count, quota.capacity, grants);
            let image = &self.propagation.change.new.fields;
            let pending = !quota.period.is_current(image, quota.limit, self.propagation.now);
            if pending && matches!(funding, Funding::Move { .. }) {
                return Err(ShardRefusal::ResetPendingOnImage {
                    limit: quota.limit.name.to_owned(),
                });
            }
            fundings.push(QuotaFunding {
                limit: quota.limit.name,
                funding,
            });
        }
        let mut actions = vec![TransactionAction::Put(self.put(shard, &fundings))];
        let mut debits = self.debits(&fundings);
        let mut checks = Vec::new();
        for (sibling, conditions) in self.guards(shard, &fundings) {
            match debits.get_mut(&sibling) {
                // A transaction may name an item once.
                Some(debit) => debit.conditions.extend(conditions),
                None => checks.push(Check {
                    key: self.propagation.change.key.group.bucket(sibling),
                    conditions,
                }),
            }
        }
        actions.extend(debits.into_values().map(TransactionAction::Update));
        actions.extend(checks.into_iter().map(TransactionAction::Check));
        actions.push(TransactionAction::Check(self.owner.clone()));
        let token = request_token(&actions);
        Ok(NewShard {
            shard,
            fundings,
            transaction: Transaction { actions, token },
        })
    }

    /// Takes note that a shard was created: its donors have less left for those that follow.
    pub fn created(&mut self, shard: &NewShard<'_>) {
        for (grants, funding) in self.grants.iter_mut().zip(&shard.fundings) {
            if let Funding::Move { donor, amount } = funding.funding {
                for grant in grants.iter_mut().filter(|grant| grant.shard == donor.shard) {
                    grant.balance = Millitokens(grant.balance.0.saturating_sub(amount.0));
                }
            }
        }
    }

    fn put(&self, shard: ShardId, fundings: &[QuotaFunding<'_>]) -> Put {
        let group = &self.propagation.change.key.group;
        let mut item = self.template.clone();
        item.insert("PK".to_owned(), text(group.bucket_pk(shard)));
        for (name, value) in group.bucket_index_keys(shard) {
            item.insert(name.to_owned(), text(value));
        }
        for funding in fundings {
            item.insert(
                attribute(funding.limit, LimitField::Tk),
                number(funding.funding.amount().0),
            );
        }
        Put {
            item,
            conditions: vec![Condition::item_absent()],
        }
    }

    /// What must hold of siblings whose reset is pending, for each quota of which the shard gets a fresh share.
    fn guards(&self, slot: ShardId, fundings: &[QuotaFunding<'_>]) -> BTreeMap<ShardId, Vec<Condition>> {
        let mut guards: BTreeMap<ShardId, Vec<Condition>> = BTreeMap::new();
        for (pending, funding) in self.pending.iter().zip(fundings) {
            if matches!(funding.funding, Funding::Fresh { .. }) {
                for (sibling, condition) in pending.iter().filter_map(|pending| pending.guard(slot)) {
                    guards.entry(sibling).or_default().push(condition.clone());
                }
            }
        }
        guards
    }

    /// The debits, one update per donor.
    fn debits(&self, fundings: &[QuotaFunding<'_>]) -> BTreeMap<ShardId, Update> {
        let group = &self.propagation.change.key.group;
        let mut updates: BTreeMap<ShardId, Update> = BTreeMap::new();
        for (quota, funding) in self.rules.quotas.iter().zip(fundings) {
            let Funding::Move { donor, amount } = funding.funding else {
                continue;
            };
            let sibling = self.siblings.iter().find(|(shard, _)| *shard == donor.shard);
            let Some((_, sibling)) = sibling.filter(|_| amount > Millitokens::ZERO) else {
                continue;
            };
            let update = updates.entry(donor.shard).or_insert_with(|| Update {
                key: group.bucket(donor.shard),
                actions: Vec::new(),
                conditions: vec![Condition::item_exists()],
                return_item_on_failure: false,
            });
            let balance = attribute(funding.limit, LimitField::Tk);
            update
                .conditions
                .push(Condition::compare(&balance, Comparison::AtLeast, amount.0));
            update.conditions.extend(donor_conditions(quota, sibling, donor.size));
            update.actions.push(Action::Add {
                attribute: balance,
                delta: -amount.0,
            });
        }
        updates
    }
}

/// That a donor's grant is still the one that was read, in the same period.
fn donor_conditions(quota: &Quota<'_>, sibling: &Bucket<'_>, size: ShardCount) -> Vec<Condition> {
    let Some(limit) = sibling.limit(quota.limit.name) else {
        return Vec::new();
    };
    let grant_count = attribute(limit.name, LimitField::Gc);
    let grant = match limit.grant_count {
        Some(stored) => Condition::compare(grant_count, Comparison::Equal, stored),
        // The raise has just recorded it, except on shard 0, which is never raised, and where a client's raise
        // came first.
        None => Condition::Any(vec![
            Condition::compare(&grant_count, Comparison::Equal, size.get().into()),
            Condition::All(vec![
                Condition::Absent(grant_count),
                Condition::as_read("shard_count", sibling.fields.stored_count.map(number)),
            ]),
        ]),
    };
    let period = match quota.period {
        Period::Calendar { edge: None } => None,
        Period::Calendar { edge: Some(edge) } => Some(Condition::compare("rf", Comparison::AtLeast, edge.0.into())),
        Period::Session => {
            let read = limit.window_applied.map(|applied| number(applied.0.into()));
            Some(Condition::as_read(attribute(limit.name, LimitField::Wa), read))
        }
    };
    std::iter::once(grant).chain(period).collect()
}

fn current_grants(quota: &Quota<'_>, siblings: &[(ShardId, Bucket<'_>)], propagation: &Propagation<'_>) -> Vec<Grant> {
    let grant = |(shard, bucket): &(ShardId, Bucket<'_>)| {
        let limit = bucket.limit(quota.limit.name)?;
        let balance = limit.balance.filter(|_| limit.capacity.is_some())?;
        let is_current = quota.period.is_current(&bucket.fields, limit, propagation.now);
        let size = grant_size(limit, bucket.fields.shard_count(), quota.capacity);
        is_current.then_some(Grant {
            shard: *shard,
            size,
            balance,
        })
    };
    siblings.iter().filter_map(grant).collect()
}

/// Shard 0's image as every new shard carries it on: the new count, nothing consumed, a share of what drips, the
/// full write budget, quotas sized at the new count and without top-ups. Everything else is exact.
fn template(propagation: &Propagation<'_>, rules: &ImageRules<'_>) -> Result<Item, CreationRefusal> {
    let image = &propagation.change.new;
    let count = propagation.rise.to;
    let mut item = propagation.change.image.to_item().ok_or(CreationRefusal::Unreadable)?;
    // A limit without capacity is none that a client could use, and its balance would be made of nothing.
    let is_copied = |name: &str| image.limit(name).is_some_and(|limit| limit.capacity.is_some());
    item.retain(|name, _| parse_attribute(name).is_none_or(|(limit, _)| is_copied(limit)));
    item.insert("shard_count".to_owned(), number(count.get().into()));
    for limit in image.limits.iter().filter(|limit| limit.capacity.is_some()) {
        if limit.consumed.is_some() {
            item.insert(attribute(limit.name, LimitField::Tc), number(0));
        }
        if let Some(consumed) = item.get_mut(&attribute(limit.name, LimitField::Wtc)) {
            *consumed = number(0);
        }
        if rules.quotas.iter().any(|quota| quota.limit.name == limit.name) {
            item.insert(attribute(limit.name, LimitField::Gc), number(count.get().into()));
            item.remove(&attribute(limit.name, LimitField::Tu));
        } else {
            let balance = starting_balance(propagation, rules, limit).ok_or(CreationRefusal::AmountOutOfRange)?;
            item.insert(attribute(limit.name, LimitField::Tk), number(balance.0));
        }
    }
    Ok(item)
}

/// What a limit that is no quota starts with on a new shard. `None` beyond 128 bits.
fn starting_balance(propagation: &Propagation<'_>, rules: &ImageRules<'_>, limit: &Limit<'_>) -> Option<Millitokens> {
    let base = Parameters {
        capacity: limit.capacity?,
        refill: limit.refill.unwrap_or_default(),
        period_ms: limit.period_ms.unwrap_or_default(),
    };
    if limit.is_wcu() {
        return Some(base.capacity);
    }
    let fields = &propagation.change.new.fields;
    let effective = rules.schedules.effective(fields, limit, base, propagation.now)?;
    Some(effective.capacity.share(propagation.rise.to))
}

/// A token that is the same for the same writes, so that a repeat within ten minutes answers as the first did, and
/// another for any other plan.
fn request_token(actions: &[TransactionAction]) -> String {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    hashers[1].write_u8(1);
    for action in actions {
        let parts = match action {
            TransactionAction::Put(put) => format!("put {:?}", put.conditions),
            TransactionAction::Update(update) => {
                format!("update {} {:?} {:?}", update.key.pk, update.actions, update.conditions)
            }
            TransactionAction::Check(check) => format!("check {} {:?}", check.key.pk, check.conditions),
        };
        for hasher in &mut hashers {
            hasher.write(parts.as_bytes());
            if let TransactionAction::Put(put) = action {
                for (name, value) in &put.item {
                    hasher.write(name.as_bytes());
                    hash_value(value, hasher);
                }
            }
        }
    }
    hashers
        .iter()
        .map(|hasher| format!("{:016x}", hasher.finish()))
        .collect()
}

/// Hashes a value with its maps in order of their keys: a map's own order differs from one run to the next.
fn hash_value(value: &AttributeValue, hasher: &mut DefaultHasher) {
    match value {
        AttributeValue::M(map) => {
            hasher.write(b"M");
            for (name, value) in map.iter().collect::<BTreeMap<_, _>>() {
                hasher.write(name.as_bytes());
                hash_value(value, hasher);
            }
        }
        AttributeValue::L(list) => {
            hasher.write(b"L");
            for value in list {
                hash_value(value, hasher);
            }
        }
        other => hasher.write(format!("{other:?}").as_bytes()),
    }
}
