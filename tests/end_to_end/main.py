"""Drives both aggregators with the same workload, judges what the client sees, and prints a table of both."""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "peer"))
import page  # noqa: E402
from stack import ENVIRONMENT, NAMESPACE, served  # noqa: E402
from workload import LIMITS, RESOURCE, STACK, THREADS, WRITE_BUDGET, Workload  # noqa: E402

REPLAY = sys.argv[1]
HERE = Path(__file__).parent
OURS, THEIRS = "limiter-aggregator", "zae-limiter 0.17.0"
IDLE_S = "4"
# For the client in this process, and for the aggregators that it starts.
os.environ.update(ENVIRONMENT)


class Side:
    """A fresh table, the workload on it, one aggregator behind it, and what the client sees in the end."""

    def __init__(self, name, folder):
        self.name = name
        self.engine = served(REPLAY, folder)
        self.workload = Workload(self.engine.url)

    def aggregator(self):
        environment = os.environ | {"AWS_ENDPOINT_URL": self.engine.url, "TABLE_NAME": STACK}
        if self.name == OURS:
            command = [REPLAY, "tail", "--endpoint-url", self.engine.url, "--table", STACK, "--window", "1", "--until-idle", IDLE_S]
        else:
            command = [sys.executable, HERE / "feeder.py", IDLE_S]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self):
        self.workload.configure()
        self.workload.drive({"hot": THREADS})
        self.make_writes_scarce()
        # Nobody credits the hot shard meanwhile: the client runs out of writes and doubles.
        self.workload.drive({"hot": WRITE_BUDGET + 100})
        aggregator = self.aggregator()
        self.workload.drive({"drip": 600, "calendar": 160, "session": 160, "hot": 600})
        out, err = aggregator.communicate(timeout=240)
        assert aggregator.returncode == 0, err
        self.end = json.loads(out.splitlines()[-1])
        self.see()

    def make_writes_scarce(self):
        """A shard has a thousand writes a second, more than one process can use up: here it has them an hour."""
        key = {"PK": {"S": f"{NAMESPACE}/BUCKET#hot#{RESOURCE}#0"}, "SK": {"S": "#STATE"}}
        hour_ms = {":hour": {"N": "3600000"}}
        self.engine.client.update_item(
            TableName=STACK, Key=key, UpdateExpression="SET b_wcu_rp = :hour", ExpressionAttributeValues=hour_ms
        )

    def see(self):
        with self.workload.limiter() as limiter:
            self.usage = {
                (entity, kind): self.counted(limiter, entity, kind) for entity in LIMITS for kind in ("hourly", "daily")
            }
        audited = subprocess.run(
            [REPLAY, "audit", "--endpoint-url", self.engine.url, "--table", STACK], capture_output=True, text=True
        )
        assert audited.returncode in (0, 1), audited.stderr
        self.is_sound = audited.returncode == 0
        self.shards = defaultdict(list)
        for item in self.engine.items():
            if item["SK"]["S"] == "#STATE":
                self.shards[item["entity_id"]["S"]].append(item)

    def counted(self, limiter, entity, kind):
        snapshots, _ = limiter.get_usage_snapshots(entity, RESOURCE, window_type=kind)
        sums = defaultdict(int)
        for snapshot in snapshots:
            for name, count in snapshot.counters.items():
                sums[name] += count
        return dict(sums)

    def numbers(self, entity, name):
        return [int(item[name]["N"]) for item in self.shards[entity] if name in item]

    def verdicts(self):
        """Every claim, and whether it holds."""
        admitted, limits = self.workload.admitted, {(entity, limit.name): limit for entity in LIMITS for limit in LIMITS[entity]}
        for (entity, name), limit in limits.items():
            if limit.is_quota:
                yield f"{entity}: admitted within {name}", admitted[entity] <= limit.capacity, f"{admitted[entity]} of {limit.capacity}"
        drip = limits["drip", "rpm"]
        bound = drip.capacity + int(self.workload.took_s * drip.refill_amount / drip.refill_period_seconds) + 1
        yield "drip: admitted within capacity and time", admitted["drip"] <= bound, f"{admitted['drip']} of {bound}"
        for kind in ("hourly", "daily"):
            wanted = {entity: {limit.name: admitted[entity] for limit in LIMITS[entity]} for entity in LIMITS}
            seen = {entity: {name: count for name, count in self.usage[entity, kind].items() if name != "wcu"} for entity in LIMITS}
            told = sum(seen["hot"].values()), sum(wanted["hot"].values())
            yield f"{kind} usage equals what was consumed", seen == wanted, f"hot: {told[0]} of {told[1]}"
        counts = self.numbers("hot", "shard_count")
        yield "hot: doubled", max(counts) >= 2, f"{max(counts)} shards, {len(counts)} of them in use"
        yield "hot: every shard knows the count", len(set(counts)) == 1, f"{len(set(counts))} on {len(counts)}"
        for name in ("daily", "session"):
            held = sum(self.numbers("hot", f"b_{name}_tk")) / 1_000
            there, limit = admitted["hot"] + held, limits["hot", name].capacity
            yield f"hot: admitted and held of {name} is no more than granted", there <= limit, f"{there:g} of {limit}"
        starts = self.numbers("hot", "b_session_ws")
        yield "hot: window starts are equal", len(starts) == len(counts) and len(set(starts)) == 1, f"{len(set(starts))} on {len(starts)}"
        yield "an audit finds no broken invariant", self.is_sound, f"{sum(map(len, self.shards.values()))} shards"
        yield "no failures", self.end["failures"] == 0, f"{self.end['records']} records"


def main():
    table = {}
    for name in (OURS, THEIRS):
        with tempfile.TemporaryDirectory() as folder:
            side = Side(name, folder)
            try:
                side.run()
                table[name] = {claim: (holds, told) for claim, holds, told in side.verdicts()}
            finally:
                side.engine.stop()
    lines = []
    for claim, ours in table[OURS].items():
        cells = [f"{'yes' if holds else 'NO'} ({told})" for holds, told in (ours, table[THEIRS][claim])]
        lines.append([claim, *cells])
    compared = page.rows(["claim", OURS, THEIRS], lines)
    print(compared)
    if "--write" in sys.argv:
        page.write({"end to end": compared})
    broken = [claim for claim, (holds, _) in table[OURS].items() if not holds]
    if broken:
        sys.exit(f"does not hold: {'; '.join(broken)}")


if __name__ == "__main__":
    main()
