//! Where a quota's allowance is: admitted, held, or still to be granted. Who covers a slot is answered by the code's
//! own functions (`plan::quota`, `plan::funding`), so that there is one opinion of it.

use std::collections::BTreeMap;

use limiter_aggregator::bucket::{Bucket, LimitField, attribute};
use limiter_aggregator::item::{Item, number, text};
use limiter_aggregator::plan::funding::{Funding, Grant, fund};
use limiter_aggregator::plan::quota::{grant_size, quotas_of};
use limiter_aggregator::plan::recovery::ItemSchedules;
use limiter_aggregator::table::TransactionOutcome;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::{EpochMillis, Millitokens, ShardCount, ShardId};
use limiter_aggregator::write::{Action, Condition, Put, Transaction, TransactionAction, Update};

use super::scene::{NOW, add, key, numeric, stored, write};

/// A quota's allowance in one period, in millitokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Spent, on all shards.
    pub admitted: i128,
    /// Balances, debt counted as such.
    pub held: i128,
    /// Fresh shares of the shards that do not exist yet.
    pub grantable: i128,
}

impl Ledger {
    pub fn total(self) -> i128 {
        self.admitted + self.held + self.grantable
    }
}

fn count(value: i128) -> ShardCount {
    ShardCount::from_stored(Some(value))
}

/// The current grants of a limit, as R9 sees them.
pub fn grants(table: &MemoryTable, limit: &str, capacity: i64) -> Vec<Grant> {
    grants_of(&shards(table), limit, capacity)
}

fn grants_of(items: &BTreeMap<u32, Item>, limit: &str, capacity: i64) -> Vec<Grant> {
    let zero = Bucket::from_item(&items[&0]).unwrap();
    let schedules = ItemSchedules::decode(&zero.fields, &zero.limits).unwrap();
    let quotas = quotas_of(&zero, &schedules, EpochMillis(NOW)).unwrap();
    let quota = quotas.iter().find(|quota| quota.limit.name == limit).unwrap();
    assert_eq!(quota.capacity.0, i128::from(capacity));
    let mut grants = Vec::new();
    for (shard, item) in items {
        let bucket = Bucket::from_item(item).unwrap();
        let own = bucket.limit(limit).unwrap();
        if quota.period.is_current(&bucket.fields, own, EpochMillis(NOW)) {
            let size = grant_size(own, bucket.fields.shard_count(), quota.capacity);
            grants.push(Grant {
                shard: ShardId(*shard),
                size,
                balance: own.balance.unwrap(),
            });
        }
    }
    grants
}

fn shards(table: &MemoryTable) -> BTreeMap<u32, Item> {
    (0..64)
        .filter_map(|shard| Some((shard, table.get(&key(shard))?)))
        .collect()
}

/// Where the allowance of a limit is.
pub fn ledger(table: &MemoryTable, limit: &str, capacity: i64) -> Ledger {
    let items = shards(table);
    let sum = |field| {
        let name = attribute(limit, field);
        items.values().map(|item| numeric(item, &name).unwrap()).sum()
    };
    let grants = grants_of(&items, limit, capacity);
    let total = u32::try_from(numeric(&items[&0], "shard_count").unwrap()).unwrap();
    let missing = (0..total).filter(|shard| !items.contains_key(shard));
    let capacity = Millitokens(capacity.into());
    let fresh = missing.map(
        |slot| match fund(ShardId(slot), count(total.into()), capacity, &grants) {
            Funding::Fresh { share } => share.0,
            Funding::Move { .. } => 0,
        },
    );
    Ledger {
        admitted: sum(LimitField::Tc),
        held: sum(LimitField::Tk),
        grantable: fresh.sum(),
    }
}

/// A client spends, if the shard holds enough.
pub fn spend(table: &MemoryTable, shard: u32, limit: &str, amount: i64) -> bool {
    let held = stored(table, shard, &attribute(limit, LimitField::Tk)).unwrap();
    if held < amount.into() {
        return false;
    }
    let actions = vec![
        add(&attribute(limit, LimitField::Tk), -amount),
        add(&attribute(limit, LimitField::Tc), amount),
    ];
    write(table, shard, actions);
    true
}

/// A client creates a shard on first use, funded as ADR-145 says, at the count that shard 0 has; shard 0 is copied.
pub fn create_as_client(table: &MemoryTable, shard: u32, limit: &str, capacity: i64) {
    let total = stored(table, 0, "shard_count").unwrap();
    create_at_count(table, shard, limit, capacity, total);
}

/// The same by a client that planned at an older count.
pub fn create_at_count(table: &MemoryTable, shard: u32, limit: &str, capacity: i64, total: i128) {
    let capacity = Millitokens(capacity.into());
    let grants = grants(table, limit, i64::try_from(capacity.0).unwrap());
    let funding = fund(ShardId(shard), count(total), capacity, &grants);
    let balance = attribute(limit, LimitField::Tk);
    let mut item: Item = table.get(&key(0)).unwrap();
    item.insert("PK".to_owned(), text(key(shard).pk));
    item.insert(balance.clone(), number(funding.amount().0));
    item.insert(attribute(limit, LimitField::Tc), number(0));
    item.insert(attribute(limit, LimitField::Gc), number(total));
    item.insert("shard_count".to_owned(), number(total));
    let mut actions = vec![TransactionAction::Put(Put {
        item,
        conditions: vec![Condition::item_absent()],
    })];
    if let Funding::Move { donor, amount } = funding
        && amount.0 > 0
    {
        let debit = Action::Add {
            attribute: balance,
            delta: -amount.0,
        };
        actions.push(TransactionAction::Update(Update {
            key: key(donor.shard.0),
            actions: vec![debit],
            conditions: vec![Condition::item_exists()],
            return_item_on_failure: false,
        }));
    }
    let token = format!("client-{shard}-{total}");
    let answer = table.apply_transaction(&Transaction { actions, token });
    assert_eq!(answer, Ok(TransactionOutcome::Applied));
}
