"""What every rehearsal has: a table behind the published client, its stream, the other aggregator, and the page's commands."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path

import boto3
from engine import TABLE
from stack import ENVIRONMENT, served
from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()
RESOURCE = "gpt-4"
LIMITS = [Limit.per_minute("rpm", 10_000), Limit.quota("daily", 1_000_000, cron="0 0 * * *")]


def windows():
    """Kinds of snapshot. The other aggregator adds midnight's hour and its day into one item, so around it there is one kind."""
    now = datetime.now(timezone.utc)
    near_midnight = now.hour == 0 or (now.hour == 23 and now.minute >= 50)
    return ["hourly"] if near_midnight else ["hourly", "daily"]


def command(name):
    """The page's command of this name."""
    found = re.findall(rf"^( *)```sh replay {name}\n(.*?)^ *```$", PAGE, re.S | re.M)
    assert len(found) == 1, f"{len(found)} commands {name}"
    indent, text = found[0]
    return "\n".join(line.removeprefix(indent) for line in text.splitlines())


def commands():
    return set(re.findall(r"^ *```sh replay (\S+)$", PAGE, re.M))


class Table:
    """The engine's table, with the client on one side and its stream on the other."""

    rehearsed = set()

    def __init__(self, replay, folder, items=()):
        self.replay, self.folder = Path(replay).resolve(), Path(folder)
        self.engine = served(replay, folder, items)
        self.kinds = windows()
        self.environment = os.environ | ENVIRONMENT | {
            "AWS_ENDPOINT_URL": self.engine.url,
            "SNAPSHOT_WINDOWS": ",".join(self.kinds),
            "PATH": f"{self.replay.parent}:{os.environ['PATH']}",
            "TABLE": TABLE,
        }
        # The other aggregator is a function of this process.
        os.environ.update(ENVIRONMENT | {key: self.environment[key] for key in ("AWS_ENDPOINT_URL", "SNAPSHOT_WINDOWS")})
        os.environ["TABLE_NAME"] = TABLE
        self.arn = self.engine.client.describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
        self.streams = boto3.client("dynamodbstreams", endpoint_url=self.engine.url)
        (shard,) = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        self.shard = shard["ShardId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.engine.stop()

    def follow(self, name, code=0, **variables):
        """Runs the page's command and gives what it printed."""
        done = self.start(name, **variables)
        out, err = done.communicate(timeout=120)
        assert done.returncode == code, f"{name}: exit code {done.returncode}\n{out}\n{err}"
        return out

    def start(self, name, **variables):
        Table.rehearsed.add(name)
        script = "set -euo pipefail\n" + command(name)
        return subprocess.Popen(
            ["bash", "-c", script], env=self.environment | variables, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def limiter(self):
        repository = SyncRepository.connect("default", stack=TABLE, region="eu-central-1", endpoint_url=self.engine.url)
        return SyncRateLimiter(repository=repository)

    def configure(self, entities):
        with self.limiter() as limiter:
            for entity in entities:
                limiter.create_entity(entity)
                limiter.set_limits(entity, LIMITS, resource=RESOURCE)

    def consume(self, entities, times):
        """So many admissions of each entity, a request and a few tokens each."""
        with self.limiter() as limiter:
            for nth in range(times):
                for entity in entities:
                    with contextlib.suppress(RateLimitExceeded), limiter.acquire(entity, RESOURCE, {"rpm": 1, "daily": 1 + nth % 3}):
                        pass

    def iterator(self, after=None):
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if after:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        return self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=self.shard, **place)["ShardIterator"]

    def records(self, after=None):
        """Every record behind a sequence number, in order."""
        found, iterator = [], self.iterator(after)
        while iterator:
            page = self.streams.get_records(ShardIterator=iterator)
            if not page["Records"]:
                return found
            found += page["Records"]
            iterator = page.get("NextShardIterator")

    def usage(self, entities):
        """What the published client reads back, summed over the snapshots of each kind."""
        sums = defaultdict(Counter)
        with self.limiter() as limiter:
            for entity in entities:
                for kind in self.kinds:
                    snapshots, more = limiter.get_usage_snapshots(entity, RESOURCE, window_type=kind)
                    assert more is None
                    for snapshot in snapshots:
                        sums[entity, kind].update(snapshot.counters)
        return {place: dict(counted) for place, counted in sums.items()}

    def used(self, entities, records):
        """The same by plain arithmetic over records."""
        sums = defaultdict(Counter)
        for record in records:
            for entity, limit, tokens in consumption(record):
                for kind in self.kinds:
                    sums[entity, kind][limit] += tokens
        return {place: dict(counted) for place, counted in sums.items() if place[0] in entities}

    def snapshots(self):
        return [item for item in self.engine.items(TABLE) if item["SK"]["S"].startswith("#USAGE#")]


def consumption(record):
    """(entity, limit, tokens) of a record of a bucket."""
    change = record["dynamodb"]
    new = change.get("NewImage", {})
    if new.get("SK", {}).get("S") != "#STATE":
        return
    for name, value in new.items():
        if name.startswith("b_") and name.endswith("_tc") and name != "b_wcu_tc":
            old = change.get("OldImage", {}).get(name, {"N": "0"} if record["eventName"] == "INSERT" else value)
            tokens = int(value["N"]) - int(old["N"])
            if tokens:
                yield new["entity_id"]["S"], name[2:-3], tokens // 1000


def modified(records):
    return [record for record in records if record["eventName"] == "MODIFY"]


class Peer:
    """The published aggregator behind an event source mapping, as far as there is one here: it keeps its place."""

    def __init__(self, table, after=None):
        self.table, self.after = table, after

    @classmethod
    def at_latest(cls, table):
        return cls(table, table.records()[-1]["dynamodb"]["SequenceNumber"])

    def deliver(self, most=100):
        """Everything that there is, in batches; how many records."""
        from zae_limiter_aggregator.handler import handler

        records = self.table.records(self.after)
        for first in range(0, len(records), most):
            batch = records[first : first + most]
            with contextlib.redirect_stdout(io.StringIO()):
                answer = handler({"Records": [jsonable(record) for record in batch]}, None)
            assert not answer["body"]["errors"], answer
            self.after = batch[-1]["dynamodb"]["SequenceNumber"]
        return len(records)

    def settle(self):
        """Until its own writes bring nothing new."""
        while self.deliver():
            pass


def jsonable(record):
    change = dict(record["dynamodb"])
    created = change["ApproximateCreationDateTime"]
    change["ApproximateCreationDateTime"] = created.timestamp() if isinstance(created, datetime) else created
    return record | {"dynamodb": change}


def deliver(table, records):
    """As the stream would, through the program."""
    event = table.folder / "event.json"
    event.write_text(json.dumps({"Records": [jsonable(record) | {"eventSourceARN": table.arn} for record in records]}))
    command = [table.replay, event, "--table", TABLE]
    done = subprocess.run(command, env=table.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def next_second():
    """Waits for the next whole second, in epoch milliseconds: nothing was created in it before."""
    second = int(time.time()) + 2
    time.sleep(second - time.time() + 0.05)
    return str(second * 1_000)


def last_line(out):
    return json.loads(out.splitlines()[-1])


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: found {found}, expected {wanted}")
