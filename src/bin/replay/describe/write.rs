//! Changes and conditions of a write in words.
//!
//! What must stay true: of text values only schedules and zones are shown, because any other may name an entity.

use limiter_aggregator::bucket::{LimitField, parse_attribute};
use limiter_aggregator::item::AttributeValue;
use limiter_aggregator::record::parse_integer;
use limiter_aggregator::units::{EpochMillis, Millitokens};
use limiter_aggregator::write::{Action, Comparison, Condition};

use crate::instant;
use crate::names::printable;

/// What a stored number counts.
#[derive(Clone, Copy)]
enum Unit {
    Tokens,
    Instant,
    Seconds,
    Millis,
    Plain,
}

/// One line for each change.
pub(super) fn changes(actions: &[Action]) -> Vec<String> {
    actions
        .iter()
        .map(|action| {
            let name = attribute_words(action.attribute());
            match action {
                Action::Add { delta, .. } => {
                    let sign = if *delta < 0 { "" } else { "+" };
                    format!("{name} {sign}{}", Millitokens(*delta))
                }
                Action::Set { attribute, value } => format!("{name} set to {}", value_words(attribute, value)),
                Action::SetFrom {
                    attribute,
                    source,
                    default,
                } => {
                    let default = value_words(attribute, default);
                    if attribute == source {
                        format!("{name} kept, or set to {default}")
                    } else {
                        format!("{name} set to the {}, or to {default}", attribute_words(source))
                    }
                }
                Action::Remove { .. } => format!("{name} removed"),
            }
        })
        .collect()
}

/// One line for each condition.
pub(super) fn conditions(conditions: &[Condition]) -> Vec<String> {
    conditions.iter().map(condition_words).collect()
}

fn condition_words(condition: &Condition) -> String {
    let joined = |parts: &[Condition], word: &str| parts.iter().map(condition_words).collect::<Vec<_>>().join(word);
    match condition {
        Condition::Exists(attribute) if attribute == "PK" => "the item exists".to_owned(),
        Condition::Absent(attribute) if attribute == "PK" => "the item does not exist".to_owned(),
        Condition::Exists(attribute) => format!("{} is there", attribute_words(attribute)),
        Condition::Absent(attribute) => format!("{} is absent", attribute_words(attribute)),
        Condition::Compare(attribute, comparison, value) => {
            let relation = match comparison {
                Comparison::Equal => "is",
                Comparison::Less => "is below",
                Comparison::AtMost => "is at most",
                Comparison::Greater => "is above",
                Comparison::AtLeast => "is at least",
            };
            format!(
                "{} {relation} {}",
                attribute_words(attribute),
                value_words(attribute, value)
            )
        }
        Condition::Any(parts) => joined(parts, " or "),
        Condition::All(parts) => joined(parts, " and "),
    }
}

/// An attribute as a person calls it, with its stored name.
pub(super) fn attribute_words(name: &str) -> String {
    if let Some((limit, field)) = parse_attribute(name) {
        return format!("{} {} ({})", printable(limit), field_words(field), field.as_str());
    }
    let words = match name {
        "rf" => "last refill",
        "vu" => "valid until",
        "shard_count" => "shard count",
        "sched" => "parameter schedule",
        "rsched" => "reset schedule",
        "sched_tz" => "time zone",
        "pgen" => "owner's generation",
        "pinc" => "owner's incarnation",
        "created_at" => "owner's creation time",
        other => return printable(other),
    };
    format!("{words} ({name})")
}

fn field_words(field: LimitField) -> &'static str {
    match field {
        LimitField::Tk => "balance",
        LimitField::Cp => "capacity",
        LimitField::Ra => "refill amount",
        LimitField::Rp => "refill period",
        LimitField::Tc => "total used",
        LimitField::Sched => "parameter schedule",
        LimitField::Rsched => "reset schedule",
        LimitField::Rsa => "window length",
        LimitField::Ws => "window start",
        LimitField::Wa => "window applied",
        LimitField::Wtc => "total used at the window's start",
        LimitField::Gc => "grant's shard count",
        LimitField::Tu => "top-up",
        LimitField::Soft => "soft mark",
    }
}

fn unit_of(attribute: &str) -> Unit {
    match parse_attribute(attribute) {
        Some((_, field)) => match field {
            LimitField::Tk | LimitField::Cp | LimitField::Ra | LimitField::Tc | LimitField::Wtc | LimitField::Tu => {
                Unit::Tokens
            }
            LimitField::Rp => Unit::Millis,
            LimitField::Rsa => Unit::Seconds,
            LimitField::Ws | LimitField::Wa => Unit::Instant,
            LimitField::Sched | LimitField::Rsched | LimitField::Gc | LimitField::Soft => Unit::Plain,
        },
        None if matches!(attribute, "rf" | "vu") => Unit::Instant,
        None => Unit::Plain,
    }
}

fn value_words(attribute: &str, value: &AttributeValue) -> String {
    match value {
        AttributeValue::N(digits) => number_words(unit_of(attribute), digits),
        AttributeValue::S(text) if is_schedule(attribute) => format!("{:?}", printable(text)),
        AttributeValue::Bool(flag) => flag.to_string(),
        _ => "what was read".to_owned(),
    }
}

fn is_schedule(attribute: &str) -> bool {
    let own =
        parse_attribute(attribute).is_some_and(|(_, field)| matches!(field, LimitField::Sched | LimitField::Rsched));
    own || matches!(attribute, "sched" | "rsched" | "sched_tz")
}

fn number_words(unit: Unit, digits: &str) -> String {
    let Some(number) = parse_integer(digits) else {
        return digits.to_owned();
    };
    match unit {
        Unit::Tokens => Millitokens(number).to_string(),
        // 0 stands for no instant: it sends clients through a full evaluation.
        Unit::Instant if number == 0 => "0".to_owned(),
        Unit::Instant => i64::try_from(number).map_or_else(|_| digits.to_owned(), |ms| instant::show(EpochMillis(ms))),
        Unit::Seconds => format!("{number} s"),
        Unit::Millis => format!("{number} ms"),
        Unit::Plain => number.to_string(),
    }
}
