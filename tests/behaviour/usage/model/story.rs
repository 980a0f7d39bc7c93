//! What happened to the buckets: records on streams and stream shards, before anything is delivered.

use limiter_aggregator::plan::usage::{WindowKind, Windows};

use super::super::records::{Change, Used};
use super::rng::Rng;

const LABELS: [&str; 2] = ["2026-01-01T00:00:00.000", "2026-06-01T00:00:00.000"];
const LIMITS: [&str; 5] = ["rpm", "tpm", "b_tk", "ttl", "wcu"];
const DELTAS: [i64; 9] = [0, 1, 999, 1_000, 1_500, -500, -1_000, -1_001, 250_000];
/// 2026-11-30T21:50:00Z: a few hours further, hour, day and month begin together.
const BEGIN: i64 = 1_796_075_400_000;
const STEPS: [i64; 5] = [0, 700, 60_000, 1_200_000, 3_600_000];

/// All records of one stream shard, in order.
pub type StreamShard = Vec<Change>;

/// A history before its delivery.
pub struct Story {
    pub windows: Windows,
    /// The streams of the table, one after the other; each with its shards.
    pub streams: Vec<Vec<StreamShard>>,
}

struct Bucket {
    entity: String,
    resource: &'static str,
    shard: u32,
    stream_shard: usize,
    exists: bool,
    /// Name and `tc`; `None` as long as the item lacks the limit.
    limits: Vec<(&'static str, Option<i64>)>,
}

impl Story {
    /// Makes one up.
    pub fn tell(rng: &mut Rng) -> Self {
        let stream_shards = 1 + rng.below(3);
        let mut buckets: Vec<Bucket> = Vec::new();
        for _ in 0..1 + rng.below(4) {
            let bucket = Bucket::new(rng, stream_shards);
            let is_new = |other: &Bucket| {
                (&other.entity, other.resource, other.shard) != (&bucket.entity, bucket.resource, bucket.shard)
            };
            if buckets.iter().all(is_new) {
                buckets.push(bucket);
            }
        }
        let kinds: Vec<WindowKind> = WindowKind::ALL.into_iter().filter(|_| rng.chance(60)).collect();
        let mut now = BEGIN;
        let mut streams = Vec::new();
        for label in &LABELS[..1 + usize::from(rng.chance(25))] {
            // A new stream may begin below where the old one ended. Widths cross a power of ten.
            let mut sequence = *rng.pick(&[1, 93, 9_960, 99_999_999_999_999_999_000]);
            let mut shards = vec![StreamShard::new(); stream_shards];
            for _ in 0..2 + rng.below(9) {
                now += rng.pick(&STEPS);
                sequence += 1 + rng.below(20) as u128;
                let at = rng.below(buckets.len());
                let change = buckets[at].change(rng, label, sequence, now);
                shards[buckets[at].stream_shard].push(change);
            }
            streams.push(shards);
        }
        Self {
            windows: Windows::of(if kinds.is_empty() {
                vec![WindowKind::Daily]
            } else {
                kinds
            }),
            streams,
        }
    }
}

impl Bucket {
    fn new(rng: &mut Rng, stream_shards: usize) -> Self {
        let mut limits: Vec<_> = LIMITS
            .iter()
            .filter(|_| rng.chance(50))
            .map(|name| (*name, Some(0)))
            .collect();
        if limits.is_empty() {
            limits.push((LIMITS[0], Some(0)));
        }
        if rng.chance(30) {
            limits[0].1 = None;
        }
        Self {
            entity: rng.pick(&["e", "f"]).to_string(),
            resource: ["r", "r/s"][rng.below(2)],
            shard: *rng.pick(&[0, 1, 2, 31]),
            stream_shard: rng.below(stream_shards),
            exists: rng.chance(50),
            limits,
        }
    }

    fn change(&mut self, rng: &mut Rng, label: &'static str, sequence: u128, now: i64) -> Change {
        let insert = !std::mem::replace(&mut self.exists, true);
        let mut used = Vec::new();
        for (limit, consumed) in &mut self.limits {
            let before = *consumed;
            if before.is_none() && rng.chance(60) {
                continue;
            }
            let after = before.unwrap_or(7_000) + rng.pick(&DELTAS);
            *consumed = Some(after);
            used.push(Used {
                limit,
                before,
                after,
                balance: *rng.pick(&[-1, 0, 5_000]),
                soft: *limit == "tpm",
            });
        }
        let zeros = if rng.chance(5) { "00" } else { "" };
        let created = match rng.below(20) {
            0 => None,
            // The clocks of two writers, or of the stream, need not agree.
            1 => Some(now - 3_600_000),
            _ => Some(now.div_euclid(1_000)),
        };
        Change {
            insert,
            sequence: format!("{zeros}{sequence}"),
            label,
            entity: self.entity.clone(),
            resource: self.resource,
            shard: self.shard,
            created,
            rf: now,
            used,
        }
    }
}
