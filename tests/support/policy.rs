//! What the role's policy allows, and what a request needs of it.
//!
//! The policies are those of `deploy/`, which the deployment's tests keep equal to the template's.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

/// What stands for the archive's bucket in the policy.
const ARCHIVE_OBJECTS: &str = "arn:aws:s3:::@ARCHIVE_BUCKET@/";

/// A permission that was needed: an action on a partition, or on an object.
pub type Need = (String, String);

/// An action of the policy with one of the places it may be used on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub action: String,
    pub places: String,
}

impl Grant {
    pub fn allows(&self, (action, place): &Need) -> bool {
        self.action == *action && is_like(&self.places, place)
    }
}

/// What `deploy/policy.json` allows on items.
static ITEM_GRANTS: LazyLock<BTreeSet<Grant>> = LazyLock::new(|| item_grants("policy.json"));

/// What a request to the table needs and the policy does not allow.
pub fn refused(operation: &str, body: &[u8]) -> Vec<Need> {
    let needs = needs_of(operation, body).into_iter();
    needs
        .filter(|need| !ITEM_GRANTS.iter().any(|grant| grant.allows(need)))
        .collect()
}

/// What one request needs. A transaction needs what its members need.
pub fn needs_of(operation: &str, body: &[u8]) -> Vec<Need> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let need = |action: &str, key: &Value| (action.to_owned(), key["PK"]["S"].as_str().unwrap().to_owned());
    match operation {
        "UpdateItem" => vec![need("UpdateItem", &body["Key"])],
        "BatchGetItem" => {
            let tables = body["RequestItems"].as_object().unwrap().values();
            let keys = tables.flat_map(|table| table["Keys"].as_array().unwrap());
            keys.map(|key| need("BatchGetItem", key)).collect()
        }
        "TransactWriteItems" => {
            let members = body["TransactItems"].as_array().unwrap().iter();
            let members = members.flat_map(|member| member.as_object().unwrap());
            members
                .map(|(kind, member)| match kind.as_str() {
                    "Put" => need("PutItem", &member["Item"]),
                    "Update" => need("UpdateItem", &member["Key"]),
                    "ConditionCheck" => need("ConditionCheckItem", &member["Key"]),
                    other => panic!("a member of a kind unknown here: {other}"),
                })
                .collect()
        }
        other => panic!("a request of a kind unknown here: {other}"),
    }
}

fn statements(document: &str, of: impl Fn(&str) -> bool) -> Vec<Value> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(document)).unwrap();
    let mut policy: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(statements) = policy["Statement"].take() else {
        panic!("no statements in {document}")
    };
    let statements = statements.into_iter();
    statements
        .filter(|statement| of(statement["Sid"].as_str().unwrap()))
        .inspect(|statement| assert_eq!(statement["Effect"], "Allow"))
        .collect()
}

/// What the program itself may do with items.
pub fn item_grants(document: &str) -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    for statement in statements(document, |sid| sid.starts_with("Items")) {
        assert_eq!(statement["Resource"], "@TABLE_ARN@");
        let partitions = texts(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
        for action in texts(&statement["Action"]) {
            let action = action.strip_prefix("dynamodb:").unwrap();
            grants.extend(partitions.iter().map(|partitions| Grant {
                action: action.to_owned(),
                places: partitions.clone(),
            }));
        }
    }
    grants
}

/// What it may do with objects. Those of the on-failure destination are Lambda's.
pub fn archive_grants() -> BTreeSet<Grant> {
    assert!(
        statements("policy.json", |sid| sid == "Archive").is_empty(),
        "no archive, no grant"
    );
    let mut grants = BTreeSet::new();
    for statement in statements("policy-archive.json", |sid| sid == "Archive") {
        for (action, resource) in texts(&statement["Action"]).iter().flat_map(|action| {
            let resources = texts(&statement["Resource"]);
            resources.into_iter().map(move |resource| (action, resource))
        }) {
            grants.insert(Grant {
                action: action.strip_prefix("s3:").unwrap().to_owned(),
                places: resource.strip_prefix(ARCHIVE_OBJECTS).unwrap().to_owned(),
            });
        }
    }
    grants
}

/// A text, or a list of them.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(several) => several.iter().flat_map(texts).collect(),
        other => panic!("neither a text nor a list: {other}"),
    }
}

/// `StringLike`: `*` stands for any text, `?` for any one character.
pub fn is_like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .any(|at| is_like(rest, &text[at..])),
        '?' => text
            .chars()
            .next()
            .is_some_and(|one| is_like(rest, &text[one.len_utf8()..])),
        plain => text.strip_prefix(plain).is_some_and(|text| is_like(rest, text)),
    }
}
