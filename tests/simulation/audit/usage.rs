//! After quiet: the usage snapshots hold what was consumed, neither more nor less.
//!
//! Exact wherever no reader lost a delivery: a reader that passes records over moves the guards past them.

use std::collections::BTreeMap;

use limiter_aggregator::item::{AttributeValue, Item};
use limiter_aggregator::record::ChangeKind;
use limiter_aggregator::table::memory::StreamRecord;

use super::{Verdict, require, simulated};
use crate::client::integer;
use crate::scenario::GROUP;

const HOUR_MS: i64 = 3_600_000;
/// The kinds of window that the aggregators keep.
const WINDOWS: [(&str, i64); 2] = [("hourly", HOUR_MS), ("daily", 24 * HOUR_MS)];

/// Counters by window and start, by name.
type Totals = BTreeMap<(String, i64), BTreeMap<String, i128>>;

/// Every record's consumption, in whole tokens, is in the snapshots of its windows once.
pub fn counted<'r>(records: impl Iterator<Item = &'r StreamRecord>, items: impl Iterator<Item = Item>) -> Verdict {
    let mut consumed = Totals::new();
    for record in records.filter(|record| simulated(&record.key).is_some() && record.kind != ChangeKind::Remove) {
        enter(record, &mut consumed);
    }
    let counted: Totals = items.filter_map(|item| snapshot(&item)).collect();
    require(counted == consumed, "usage is what was consumed", || {
        format!("consumed {consumed:?}, counted {counted:?}")
    })
}

fn enter(record: &StreamRecord, totals: &mut Totals) {
    let Some(new) = &record.new else { return };
    // The stream tells whole seconds.
    let created = record.created.0.div_euclid(1000) * 1000;
    for name in new.keys() {
        let limit = name
            .strip_prefix("b_")
            .and_then(|rest| rest.strip_suffix("_tc"))
            .filter(|limit| *limit != "wcu");
        let (Some(limit), Some(after)) = (limit, integer(new, name)) else {
            continue;
        };
        let before = match &record.old {
            Some(old) => integer(old, name).unwrap_or(after),
            None => 0,
        };
        if after == before {
            continue;
        }
        for (window, length) in WINDOWS {
            let start = created.div_euclid(length) * length;
            let counters = totals.entry((window.to_owned(), start)).or_default();
            *counters.entry(limit.to_owned()).or_default() += (after - before).div_euclid(1000);
            *counters.entry("total_events".to_owned()).or_default() += 1;
        }
    }
}

fn snapshot(item: &Item) -> Option<((String, i64), BTreeMap<String, i128>)> {
    let text = |name: &str| match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text.as_str()),
        _ => None,
    };
    text("SK").filter(|sk| sk.starts_with("#USAGE#"))?;
    text("PK").filter(|pk| *pk == GROUP.entity_pk())?;
    let start = chrono::DateTime::parse_from_rfc3339(text("window_start")?)
        .ok()?
        .timestamp_millis();
    let counters = item
        .keys()
        .filter(|name| *name != "ttl")
        .filter_map(|name| Some((name.clone(), integer(item, name)?)));
    Some(((text("window")?.to_owned(), start), counters.collect()))
}
