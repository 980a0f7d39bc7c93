//! The real table, through the SDK.
//!
//! Decides how typed writes are sent, and what the answers mean. Refuses to take a missing answer for a missing item.
//! What must stay true: every request is a function of its write alone, and every error ends as data or as a
//! [`Fault`], none in a panic.

mod backoff;
mod classify;
mod expression;
mod request;
mod settings;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;

pub use settings::{
    ATTEMPT_TIMEOUT, CONNECT_TIMEOUT, INITIAL_BACKOFF, MAX_ATTEMPTS, MAX_BACKOFF, OPERATION_TIMEOUT, READ_TIMEOUT,
    client_config, retries, timeouts,
};

#[cfg(feature = "archive")]
pub(crate) use self::classify::fault;
use self::classify::{BATCH_GET_ITEM, TRANSACT_WRITE_ITEMS, retryable, unsendable};
use super::{Consistency, Fault, MAX_KEYS_PER_READ, Table, TransactionOutcome, UpdateOutcome};
use crate::item::{Item, key_of};
use crate::key::ItemKey;
use crate::write::{Transaction, Update};

/// How often keys left unprocessed are asked for in all.
const READ_ATTEMPTS: u32 = 4;

/// One table of DynamoDB. Clones share the client and its connections.
#[derive(Clone)]
pub struct DynamoDbTable {
    client: Client,
    name: String,
}

impl DynamoDbTable {
    /// The table of that name. The client should be built on [`client_config`].
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
        }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks once, and sorts the answer: items into `found`, what was not answered back to the caller.
    async fn read_once(
        &self,
        keys: &BTreeSet<ItemKey>,
        consistency: Consistency,
        found: &mut BTreeMap<ItemKey, Item>,
    ) -> Result<BTreeSet<ItemKey>, Fault> {
        let request =
            request::read(&self.name, keys, consistency).map_err(|_| unsendable(BATCH_GET_ITEM, "construction"))?;
        let answer = request
            .send_with(&self.client)
            .await
            .map_err(|error| classify::fault(BATCH_GET_ITEM, &error))?;
        sort_answer(answer, keys, found).ok_or_else(|| retryable(BATCH_GET_ITEM, "response"))
    }
}

/// Puts the items of an answer into `found` and gives back the keys left unprocessed. `None` if the answer cannot be
/// relied on: it left keys unprocessed that were not asked for, or holds items that cannot be read.
fn sort_answer(
    answer: BatchGetItemOutput,
    asked: &BTreeSet<ItemKey>,
    found: &mut BTreeMap<ItemKey, Item>,
) -> Option<BTreeSet<ItemKey>> {
    let items = answer.responses.into_iter().flat_map(HashMap::into_values).flatten();
    for attributes in items {
        let item = value::item(attributes)?;
        let key = key_of(&item).filter(|key| asked.contains(key))?;
        found.insert(key, item);
    }
    let left = answer.unprocessed_keys.into_iter().flat_map(HashMap::into_values);
    left.flat_map(|left| left.keys)
        .map(|key| key_of(&value::item(key)?).filter(|key| asked.contains(key)))
        .collect()
}

impl Table for DynamoDbTable {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        let request = request::update(&self.name, update);
        backoff::despite_conflicts(async || match request.clone().send_with(&self.client).await {
            Ok(_) => Ok(UpdateOutcome::Applied),
            Err(error) => classify::refused_update(error),
        })
        .await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        let request = request::transaction(&self.name, transaction)
            .map_err(|_| unsendable(TRANSACT_WRITE_ITEMS, "construction"))?;
        let members = transaction.actions.len();
        backoff::despite_conflicts(async || match request.clone().send_with(&self.client).await {
            Ok(_) => Ok(TransactionOutcome::Applied),
            Err(error) => classify::refused_transaction(members, &error),
        })
        .await
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        // The service refuses a batch that names a key twice, or none.
        let mut asked: BTreeSet<ItemKey> = keys.iter().cloned().collect();
        if asked.len() > MAX_KEYS_PER_READ {
            return Err(unsendable(BATCH_GET_ITEM, "ValidationException"));
        }
        let mut found = BTreeMap::new();
        let mut failures = 0;
        while !asked.is_empty() {
            if failures == READ_ATTEMPTS {
                return Err(retryable(BATCH_GET_ITEM, "UnprocessedKeys"));
            }
            if failures > 0 {
                backoff::pause(failures - 1).await;
            }
            asked = self.read_once(&asked, consistency, &mut found).await?;
            failures += 1;
        }
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::{AttributeValue as SdkValue, KeysAndAttributes};

    fn key(sk: &str) -> ItemKey {
        ItemKey {
            pk: "p".to_owned(),
            sk: sk.to_owned(),
        }
    }

    fn stored(sk: &str) -> HashMap<String, SdkValue> {
        [("PK", "p"), ("SK", sk)]
            .map(|(name, text)| (name.to_owned(), SdkValue::S(text.to_owned())))
            .into()
    }

    fn answer(items: &[&str], left: &[&str]) -> BatchGetItemOutput {
        let keys = left.iter().map(|sk| stored(sk)).collect();
        let left = (!left.is_empty()).then(|| KeysAndAttributes::builder().set_keys(Some(keys)).build().unwrap());
        BatchGetItemOutput::builder()
            .responses("t", items.iter().map(|sk| stored(sk)).collect())
            .set_unprocessed_keys(left.map(|left| HashMap::from([("t".to_owned(), left)])))
            .build()
    }

    fn sorted(answer: BatchGetItemOutput) -> Option<(Vec<ItemKey>, Vec<ItemKey>)> {
        let asked = BTreeSet::from([key("a"), key("b"), key("c")]);
        let mut found = BTreeMap::new();
        let left = sort_answer(answer, &asked, &mut found)?;
        Some((found.into_keys().collect(), left.into_iter().collect()))
    }

    #[test]
    fn an_unprocessed_key_is_told_from_a_missing_item() {
        assert_eq!(sorted(answer(&["b"], &["a"])), Some((vec![key("b")], vec![key("a")])));
        assert_eq!(sorted(answer(&[], &[])), Some((vec![], vec![])));
    }

    #[test]
    fn an_answer_about_keys_nobody_asked_for_is_not_relied_on() {
        assert_eq!(sorted(answer(&["z"], &[])), None);
        assert_eq!(sorted(answer(&["a"], &["z"])), None);
    }
}
