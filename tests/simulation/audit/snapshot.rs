//! A shard's stored numbers, as the books need them.

use limiter_aggregator::bucket::{Bucket, Limit, WCU};
use limiter_aggregator::item::{AttributeValue, Item};

use crate::client::integer;
use crate::scenario::{Kind, PERIOD_MS};

/// One limit's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub tk: i128,
    pub tc: i128,
    pub cp: i128,
    pub ra: i128,
    pub rp: i128,
    /// Length of its windows in milliseconds; 0 where it has none.
    pub length: i64,
    pub ws: Option<i64>,
    pub wa: Option<i64>,
    pub wtc: Option<i128>,
    pub gc: Option<i128>,
    pub tu: i128,
    pub rn: i128,
}

impl Numbers {
    fn of(limit: &Limit<'_>, item: &Item) -> Self {
        let number = |amount: Option<limiter_aggregator::units::Millitokens>| amount.map_or(0, |amount| amount.0);
        Self {
            tk: number(limit.balance),
            tc: number(limit.consumed),
            cp: number(limit.capacity),
            ra: number(limit.refill),
            rp: limit.period_ms.unwrap_or(0),
            length: limit.window_length_ms().unwrap_or(0),
            ws: limit.window_start.map(|start| start.0),
            wa: limit.window_applied.map(|applied| applied.0),
            wtc: limit.consumed_at_window.map(|consumed| consumed.0),
            gc: limit.grant_count,
            tu: number(limit.topped_up),
            rn: integer(item, &format!("b_{}_rn", limit.name)).unwrap_or(0),
        }
    }

    /// When its window ends, by the length that is on the item now.
    pub fn window_end(&self) -> Option<i64> {
        Some(self.ws? + self.length)
    }

    /// The count that its grant was sized at (R9): where it is not recorded, no more than the balance allows.
    pub fn grant_size(&self, count: i128) -> i128 {
        let mut size = self.gc.filter(|size| *size >= 1).unwrap_or(count);
        while self.gc.is_none() && size > 1 && self.tk > self.cp / size {
            size /= 2;
        }
        size
    }

    /// What was ever put in: neither consumption nor a refund changes it.
    pub fn put_in(&self) -> i128 {
        self.tk + self.tc
    }
}

/// One shard's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub rf: i64,
    pub vu: Option<i64>,
    pub count: i128,
    pub decodes: bool,
    pub stamp: (Option<i128>, Option<String>),
    limits: [Option<Numbers>; 3],
    pub wcu: Numbers,
}

impl Snapshot {
    /// Reads an item.
    pub fn of(item: &Item) -> Self {
        let Ok(bucket) = Bucket::from_item(item) else {
            return Self::default();
        };
        let numbers = |name: &str| bucket.limit(name).map(|limit| Numbers::of(limit, item));
        Self {
            rf: bucket.fields.last_refill.map_or(0, |instant| instant.0),
            vu: bucket.fields.valid_until.map(|instant| instant.0),
            count: bucket.fields.shard_count().get().into(),
            decodes: !matches!(item.get("sched"), Some(AttributeValue::S(text)) if text == "bad"),
            stamp: (
                bucket.fields.parent_generation,
                bucket.fields.parent_incarnation.map(str::to_owned),
            ),
            limits: Kind::ALL.map(|kind| numbers(kind.limit())),
            wcu: numbers(WCU).unwrap_or_default(),
        }
    }

    /// One of the limits.
    pub fn limit(&self, kind: Kind) -> Option<&Numbers> {
        self.limits[kind as usize].as_ref()
    }
}

/// The latest reset edge at or before an instant: every ten minutes, by arithmetic and not by the schedule.
pub fn edge_of(instant: i64) -> i64 {
    instant - instant.rem_euclid(PERIOD_MS)
}
