"""The function under cargo-lambda's emulator of Lambda, as the handbook starts it: an event in, the table changed."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import boto3
import pytest

import handbook
from conftest import ROOT, TOOLS
from stand_in import StandIn

SECTION = "On this machine"
EVENT = ROOT / "events/hot-drip.json"
# Both programs may have to be compiled first.
PATIENCE_SECONDS = 900


@contextmanager
def running(command, environment, ready):
    """A program in the background until the end of the block: the lines that it has printed so far."""
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=ROOT, env=environment, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        wait_for(lambda: any(re.search(ready, line) for line in lines), process, lines)
        yield lines
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(happened, process, lines):
    limit = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert process.poll() is None and time.monotonic() < limit, "".join(lines)
        time.sleep(0.1)


@pytest.fixture(scope="module")
def ports():
    probes = [socket.socket() for _ in range(2)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    found = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return {"8000": str(found[0]), "9000": str(found[1])}


@pytest.fixture(scope="module")
def environment(offline):
    return offline | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def commands(ports):
    """The handbook's table, function and event, on ports that are free here."""
    table, function = handbook.texts("server", SECTION)
    (event,) = handbook.texts("", SECTION)
    return (
        f"{table} --port {ports['8000']}",
        f"{function.replace(':8000', ':' + ports['8000'])} --invoke-port {ports['9000']}",
        f"{event} --invoke-port {ports['9000']}",
    )


@pytest.fixture(scope="module")
def session(commands, environment, ports):
    """What happened when the handbook was followed to its end, and further: the table failed in other ways too."""
    serve, watch, event = commands
    seen = {}
    with running(watch, environment, r"invoke|Running|listening|starting") as log:

        def invoke():
            done = subprocess.run(["bash", "-c", event], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            assert done.returncode == 0, done.stdout + done.stderr + "".join(log)
            return json.loads(done.stdout)

        with running(serve, environment, r"^endpoint "):
            seen["table"] = client(ports).describe_table(TableName="rate-limits")["Table"]
            seen["before"] = scan(ports)
            seen["answer"] = invoke()
            seen["after"] = scan(ports)
            seen["repeated"] = invoke()
            seen["after the repeat"] = scan(ports)
        seen["gone"] = invoke()
        for name, status, code in (
            ("throttled", 400, "ThrottlingException"),
            ("broken", 500, "InternalServerError"),
            ("refused", 400, "AccessDeniedException"),
            ("invalid", 400, "ValidationException"),
        ):
            answer = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
            with StandIn({}, refuse=(status, answer), port=int(ports["8000"])) as table:
                seen[name] = invoke()
                assert "UpdateItem" in table.operations()
        seen["log"] = list(log)
    return seen


def client(ports):
    return boto3.client(
        "dynamodb", endpoint_url=f"http://127.0.0.1:{ports['8000']}", region_name="eu-central-1",
        aws_access_key_id="none", aws_secret_access_key="none",
    )


def scan(ports):
    items = client(ports).scan(TableName="rate-limits")["Items"]
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


def test_the_templates_table_is_the_one_that_everything_else_is_tested_on(session, new_table):
    described, made = session["table"], new_table.only("AWS::DynamoDB::Table")

    def index(one):
        return one["IndexName"], one["KeySchema"], one["Projection"]

    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        assert sorted(map(index, described[kind]), key=str) == sorted(map(index, made[kind]), key=str)
    assert described["KeySchema"] == made["KeySchema"]
    assert described["StreamSpecification"]["StreamViewType"] == made["StreamSpecification"]["StreamViewType"]


def lowest_sequence():
    records = json.loads(EVENT.read_text())["Records"]
    return min((record["dynamodb"]["SequenceNumber"] for record in records), key=lambda s: (len(s), s))


def test_an_event_changes_the_table(session):
    before, after = session["before"], session["after"]
    assert session["answer"] == {"batchItemFailures": []}
    (bucket,) = [key for key in before if key[1] == "#STATE"]
    assert int(after[bucket]["rf"]["N"]) > int(before[bucket]["rf"]["N"])
    snapshots = [item for key, item in after.items() if key[1].startswith("#USAGE#")]
    assert snapshots and not [key for key in before if key[1].startswith("#USAGE#")]


def test_the_event_again_counts_nothing_twice(session):
    assert session["repeated"] == {"batchItemFailures": []}

    def usage(items):
        return {key: item for key, item in items.items() if key[1].startswith("#USAGE#")}

    assert usage(session["after the repeat"]) == usage(session["after"])


@pytest.mark.parametrize("failure", ["gone", "throttled", "broken", "refused"])
def test_a_table_that_fails_for_now_gets_the_batch_again_from_its_first_record(session, failure):
    assert session[failure] == {"batchItemFailures": [{"itemIdentifier": lowest_sequence()}]}


def test_a_request_that_is_wrong_for_good_holds_nothing_up(session):
    assert session["invalid"] == {"batchItemFailures": []}


def metric_lines(session):
    texts = (line[line.index("{"):] for line in session["log"] if '"_aws"' in line)
    return [json.loads(text) for text in texts]


def test_every_alarm_and_graph_is_of_a_metric_that_the_function_writes(session, existing_table):
    lines = metric_lines(session)
    assert len(lines) == 7
    for line in lines:
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == existing_table.parameters["MetricsNamespace"]
        assert directive["Dimensions"] == [["FunctionName"]]
    written = {metric["Name"] for metric in directive["Metrics"]}
    board = json.loads(existing_table.only("AWS::CloudWatch::Dashboard")["DashboardBody"])
    shown = [metric for widget in board["widgets"] for metric in widget["properties"]["metrics"]]
    alarms = [alarm["Properties"] for alarm in existing_table.of_type("AWS::CloudWatch::Alarm").values()]
    own = directive["Namespace"]
    wanted = {metric[1] for metric in shown if metric[0] == own} | {a["MetricName"] for a in alarms if a.get("Namespace") == own}
    assert wanted and wanted <= written
    dimensions = [metric[2:] for metric in shown if metric[0] == own] + [
        [part for dimension in a["Dimensions"] for part in (dimension["Name"], dimension["Value"])] for a in alarms if a.get("Namespace") == own
    ]
    assert all(dimension == ["FunctionName", "<Function>"] for dimension in dimensions)


def test_failures_are_seen_by_the_metrics_that_have_alarms(session):
    lines = metric_lines(session)
    assert [line["RetryableFailures"] > 0 for line in lines] == [False, False, True, True, True, True, False]
    assert [line["PermanentFailures"] > 0 for line in lines] == [False, False, False, False, False, False, True]
