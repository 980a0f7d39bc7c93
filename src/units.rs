//! Units are types: amounts, instants and shard numbers cannot be mixed up.
//!
//! Amounts are whole millitokens in 128 bits, because a stored number may carry 38 digits; arithmetic that
//! could leave that range is checked and the caller decides what an overflow means. No floats anywhere.

use std::fmt;

/// Millitokens in one token.
pub const MILLITOKENS_PER_TOKEN: i128 = 1000;

/// Most shards an (entity, resource) may have (R7, R8).
pub const MAX_SHARD_COUNT: ShardCount = ShardCount(32);

/// An amount in millitokens (1 token = 1000). Negative balances are debt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millitokens(pub i128);

impl Millitokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// An amount of whole tokens; `None` beyond 128 bits.
    pub fn from_tokens(tokens: i128) -> Option<Self> {
        tokens.checked_mul(MILLITOKENS_PER_TOKEN).map(Self)
    }

    /// Sum, or `None` beyond 128 bits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Difference, or `None` beyond 128 bits.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// One shard's floor share of an amount that belongs to the whole entity. The remainder is nobody's.
    pub fn share(self, count: ShardCount) -> Self {
        Self(self.0.div_euclid(i128::from(count.get())))
    }

    /// Whole tokens, rounded toward negative infinity, so that a refund of half a token counts as one (R12).
    pub fn floor_tokens(self) -> i128 {
        self.0.div_euclid(MILLITOKENS_PER_TOKEN)
    }
}

impl fmt::Display for Millitokens {
    /// In tokens, as a person reads them: `1.5`, `-0.25`, `12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (
            self.0 / MILLITOKENS_PER_TOKEN,
            (self.0 % MILLITOKENS_PER_TOKEN).unsigned_abs(),
        );
        if self.0 < 0 && whole == 0 {
            f.write_str("-")?;
        }
        write!(f, "{whole}")?;
        if rest != 0 {
            write!(f, ".{}", format!("{rest:03}").trim_end_matches('0'))?;
        }
        Ok(())
    }
}

/// An instant in epoch milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochMillis(pub i64);

impl EpochMillis {
    /// This instant moved by `millis`; stays at the ends of the range instead of wrapping.
    pub fn saturating_add(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to here; negative when `earlier` is the later one.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A shard of one (entity, resource): 0 is the one whose `shard_count` is the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

impl ShardId {
    /// The shard that always exists first and holds the true count.
    pub const ZERO: Self = Self(0);
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How many shards a writer knew of; at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardCount(u32);

impl ShardCount {
    /// An unsharded bucket.
    pub const ONE: Self = Self(1);

    /// A stored count: absent or below 1 reads as 1 (01-table); beyond 32 bits it stays at the top of them,
    /// which every rule refuses anyway (R8).
    pub fn from_stored(stored: Option<i128>) -> Self {
        match stored {
            Some(count) if count >= 1 => Self(u32::try_from(count).unwrap_or(u32::MAX)),
            _ => Self::ONE,
        }
    }

    /// The count as a plain number, at least 1.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Twice the count, capped at [`MAX_SHARD_COUNT`] (R7).
    pub fn doubled(self) -> Self {
        Self(self.0.saturating_mul(2)).min(MAX_SHARD_COUNT)
    }

    /// Half the count, rounded down, but at least 1 (R9).
    pub fn halved(self) -> Self {
        Self((self.0 / 2).max(1))
    }
}

impl fmt::Display for ShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
