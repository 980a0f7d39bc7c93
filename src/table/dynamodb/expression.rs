//! Typed writes spelled as expressions: the one place that knows DynamoDB's syntax.
//!
//! Only positional tokens are used (`#0`, `:0`), because limit names may hold `.`, `-` and reserved words (01-table).
//! What must stay true: each name and value has one token, each token is used (an unused one is refused by the
//! service), no parentheses are doubled (refused as redundant), and equal writes give equal expressions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;

use crate::item::{AttributeValue, number};
use crate::write::{Action, Comparison, Condition};

/// An attribute that every stored item has.
const ALWAYS_STORED: &str = "PK";

/// The expressions of one write, with the tokens they share. `None` where there is nothing to say: the service
/// refuses empty expressions and empty token maps.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Expressions {
    /// `UpdateExpression`.
    pub(super) update: Option<String>,
    /// `ConditionExpression`.
    pub(super) condition: Option<String>,
    /// `ExpressionAttributeNames`. The SDK wants hash maps, so the order of members on the wire is not ours to
    /// choose; their content is.
    pub(super) names: Option<HashMap<String, String>>,
    /// `ExpressionAttributeValues`, likewise.
    pub(super) values: Option<HashMap<String, SdkValue>>,
}

impl Expressions {
    /// Those of an update; of a put or a check, which have conditions only, with no actions.
    pub(super) fn new(actions: &[Action], conditions: &[Condition]) -> Self {
        let mut tokens = Tokens::default();
        let update = tokens.update(actions);
        let condition = tokens.conjunction(conditions);
        let name_of = |(n, name): (usize, &str)| (format!("#{n}"), name.to_owned());
        let value_of = |(n, value): (usize, Cow<'_, AttributeValue>)| (format!(":{n}"), value.into_owned().into());
        Self {
            update: filled(update),
            condition: filled(condition),
            names: (!tokens.names.is_empty()).then(|| tokens.names.into_iter().enumerate().map(name_of).collect()),
            values: (!tokens.values.is_empty()).then(|| tokens.values.into_iter().enumerate().map(value_of).collect()),
        }
    }
}

fn filled(expression: String) -> Option<String> {
    (!expression.is_empty()).then_some(expression)
}

/// Names and values in the order of their first use: a token is a place in here.
#[derive(Default)]
struct Tokens<'a> {
    names: Vec<&'a str>,
    values: Vec<Cow<'a, AttributeValue>>,
}

/// How the members of a list of conditions are joined.
#[derive(Clone, Copy)]
enum Joint {
    And,
    Or,
}

impl<'a> Tokens<'a> {
    fn name(&mut self, name: &'a str) -> String {
        let place = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        format!("#{place}")
    }

    fn value(&mut self, value: Cow<'a, AttributeValue>) -> String {
        let place = self.values.iter().position(|known| *known == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        format!(":{place}")
    }

    /// The clauses SET, REMOVE and ADD, each with its actions in the order given.
    fn update(&mut self, actions: &'a [Action]) -> String {
        let (mut set, mut remove, mut add) = (String::new(), String::new(), String::new());
        for action in actions {
            let target = self.name(action.attribute());
            match action {
                Action::Set { value, .. } => {
                    let value = self.value(Cow::Borrowed(value));
                    append(&mut set, "SET ", &format!("{target} = {value}"));
                }
                Action::SetFrom { source, default, .. } => {
                    let source = self.name(source);
                    let default = self.value(Cow::Borrowed(default));
                    append(
                        &mut set,
                        "SET ",
                        &format!("{target} = if_not_exists({source}, {default})"),
                    );
                }
                Action::Remove { .. } => append(&mut remove, "REMOVE ", &target),
                Action::Add { delta, .. } => {
                    let delta = self.value(Cow::Owned(number(*delta)));
                    append(&mut add, "ADD ", &format!("{target} {delta}"));
                }
            }
        }
        let clauses = [set, remove, add];
        clauses
            .iter()
            .filter(|clause| !clause.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// All of these at once, without parentheses; empty for none.
    fn conjunction(&mut self, conditions: &'a [Condition]) -> String {
        let mut out = String::new();
        for condition in conditions {
            let separator = if out.is_empty() { "" } else { " AND " };
            out.push_str(separator);
            self.condition(condition, &mut out);
        }
        out
    }

    fn condition(&mut self, condition: &'a Condition, out: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = match condition {
            Condition::Exists(attribute) => write!(out, "attribute_exists({})", self.name(attribute)),
            Condition::Absent(attribute) => write!(out, "attribute_not_exists({})", self.name(attribute)),
            Condition::Compare(attribute, comparison, value) => {
                let attribute = self.name(attribute);
                let value = self.value(Cow::Borrowed(value));
                write!(out, "{attribute} {} {value}", operator(*comparison))
            }
            Condition::Any(members) => return self.group(members, Joint::Or, out),
            Condition::All(members) => return self.group(members, Joint::And, out),
        };
    }

    /// A list in parentheses. A single member stands for itself: parentheses around it could double its own.
    fn group(&mut self, members: &'a [Condition], joint: Joint, out: &mut String) {
        match members {
            [] => self.constant(joint, out),
            [only] => self.condition(only, out),
            several => {
                out.push('(');
                for (place, member) in several.iter().enumerate() {
                    if place > 0 {
                        out.push_str(joint.keyword());
                    }
                    self.condition(member, out);
                }
                out.push(')');
            }
        }
    }

    /// None of no conditions holds, and all of none do; the syntax has no constants to say so.
    fn constant(&mut self, joint: Joint, out: &mut String) {
        let key = self.name(ALWAYS_STORED);
        let joint = joint.opposite().keyword();
        let _ = write!(out, "(attribute_exists({key}){joint}attribute_not_exists({key}))");
    }
}

impl Joint {
    fn keyword(self) -> &'static str {
        match self {
            Self::And => " AND ",
            Self::Or => " OR ",
        }
    }

    fn opposite(self) -> Self {
        match self {
            Self::And => Self::Or,
            Self::Or => Self::And,
        }
    }
}

fn append(clause: &mut String, keyword: &str, part: &str) {
    clause.push_str(if clause.is_empty() { keyword } else { ", " });
    clause.push_str(part);
}

fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::Less => "<",
        Comparison::AtMost => "<=",
        Comparison::Greater => ">",
        Comparison::AtLeast => ">=",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::text;

    fn add(attribute: &str, delta: i128) -> Action {
        Action::Add {
            attribute: attribute.to_owned(),
            delta,
        }
    }

    fn set(attribute: &str, value: AttributeValue) -> Action {
        Action::Set {
            attribute: attribute.to_owned(),
            value,
        }
    }

    fn names(expressions: &Expressions) -> Vec<(&str, &str)> {
        let mut names: Vec<_> = expressions
            .names
            .iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn clauses_keep_the_order_of_their_actions_and_share_tokens() {
        let actions = [
            add("b_a.b-c_tk", 5),
            set("rf", number(7)),
            Action::Remove {
                attribute: "tu".to_owned(),
            },
            Action::SetFrom {
                attribute: "gc".to_owned(),
                source: "gc".to_owned(),
                default: number(5),
            },
            add("total_events", 7),
        ];
        let conditions = [
            Condition::Compare("rf".to_owned(), Comparison::Equal, number(7)),
            Condition::item_exists(),
        ];
        let made = Expressions::new(&actions, &conditions);
        assert_eq!(
            made.update.as_deref(),
            Some("SET #1 = :1, #3 = if_not_exists(#3, :0) REMOVE #2 ADD #0 :0, #4 :1")
        );
        assert_eq!(made.condition.as_deref(), Some("#1 = :1 AND attribute_exists(#5)"));
        let expected = [
            ("#0", "b_a.b-c_tk"),
            ("#1", "rf"),
            ("#2", "tu"),
            ("#3", "gc"),
            ("#4", "total_events"),
            ("#5", "PK"),
        ];
        assert_eq!(names(&made), expected);
        let values = made.values.unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!(values[":0"], SdkValue::N("5".to_owned()));
        assert_eq!(values[":1"], SdkValue::N("7".to_owned()));
    }

    #[test]
    fn nested_conditions_have_single_parentheses() {
        let exists = |name: &str| Condition::Exists(name.to_owned());
        let nested = Condition::Any(vec![
            Condition::All(vec![exists("a"), Condition::Any(vec![exists("b")])]),
            Condition::All(vec![Condition::Any(vec![exists("c"), exists("d")])]),
        ]);
        let made = Expressions::new(&[], &[Condition::All(vec![Condition::Any(vec![nested])])]);
        assert_eq!(
            made.condition.as_deref(),
            Some("((attribute_exists(#0) AND attribute_exists(#1)) OR (attribute_exists(#2) OR attribute_exists(#3)))")
        );
        assert!(made.update.is_none() && made.values.is_none());
    }

    #[test]
    fn empty_lists_become_constants() {
        let never = Expressions::new(&[], &[Condition::Any(vec![])]);
        assert_eq!(
            never.condition.as_deref(),
            Some("(attribute_exists(#0) AND attribute_not_exists(#0))")
        );
        let always = Expressions::new(&[], &[Condition::All(vec![])]);
        assert_eq!(
            always.condition.as_deref(),
            Some("(attribute_exists(#0) OR attribute_not_exists(#0))")
        );
        assert_eq!(names(&always), [("#0", "PK")]);
    }

    #[test]
    fn nothing_to_say_is_left_out() {
        let made = Expressions::new(&[], &[]);
        assert!(made.update.is_none() && made.condition.is_none() && made.names.is_none() && made.values.is_none());
    }

    #[test]
    fn every_comparison_has_its_operator() {
        for (comparison, expected) in [
            (Comparison::Equal, "#0 = :0"),
            (Comparison::Less, "#0 < :0"),
            (Comparison::AtMost, "#0 <= :0"),
            (Comparison::Greater, "#0 > :0"),
            (Comparison::AtLeast, "#0 >= :0"),
        ] {
            let condition = Condition::Compare("#seq0".to_owned(), comparison, text("x"));
            assert_eq!(Expressions::new(&[], &[condition]).condition.as_deref(), Some(expected));
        }
    }
}
