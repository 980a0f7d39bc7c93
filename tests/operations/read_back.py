"""The published client reads the snapshots that this product writes, each kind by itself."""

from rehearsal import RESOURCE, Table, deliver, same

# 2026-12-01T00:30:00Z: an hour, a day and a month begin at the same instant.
CREATED_S = 1_796_085_000
START = "2026-12-01T00:00:00Z"
REPLAY_ENTITY = "reader-1"


def record(number, before, after, balance):
    """A change of a bucket with a soft limit, in millitokens."""
    image = lambda consumed: {
        "PK": {"S": f"e2eNspcA/BUCKET#{REPLAY_ENTITY}#{RESOURCE}#0"},
        "SK": {"S": "#STATE"},
        "entity_id": {"S": REPLAY_ENTITY},
        "resource": {"S": RESOURCE},
        "rf": {"N": str(CREATED_S * 1_000)},
        "b_rpm_tc": {"N": str(consumed)},
        "b_rpm_tk": {"N": str(balance)},
        "b_rpm_soft": {"N": "1"},
    }
    return {
        "eventName": "MODIFY",
        "dynamodb": {
            "ApproximateCreationDateTime": CREATED_S,
            "SequenceNumber": f"{number:030}",
            "OldImage": image(before),
            "NewImage": image(after),
        },
    }


def read_back(replay, folder):
    """Half an hour into a month: three snapshots with one start, each right once."""
    with Table(replay, folder) as table:
        table.kinds = ["hourly", "daily", "monthly"]
        table.environment["SNAPSHOT_WINDOWS"] = ",".join(table.kinds)
        table.configure([REPLAY_ENTITY])
        for _ in range(2):
            deliver(table, [record(1, 0, 3_000, 1_000), record(2, 3_000, 7_500, -500)])
        with table.limiter() as limiter:
            for kind in table.kinds:
                snapshots, _ = limiter.get_usage_snapshots(REPLAY_ENTITY, RESOURCE, window_type=kind)
                found = [(one.window_start, one.counters, one.total_events, one.overdrawn) for one in snapshots]
                same(found, [(START, {"rpm": 7}, 2, {"rpm": 1})], f"what the client reads of {kind}")
            together, _ = limiter.get_usage_snapshots(REPLAY_ENTITY, RESOURCE)
            same(sorted(one.window_type for one in together), sorted(table.kinds), "kinds that the client reads together")
            by_resource, _ = limiter.get_usage_snapshots(resource=RESOURCE)
            same(len(by_resource), len(table.kinds), "snapshots by resource")
