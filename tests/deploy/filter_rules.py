"""Lambda's event filter rules, as its developer guide and EventBridge's state them.

A pattern is an object. All of its keys must match. At a leaf stands a list of alternatives of which one must match.
Refuses an alternative that Lambda does not know. Comparisons see JSON types: a number that DynamoDB writes as a text
is a text.
"""

import json

MOST_PATTERNS = 5
LONGEST_PATTERN = 4096


class BadPattern(Exception):
    """Lambda would refuse this pattern."""


def parse(text):
    if len(text) > LONGEST_PATTERN:
        raise BadPattern("too long")
    pattern = json.loads(text)
    _check(pattern)
    return pattern


def any_matches(patterns, event):
    """Whether a mapping with these patterns would pass the event on: one match is enough, and so are no patterns."""
    if len(patterns) > MOST_PATTERNS:
        raise BadPattern(f"more than {MOST_PATTERNS} patterns")
    return not patterns or any(matches(pattern, event) for pattern in patterns)


def matches(pattern, event):
    return all(_key_matches(key, wanted, event) for key, wanted in pattern.items())


def _key_matches(key, wanted, event):
    if key == "$or":
        return any(matches(choice, event) for choice in wanted)
    if not isinstance(event, dict):
        return _only_absence(wanted)
    if isinstance(wanted, dict):
        found = event.get(key)
        # A list of objects matches where one of them does.
        choices = found if isinstance(found, list) else [found]
        return any(matches(wanted, choice) for choice in choices) if choices else _only_absence(wanted)
    return any(_alternative_matches(alternative, event, key) for alternative in wanted)


def _only_absence(wanted):
    """Whether what is wanted below a place that is not there is nothing but its absence."""
    if isinstance(wanted, list):
        return {"exists": False} in wanted
    return all(_only_absence(value) for key, value in wanted.items() if key != "$or")


def _alternative_matches(alternative, event, key):
    there = key in event and not isinstance(event[key], dict)
    if alternative == {"exists": False}:
        return not there
    if not there:
        return False
    values = event[key] if isinstance(event[key], list) else [event[key]]
    if alternative == {"exists": True}:
        return True
    return any(_value_matches(alternative, value) for value in values)


def _value_matches(alternative, value):
    if not isinstance(alternative, dict):
        return type(alternative) is type(value) and alternative == value or _equal_numbers(alternative, value)
    ((operator, operand),) = alternative.items()
    match operator:
        case "prefix":
            return isinstance(value, str) and value.startswith(operand)
        case "suffix":
            return isinstance(value, str) and value.endswith(operand)
        case "equals-ignore-case":
            return isinstance(value, str) and value.casefold() == operand.casefold()
        case "anything-but":
            refused = operand if isinstance(operand, list) else [operand]
            return not any(_value_matches(one, value) for one in refused)
        case "numeric":
            return _is_number(value) and _compares(value, operand)
    raise BadPattern(operator)


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal_numbers(left, right):
    return _is_number(left) and _is_number(right) and left == right


def _compares(value, operand):
    pairs = zip(operand[::2], operand[1::2], strict=True)
    holds = {
        "=": lambda bound: value == bound,
        "<": lambda bound: value < bound,
        "<=": lambda bound: value <= bound,
        ">": lambda bound: value > bound,
        ">=": lambda bound: value >= bound,
    }
    return all(holds[sign](bound) for sign, bound in pairs)


def _check(pattern):
    if not isinstance(pattern, dict) or not pattern:
        raise BadPattern("an object with at least one key is wanted")
    for key, wanted in pattern.items():
        if key == "$or":
            if not isinstance(wanted, list) or len(wanted) < 2:
                raise BadPattern("$or needs at least two choices")
            for choice in wanted:
                _check(choice)
        elif isinstance(wanted, dict):
            _check(wanted)
        elif isinstance(wanted, list) and wanted:
            for alternative in wanted:
                _check_alternative(alternative)
        else:
            raise BadPattern(f"{key} needs a list of alternatives")


def _check_alternative(alternative):
    if isinstance(alternative, list):
        raise BadPattern("a list inside a list")
    if not isinstance(alternative, dict):
        return
    if len(alternative) != 1:
        raise BadPattern("one operator is wanted")
    ((operator, operand),) = alternative.items()
    fits = {
        "prefix": isinstance(operand, str),
        "suffix": isinstance(operand, str),
        "equals-ignore-case": isinstance(operand, str),
        "exists": isinstance(operand, bool),
        "anything-but": operand is not None,
        "numeric": isinstance(operand, list) and len(operand) in (2, 4),
    }
    if not fits.get(operator, False):
        raise BadPattern(f"{operator} with {operand!r}")
