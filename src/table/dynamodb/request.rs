//! Typed writes and reads as requests of the SDK. What must stay true: equal writes give equal requests, so that a
//! repeat is the same request; only the order of members inside the SDK's hash maps is not ours.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsInputBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, ConditionCheck, KeysAndAttributes, Put as SdkPut, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update as SdkUpdate,
};

use super::expression::Expressions;
use crate::key::ItemKey;
use crate::table::Consistency;
use crate::write::{Check, Put, Transaction, TransactionAction, Update};

/// An `UpdateItem`.
pub(super) fn update(table: &str, update: &Update) -> UpdateItemInputBuilder {
    let made = Expressions::new(&update.actions, &update.conditions);
    let on_failure = update
        .return_item_on_failure
        .then_some(ReturnValuesOnConditionCheckFailure::AllOld);
    UpdateItemInput::builder()
        .table_name(table)
        .set_key(Some(key(&update.key)))
        .set_update_expression(made.update)
        .set_condition_expression(made.condition)
        .set_expression_attribute_names(made.names)
        .set_expression_attribute_values(made.values)
        .set_return_values_on_condition_check_failure(on_failure)
}

/// A `TransactWriteItems`. The answer has no place for items, so none are asked for.
///
/// # Errors
/// If a member lacks what the request must carry: an update without actions, a check without conditions.
pub(super) fn transaction(
    table: &str,
    transaction: &Transaction,
) -> Result<TransactWriteItemsInputBuilder, BuildError> {
    let members = transaction.actions.iter().map(|action| match action {
        TransactionAction::Put(put) => put_member(table, put),
        TransactionAction::Update(update) => update_member(table, update),
        TransactionAction::Check(check) => check_member(table, check),
    });
    Ok(TransactWriteItemsInputBuilder::default()
        .set_transact_items(Some(members.collect::<Result<_, _>>()?))
        .client_request_token(&transaction.token))
}

fn put_member(table: &str, put: &Put) -> Result<TransactWriteItem, BuildError> {
    let made = Expressions::new(&[], &put.conditions);
    let item = put
        .item
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let put = SdkPut::builder()
        .table_name(table)
        .set_item(Some(item))
        .set_condition_expression(made.condition)
        .set_expression_attribute_names(made.names)
        .set_expression_attribute_values(made.values)
        .build()?;
    Ok(TransactWriteItem::builder().put(put).build())
}

fn update_member(table: &str, update: &Update) -> Result<TransactWriteItem, BuildError> {
    let made = Expressions::new(&update.actions, &update.conditions);
    let update = SdkUpdate::builder()
        .table_name(table)
        .set_key(Some(key(&update.key)))
        .set_update_expression(made.update)
        .set_condition_expression(made.condition)
        .set_expression_attribute_names(made.names)
        .set_expression_attribute_values(made.values)
        .build()?;
    Ok(TransactWriteItem::builder().update(update).build())
}

fn check_member(table: &str, check: &Check) -> Result<TransactWriteItem, BuildError> {
    let made = Expressions::new(&[], &check.conditions);
    let check = ConditionCheck::builder()
        .table_name(table)
        .set_key(Some(key(&check.key)))
        .set_condition_expression(made.condition)
        .set_expression_attribute_names(made.names)
        .set_expression_attribute_values(made.values)
        .build()?;
    Ok(TransactWriteItem::builder().condition_check(check).build())
}

/// A `BatchGetItem`, its keys in order.
///
/// # Errors
/// None that these arguments can cause; the SDK's builder has the signature.
pub(super) fn read(
    table: &str,
    keys: &BTreeSet<ItemKey>,
    consistency: Consistency,
) -> Result<BatchGetItemInputBuilder, BuildError> {
    let strong = match consistency {
        Consistency::Eventual => false,
        Consistency::Strong => true,
    };
    let keys = keys.iter().map(key).collect();
    let keys = KeysAndAttributes::builder()
        .set_keys(Some(keys))
        .consistent_read(strong)
        .build()?;
    Ok(BatchGetItemInputBuilder::default().request_items(table, keys))
}

fn key(key: &ItemKey) -> HashMap<String, SdkValue> {
    HashMap::from([
        ("PK".to_owned(), SdkValue::S(key.pk.clone())),
        ("SK".to_owned(), SdkValue::S(key.sk.clone())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{number, text};
    use crate::write::{Action, Condition};

    fn sample_update(return_item_on_failure: bool) -> Update {
        Update {
            key: ItemKey {
                pk: "ns/BUCKET#e#r#0".to_owned(),
                sk: "#STATE".to_owned(),
            },
            actions: (0..40)
                .map(|n| Action::Add {
                    attribute: format!("b_l{n}_tk"),
                    delta: n % 7,
                })
                .collect(),
            conditions: (0..40)
                .map(|n| Condition::as_read(format!("b_l{n}_cp"), Some(number(n % 5))))
                .collect(),
            return_item_on_failure,
        }
    }

    #[test]
    fn equal_writes_give_equal_requests() {
        let write = sample_update(false);
        assert_eq!(
            update("t", &write).build().unwrap(),
            update("t", &write.clone()).build().unwrap()
        );
        let put = Put {
            item: [("PK", text("p")), ("SK", text("s"))]
                .map(|(name, v)| (name.to_owned(), v))
                .into(),
            conditions: vec![Condition::item_absent()],
        };
        let check = Check {
            key: write.key.clone(),
            conditions: vec![Condition::item_exists()],
        };
        let actions = vec![
            TransactionAction::Put(put),
            TransactionAction::Update(write),
            TransactionAction::Check(check),
        ];
        let whole = Transaction {
            actions,
            token: "token".to_owned(),
        };
        let [first, second] = [&whole, &whole.clone()].map(|t| transaction("t", t).unwrap().build().unwrap());
        assert_eq!(first, second);
        assert_eq!(first.client_request_token(), Some("token"));
    }

    #[test]
    fn the_item_is_asked_back_only_where_the_write_says_so() {
        let returned = |asked| {
            update("t", &sample_update(asked))
                .build()
                .unwrap()
                .return_values_on_condition_check_failure
        };
        assert_eq!(returned(true), Some(ReturnValuesOnConditionCheckFailure::AllOld));
        assert_eq!(returned(false), None);
    }

    #[test]
    fn every_token_is_defined_and_every_defined_one_is_used() {
        let made = update("t", &sample_update(false)).build().unwrap();
        let spoken = format!(
            "{} {} ",
            made.update_expression.unwrap(),
            made.condition_expression.unwrap()
        );
        let is_used = |token: &String| {
            [' ', ',', ')']
                .iter()
                .any(|end| spoken.contains(&format!("{token}{end}")))
        };
        let names = made.expression_attribute_names.unwrap();
        let values = made.expression_attribute_values.unwrap();
        assert!(names.keys().all(is_used) && values.keys().all(is_used));
        assert_eq!((names.len(), values.len()), (80, 7));
    }

    #[test]
    fn a_member_without_its_essential_part_cannot_be_built() {
        let bare = Update {
            actions: vec![],
            ..sample_update(false)
        };
        let check = Check {
            key: bare.key.clone(),
            conditions: vec![],
        };
        for action in [TransactionAction::Update(bare), TransactionAction::Check(check)] {
            assert!(
                transaction(
                    "t",
                    &Transaction {
                        actions: vec![action],
                        token: "t".to_owned()
                    }
                )
                .is_err()
            );
        }
    }

    #[test]
    fn a_read_asks_for_the_consistency_it_is_given() {
        let keys = BTreeSet::from([sample_update(false).key]);
        for (consistency, strong) in [(Consistency::Strong, true), (Consistency::Eventual, false)] {
            let made = read("t", &keys, consistency).unwrap().build().unwrap();
            assert_eq!(made.request_items.unwrap()["t"].consistent_read(), Some(strong));
        }
    }
}
