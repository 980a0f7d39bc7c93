//! A script: limits, a write budget, and steps that follow one another.

use serde::{Deserialize, Serialize};

/// What is played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Its place in its series.
    pub number: u64,
    /// Limits of every item: dripping, calendar quota, session quota.
    pub limits: [bool; 3],
    /// Capacity of a shard's write budget in tokens; it refills in ten seconds.
    pub write_budget: u32,
    /// Whole tokens of every limit where nothing else is configured.
    pub base: u32,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One step. Amounts are whole tokens, which is all that the published client takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Step {
    /// The clock moves on by so many milliseconds.
    Pass {
        /// Milliseconds.
        ms: i64,
    },
    /// A request for so much of every limit.
    Acquire {
        /// Who asks.
        client: u8,
        /// What its draws of shards come from.
        draw: u32,
        /// How much.
        tokens: u32,
    },
    /// The client's last lease turns out to have used more (positive) or less.
    Adjust {
        /// Whose lease.
        client: u8,
        /// How much more.
        tokens: i64,
    },
    /// The operator sets every limit to so many thousandths of the base.
    Configure {
        /// Thousandths.
        per_mille: u16,
    },
    /// The operator adds to every quota.
    TopUp {
        /// How much.
        tokens: u32,
    },
    /// The operator grants every quota anew.
    Reset,
    /// A shard expires.
    Remove {
        /// Which.
        shard: u8,
    },
    /// A step during which, before the write of this number, counted from 0, another step runs from start to end.
    Interrupt {
        /// The step that is interrupted.
        step: Box<Step>,
        /// How many writes it has made by then. Where it makes fewer, the other step follows it.
        writes: u8,
        /// What comes between.
        by: Box<Step>,
    },
}

impl Step {
    /// Whose operation it is.
    pub fn client(&self) -> Option<u8> {
        match self {
            Self::Acquire { client, .. } | Self::Adjust { client, .. } => Some(*client),
            _ => None,
        }
    }
}
