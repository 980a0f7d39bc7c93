//! Trouble, gathered by kind and said once per kind and batch: what a hundred records have in common is one fact.

use std::collections::BTreeMap;

use crate::plan::usage::UncountedReason;

/// Most records or buckets named in one line.
const MOST_EXAMPLES: usize = 10;
/// Most different kinds in one batch. Their number is small but for the codes of faults, which a service makes up.
const MOST_KINDS: usize = 50;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Records that nobody can read.
    Unreadable,
    /// Records without the images that the rules need.
    View,
    /// Buckets whose schedule will not decode.
    Schedule,
    /// Shard counts above the maximum.
    RefusedCount,
    /// Consumption that no snapshot counts.
    Uncounted(UncountedReason),
    /// Limits that no snapshot can count.
    ReservedName,
    /// Records that a snapshot has left behind: it had counted later ones.
    OutOfOrder,
    /// A request that failed.
    Fault {
        /// What it was for.
        rule: &'static str,
        /// The operation.
        operation: &'static str,
        /// The service's code.
        code: String,
    },
    /// Objects that are not in the archive.
    Archive {
        /// The operation.
        operation: &'static str,
        /// The service's code, or what else happened.
        code: String,
    },
    /// Groups that were not done in time.
    CutShort,
    /// Groups whose work panicked.
    Panicked,
}

#[derive(Debug)]
struct Occurrences {
    count: u64,
    examples: Vec<String>,
    detail: String,
}

/// The warnings of one batch.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kinds: BTreeMap<Kind, Occurrences>,
    beyond: u64,
}

impl Warnings {
    /// Adds one occurrence. The first one's detail stands for all.
    pub(super) fn add(&mut self, kind: Kind, example: Option<String>, detail: impl FnOnce() -> String) {
        if self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&kind) {
            self.beyond += 1;
            return;
        }
        let occurrences = self.kinds.entry(kind).or_insert_with(|| Occurrences {
            count: 0,
            examples: Vec::new(),
            detail: detail(),
        });
        occurrences.count += 1;
        if let Some(example) = example
            && occurrences.examples.len() < MOST_EXAMPLES
        {
            occurrences.examples.push(example);
        }
    }

    /// Says each kind once.
    pub(super) fn say(self) {
        for (
            kind,
            Occurrences {
                count,
                examples,
                detail,
            },
        ) in self.kinds
        {
            let (examples, detail) = (examples.join(" "), detail.as_str());
            match kind {
                Kind::Unreadable => tracing::warn!(count, events = examples, detail, "records left out as unreadable"),
                Kind::View => tracing::warn!(count, events = examples, detail, "records without the images needed"),
                Kind::Schedule => tracing::warn!(count, buckets = examples, detail, "schedules that will not decode"),
                Kind::RefusedCount => tracing::warn!(count, buckets = examples, detail, "shard counts refused"),
                Kind::Uncounted(reason) => {
                    tracing::warn!(count, events = examples, ?reason, "usage that is not counted");
                }
                Kind::ReservedName => tracing::warn!(count, limits = examples, detail, "limits left out of snapshots"),
                Kind::OutOfOrder => tracing::warn!(count, buckets = examples, detail, "snapshots were ahead"),
                Kind::Fault { rule, operation, code } => {
                    tracing::warn!(
                        count,
                        buckets = examples,
                        rule,
                        operation,
                        code,
                        detail,
                        "requests failed"
                    );
                }
                Kind::Archive { operation, code } => {
                    tracing::warn!(count, operation, code, "audit records not archived")
                }
                Kind::CutShort => tracing::warn!(count, buckets = examples, "buckets not done before the deadline"),
                Kind::Panicked => tracing::error!(count, buckets = examples, "work on buckets panicked"),
            }
        }
        if self.beyond > 0 {
            tracing::warn!(count = self.beyond, "more kinds of trouble than are shown");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_one_entry_however_often_it_occurs() {
        let mut warnings = Warnings::default();
        for place in 0..1000 {
            warnings.add(Kind::Unreadable, Some(format!("e{place}")), || {
                format!("reason {place}")
            });
        }
        let occurrences = &warnings.kinds[&Kind::Unreadable];
        assert_eq!((occurrences.count, occurrences.examples.len()), (1000, MOST_EXAMPLES));
        assert_eq!(occurrences.detail, "reason 0");
    }

    #[test]
    fn made_up_codes_do_not_make_endless_lines() {
        let mut warnings = Warnings::default();
        for place in 0..1000 {
            let kind = Kind::Fault {
                rule: "refill",
                operation: "UpdateItem",
                code: format!("C{place}"),
            };
            warnings.add(kind, None, String::new);
        }
        assert_eq!((warnings.kinds.len(), warnings.beyond), (MOST_KINDS, 1000 - 50));
    }
}
