//! Random writes applied to both arms in parallel: the same outcomes, and the same items after each; in the end, the
//! same stream.

use std::cell::Cell;

use limiter_aggregator::item::{AttributeValue, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::{Consistency, Fault, FaultClass, Table};
use limiter_aggregator::write::{Action, Check, Comparison, Condition, Put, Transaction, TransactionAction, Update};
use proptest::prelude::*;

use super::arms::{Arm, EngineArm, MemoryArm, item, key};
use super::streams::{engine_changes, memory_changes};
use crate::engine_support::Engine;

/// So few that writes meet.
const ATTRIBUTES: [&str; 5] = ["b_a.b-c_tk", "rf", "ttl", "#seq0", "size"];
const COMPARISONS: [Comparison; 5] = [
    Comparison::Equal,
    Comparison::Less,
    Comparison::AtMost,
    Comparison::Greater,
    Comparison::AtLeast,
];

fn keys() -> [ItemKey; 3] {
    [key("p", "a"), key("p", "b"), key("q", "a")]
}

fn any_key() -> impl Strategy<Value = ItemKey> {
    prop::sample::select(keys().to_vec())
}

fn any_attribute() -> impl Strategy<Value = String> {
    prop::sample::select(&ATTRIBUTES[..]).prop_map(str::to_owned)
}

fn any_scalar() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        6 => (-2_i128..3).prop_map(number),
        1 => prop::sample::select(vec!["1.0", "0.5", "-1e1", "99999999999999999999999999999999999999"])
            .prop_map(|spelled| AttributeValue::N(spelled.to_owned())),
        2 => prop::sample::select(vec!["", "a", "b"]).prop_map(text),
    ]
}

fn any_value() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        8 => any_scalar(),
        1 => any::<bool>().prop_map(AttributeValue::Bool),
        1 => prop::collection::vec(any_scalar(), 0..2).prop_map(AttributeValue::L),
        1 => Just(AttributeValue::Null(true)),
    ]
}

fn any_action(attribute: &'static str) -> impl Strategy<Value = Action> {
    let attribute = attribute.to_owned();
    let add = (-3_i128..4).prop_map(|delta| Action::Add {
        attribute: String::new(),
        delta,
    });
    let set = any_value().prop_map(|value| Action::Set {
        attribute: String::new(),
        value,
    });
    let set_from = (any_attribute(), any_value()).prop_map(|(source, default)| Action::SetFrom {
        attribute: String::new(),
        source,
        default,
    });
    let remove = Just(Action::Remove {
        attribute: String::new(),
    });
    prop_oneof![4 => add, 3 => set, 2 => set_from, 1 => remove].prop_map(move |mut action| {
        match &mut action {
            Action::Add { attribute: name, .. }
            | Action::Set { attribute: name, .. }
            | Action::SetFrom { attribute: name, .. }
            | Action::Remove { attribute: name } => name.clone_from(&attribute),
        }
        action
    })
}

fn any_actions() -> impl Strategy<Value = Vec<Action>> {
    prop::sample::subsequence(&ATTRIBUTES[..], 1..4)
        .prop_flat_map(|names| {
            names
                .into_iter()
                .map(|name| any_action(name).boxed())
                .collect::<Vec<_>>()
        })
        .prop_shuffle()
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        any_attribute().prop_map(Condition::Exists),
        any_attribute().prop_map(Condition::Absent),
        Just(Condition::item_exists()),
        (any_attribute(), any_value()).prop_map(|(name, value)| Condition::as_read(name, Some(value))),
        // An order can be asked of scalars only.
        (any_attribute(), prop::sample::select(&COMPARISONS[..]), any_scalar())
            .prop_map(|(name, comparison, value)| Condition::Compare(name, comparison, value)),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Any),
            prop::collection::vec(inner, 0..3).prop_map(Condition::All),
        ]
    })
}

fn any_update() -> impl Strategy<Value = Update> {
    let conditions = prop::collection::vec(any_condition(), 0..3);
    (any_key(), any_actions(), conditions, any::<bool>()).prop_map(|(key, actions, conditions, returned)| Update {
        key,
        actions,
        conditions,
        return_item_on_failure: returned,
    })
}

fn any_member(key: ItemKey) -> impl Strategy<Value = TransactionAction> {
    let conditions = || prop::collection::vec(any_condition(), 0..2);
    let of_put = key.clone();
    let attributes = prop::sample::subsequence(&ATTRIBUTES[..], 0..4).prop_flat_map(|names| {
        names
            .into_iter()
            .map(|name| (Just(name), any_value()))
            .collect::<Vec<_>>()
    });
    let put = (attributes, conditions()).prop_map(move |(attributes, conditions)| {
        TransactionAction::Put(Put {
            item: item(&of_put, &attributes),
            conditions,
        })
    });
    let of_check = key.clone();
    let check = prop::collection::vec(any_condition(), 1..3).prop_map(move |conditions| {
        TransactionAction::Check(Check {
            key: of_check.clone(),
            conditions,
        })
    });
    let update = (any_actions(), conditions()).prop_map(move |(actions, conditions)| {
        let key = key.clone();
        TransactionAction::Update(Update {
            key,
            actions,
            conditions,
            return_item_on_failure: false,
        })
    });
    prop_oneof![put, check, update]
}

#[derive(Clone, Debug)]
enum Write {
    Update(Update),
    /// With one of few tokens, so that some are used again.
    Transaction(u8, Vec<TransactionAction>),
    /// The last transaction once more, the same in everything.
    Repeat,
}

fn any_write() -> impl Strategy<Value = Write> {
    let members = prop::sample::subsequence(keys().to_vec(), 1..4)
        .prop_flat_map(|keys| keys.into_iter().map(|key| any_member(key).boxed()).collect::<Vec<_>>())
        .prop_shuffle();
    prop_oneof![
        6 => any_update().prop_map(Write::Update),
        3 => (0_u8..20, members).prop_map(|(token, members)| Write::Transaction(token, members)),
        1 => Just(Write::Repeat),
    ]
}

/// Codes differ where a request cannot even be sent; classes never do.
fn class<T>(answer: Result<T, Fault>) -> Result<T, (FaultClass, &'static str)> {
    answer.map_err(|fault| (fault.class, fault.operation))
}

async fn agree(case: u32, writes: Vec<Write>, engine: &EngineArm) -> Result<(), TestCaseError> {
    let memory = MemoryArm::new();
    let mut last: Option<Transaction> = None;
    for write in writes {
        match write {
            Write::Update(update) => {
                let (in_memory, on_engine) = (memory.update(&update).await, engine.update(&update).await);
                prop_assert_eq!(class(in_memory), class(on_engine), "{:?}", update);
            }
            // The engine knows tokens across tables.
            Write::Transaction(token, actions) => {
                last = Some(Transaction {
                    actions,
                    token: format!("{case}-{token}"),
                });
                transact(&memory, engine, last.as_ref()).await?;
            }
            Write::Repeat => transact(&memory, engine, last.as_ref()).await?,
        }
        let in_memory = memory.table().read(&keys(), Consistency::Strong).await;
        prop_assert_eq!(in_memory, engine.table().read(&keys(), Consistency::Strong).await);
    }
    prop_assert_eq!(memory_changes(&memory), engine_changes(engine));
    Ok(())
}

async fn transact(
    memory: &MemoryArm,
    engine: &EngineArm,
    transaction: Option<&Transaction>,
) -> Result<(), TestCaseError> {
    let Some(transaction) = transaction else { return Ok(()) };
    let (in_memory, on_engine) = (memory.transact(transaction).await, engine.transact(transaction).await);
    prop_assert_eq!(class(in_memory), class(on_engine), "{:?}", transaction);
    Ok(())
}

#[test]
fn both_arms_answer_random_writes_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let engine = runtime.block_on(Engine::start());
    let case = Cell::new(0);
    let config = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(writes in prop::collection::vec(any_write(), 1..24))| {
        case.set(case.get() + 1);
        let name = format!("buckets-{}", case.get());
        runtime.block_on(async {
            let arm = EngineArm::on(engine.clone(), &name).await;
            agree(case.get(), writes, &arm).await
        })?;
    });
}
