//! The two arms with a seam to seed and look into them, and short spellings of writes.

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use limiter_aggregator::item::{AttributeValue, Item, key_of, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::dynamodb::DynamoDbTable;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Consistency, Fault, FaultClass, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Action, Comparison, Condition, Transaction, TransactionAction, Update};

use crate::engine_support::Engine;

/// One arm of the table.
pub trait Arm {
    type Table: Table;

    fn table(&self) -> &Self::Table;

    /// Stores a whole item, whatever was there.
    async fn seed(&self, item: &Item);

    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.table().update(update).await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.table().transact(transaction).await
    }

    async fn item(&self, key: &ItemKey) -> Option<Item> {
        let read = self.table().read(std::slice::from_ref(key), Consistency::Strong).await;
        let [item] = read.unwrap().try_into().unwrap();
        item
    }
}

pub struct MemoryArm {
    table: MemoryTable,
}

impl MemoryArm {
    pub fn new() -> Self {
        Self {
            table: MemoryTable::with_stream("2026-01-01T00:00:00.000"),
        }
    }
}

impl Arm for MemoryArm {
    type Table = MemoryTable;

    fn table(&self) -> &MemoryTable {
        &self.table
    }

    async fn seed(&self, item: &Item) {
        self.table.put_item(item).unwrap();
    }
}

pub struct EngineArm {
    pub engine: Engine,
    table: DynamoDbTable,
}

impl EngineArm {
    pub async fn start() -> Self {
        Self::on(Engine::start().await, "buckets").await
    }

    /// A new table of this name.
    pub async fn on(engine: Engine, name: &str) -> Self {
        engine.create_table(name).await;
        let table = DynamoDbTable::new(engine.client().clone(), name);
        Self { engine, table }
    }
}

impl Arm for EngineArm {
    type Table = DynamoDbTable;

    fn table(&self) -> &DynamoDbTable {
        &self.table
    }

    async fn seed(&self, item: &Item) {
        let item = item
            .iter()
            .map(|(name, value)| (name.clone(), SdkValue::from(value.clone())))
            .collect();
        let put = self
            .engine
            .client()
            .put_item()
            .table_name(self.table.name())
            .set_item(Some(item));
        put.send().await.unwrap();
    }
}

/// Updates, and takes nothing but success.
pub async fn applies(arm: &impl Arm, update: &Update) {
    assert_eq!(arm.update(update).await, Ok(UpdateOutcome::Applied));
}

/// Updates, and takes nothing but a lost race that left the item alone. Gives the item that came back.
pub async fn loses(arm: &impl Arm, update: &Update) -> Option<Item> {
    let before = arm.item(&update.key).await;
    let outcome = arm.update(update).await;
    let Ok(UpdateOutcome::LostRace { found }) = outcome else {
        panic!("not a lost race: {outcome:?}");
    };
    assert_eq!(arm.item(&update.key).await, before);
    found
}

/// Updates, and takes nothing but a permanent refusal that left the item alone.
pub async fn is_refused(arm: &impl Arm, update: &Update) {
    let before = arm.item(&update.key).await;
    assert_eq!(
        arm.update(update).await.map_err(|fault| fault.class),
        Err(FaultClass::Permanent)
    );
    assert_eq!(arm.item(&update.key).await, before);
}

/// Transacts, and takes nothing but the loss of exactly these members that left every item alone.
pub async fn loses_by(arm: &impl Arm, transaction: &Transaction, failed: &[usize]) {
    let before = items_of(arm, transaction).await;
    let outcome = arm.transact(transaction).await;
    assert_eq!(
        outcome,
        Ok(TransactionOutcome::LostRace {
            failed: failed.to_vec()
        })
    );
    assert_eq!(items_of(arm, transaction).await, before);
}

/// The items that a transaction is about.
pub async fn items_of(arm: &impl Arm, transaction: &Transaction) -> Vec<Option<Item>> {
    let keys: Vec<ItemKey> = transaction
        .actions
        .iter()
        .filter_map(|action| match action {
            TransactionAction::Put(put) => key_of(&put.item),
            TransactionAction::Update(update) => Some(update.key.clone()),
            TransactionAction::Check(check) => Some(check.key.clone()),
        })
        .collect();
    arm.table().read(&keys, Consistency::Strong).await.unwrap()
}

/// Tries a write on an item that meets its conditions but for one attribute at a time, given with the value that
/// breaks a condition (`None`: absent): each time the race is lost. Then on the item as it is: the write applies.
/// Gives the item after it.
pub async fn each_condition_decides(
    arm: &impl Arm,
    met: &Item,
    write: &Update,
    broken: &[(&str, Option<AttributeValue>)],
) -> Item {
    for (attribute, value) in broken {
        let mut item = met.clone();
        match value {
            Some(value) => item.insert((*attribute).to_owned(), value.clone()),
            None => item.remove(*attribute),
        };
        assert_ne!(&item, met, "{attribute} breaks nothing");
        arm.seed(&item).await;
        loses(arm, write).await;
    }
    arm.seed(met).await;
    applies(arm, write).await;
    arm.item(&write.key).await.unwrap()
}

pub fn key(pk: &str, sk: &str) -> ItemKey {
    ItemKey {
        pk: pk.to_owned(),
        sk: sk.to_owned(),
    }
}

pub fn item(key: &ItemKey, rest: &[(&str, AttributeValue)]) -> Item {
    let keys = [("PK", text(&key.pk)), ("SK", text(&key.sk))];
    keys.into_iter()
        .chain(rest.iter().cloned())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub fn update(key: &ItemKey, actions: Vec<Action>, conditions: Vec<Condition>) -> Update {
    Update {
        key: key.clone(),
        actions,
        conditions,
        return_item_on_failure: false,
    }
}

pub fn transaction(token: &str, actions: Vec<TransactionAction>) -> Transaction {
    Transaction {
        actions,
        token: token.to_owned(),
    }
}

pub fn add(attribute: &str, delta: i128) -> Action {
    Action::Add {
        attribute: attribute.to_owned(),
        delta,
    }
}

pub fn set(attribute: &str, value: AttributeValue) -> Action {
    Action::Set {
        attribute: attribute.to_owned(),
        value,
    }
}

pub fn set_from(attribute: &str, source: &str, default: AttributeValue) -> Action {
    Action::SetFrom {
        attribute: attribute.to_owned(),
        source: source.to_owned(),
        default,
    }
}

pub fn remove(attribute: &str) -> Action {
    Action::Remove {
        attribute: attribute.to_owned(),
    }
}

pub fn exists(attribute: &str) -> Condition {
    Condition::Exists(attribute.to_owned())
}

pub fn absent(attribute: &str) -> Condition {
    Condition::Absent(attribute.to_owned())
}

pub fn equal(attribute: &str, value: AttributeValue) -> Condition {
    Condition::Compare(attribute.to_owned(), Comparison::Equal, value)
}

pub fn at_most(attribute: &str, value: i128) -> Condition {
    Condition::compare(attribute, Comparison::AtMost, value)
}

pub fn at_least(attribute: &str, value: i128) -> Condition {
    Condition::compare(attribute, Comparison::AtLeast, value)
}

pub fn less(attribute: &str, value: i128) -> Condition {
    Condition::compare(attribute, Comparison::Less, value)
}

pub fn greater(attribute: &str, value: i128) -> Condition {
    Condition::compare(attribute, Comparison::Greater, value)
}

pub fn any(members: Vec<Condition>) -> Condition {
    Condition::Any(members)
}

pub fn all(members: Vec<Condition>) -> Condition {
    Condition::All(members)
}
