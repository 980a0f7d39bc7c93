"""What reaches the function: every shipped pattern, on real images of each kind of record, both ways."""

import json

import pytest

import filter_rules
from conftest import ARCHIVE, EXISTING, ROOT

EXPIRY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
USAGE = {
    "PK": {"S": "fdPgYRk0MuI/ENTITY#user-5"},
    "SK": {"S": "#USAGE#gpt-4#2026-11-30T14:00:00Z"},
    "entity_id": {"S": "user-5"},
    "total_events": {"N": "3"},
    "rpm": {"N": "3"},
}


def patterns(form):
    criteria = form.only("AWS::Lambda::EventSourceMapping")["FilterCriteria"]["Filters"]
    return [filter_rules.parse(one["Pattern"]) for one in criteria]


@pytest.fixture(scope="module")
def shipped(existing_table):
    return patterns(existing_table)


@pytest.fixture(scope="module")
def with_archive(form):
    return patterns(form(**EXISTING, **ARCHIVE))


def captured():
    for path in sorted((ROOT / "events").glob("*.json")):
        yield from json.loads(path.read_text()).get("Records", [])


def stored():
    """Every item that the captured tables hold, and a usage snapshot, which they do not."""
    for path in sorted((ROOT / "events").glob("*.table.json")):
        yield from json.loads(path.read_text())["items"]
    yield USAGE


def kind(key):
    partition = key["PK"]["S"].split("/", 1)[1].split("#")[0]
    return partition + "/" + key["SK"]["S"].split("#")[1]


def change(name, item, identity=None):
    """The stream record of a change of an item."""
    record = {
        "eventName": name,
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": {key: item[key] for key in ("PK", "SK")}, "SequenceNumber": "100000000000000000000"},
    }
    if name != "REMOVE":
        record["dynamodb"]["NewImage"] = item
    if name != "INSERT":
        record["dynamodb"]["OldImage"] = item
    if identity:
        record["userIdentity"] = identity
    return record


def every_change():
    for item in stored():
        for name in ("INSERT", "MODIFY", "REMOVE"):
            yield kind(item), change(name, item)
        yield kind(item), change("REMOVE", item, EXPIRY)
        yield kind(item), change("REMOVE", item, {"type": "Service", "PrincipalId": "dynamodb.amazonaws.com"})


def test_the_images_are_of_every_kind():
    assert {kind(item) for item in stored()} >= {
        "BUCKET/STATE", "ENTITY/META", "ENTITY/USAGE", "AUDIT/AUDIT", "SYSTEM/VERSION",
    }


def test_every_captured_change_of_a_bucket_is_passed_on(shipped):
    buckets = [record for record in captured() if kind(record["dynamodb"]["Keys"]) == "BUCKET/STATE"]
    assert len(buckets) > 50
    assert all(filter_rules.any_matches(shipped, record) for record in buckets)


def test_inserts_and_changes_of_buckets_are_passed_on_and_nothing_else(shipped):
    passed = {(k, record["eventName"]) for k, record in every_change() if filter_rules.any_matches(shipped, record)}
    assert passed == {("BUCKET/STATE", "INSERT"), ("BUCKET/STATE", "MODIFY")}


def test_a_bucket_without_images_is_passed_on_so_that_it_is_heard_of(shipped):
    record = change("MODIFY", {"PK": {"S": "n/BUCKET#e#r#0"}, "SK": {"S": "#STATE"}})
    del record["dynamodb"]["NewImage"], record["dynamodb"]["OldImage"]
    assert filter_rules.any_matches(shipped, record)


def test_an_archive_also_gets_the_audit_records_that_expire_and_nothing_else(shipped, with_archive):
    (audit,) = [pattern for pattern in with_archive if pattern not in shipped]
    passed = [(k, record) for k, record in every_change() if filter_rules.matches(audit, record)]
    assert {(k, record["eventName"]) for k, record in passed} == {("AUDIT/AUDIT", "REMOVE")}
    assert all(record["userIdentity"]["type"] == "Service" for _, record in passed)
    expired = [record for record in captured() if kind(record["dynamodb"]["Keys"]) == "AUDIT/AUDIT"]
    assert expired and all(filter_rules.matches(audit, record) for record in expired)


def test_an_audit_record_that_a_person_deletes_is_not_archived(with_archive):
    audit = next(item for item in stored() if kind(item) == "AUDIT/AUDIT")
    assert not filter_rules.any_matches(with_archive, change("REMOVE", audit))
    assert filter_rules.any_matches(with_archive, change("REMOVE", audit, EXPIRY))
