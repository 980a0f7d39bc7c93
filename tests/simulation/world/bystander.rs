//! Buckets of other entities, each with something about it that no rule can use. Their records travel in the same
//! batches; no aggregator may write to them, or be kept by them from its other work.

use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::key::BucketGroup;
use limiter_aggregator::units::ShardId;

use super::World;
use crate::audit::{Verdict, Writer};
use crate::scenario::{GROUP, WINDOW_S};

/// An amount with which a rate or a scale leaves 128 bits.
const HUGE: &str = "90000000000000000000000000000000000000";

/// Each has an entity of its own, whose shard 0 is written twice: as it was, and as it is.
const ODDITIES: [(&str, Oddity); 9] = [
    ("no-refill-instant", |_, new| drop(new.remove("rf"))),
    ("count-above-32", |old, new| count(old, new, 32, 64)),
    ("amounts-beyond-range", |old, new| {
        count(old, new, 1, 2);
        for item in [old, new] {
            item.insert("b_wcu_ra".to_owned(), huge());
            item.insert("b_d_cp".to_owned(), huge());
            item.insert("sched".to_owned(), text("1s1000000"));
        }
    }),
    ("undecodable", |old, new| {
        count(old, new, 1, 2);
        new.insert("sched".to_owned(), text("bad"));
    }),
    ("unreadable-when-read", |old, new| count(old, new, 1, 2)),
    ("gone-when-read", |old, new| count(old, new, 1, 2)),
    ("sibling-ahead", |old, new| count(old, new, 2, 4)),
    ("no-entity", |_, new| drop(new.remove("entity_id"))),
    ("no-write-budget", |_, new| {
        new.retain(|name, _| !name.starts_with("b_wcu_"))
    }),
];

type Oddity = fn(&mut Item, &mut Item);

fn huge() -> AttributeValue {
    AttributeValue::N(HUGE.to_owned())
}

fn count(old: &mut Item, new: &mut Item, from: i128, to: i128) {
    old.insert("shard_count".to_owned(), number(from));
    new.insert("shard_count".to_owned(), number(to));
}

/// An item on which nothing is due: a write budget that is full, and a quota whose first window nobody opened.
fn bucket(group: &BucketGroup<'_>, shard: u32, now: i64) -> Item {
    let key = group.bucket(ShardId(shard));
    let mut item = Item::from([
        ("PK".to_owned(), text(key.pk)),
        ("SK".to_owned(), text(key.sk)),
        ("entity_id".to_owned(), text(group.entity)),
        ("resource".to_owned(), text(group.resource)),
        ("rf".to_owned(), number(now.into())),
        ("shard_count".to_owned(), number(8)),
        ("b_s_rsa".to_owned(), number(WINDOW_S.into())),
    ]);
    for (limit, refill) in [("wcu", 1000), ("d", 0), ("s", 0)] {
        for (field, value) in [("tk", 1000), ("cp", 1000), ("ra", refill), ("rp", 1000), ("tc", 0)] {
            item.insert(format!("b_{limit}_{field}"), number(value));
        }
    }
    item
}

impl World {
    pub(super) fn bystander(&mut self, oddity: u8) -> Verdict {
        let (name, change) = ODDITIES[usize::from(oddity) % ODDITIES.len()];
        let group = BucketGroup { entity: name, ..GROUP };
        for shard in 0..2 {
            self.memory.delete_item(&group.bucket(ShardId(shard)));
        }
        let mut old = bucket(&group, 0, self.now);
        let mut new = old.clone();
        change(&mut old, &mut new);
        self.put(&bucket(&group, 1, self.now));
        self.put(&old);
        self.put(&new);
        match name {
            "unreadable-when-read" => {
                new.insert("b_s_tc".to_owned(), text("?"));
                self.put(&new);
            }
            "gone-when-read" => drop(self.memory.delete_item(&group.bucket(ShardId(0)))),
            _ => {}
        }
        self.coverage.count("fault: unusable bucket");
        self.settle_records(Writer::Removal, self.now, None)
    }
}
