"""The evaluator of filter rules itself, on the developer guide's own examples."""

import pytest

import filter_rules
from filter_rules import BadPattern, any_matches, matches, parse

TTL = {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}, "eventName": "REMOVE"}
ORDER = {
    "eventName": "MODIFY",
    "dynamodb": {"NewImage": {"Customer": {"S": "AnyCompany Industries"}, "Total": {"N": "1000"}}},
}


@pytest.mark.parametrize(
    ("pattern", "event", "expected"),
    [
        ({"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}}, TTL, True),
        ({"userIdentity": {"type": ["Service"]}}, {"eventName": "REMOVE"}, False),
        ({"dynamodb": {"NewImage": {"Customer": {"S": [{"prefix": "AnyCompany"}]}}}}, ORDER, True),
        ({"dynamodb": {"NewImage": {"Customer": {"S": [{"suffix": "Industries"}]}}}}, ORDER, True),
        # Numbers are texts in a stream record.
        ({"dynamodb": {"NewImage": {"Total": {"N": [{"numeric": [">", 1]}]}}}}, ORDER, False),
        ({"dynamodb": {"NewImage": {"Total": {"N": [1000]}}}}, ORDER, False),
        ({"dynamodb": {"NewImage": {"Total": {"N": ["1000"]}}}}, ORDER, True),
        ({"dynamodb": {"NewImage": {"Total": {"N": [{"anything-but": ["1"]}]}}}}, ORDER, True),
        # `exists` sees leaves only.
        ({"dynamodb": {"NewImage": {"Total": [{"exists": True}]}}}, ORDER, False),
        ({"dynamodb": {"NewImage": {"Total": {"N": [{"exists": True}]}}}}, ORDER, True),
        ({"dynamodb": {"NewImage": {"Other": {"N": [{"exists": False}]}}}}, ORDER, True),
        ({"dynamodb": {"OldImage": {"Other": {"N": ["1"]}}}}, ORDER, False),
        ({"eventName": ["INSERT", "MODIFY"]}, ORDER, True),
        ({"eventName": ["insert"]}, ORDER, False),
        ({"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"NewImage": {"Total": {"N": ["1000"]}}}}]}, ORDER, True),
        ({"$or": [{"eventName": ["REMOVE"]}, {"eventName": ["INSERT"]}]}, ORDER, False),
        ({"a": [None]}, {"a": None}, True),
        ({"a": [""]}, {"a": ""}, True),
        ({"a": ["x"]}, {"a": ["y", "x"]}, True),
        ({"a": [{"numeric": ["<=", 5, ">", 1]}]}, {"a": 5}, True),
        ({"a": [True]}, {"a": 1}, False),
    ],
)
def test_a_pattern_matches_as_the_guide_says(pattern, event, expected):
    assert matches(pattern, event) is expected


@pytest.mark.parametrize(
    "text",
    ['{}', '[]', '{"a": "x"}', '{"a": []}', '{"a": [["x"]]}', '{"a": [{"like": "x"}]}', '{"$or": [{"a": ["x"]}]}',
     '{"a": [{"exists": "true"}]}', '{"a": ["' + "x" * filter_rules.LONGEST_PATTERN + '"]}'],
)
def test_a_pattern_that_lambda_refuses_is_refused(text):
    with pytest.raises(BadPattern):
        parse(text)


def test_patterns_are_alternatives_and_at_most_five():
    insert, modify = {"eventName": ["INSERT"]}, {"eventName": ["MODIFY"]}
    assert any_matches([insert, modify], ORDER)
    assert any_matches([], ORDER)
    with pytest.raises(BadPattern):
        any_matches([insert] * 6, ORDER)
