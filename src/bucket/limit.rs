//! One limit of a bucket shard: the attributes `b_{limit}_{field}`.

use super::{BucketError, instant, integer, text};
use crate::record::Scalar;
use crate::units::{EpochMillis, Millitokens};

/// The reserved limit that is a partition's own write budget: undivided, unscheduled, never reset, never billed.
pub const WCU: &str = "wcu";

/// A field of a limit, named as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // Each is documented on `Limit`, which holds it.
pub enum LimitField {
    Tk,
    Cp,
    Ra,
    Rp,
    Tc,
    Sched,
    Rsched,
    Rsa,
    Ws,
    Wa,
    Wtc,
    Gc,
    Tu,
    Soft,
}

impl LimitField {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Tk, "tk"),
        (Self::Cp, "cp"),
        (Self::Ra, "ra"),
        (Self::Rp, "rp"),
        (Self::Tc, "tc"),
        (Self::Sched, "sched"),
        (Self::Rsched, "rsched"),
        (Self::Rsa, "rsa"),
        (Self::Ws, "ws"),
        (Self::Wa, "wa"),
        (Self::Wtc, "wtc"),
        (Self::Gc, "gc"),
        (Self::Tu, "tu"),
        (Self::Soft, "soft"),
    ];

    fn parse(text: &str) -> Option<Self> {
        // Spelled out, because this runs for every attribute of every image: a search through `ALL` is several times
        // slower than what the compiler makes of this.
        Some(match text {
            "tk" => Self::Tk,
            "cp" => Self::Cp,
            "ra" => Self::Ra,
            "rp" => Self::Rp,
            "tc" => Self::Tc,
            "sched" => Self::Sched,
            "rsched" => Self::Rsched,
            "rsa" => Self::Rsa,
            "ws" => Self::Ws,
            "wa" => Self::Wa,
            "wtc" => Self::Wtc,
            "gc" => Self::Gc,
            "tu" => Self::Tu,
            "soft" => Self::Soft,
            _ => return None,
        })
    }

    /// The field's suffix in an attribute name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Name of the attribute that stores a limit's field.
pub fn attribute(limit: &str, field: LimitField) -> String {
    let suffix = field.as_str();
    let mut name = String::with_capacity(limit.len() + suffix.len() + 3);
    name.push_str("b_");
    name.push_str(limit);
    name.push('_');
    name.push_str(suffix);
    name
}

/// Splits an attribute name into limit and field: the field is what follows the last `_`. `None` for every other
/// attribute, unknown fields included.
pub fn parse_attribute(name: &str) -> Option<(&str, LimitField)> {
    let (limit, field) = name.strip_prefix("b_")?.rsplit_once('_')?;
    if limit.is_empty() {
        None
    } else {
        Some((limit, LimitField::parse(field)?))
    }
}

/// One limit as stored. Absent or unreadable fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit<'i> {
    /// Name; `wcu` is reserved.
    pub name: &'i str,
    /// `tk`: balance in millitokens; negative is debt.
    pub balance: Option<Millitokens>,
    /// `cp`: undivided base capacity in millitokens.
    pub capacity: Option<Millitokens>,
    /// `ra`: undivided base refill in millitokens per period.
    pub refill: Option<Millitokens>,
    /// `rp`: base refill period in milliseconds.
    pub period_ms: Option<i128>,
    /// `tc`: cumulative consumption in millitokens; a limit is discovered by it.
    pub consumed: Option<Millitokens>,
    /// `sched`: the limit's own parameter schedule; `-` blocks the item's.
    pub sched: Option<&'i str>,
    /// `rsched`: the limit's own reset schedule; `-` blocks the item's.
    pub rsched: Option<&'i str>,
    /// `rsa`: session window length in seconds.
    pub window_length_s: Option<i64>,
    /// `ws`: start of the entity's current session window.
    pub window_start: Option<EpochMillis>,
    /// `wa`: the window start that this shard's balance reflects.
    pub window_applied: Option<EpochMillis>,
    /// `wtc`: `tc` as it was when a propagated `ws` landed.
    pub consumed_at_window: Option<Millitokens>,
    /// `gc`: the shard count that the current grant was sized at, as stored.
    pub grant_count: Option<i128>,
    /// `tu`: topped up above the grant in this period.
    pub topped_up: Option<Millitokens>,
    /// `soft` is present: metered, not enforced.
    pub soft: Option<Scalar<'i>>,
}

impl<'i> Limit<'i> {
    pub(super) fn new(name: &'i str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Whether this is the reserved write budget.
    pub fn is_wcu(&self) -> bool {
        self.name == WCU
    }

    /// Length of the session window in milliseconds, where the limit has one.
    pub fn window_length_ms(&self) -> Option<i64> {
        self.window_length_s.map(|seconds| seconds.saturating_mul(1000))
    }

    pub(super) fn set(&mut self, field: LimitField, value: Scalar<'i>) -> Result<(), BucketError> {
        let amount = || integer(value).map(Millitokens);
        match field {
            LimitField::Tk => self.balance = amount(),
            LimitField::Cp => self.capacity = amount(),
            LimitField::Ra => self.refill = amount(),
            LimitField::Rp => self.period_ms = integer(value),
            LimitField::Tc => self.consumed = Some(amount().ok_or(BucketError::ConsumptionNotNumeric)?),
            LimitField::Sched => self.sched = text(value),
            LimitField::Rsched => self.rsched = text(value),
            LimitField::Rsa => self.window_length_s = integer(value).and_then(|seconds| i64::try_from(seconds).ok()),
            LimitField::Ws => self.window_start = instant(value),
            LimitField::Wa => self.window_applied = instant(value),
            LimitField::Wtc => self.consumed_at_window = amount(),
            LimitField::Gc => self.grant_count = integer(value),
            LimitField::Tu => self.topped_up = amount(),
            LimitField::Soft => self.soft = Some(value),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_finds_its_own_name() {
        for (field, name) in LimitField::ALL {
            assert_eq!(field.as_str(), name);
            assert_eq!(parse_attribute(&attribute("a_b", field)), Some(("a_b", field)));
        }
    }

    #[test]
    fn a_nameless_limit_is_none() {
        assert_eq!(parse_attribute("b__tk"), None);
        assert_eq!(parse_attribute("b_tk"), None);
        assert_eq!(parse_attribute("rf"), None);
    }
}
