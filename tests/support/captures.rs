//! The captured events of `events/`, with the tables that they belong to.

use std::path::Path;

use limiter_aggregator::item::Item;
use limiter_aggregator::units::EpochMillis;
use serde_json::Value;

/// One captured event.
#[derive(Clone, Debug)]
pub struct Capture {
    /// File name without its ending.
    pub name: String,
    /// The event as Lambda delivers it.
    pub event: String,
    /// The table as it stood.
    pub items: Vec<Item>,
    /// When to deliver it.
    pub now: EpochMillis,
}

impl Capture {
    /// One of them.
    pub fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("events");
        let text = |file: String| std::fs::read_to_string(folder.join(file)).unwrap();
        let table: Value = serde_json::from_str(&text(format!("{name}.table.json"))).unwrap();
        Self {
            name: name.to_owned(),
            event: text(format!("{name}.json")),
            items: serde_json::from_value(table["items"].clone()).unwrap(),
            now: EpochMillis(table["now_ms"].as_i64().unwrap()),
        }
    }

    /// All of them, by name.
    pub fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("events");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut events: Vec<_> = names
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .filter(|name| !name.ends_with(".table"))
            .collect();
        events.sort();
        events.iter().map(|name| Self::read(name)).collect()
    }

    /// The same with every entity id replaced.
    pub fn with_entity(&self, entity: &str) -> Self {
        let mut found = Vec::new();
        entities(&serde_json::from_str(&self.event).unwrap(), &mut found);
        let replaced = |text: String| found.iter().fold(text, |text, old| text.replace(old.as_str(), entity));
        let items = serde_json::to_string(&self.items).unwrap();
        Self {
            event: replaced(self.event.clone()),
            items: serde_json::from_str(&replaced(items)).unwrap(),
            ..self.clone()
        }
    }

    /// The event's records.
    pub fn records(&self) -> Vec<Value> {
        let event: Value = serde_json::from_str(&self.event).unwrap();
        event["Records"].as_array().unwrap().clone()
    }
}

/// Every `entity_id` in an event.
fn entities(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member["S"].as_str()) {
                    ("entity_id", Some(id)) => found.push(id.to_owned()),
                    _ => entities(member, found),
                }
            }
        }
        Value::Array(members) => members.iter().for_each(|member| entities(member, found)),
        _ => {}
    }
}

/// An event of these records.
pub fn event_of(records: &[Value]) -> String {
    serde_json::json!({ "Records": records }).to_string()
}
