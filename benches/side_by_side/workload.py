"""Stream events in the shape that the client's consumption leaves, and the table they belong to."""

import time

NAMESPACE = "kFxB2pQ9"
RESOURCE = "gpt-4"
# Millitokens that a record takes of each limit.
USED = {"rpm": 1_000, "tpm": 900_000}
PERIOD_MS = 60_000


def bucket(entity, used, now_ms, records):
    """One bucket shard in DynamoDB JSON after `used` of its batch's `records`, each taking USED millitokens.

    The batch takes twice what is left at its end, and a second's drip is a sixth of it: the bucket calls for a refill.
    """
    limit_values = {}
    for name, each in USED.items():
        capacity = 10 * records * each
        limit_values |= {
            f"b_{name}_cp": capacity,
            f"b_{name}_ra": capacity,
            f"b_{name}_rp": PERIOD_MS,
            f"b_{name}_tk": records * each // 2 + (records - used) * each,
            f"b_{name}_tc": 5_000_000 + used * each,
        }
    numbers = limit_values | {
        "b_wcu_cp": 1_000_000,
        "b_wcu_ra": 1_000_000,
        "b_wcu_rp": 1_000,
        "b_wcu_tk": 999_000 - 1_000 * used,
        "b_wcu_tc": 1_000 * used,
        "rf": now_ms - 1_000,
        "shard_count": 1,
        "ttl": now_ms // 1_000 + 3_600,
    }
    texts = {
        "PK": f"{NAMESPACE}/BUCKET#{entity}#{RESOURCE}#0",
        "SK": "#STATE",
        "entity_id": entity,
        "resource": RESOURCE,
        "GSI2PK": f"{NAMESPACE}/RESOURCE#{RESOURCE}",
        "GSI2SK": f"BUCKET#{entity}#0",
        "GSI3PK": f"{NAMESPACE}/ENTITY#{entity}",
        "GSI3SK": f"BUCKET#{RESOURCE}#0",
        "GSI4PK": NAMESPACE,
        "GSI4SK": f"BUCKET#{entity}#{RESOURCE}#0",
    }
    return (
        {name: {"N": str(value)} for name, value in numbers.items()}
        | {name: {"S": value} for name, value in texts.items()}
        | {"cascade": {"BOOL": False}}
    )


class Workload:
    """Batches of a number of records, spread evenly over a number of entities that no other batch touches."""

    def __init__(self):
        self.made = 0
        self.sequence = 100_000_000_000_000_000_000

    def batch(self, records, entities):
        """An event, and the items that the table holds by then."""
        self.made += 1
        now_ms = time.time_ns() // 1_000_000
        each = records // entities
        names = [f"entity-{self.made}-{number}" for number in range(entities)]
        event = []
        # Interleaved, as a stream gives what many write at once.
        for used in range(each):
            for name in names:
                self.sequence += 1
                event.append(self.record(name, used, now_ms, each))
        items = [bucket(name, each, now_ms, each) for name in names]
        return {"Records": event}, items

    def record(self, entity, used, now_ms, records):
        old, new = bucket(entity, used, now_ms, records), bucket(entity, used + 1, now_ms, records)
        return {
            "eventID": f"{self.sequence:x}",
            "eventName": "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-central-1",
            "dynamodb": {
                "ApproximateCreationDateTime": float(now_ms // 1_000),
                "Keys": {"PK": new["PK"], "SK": new["SK"]},
                "NewImage": new,
                "OldImage": old,
                "SequenceNumber": str(self.sequence),
                "SizeBytes": 1_700,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/rate-limits/stream/2026-11-02T00:00:00.000",
        }
