//! What the snapshots must hold, by plain arithmetic over the story: written apart from the product's rules.

use std::collections::BTreeMap;

use chrono::DateTime;
use limiter_aggregator::item::{AttributeValue, Item};

use super::super::counting::counters;
use super::super::records::{Change, Used};
use super::story::Story;

/// Counters by sort key and entity.
pub type Counters = BTreeMap<(String, String), BTreeMap<String, i64>>;

/// What a table's snapshots hold.
pub fn counted(items: impl IntoIterator<Item = Item>) -> Counters {
    let text = |item: &Item, name: &str| match &item[name] {
        AttributeValue::S(text) => text.clone(),
        other => panic!("{name} is {other:?}"),
    };
    let snapshot = |item: Item| {
        let owned = counters(&item)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        ((text(&item, "entity_id"), text(&item, "SK")), owned.collect())
    };
    items.into_iter().map(snapshot).collect()
}

/// The totals of a story.
pub fn expected(story: &Story) -> Counters {
    let kinds: Vec<&str> = story.windows.kinds().iter().map(|kind| kind.as_str()).collect();
    let mut totals = Counters::new();
    for change in story.streams.iter().flatten().flatten() {
        for (at, kind) in kinds.iter().enumerate() {
            let start = start(kind, change);
            let shared = kinds[at + 1..]
                .iter()
                .any(|coarser| self::start(coarser, change) == start);
            let suffix = if shared { format!("#{kind}") } else { String::new() };
            let key = (
                change.entity.clone(),
                format!("#USAGE#{}#{start}{suffix}", change.resource),
            );
            for used in &change.used {
                count(&mut totals, &key, change, used);
            }
        }
    }
    totals
}

fn start(kind: &str, change: &Change) -> String {
    let millis = match change.created {
        None => change.rf,
        Some(seconds) if seconds < 100_000_000_000 => seconds * 1_000,
        Some(millis) => millis,
    };
    let format = match kind {
        "hourly" => "%Y-%m-%dT%H:00:00Z",
        "daily" => "%Y-%m-%dT00:00:00Z",
        _ => "%Y-%m-01T00:00:00Z",
    };
    DateTime::from_timestamp_millis(millis)
        .unwrap()
        .format(format)
        .to_string()
}

fn count(totals: &mut Counters, key: &(String, String), change: &Change, used: &Used) {
    let before = if change.insert { Some(0) } else { used.before };
    let delta = before.map_or(0, |before| used.after - before);
    if delta == 0 || used.limit == "wcu" || used.limit == "ttl" {
        return;
    }
    let counters = totals.entry(key.clone()).or_default();
    *counters.entry(used.limit.to_owned()).or_default() += delta.div_euclid(1_000);
    *counters.entry("total_events".to_owned()).or_default() += 1;
    if used.soft && delta > 0 && used.balance < 0 {
        *counters.entry(format!("{}#od", used.limit)).or_default() += 1;
    }
}
