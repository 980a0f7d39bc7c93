//! Names for buckets in logs: a short keyed hash instead of an entity id (03-delivery, Logs and metrics).
//!
//! Entity ids are routinely API keys, and many can be guessed: a plain hash of one could be found by hashing guesses.
//! HMAC-SHA-256 keeps that to whoever has the key, and no number of hashes gives the key away, as it might with a hash
//! made for tables. What must stay true: nothing here shows the key, an id, or more than 48 bits.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::HashKey;
use crate::key::BucketGroup;

/// Names groups under one key.
#[derive(Clone)]
pub struct Correlator {
    keyed: Hmac<Sha256>,
}

/// A group's name in the log: 48 bits, as 12 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag([u8; 6]);

impl Correlator {
    /// Names under the configured key, or else under a random one.
    pub fn of(key: Option<&HashKey>) -> Self {
        key.map_or_else(Self::random, |key| Self::new(key.as_bytes()))
    }

    /// Names that are equal wherever the key is.
    pub fn new(key: &[u8]) -> Self {
        match Hmac::new_from_slice(key) {
            Ok(keyed) => Self { keyed },
            // HMAC takes keys of any length; the signature is that of all keyed hashes.
            Err(_) => Self::random(),
        }
    }

    /// Names that are equal within this process only.
    pub fn random() -> Self {
        let mut key = hmac::digest::Key::<Hmac<Sha256>>::default();
        // The standard library's hashing keys come from the system's source of randomness, and differ each time.
        for part in key.chunks_mut(8) {
            let drawn = RandomState::new().build_hasher().finish().to_ne_bytes();
            part.copy_from_slice(&drawn[..part.len()]);
        }
        Self { keyed: Hmac::new(&key) }
    }

    /// The group's name.
    pub fn tag(&self, group: &BucketGroup<'_>) -> Tag {
        let mut keyed = self.keyed.clone();
        for part in [group.namespace, group.entity, group.resource] {
            // The length first, so that no two groups run together into the same bytes.
            keyed.update(&part.len().to_be_bytes());
            keyed.update(part.as_bytes());
        }
        let mut tag = Tag([0; 6]);
        for (place, byte) in tag.0.iter_mut().zip(keyed.finalize().into_bytes()) {
            *place = byte;
        }
        tag
    }
}

impl fmt::Debug for Correlator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Correlator(..)")
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group<'a>(namespace: &'a str, entity: &'a str, resource: &'a str) -> BucketGroup<'a> {
        BucketGroup {
            namespace,
            entity,
            resource,
        }
    }

    #[test]
    fn one_key_gives_one_name_wherever_it_is_used() {
        let (one, same, other) = (
            Correlator::new(b"key"),
            Correlator::new(b"key"),
            Correlator::new(b"kez"),
        );
        let group = group("ns", "sk-1", "gpt");
        assert_eq!(one.tag(&group), same.tag(&group));
        assert_ne!(one.tag(&group), other.tag(&group));
        assert_eq!(one.tag(&group).to_string().len(), 12);
    }

    #[test]
    fn parts_do_not_run_together() {
        let key = Correlator::new(b"key");
        assert_ne!(key.tag(&group("ns", "ab", "c")), key.tag(&group("ns", "a", "bc")));
        assert_ne!(key.tag(&group("n", "sab", "c")), key.tag(&group("ns", "ab", "c")));
    }

    #[test]
    fn random_keys_differ() {
        let group = group("ns", "sk-1", "gpt");
        assert_ne!(Correlator::random().tag(&group), Correlator::random().tag(&group));
    }

    #[test]
    fn nothing_shows_the_key() {
        assert_eq!(format!("{:?}", Correlator::new(b"secret")), "Correlator(..)");
    }
}
