//! An item from before grants and windows were recorded.

use limiter_aggregator::item::{AttributeValue, Item, number, text};

use crate::client::shard_key;
use crate::scenario::{Configuration, HALVED, Kind, RESETS, Scenario};

/// One of two shards as a client from before grants and windows were recorded left it.
pub fn old_item(shard: u32, scenario: &Scenario, configuration: &Configuration, life: u32, now: i64) -> Item {
    let key = shard_key(shard);
    let mut item = Item::from([
        ("PK".to_owned(), text(key.pk)),
        ("SK".to_owned(), text(key.sk)),
        ("entity_id".to_owned(), text("e")),
        ("resource".to_owned(), text("r")),
        ("rf".to_owned(), number((now - 1000).into())),
        ("pgen".to_owned(), number(life.into())),
        ("pinc".to_owned(), text(format!("life-{life}"))),
        ("vu".to_owned(), number(0)),
        ("shard_count".to_owned(), number(2)),
    ]);
    let mut put = |limit: &str, name: &str, value: AttributeValue| item.insert(format!("b_{limit}_{name}"), value);
    // Short, so that the first doubling is the aggregator's.
    let budget = scenario.write_budget * 1000;
    for (name, value) in [
        ("tk", budget * 15 / 100),
        ("cp", budget),
        ("ra", budget),
        ("rp", 10_000),
        ("tc", 0),
    ] {
        put("wcu", name, number(value));
    }
    for kind in Kind::ALL.into_iter().filter(|kind| scenario.has(*kind)) {
        let parameters = configuration.parameters(kind);
        let (cp, ra) = (parameters.capacity.0, parameters.refill.0);
        for (name, value) in [
            ("tk", cp / 2),
            ("cp", cp),
            ("ra", ra),
            ("rp", parameters.period_ms),
            ("tc", 0),
        ] {
            put(kind.limit(), name, number(value));
        }
        match kind {
            Kind::Drip if scenario.scheduled => drop(put(kind.limit(), "sched", text(HALVED))),
            Kind::Drip => {}
            Kind::Calendar => drop(put(kind.limit(), "rsched", text(RESETS))),
            Kind::Session => {
                put(kind.limit(), "rsa", number(configuration.window_s.into()));
                put(kind.limit(), "ws", number((now - 2000).into()));
            }
        }
    }
    item
}
