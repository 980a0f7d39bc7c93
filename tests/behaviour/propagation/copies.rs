//! What the rules do not know is copied exactly, whatever its type, by both arms.

use limiter_aggregator::item::{AttributeValue, Item};
use limiter_aggregator::table::memory::MemoryTable;

use super::scene::{Shard, double, key, propagate, world};
use super::wire::Wire;

/// The widest numbers that a table stores.
const DIGITS: [&str; 5] = [
    "12345678901234567890123456789012345678",
    "-99999999999999999999999999999999999999",
    "0.12345678901234567890123456789012345678",
    "9007199254740993",
    "0",
];

fn n(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Attributes of every type, under names that need care.
fn every_type() -> Item {
    let mut item = Item::new();
    let mut add = |name: &str, value| drop(item.insert(name.to_owned(), value));
    for (place, digits) in DIGITS.iter().enumerate() {
        add(&format!("n{place}"), n(digits));
    }
    for (place, text) in ["", "é\u{1F980}\u{0}\"\\/\n\u{2028}", "1E5"].iter().enumerate() {
        add(&format!("s{place}"), s(text));
    }
    add("bytes", AttributeValue::B((0..=255).collect()));
    add("no_bytes", AttributeValue::B(vec![]));
    add("yes", AttributeValue::Bool(true));
    add("no", AttributeValue::Bool(false));
    add("nothing", AttributeValue::Null(true));
    add("texts", AttributeValue::Ss(vec!["a".to_owned(), "é".to_owned()]));
    add(
        "numbers",
        AttributeValue::Ns(vec!["-1".to_owned(), DIGITS[0].to_owned()]),
    );
    add("blobs", AttributeValue::Bs(vec![vec![0, 255], vec![7]]));
    add("empty_list", AttributeValue::L(vec![]));
    add("empty_map", AttributeValue::M([].into()));
    let nested = [
        (
            "deep".to_owned(),
            AttributeValue::L(vec![
                n(DIGITS[1]),
                AttributeValue::B(vec![1]),
                AttributeValue::Null(true),
            ]),
        ),
        (
            "k.e-y #1".to_owned(),
            AttributeValue::M([("x".to_owned(), AttributeValue::Ss(vec!["z".to_owned()]))].into()),
        ),
    ];
    add("map", AttributeValue::M(nested.into()));
    add("with.dots and-more", s("x"));
    add("b_rpm_soft", n(DIGITS[3]));
    add("b_day_rn", n(DIGITS[0]));
    item
}

fn doubled() -> (MemoryTable, String) {
    let mut shard = Shard::new(0, 1).calendar("day", 1000, 1000, 1).drip("rpm", 1000, 0);
    shard.0.extend(every_type());
    let table = world([shard]);
    let event = double(&table);
    (table, event)
}

#[test]
fn every_type_is_copied_exactly_in_memory() {
    let (table, event) = doubled();
    assert_eq!(propagate(&table, &event), ["shard 1 created"]);
    let made = table.get(&key(1)).unwrap();
    for (name, value) in every_type() {
        assert_eq!(made.get(&name), Some(&value), "{name}");
    }
}

#[tokio::test]
async fn every_type_is_copied_exactly_through_the_sdk() {
    let (table, event) = doubled();
    let wire = Wire::with(&table).await;
    let (_, notes) = wire.deliver(&event).await;
    assert!(notes.contains(&"shard 1 created".to_owned()), "{notes:?}");
    let (original, made) = (wire.shard(0).await.unwrap(), wire.shard(1).await.unwrap());
    for (name, value) in every_type() {
        assert_eq!(made.get(&name), original.get(&name), "{name}");
        if !matches!(value, AttributeValue::Ns(_)) {
            assert_eq!(
                made.get(&name),
                Some(&value),
                "{name}: the engine keeps all but the order of number sets"
            );
        }
    }
    // And on the wire, where no store could have put anything right.
    let body: serde_json::Value = serde_json::from_slice(&wire.proxy.bodies("TransactWriteItems")[0]).unwrap();
    let sent = &body["TransactItems"][0]["Put"]["Item"];
    let event: serde_json::Value = serde_json::from_str(&event).unwrap();
    let image = &event["Records"][0]["dynamodb"]["NewImage"];
    for name in every_type().keys() {
        assert!(!image[name].is_null());
        assert_eq!(sent[name].to_string(), image[name].to_string(), "{name}");
    }
}

#[test]
fn a_number_is_copied_in_the_spelling_of_the_image() {
    let table = world([Shard::new(0, 1).drip("rpm", 1000, 0).n("odd", 1200)]);
    let event = double(&table).replace(r#""odd":{"N":"1200"}"#, r#""odd":{"N":"1.20E+3"}"#);
    let seen = std::cell::RefCell::new(String::new());
    let watched = super::interposed::Interposed::new(&table, |_, call| {
        if let super::interposed::Call::Transact(transaction) = call {
            *seen.borrow_mut() = format!("{transaction:?}");
        }
    });
    propagate(&watched, &event);
    assert!(seen.borrow().contains("1.20E+3"));
}

#[test]
fn an_image_with_an_attribute_that_is_no_value_is_not_copied() {
    let table = world([
        Shard::new(0, 2).drip("rpm", 1000, 0).n("odd", 1200),
        Shard::new(1, 2).drip("rpm", 1000, 0),
    ]);
    let event = double(&table);
    for broken in [
        r#""odd":{}"#,
        r#""odd":{"N":"1","S":"1"}"#,
        r#""odd":{"B":"no base64!"}"#,
        r#""odd":{"X":"1"}"#,
    ] {
        let event = event.replace(r#""odd":{"N":"1200"}"#, broken);
        let notes = propagate(&table, &event);
        assert_eq!(
            notes.last().map(String::as_str),
            Some("nothing created: Unreadable"),
            "{broken}"
        );
    }
}
