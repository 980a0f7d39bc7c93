//! What may be stored, added and compared.

use limiter_aggregator::item::{AttributeValue, number, text};
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::write::{Comparison, Condition};

use super::arms::{
    Arm, absent, add, all, any, applies, at_least, at_most, equal, exists, greater, is_refused, item, key, less, loses,
    remove, set, set_from, update,
};

const NINES: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

fn p() -> ItemKey {
    key("p", "s")
}

fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.to_owned())
}

async fn an_update_makes_the_item_that_is_not_there(arm: &impl Arm) {
    applies(
        arm,
        &update(&p(), vec![add("n", -5), set("s", text(""))], vec![absent("PK")]),
    )
    .await;
    assert_eq!(
        arm.item(&p()).await,
        Some(item(&p(), &[("n", number(-5)), ("s", text(""))]))
    );
}

async fn an_update_without_actions_makes_a_bare_item(arm: &impl Arm) {
    applies(arm, &update(&p(), vec![], vec![])).await;
    assert_eq!(arm.item(&p()).await, Some(item(&p(), &[])));
    loses(arm, &update(&p(), vec![], vec![absent("PK")])).await;
}

async fn removing_what_is_not_there_changes_nothing(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("n", number(1))])).await;
    applies(arm, &update(&p(), vec![remove("absent")], vec![exists("PK")])).await;
    assert_eq!(arm.item(&p()).await, Some(item(&p(), &[("n", number(1))])));
}

async fn every_action_sees_the_item_as_it_was(arm: &impl Arm) {
    arm.seed(&item(
        &p(),
        &[("a", number(1)), ("b", number(2)), ("gone", text("kept"))],
    ))
    .await;
    let actions = vec![
        set("a", number(10)),
        set_from("c", "a", number(0)),
        add("b", 5),
        set_from("d", "b", number(0)),
        remove("gone"),
        set_from("e", "gone", number(0)),
        set_from("f", "c", text("default")),
    ];
    applies(arm, &update(&p(), actions, vec![equal("a", number(1))])).await;
    let after = [
        ("a", number(10)),
        ("b", number(7)),
        ("c", number(1)),
        ("d", number(2)),
        ("e", text("kept")),
        ("f", text("default")),
    ];
    assert_eq!(arm.item(&p()).await, Some(item(&p(), &after)));
}

async fn additions_are_exact_to_38_digits_and_refused_beyond(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("n", number(NINES - 1)), ("m", number(-NINES))]))
        .await;
    applies(arm, &update(&p(), vec![add("n", 1)], vec![])).await;
    assert_eq!(arm.item(&p()).await.unwrap()["n"], number(NINES));
    is_refused(arm, &update(&p(), vec![add("m", -2)], vec![])).await;
    is_refused(arm, &update(&p(), vec![add("n", NINES + 2)], vec![])).await;
    applies(arm, &update(&p(), vec![add("n", -NINES), add("m", NINES)], vec![])).await;
    assert_eq!(
        arm.item(&p()).await,
        Some(item(&p(), &[("n", number(0)), ("m", number(0))]))
    );
}

async fn additions_keep_fractions(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("n", n("0.25"))])).await;
    applies(arm, &update(&p(), vec![add("n", -1)], vec![])).await;
    assert_eq!(arm.item(&p()).await.unwrap()["n"], n("-0.75"));
}

async fn an_addition_to_what_is_no_number_is_refused(arm: &impl Arm) {
    let stored = [
        ("t", text("1")),
        ("f", AttributeValue::Bool(true)),
        ("l", AttributeValue::L(vec![])),
    ];
    arm.seed(&item(&p(), &stored)).await;
    for attribute in ["t", "f", "l"] {
        is_refused(arm, &update(&p(), vec![set("n", number(1)), add(attribute, 1)], vec![])).await;
    }
    loses(arm, &update(&p(), vec![add("t", 1)], vec![absent("t")])).await;
}

async fn numbers_are_kept_in_one_spelling_and_compared_by_value(arm: &impl Arm) {
    let spelled = vec![
        set("a", n("1.50")),
        set("b", n("0012")),
        set("c", n("1.2E3")),
        set("d", n("-0")),
    ];
    applies(arm, &update(&p(), spelled, vec![])).await;
    let kept = [("a", n("1.5")), ("b", n("12")), ("c", n("1200")), ("d", n("0"))];
    assert_eq!(arm.item(&p()).await, Some(item(&p(), &kept)));
    for condition in [
        equal("a", n("15e-1")),
        equal("b", n("12.0")),
        less("a", 2),
        greater("a", 1),
        at_least("c", 1200),
        at_most("d", 0),
        equal("d", n("0.0")),
    ] {
        applies(arm, &update(&p(), vec![set("x", number(1))], vec![condition])).await;
    }
    loses(arm, &update(&p(), vec![set("x", number(1))], vec![less("c", 999)])).await;
}

async fn close_numbers_of_38_digits_are_told_apart(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("n", number(NINES))])).await;
    loses(
        arm,
        &update(&p(), vec![set("x", number(1))], vec![equal("n", number(NINES - 1))]),
    )
    .await;
    applies(
        arm,
        &update(&p(), vec![set("x", number(1))], vec![greater("n", NINES - 1)]),
    )
    .await;
}

async fn different_types_never_compare(arm: &impl Arm) {
    arm.seed(&item(
        &p(),
        &[("n", number(1)), ("s", text("1")), ("f", AttributeValue::Bool(true))],
    ))
    .await;
    let compare = |attribute: &str, comparison, value| Condition::Compare(attribute.to_owned(), comparison, value);
    for comparison in [
        Comparison::Equal,
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::AtLeast,
    ] {
        for (attribute, value) in [
            ("n", text("1")),
            ("s", number(1)),
            ("f", number(1)),
            ("n", text("")),
            ("absent", number(1)),
        ] {
            let write = update(
                &p(),
                vec![set("x", number(1))],
                vec![compare(attribute, comparison, value)],
            );
            loses(arm, &write).await;
        }
    }
    applies(
        arm,
        &update(
            &p(),
            vec![set("x", number(1))],
            vec![equal("f", AttributeValue::Bool(true))],
        ),
    )
    .await;
}

async fn texts_compare_by_their_bytes(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("s", text("b"))])).await;
    let compare = |comparison, value| Condition::Compare("s".to_owned(), comparison, text(value));
    for (condition, holds) in [
        (compare(Comparison::Less, "ba"), true),
        (compare(Comparison::Less, "B"), false),
        (compare(Comparison::Less, "é"), true),
        (compare(Comparison::AtMost, "b"), true),
        (compare(Comparison::Greater, ""), true),
        (compare(Comparison::Greater, "b"), false),
    ] {
        let write = update(&p(), vec![set("x", number(1))], vec![condition]);
        if holds {
            applies(arm, &write).await;
        } else {
            loses(arm, &write).await;
        }
    }
}

async fn lists_of_conditions_mean_any_and_all_even_when_empty(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("a", number(1))])).await;
    let (yes, no) = (|| exists("a"), || exists("b"));
    for (condition, holds) in [
        (any(vec![no(), yes()]), true),
        (any(vec![no(), no()]), false),
        (all(vec![yes(), no()]), false),
        (all(vec![yes(), yes()]), true),
        (any(vec![]), false),
        (all(vec![]), true),
        (any(vec![all(vec![]), no()]), true),
        (all(vec![any(vec![]), yes()]), false),
        (any(vec![any(vec![any(vec![yes()])])]), true),
        (
            all(vec![
                any(vec![all(vec![no(), yes()]), all(vec![yes(), any(vec![no(), yes()])])]),
                yes(),
            ]),
            true,
        ),
    ] {
        let write = update(&p(), vec![set("x", number(1))], vec![condition.clone()]);
        if holds {
            applies(arm, &write).await;
        } else {
            loses(arm, &write).await;
        }
        // Beside another one, and of an item that is not there.
        let absent_item = update(&key("q", "s"), vec![], vec![condition, yes()]);
        loses(arm, &absent_item).await;
    }
}

async fn what_cannot_be_stored_is_refused(arm: &impl Arm) {
    arm.seed(&item(&p(), &[("a", number(1))])).await;
    let unstorable = [
        n("one"),
        n(""),
        n("1e200"),
        n(&"9".repeat(39)),
        AttributeValue::Ss(vec![]),
    ];
    for value in unstorable {
        is_refused(arm, &update(&p(), vec![set("x", value.clone())], vec![])).await;
        is_refused(arm, &update(&p(), vec![set_from("x", "a", value.clone())], vec![])).await;
        is_refused(arm, &update(&p(), vec![set("x", number(1))], vec![equal("a", value)])).await;
    }
    let repeated = AttributeValue::Ss(vec!["x".to_owned(), "x".to_owned()]);
    is_refused(arm, &update(&p(), vec![set("x", repeated)], vec![])).await;
}

async fn keys_cannot_be_changed(arm: &impl Arm) {
    arm.seed(&item(&p(), &[])).await;
    for action in [
        set("PK", text("q")),
        remove("SK"),
        add("SK", 1),
        set_from("PK", "x", text("q")),
    ] {
        is_refused(arm, &update(&p(), vec![action], vec![])).await;
    }
}

async fn an_attribute_changes_once(arm: &impl Arm) {
    for actions in [vec![set("x", number(1)), add("x", 1)], vec![remove("x"), remove("x")]] {
        is_refused(arm, &update(&p(), actions, vec![])).await;
    }
}

async fn every_type_is_kept(arm: &impl Arm) {
    let values = [
        ("b", AttributeValue::B(vec![0, 255])),
        ("f", AttributeValue::Bool(false)),
        ("z", AttributeValue::Null(true)),
        ("l", AttributeValue::L(vec![text(""), AttributeValue::L(vec![])])),
        ("m", AttributeValue::M([("k.e-y".to_owned(), number(1))].into())),
        ("ss", AttributeValue::Ss(vec!["a".to_owned()])),
        ("ns", AttributeValue::Ns(vec!["1.5".to_owned()])),
        ("bs", AttributeValue::Bs(vec![vec![1]])),
    ];
    let actions = values.iter().map(|(name, value)| set(name, value.clone())).collect();
    applies(arm, &update(&p(), actions, vec![])).await;
    assert_eq!(arm.item(&p()).await, Some(item(&p(), &values)));
    let conditions = values.iter().map(|(name, value)| equal(name, value.clone())).collect();
    applies(arm, &update(&p(), vec![set("x", number(1))], conditions)).await;
}

on_both_arms! {
    an_update_makes_the_item_that_is_not_there,
    an_update_without_actions_makes_a_bare_item,
    removing_what_is_not_there_changes_nothing,
    every_action_sees_the_item_as_it_was,
    additions_are_exact_to_38_digits_and_refused_beyond,
    additions_keep_fractions,
    an_addition_to_what_is_no_number_is_refused,
    numbers_are_kept_in_one_spelling_and_compared_by_value,
    close_numbers_of_38_digits_are_told_apart,
    different_types_never_compare,
    texts_compare_by_their_bytes,
    lists_of_conditions_mean_any_and_all_even_when_empty,
    what_cannot_be_stored_is_refused,
    keys_cannot_be_changed,
    an_attribute_changes_once,
    every_type_is_kept,
}
