//! What one snapshot weighs, by DynamoDB's size rules: the figures of `docs/usage.md`.

use limiter_aggregator::item::{AttributeValue, Item};
use limiter_aggregator::plan::usage::WindowKind;
use limiter_aggregator::table::memory::MemoryTable;

use super::counting::{deliver, settings, snapshots};
use super::records::{Change, change, event, used};

/// 2026-11-30T13:10:00Z.
const NOW: i64 = 1_796_044_200_000;
const BYTES_PER_WRITE_UNIT: usize = 1_024;

/// Attribute names and texts count their bytes; a number one byte for two significant digits, one more, and one for
/// a minus sign.
fn bytes(item: &Item) -> usize {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => {
            let digits = number.trim_start_matches('-').trim_matches('0').len();
            digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
        }
        other => panic!("no snapshot holds {other:?}"),
    };
    item.iter().map(|(name, stored)| name.len() + value(stored)).sum()
}

/// A day's snapshot of an entity with an id of 36 characters, two limits and so many shards.
async fn snapshot(shards: u32, sequence_digits: usize) -> Item {
    let table = MemoryTable::new();
    let record = |shard| Change {
        entity: "sk-0123456789abcdef0123456789abcdef0".to_owned(),
        shard,
        sequence: format!("{:0<sequence_digits$}", 1_001 + shard),
        ..change(
            1,
            NOW,
            vec![used("rpm", 0, 12_345_000), used("tpm", 0, 987_654_321_000)],
        )
    };
    let batch: Vec<Change> = (0..shards).map(record).collect();
    deliver(&table, settings(&[WindowKind::Daily]), &event(&batch), NOW).await;
    snapshots(&table).into_values().next().unwrap()
}

#[tokio::test]
async fn the_page_says_what_a_snapshot_weighs() {
    let page = include_str!("../../../docs/usage.md");
    for (shards, digits) in [(1, 21), (1, 40), (32, 21), (32, 40)] {
        let bytes = bytes(&snapshot(shards, digits).await);
        let units = bytes.div_ceil(BYTES_PER_WRITE_UNIT);
        // The table, and the index that projects everything.
        let row = format!("| {shards} | {digits} | {bytes} | {units} | {} |", 2 * units);
        assert!(page.contains(&row), "docs/usage.md should have the row: {row}");
    }
}

#[tokio::test]
async fn a_snapshot_never_has_more_than_32_guards() {
    let item = snapshot(40, 40).await;
    let guards = item.keys().filter(|name| name.starts_with("#seq")).count();
    assert_eq!(guards, 32);
    let without = bytes(&snapshot(1, 40).await);
    assert_eq!((bytes(&item) - without).div_ceil(31), 72, "bytes of one guard, at most");
}
