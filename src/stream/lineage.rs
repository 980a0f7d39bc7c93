//! Which shards may be read: those whose parent is done with.

use std::collections::BTreeSet;

/// A stream shard, which has nothing to do with a bucket's shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Its id.
    pub(super) id: String,
    /// The shard that it continues, if that is known.
    pub(super) parent: Option<String>,
    /// Whether it takes no more records.
    pub(super) is_closed: bool,
}

/// The shards to read now, in the order of the description. A parent that is no longer described has expired, so
/// that nothing of it can be read any more.
pub(super) fn readable(shards: &[Shard], is_finished: impl Fn(&str) -> bool) -> Vec<&Shard> {
    let described: BTreeSet<&str> = shards.iter().map(|shard| shard.id.as_str()).collect();
    let waits = |parent: &String| described.contains(parent.as_str()) && !is_finished(parent);
    shards
        .iter()
        .filter(|shard| !is_finished(&shard.id) && !shard.parent.as_ref().is_some_and(waits))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(id: &str, parent: Option<&str>) -> Shard {
        Shard {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            is_closed: false,
        }
    }

    fn ids(shards: &[Shard], finished: &[&str]) -> Vec<String> {
        let readable = readable(shards, |id| finished.contains(&id));
        readable.iter().map(|shard| shard.id.clone()).collect()
    }

    #[test]
    fn children_wait_for_their_parent_however_they_are_listed() {
        let shards = [
            shard("child-1", Some("parent")),
            shard("parent", None),
            shard("child-2", Some("parent")),
            shard("grandchild", Some("child-1")),
        ];
        assert_eq!(ids(&shards, &[]), ["parent"]);
        assert_eq!(ids(&shards, &["parent"]), ["child-1", "child-2"]);
        assert_eq!(ids(&shards, &["parent", "child-1"]), ["child-2", "grandchild"]);
    }

    #[test]
    fn an_expired_parent_keeps_nobody_waiting() {
        assert_eq!(ids(&[shard("child", Some("expired"))], &[]), ["child"]);
    }
}
