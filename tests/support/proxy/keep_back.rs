//! Batches that are done in part. What is kept back is taken out of the request, so that the engine never sees it,
//! and put into the answer: from outside that is the same, and it needs no guess at which answer belongs to which key.

use serde_json::{Map, Value, json};

/// A batch request, split.
pub(super) struct Split {
    /// What is forwarded; `None` if nothing is left.
    pub(super) forwarded: Option<Value>,
    /// What goes into the answer, as it was asked for.
    kept_back: Map<String, Value>,
    /// The operation, as it decides the spelling.
    member: &'static str,
}

/// Splits off the last `count` keys or writes of a request.
pub(super) fn split(operation: &str, body: &[u8], count: usize) -> Split {
    let member = match operation {
        "BatchGetItem" => "UnprocessedKeys",
        "BatchWriteItem" => "UnprocessedItems",
        other => panic!("{other} has nothing to keep back"),
    };
    let mut request: Value = serde_json::from_slice(body).expect("a request is JSON");
    let tables = request["RequestItems"]
        .as_object_mut()
        .expect("a batch names its tables");
    let mut kept_back = Map::new();
    let mut left = count;
    let names: Vec<String> = tables.keys().rev().cloned().collect();
    for name in names {
        let table = &mut tables[&name];
        let mut kept = table.clone();
        let members = members(table);
        let tail = members.split_off(members.len().saturating_sub(left));
        left -= tail.len();
        let nothing_left = members.is_empty();
        if !tail.is_empty() {
            *self::members(&mut kept) = tail;
            kept_back.insert(name.clone(), kept);
        }
        if nothing_left {
            tables.remove(&name);
        }
    }
    let forwarded = (!tables.is_empty()).then_some(request);
    Split {
        forwarded,
        kept_back,
        member,
    }
}

/// The keys of a read, which sit beside its options, or the writes.
fn members(table: &mut Value) -> &mut Vec<Value> {
    let members = if table.is_array() { table } else { &mut table["Keys"] };
    members.as_array_mut().expect("a batch lists its members")
}

impl Split {
    /// The answer where nothing was forwarded.
    pub(super) fn answer_alone(self) -> Vec<u8> {
        let answer = match self.member {
            "UnprocessedKeys" => json!({ "Responses": {}, "UnprocessedKeys": self.kept_back }),
            member => json!({ member: self.kept_back }),
        };
        answer.to_string().into_bytes()
    }

    /// The engine's answer with what was kept back put in.
    pub(super) fn add_to(self, answer: &[u8]) -> Vec<u8> {
        let mut answer: Value = serde_json::from_slice(answer).expect("the engine answers in JSON");
        answer[self.member] = Value::Object(self.kept_back);
        answer.to_string().into_bytes()
    }
}
