"""Every procedure of docs/operations.md, one after the other; ends with an error at the first that does not do what it says."""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "peer"), str(HERE.parent / "end_to_end")]
from read_back import read_back  # noqa: E402
from rehearsal import TABLE, Peer, Table, commands, deliver, last_line, modified, next_second, same  # noqa: E402

REPLAY = sys.argv[1]
ENTITIES = ["tenant-1", "tenant-2"]


def shadow_run(replay, folder):
    """It decides beside the other aggregator, and leaves no trace."""
    with Table(replay, folder) as table:
        table.configure(ENTITIES)
        shadow = table.start("shadow")
        table.consume(ENTITIES, 20)
        peer = Peer(table)
        peer.settle()
        before = table.engine.items()
        out, err = shadow.communicate(timeout=60)
        assert shadow.returncode == 0, err
        assert last_line(out)["failures"] == 0 and last_line(out)["records"] > 40, out
        same(table.engine.items(), before, "items after the shadow run")
        assert not any(name.startswith("#seq") for item in table.snapshots() for name in item)
        same(table.usage(ENTITIES), table.used(ENTITIES, modified(table.records())), "usage by the other aggregator alone")
        table.follow("audit")


def one_bucket_in_question(replay, folder):
    """What is captured beside the clients is explained elsewhere, shard by shard, and the table is as it was."""
    with Table(replay, folder) as table:
        table.configure(ENTITIES)
        table.consume(ENTITIES, 12)
        before = table.engine.items()
        captured = last_line(table.follow("capture"))
        same(table.engine.items(), before, "items after the capture")
        told = table.follow("explain")
        explained = sum(line.strip().startswith(("no refill", "refill written")) for line in told.splitlines())
        assert captured["records"] > 20 and explained >= len(ENTITIES), told
        assert "rpm can wait: with its drip" in told and not any(entity in told for entity in ENTITIES), told


def both_at_once(_, folder):
    """All rules of both at the same time on a bucket that doubles; usage is the other one's alone."""
    end_to_end = module("end_to_end", HERE.parent / "end_to_end" / "main.py")
    os.environ["ENABLE_USAGE"] = "false"

    class Both(end_to_end.Side):
        def aggregator(self):
            self.name = end_to_end.THEIRS
            self.other = super().aggregator()
            self.name = end_to_end.OURS
            return super().aggregator()

    both = Both(end_to_end.OURS, folder)
    try:
        both.run()
        out, err = both.other.communicate(timeout=240)
        assert both.other.returncode == 0, err
        assert last_line(out)["failures"] == 0, out
        broken = [claim for claim, holds, _ in both.verdicts() if not holds and "usage" not in claim]
        same(broken, [], "claims that do not hold with both")
        guards = [name for item in both.engine.items() for name in item if name.startswith("#seq")]
        same(guards, [], "guards although usage is the other one's")
    finally:
        both.engine.stop()
        del os.environ["ENABLE_USAGE"]


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def there_and_back(replay, folder):
    """Every record is counted exactly once, by the one aggregator or by the other."""
    with Table(replay, folder) as table:
        table.configure(ENTITIES)
        assert "lambda_version 0.17.0" in table.follow("version")
        table.consume(ENTITIES, 20)
        peer = Peer(table)
        peer.settle()
        others = modified(table.records())
        same(table.usage(ENTITIES), table.used(ENTITIES, others), "usage before the change")

        instant = next_second()
        seen = others[-1]["dynamodb"]["SequenceNumber"]
        # A new entity too: its first use is an insert.
        entities = [*ENTITIES, "tenant-3"]
        table.configure(["tenant-3"])
        table.consume(entities, 20)
        told = last_line(table.follow("take-over", T=instant))
        assert told["failures"] == 0 and told["records"] > len(others), "the stream is read from its oldest record"
        ours = [record for record in table.records() if created(record) >= int(instant)]
        assert created(others[-1]) < int(instant) and len(ours) > 60, "the instant lies between"
        wanted = table.used(entities, others + ours)
        same(table.usage(entities), wanted, "usage after the change")
        # Once more from the beginning: a new mapping, or a tail that kept no checkpoints.
        table.follow("take-over", T=instant)
        same(table.usage(entities), wanted, "usage after a second start")
        table.follow("audit")

        back = Peer.at_latest(table)
        table.consume(entities, 10)
        rest = modified(table.records(back.after))
        back.settle()
        same(table.usage(entities), table.used(entities, others + ours + rest), "usage after going back")
        table.follow("audit")
        assert seen < back.after


def created(record):
    return int(record["dynamodb"]["ApproximateCreationDateTime"].timestamp()) * 1_000


def dead_letters(replay, folder):
    """A batch that was discarded and overtaken: told of, counted on request, once."""
    with Table(replay, folder) as table:
        table.configure(ENTITIES)
        table.consume(ENTITIES, 12)
        records = [record for record in table.records() if record["dynamodb"].get("NewImage", {}).get("SK") == {"S": "#STATE"}]
        half = len(records) // 2
        discarded, later = records[:half], records[half:]
        deliver(table, later)
        info = {
            "shardId": table.shard,
            "startSequenceNumber": discarded[0]["dynamodb"]["SequenceNumber"],
            "endSequenceNumber": discarded[-1]["dynamodb"]["SequenceNumber"],
            "batchSize": len(discarded),
            "streamArn": table.arn,
        }
        message = Path(folder) / "message.json"
        message.write_text(json.dumps({"version": "1.0", "DDBStreamBatchInfo": info}))
        later_only = table.used(ENTITIES, later)
        told = table.follow("redrive", code=1, FILE=str(message))
        assert "NOT COUNTED" in told, told
        same(table.usage(ENTITIES), later_only, "usage before it is asked for")
        for _ in range(2):
            table.follow("redrive-anyway", FILE=str(message))
            same(table.usage(ENTITIES), table.used(ENTITIES, records), "usage after the redrive")
        table.follow("redrive", FILE=str(message))


def restored_table(replay, folder):
    """A table with another one's items, old guards included, and a stream of its own: usage goes on."""
    beginning = next_second()
    with Table(replay, folder) as table:
        table.configure(ENTITIES)
        table.consume(ENTITIES, 10)
        table.follow("take-over", T=beginning)
        counted, items, label = table.usage(ENTITIES), table.engine.items(), table.arn.rsplit("/", 1)[1]
        assert any(name.startswith("#seq") for item in table.snapshots() for name in item)
    # Items that are put into a table are inserts in its stream, which a restore's are not.
    inserted = next_second()
    with Table(replay, folder, [item for item in items if item["PK"]["S"] != "_/SYSTEM#"]) as table:
        assert table.arn.rsplit("/", 1)[1] > label, "the new stream's label is later"
        same(table.usage(ENTITIES), counted, "usage as it was restored")
        instant = next_second()
        assert instant > inserted
        table.consume(ENTITIES, 10)
        since = [record for record in table.records() if created(record) >= int(instant)]
        table.follow("take-over", T=instant)
        added = table.used(ENTITIES, since)
        wanted = {place: {name: counted[place][name] + added[place][name] for name in counted[place]} for place in counted}
        same(table.usage(ENTITIES), wanted, "usage after the restore")
        table.follow("audit-after")


def main():
    for rehearsal in (read_back, shadow_run, one_bucket_in_question, there_and_back, dead_letters, restored_table, both_at_once):
        with tempfile.TemporaryDirectory() as folder:
            rehearsal(REPLAY, folder)
        print(f"{rehearsal.__name__}: ok", flush=True)
    same(Table.rehearsed, commands(), "commands of the page that were run")


if __name__ == "__main__":
    main()
