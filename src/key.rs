//! The keys of the table (01-table, Keys): parsed from a bucket's `PK`, built for every record kind.
//!
//! Refuses any text that is not a bucket key. Entity ids are often API keys, so nothing here implements
//! `Display`, and `Debug` shows the shard only.

use std::fmt;

use crate::units::{EpochMillis, ShardId};

/// `SK` of a bucket shard.
pub const STATE_SK: &str = "#STATE";
/// `SK` of an owner record.
pub const META_SK: &str = "#META";
/// What the `SK` of an audit record begins with.
pub const AUDIT_SK_PREFIX: &str = "#AUDIT#";
/// The version record's `PK`.
pub const SYSTEM_PK: &str = "_/SYSTEM#";
/// The version record's `SK`.
pub const VERSION_SK: &str = "#VERSION";

/// The group that plans together: one namespace, entity and resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketGroup<'a> {
    /// Opaque namespace id; holds no `/`.
    pub namespace: &'a str,
    /// Entity id; holds no `#`. Often a secret.
    pub entity: &'a str,
    /// Resource name; may hold `/`, never `#`.
    pub resource: &'a str,
}

/// One bucket shard: `{ns}/BUCKET#{entity}#{resource}#{shard}`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketKey<'a> {
    /// Whose buckets.
    pub group: BucketGroup<'a>,
    /// Which of them.
    pub shard: ShardId,
}

impl<'a> BucketKey<'a> {
    /// Parses a bucket's `PK`: the namespace ends at the first `/`, the shard follows the last `#`, the entity
    /// ends at the first `#` after `BUCKET#`. `None` for every other text.
    pub fn parse(pk: &'a str) -> Option<Self> {
        let (namespace, rest) = pk.split_once('/')?;
        let (owner, shard) = rest.strip_prefix("BUCKET#")?.rsplit_once('#')?;
        let (entity, resource) = owner.split_once('#')?;
        let digits_only = !shard.is_empty() && shard.bytes().all(|b| b.is_ascii_digit());
        if namespace.is_empty() || entity.is_empty() || resource.is_empty() || !digits_only {
            return None;
        }
        let shard = ShardId(shard.parse().ok()?);
        Some(Self {
            group: BucketGroup {
                namespace,
                entity,
                resource,
            },
            shard,
        })
    }
}

impl BucketGroup<'_> {
    /// `PK` of one of the group's shards.
    pub fn bucket_pk(&self, shard: ShardId) -> String {
        format!("{}/BUCKET#{}#{}#{shard}", self.namespace, self.entity, self.resource)
    }

    /// Key of one of the group's shards.
    pub fn bucket(&self, shard: ShardId) -> ItemKey {
        ItemKey {
            pk: self.bucket_pk(shard),
            sk: STATE_SK.to_owned(),
        }
    }

    /// `PK` of the owner and its usage snapshots.
    pub fn entity_pk(&self) -> String {
        format!("{}/ENTITY#{}", self.namespace, self.entity)
    }

    /// Key of the record that owns the buckets.
    pub fn meta(&self) -> ItemKey {
        ItemKey {
            pk: self.entity_pk(),
            sk: META_SK.to_owned(),
        }
    }

    /// Key of the usage snapshot that begins at `start`, as [`window_start_text`] writes it. A window that begins
    /// together with a coarser configured one has a suffix, its kind's name (R12): kinds never share an item.
    pub fn usage_snapshot(&self, start: &str, suffix: Option<&str>) -> ItemKey {
        let mut sk = format!("#USAGE#{}#{start}", self.resource);
        append_suffix(&mut sk, suffix);
        ItemKey {
            pk: self.entity_pk(),
            sk,
        }
    }

    /// The index keys of the same snapshot, as (attribute, text) pairs.
    pub fn usage_index_keys(&self, start: &str, suffix: Option<&str>) -> [(&'static str, String); 4] {
        let mut by_start = format!("USAGE#{start}#{}", self.entity);
        append_suffix(&mut by_start, suffix);
        [
            ("GSI2PK", format!("{}/RESOURCE#{}", self.namespace, self.resource)),
            ("GSI2SK", by_start),
            ("GSI4PK", self.namespace.to_owned()),
            ("GSI4SK", self.entity_pk()),
        ]
    }

    /// The index keys of one of the group's shards, as (attribute, text) pairs.
    pub fn bucket_index_keys(&self, shard: ShardId) -> [(&'static str, String); 6] {
        let Self {
            namespace,
            entity,
            resource,
        } = self;
        [
            ("GSI2PK", format!("{namespace}/RESOURCE#{resource}")),
            ("GSI2SK", format!("BUCKET#{entity}#{shard}")),
            ("GSI3PK", self.entity_pk()),
            ("GSI3SK", format!("BUCKET#{resource}#{shard}")),
            ("GSI4PK", (*namespace).to_owned()),
            ("GSI4SK", format!("BUCKET#{entity}#{resource}#{shard}")),
        ]
    }
}

fn append_suffix(key: &mut String, suffix: Option<&str>) {
    if let Some(suffix) = suffix {
        key.push('#');
        key.push_str(suffix);
    }
}

impl fmt::Debug for BucketGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BucketGroup(..)")
    }
}

impl fmt::Debug for BucketKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketKey(.., shard {})", self.shard)
    }
}

/// Primary key of any item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

impl fmt::Debug for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ItemKey(..)")
    }
}

/// An instant in the form that a window start is stored in: `2026-11-30T14:00:00Z`. `None` where the calendar
/// ends.
pub fn window_start_text(instant: EpochMillis) -> Option<String> {
    let utc = chrono::DateTime::from_timestamp_millis(instant.0)?;
    Some(utc.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_may_hold_a_slash() {
        let key = BucketKey::parse("ns/BUCKET#sk-1:a@b#models/gpt-4#12").unwrap();
        assert_eq!(
            key.group,
            BucketGroup {
                namespace: "ns",
                entity: "sk-1:a@b",
                resource: "models/gpt-4"
            }
        );
        assert_eq!(key.shard, ShardId(12));
        assert_eq!(key.group.bucket_pk(key.shard), "ns/BUCKET#sk-1:a@b#models/gpt-4#12");
    }

    #[test]
    fn other_records_are_not_buckets() {
        for pk in [
            "ns/ENTITY#e",
            "BUCKET#e#r#0",
            "ns/BUCKET#e#r",
            "ns/BUCKET#e#r#x",
            "ns/BUCKET#e#r#",
            "/BUCKET#e#r#0",
            "ns/BUCKET#e#r#+1",
            "",
        ] {
            assert_eq!(BucketKey::parse(pk), None, "{pk}");
        }
    }

    #[test]
    fn a_finer_window_of_the_same_start_has_keys_of_its_own() {
        let group = BucketKey::parse("ns/BUCKET#e#a/b#0").unwrap().group;
        let start = "2026-12-01T00:00:00Z";
        let key = group.usage_snapshot(start, None);
        assert_eq!((&*key.pk, &*key.sk), ("ns/ENTITY#e", "#USAGE#a/b#2026-12-01T00:00:00Z"));
        let key = group.usage_snapshot(start, Some("hourly"));
        assert_eq!(key.sk, "#USAGE#a/b#2026-12-01T00:00:00Z#hourly");
        let keys = group.usage_index_keys(start, Some("hourly"));
        assert_eq!(keys[0], ("GSI2PK", "ns/RESOURCE#a/b".to_owned()));
        assert_eq!(keys[1], ("GSI2SK", "USAGE#2026-12-01T00:00:00Z#e#hourly".to_owned()));
        assert_eq!(keys[2], ("GSI4PK", "ns".to_owned()));
        assert_eq!(keys[3], ("GSI4SK", "ns/ENTITY#e".to_owned()));
    }

    #[test]
    fn debug_output_hides_the_entity() {
        let key = BucketKey::parse("ns/BUCKET#secret#r#3").unwrap();
        assert!(!format!("{key:?} {:?} {:?}", key.group, key.group.meta()).contains("secret"));
    }
}
