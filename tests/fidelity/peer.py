"""Plays scripts on the published client: its clock, its draws of shards and its write budget come from the script.

Nothing of the package is changed on disk or copied: clock, random numbers and the size of the write budget are replaced
from outside at run time, and a call may be held up at the wire while another client works.
"""

import logging
import os
import warnings
from contextlib import contextmanager
from datetime import timedelta

os.environ.update(
    AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1"
)

import boto3  # noqa: E402
from zae_limiter import Limit, schema, sync_lease, sync_limiter, sync_repository  # noqa: E402
from zae_limiter.exceptions import RateLimitExceeded  # noqa: E402

# Where the scripts' clock starts: `START` of the simulation.
START = 1_790_000_400_000
CLIENTS = 3
RESOURCE = "r"
DRIP, CALENDAR, SESSION = "d_rip", "q", "s.1"
WRITES = {"UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems"}

warnings.simplefilter("error")
logging.getLogger("zae_limiter").setLevel(logging.ERROR)


class Draws:
    """Stands in for the module `random`: the same draws as the simulated client makes, in the same order."""

    def __init__(self):
        self.states = []

    @contextmanager
    def from_seed(self, seed):
        self.states.append(seed)
        try:
            yield
        finally:
            self.states.pop()

    def below(self, count):
        if count <= 1:
            return 0
        drawn = self.states[-1] % count
        self.states[-1] = (self.states[-1] * 7 + 1) % 2**32
        return drawn

    def randrange(self, start, stop=None):
        start, stop = (0, start) if stop is None else (start, stop)
        return start + self.below(stop - start)

    def choice(self, options):
        return options[self.below(len(options))]

    def uniform(self, low, high):
        """Pauses between attempts: none."""
        return 0.0

    def random(self):
        return 0.5


class Peer:
    """Three clients and an operator on one table."""

    def __init__(self, endpoint, table):
        self.now = START
        self.draws = Draws()
        self.frames = []
        self.played = 0
        for module in (sync_limiter, sync_repository, sync_lease):
            module.random = self.draws
        first = self.repository(endpoint, table)
        first.create_table()
        first._register_namespace("default")
        first.set_version_record(schema_version="0.10.0", lambda_version="0.17.0", client_min_version="0.17.0")
        self.repositories = [self.opened(endpoint, table) for _ in range(CLIENTS)]
        self.limiters = [sync_limiter.SyncRateLimiter(repository=one) for one in self.repositories]
        self.namespace = self.repositories[0]._namespace_id
        self.table = first.table_name
        self.client = first._get_client()

    # No caches of configuration or refusals: both are settings of the client, and the simulated one has neither.
    SETTINGS = dict(config_cache_ttl=0, rejection_cache_ttl=0, parallel_mode="serial")

    def repository(self, endpoint, table):
        return sync_repository.SyncRepository(
            name=table, endpoint_url=endpoint, region="us-east-1", _skip_deprecation_warning=True, **self.SETTINGS
        )

    def opened(self, endpoint, table):
        repository = sync_repository.SyncRepository.open(
            stack=table, endpoint_url=endpoint, region="us-east-1", auto_update=False, **self.SETTINGS
        )
        repository._now_ms = lambda: self.now
        client = repository._get_client()
        call = client._make_api_call

        def held_up(operation, parameters):
            if operation in WRITES and "/BUCKET#" in str(parameters):
                self.before_write()
            return call(operation, parameters)

        client._make_api_call = held_up
        return repository

    def before_write(self):
        if not self.frames:
            return
        frame = self.frames[-1]
        if frame["interruption"] is not None and frame["made"] == frame["interruption"][0]:
            _, by = frame["interruption"]
            frame["interruption"] = None
            self.step(by)
        frame["made"] += 1

    def play(self, script):
        """Plays a script. Answers how each operation ended, and the items that are left."""
        self.now = START
        self.entity = f"entity-{self.played}"
        self.played += 1
        self.script = script
        self.leases = {}
        self.outcomes = []
        schema.WCU_LIMIT_CAPACITY = schema.WCU_LIMIT_REFILL_AMOUNT = script["write_budget"]
        schema.WCU_LIMIT_REFILL_PERIOD_SECONDS = 10
        self.repositories[0].create_entity(self.entity)
        self.repositories[0].set_limits(self.entity, self.limits(1000), RESOURCE)
        for step in script["steps"]:
            self.step(step)
        for context, _ in self.leases.values():
            context.__exit__(None, None, None)
        return self.outcomes, self.items()

    def limits(self, per_mille):
        capacity = self.script["base"] * per_mille // 1000
        every = [
            Limit.per_minute(DRIP, capacity),
            Limit.quota(CALENDAR, capacity, cron="*/10 * * * *"),
            Limit.quota(SESSION, capacity, reset_after=timedelta(minutes=10)),
        ]
        return [limit for limit, wanted in zip(every, self.script["limits"]) if wanted]

    def names(self, *, quotas=False):
        return [limit.name for limit in self.limits(1000) if not quotas or limit.is_quota]

    def step(self, step):
        interruption = None
        if step["op"] == "interrupt":
            interruption = (step["writes"], step["by"])
            step = step["step"]
        frame = {"made": 0, "interruption": interruption}
        self.frames.append(frame)
        try:
            outcome = self.operation(step)
        finally:
            self.frames.pop()
        if outcome is not None:
            self.outcomes.append(outcome)
        if frame["interruption"] is not None:
            self.step(frame["interruption"][1])

    def operation(self, step):
        match step["op"]:
            case "pass":
                self.now += step["ms"]
            case "remove":
                self.client.delete_item(TableName=self.table, Key=self.bucket_key(step["shard"]))
            case "acquire":
                return self.acquire(step)
            case "adjust":
                return self.adjust(step)
            case "configure":
                self.repositories[0].set_limits(self.entity, self.limits(step["per_mille"]), RESOURCE)
                return "done"
            case "top_up":
                amounts = dict.fromkeys(self.names(quotas=True), step["tokens"])
                self.repositories[0].top_up(self.entity, RESOURCE, amounts)
                return "done"
            case "reset":
                self.repositories[0].reset_bucket(self.entity, RESOURCE, self.names(quotas=True))
                return "done"
        return None

    def acquire(self, step):
        context = self.limiters[step["client"]].acquire(
            self.entity,
            RESOURCE,
            dict.fromkeys(self.names(), step["tokens"]),
            on_unavailable=sync_limiter.OnUnavailable.BLOCK,  # Else it is read from the table each time.
        )
        with self.draws.from_seed(step["draw"]):
            try:
                lease = context.__enter__()
            except RateLimitExceeded:
                return "refused"
        earlier = self.leases.pop(step["client"], None)
        if earlier is not None:
            earlier[0].__exit__(None, None, None)
        self.leases[step["client"]] = (context, lease)
        return "admitted"

    def adjust(self, step):
        if step["client"] not in self.leases:
            return None
        context, lease = self.leases.pop(step["client"])
        lease.adjust(**dict.fromkeys(self.names(), step["tokens"]))
        context.__exit__(None, None, None)
        return "done"

    def close(self):
        """Closes its connections. The table stays."""
        for repository in self.repositories:
            repository.close()
        self.client.close()

    def bucket_key(self, shard):
        return {
            "PK": {"S": f"{self.namespace}/BUCKET#{self.entity}#{RESOURCE}#{shard}"},
            "SK": {"S": "#STATE"},
        }

    def items(self):
        """Every bucket of the entity, and its owner record."""
        owner = {"PK": {"S": f"{self.namespace}/ENTITY#{self.entity}"}, "SK": {"S": "#META"}}
        keys = [self.bucket_key(shard) for shard in range(32)] + [owner]
        answer = self.client.batch_get_item(RequestItems={self.table: {"Keys": keys, "ConsistentRead": True}})
        assert not answer.get("UnprocessedKeys")
        return answer["Responses"][self.table]


def count_buckets(endpoint, table):
    """How many bucket items a table holds, of every entity. An operation's record lies beside shard 0's."""
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    pages = client.get_paginator("scan").paginate(TableName=table)
    count = sum(item["SK"]["S"] == "#STATE" for page in pages for item in page["Items"])
    client.close()
    return count
