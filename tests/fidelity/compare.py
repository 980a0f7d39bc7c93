"""Plays the same scripts on the published client and on the simulated ones, and compares what they leave.

Fails where an outcome or an item differs (the first script that does is shortened and printed), where fewer scripts ran
than must, or where the scripts left something out that they are to cover.
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tables

sys.path.append(str(Path(__file__).resolve().parents[1] / "peer"))
from engine import Engine  # noqa: E402

# Every kind of event that scripts must exercise, and how often at least for a thousand of them.
LEAST = 10
EVENTS = [
    "fast path",
    "slow path",
    "refused",
    "shard created",
    "funded by a move",
    "window opened",
    "window joined",
    "window rolled",
    "window fanned out",
    "reset edge rolled over",
    "doubled",
    "doubling fanned out",
    "count raised, grant frozen",
    "consumption alone",
    "a condition failed",
    "a transaction was cancelled",
    "refund",
    "refund above the ceiling",
    "later charge",
    "configuration fanned out",
    "topped up",
    "reset by the operator",
]
LEAST_SCRIPTS = 1000
WORKERS = 2
SCRIPTS_A_TABLE = 20
SHORTENING_SECONDS = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replay", required=True, type=Path)
    parser.add_argument("--simulation", required=True, type=Path)
    parser.add_argument("--scripts", type=int, default=LEAST_SCRIPTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="print every script that differs, as it is")
    arguments = parser.parse_args()
    started = time.monotonic()
    simulation = Simulation(arguments.simulation)
    scripts = simulation.generate(arguments.scripts, arguments.seed)
    with Engine(arguments.replay) as served, multiprocessing.get_context("spawn").Pool(
        WORKERS, connect, (served.url,)
    ) as pool:
        endpoint = served.url
        failures = []
        ran = 0
        buckets = collections.Counter()
        for script, (table, count), lines in pool.imap(play, scripts, chunksize=8):
            ran += 1
            buckets[table] += count
            if lines:
                failures.append((script, lines))
            if ran % 200 == 0:
                print(f"  {ran} scripts, {len(failures)} differ", flush=True)
        strays = sum(count_buckets(endpoint, table) - count for table, count in buckets.items())
        notices = self_check(pool, scripts)
        pool.close()
        if failures and not arguments.all:
            shorten_and_print(endpoint, simulation, *failures[0])
    if arguments.all:
        for script, lines in failures:
            print(json.dumps(bare(script)), *lines, sep="\n  ")
    seen = collections.Counter()
    for script in scripts:
        seen.update(script["events"])
    for event in EVENTS:
        print(f"  {event:32} {seen[event]:7}")
    missing = [event for event in EVENTS if seen[event] < LEAST]
    print(f"{ran} scripts, {len(failures)} differ, {time.monotonic() - started:.0f} s")
    if missing:
        print("not covered enough: " + ", ".join(missing))
    if ran < LEAST_SCRIPTS:
        print(f"only {ran} scripts ran, {LEAST_SCRIPTS} are expected")
    if strays:
        print(f"{strays} bucket items under keys that were not compared")
    if not notices:
        print("a spoilt table passes as equal")
    return 1 if failures or missing or ran < LEAST_SCRIPTS or strays or not notices else 0


class Simulation:
    """The simulation's own mode that plays scripts."""

    def __init__(self, program):
        self.program = program

    def generate(self, count, seed):
        return self.run("--scripts", str(count), "--seed", str(seed))

    def play(self, script):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(json.dumps(bare(script)) + "\n")
            file.flush()
            return self.run("--read", file.name)[0]

    def run(self, *arguments):
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            subprocess.run([self.program, "fidelity", *arguments, "--write", file.name], check=True)
            return [json.loads(line) for line in Path(file.name).read_text().splitlines()]


def bare(script):
    """A script without what came of it."""
    return {name: script[name] for name in ("number", "limits", "write_budget", "base", "steps")}


def connect(endpoint):
    """A worker's own tables and clients: another table now and then, since the engine slows down with its size."""
    global workers
    workers = fresh(endpoint)


def fresh(endpoint):
    import peer

    for number in itertools.count():
        player = peer.Peer(endpoint, f"fidelity-{multiprocessing.current_process().pid}-{number}")
        for _ in range(SCRIPTS_A_TABLE):
            yield player
        player.close()


def play(script):
    """One script on this worker's clients: also which table it was in, and how many buckets it left there."""
    worker = next(workers)
    lines, count = differences(worker, script)
    return script, (worker.table, count), lines


def differences(player, script):
    """How a script that the simulation played differs on the published client, and how many buckets that left."""
    outcomes, items = player.play(script)
    published = tables.normalised(items, player.namespace, player.entity)
    lines = tables.difference(published, tables.keyed(script["items"]))
    if outcomes != script["outcomes"]:
        lines.insert(0, f"outcomes: published {outcomes}, simulated {script['outcomes']}")
    return lines, len(published) - 1


def count_buckets(endpoint, table):
    import peer

    return peer.count_buckets(endpoint, table)


def self_check(pool, scripts):
    """Whether a simulated client that counted one token too many would be noticed, and any other flipped value."""
    script = next(script for script in scripts if len(script["items"]) > 1 and "admitted" in script["outcomes"])
    table = tables.keyed(script["items"])
    for place, item in table.items():
        for name in item:
            changed = {**table, place: {**item, name: {"N": "-1"}}}
            if len(tables.difference(table, changed)) != 1:
                return False
        less = {other: it for other, it in table.items() if other != place}
        if len(tables.difference(table, less)) != 1:
            return False
    spoilt = json.loads(json.dumps(script))
    item = next(item for item in spoilt["items"] if item["SK"]["S"] == "#STATE")
    name = next(name for name in sorted(item) if name.endswith("_tc") and name != "b_wcu_tc")
    item[name]["N"] = str(int(item[name]["N"]) + 1000)
    _, _, lines = pool.apply(play, (spoilt,))
    return len(lines) == 1 and name in lines[0]


def shorten_and_print(endpoint, simulation, script, lines):
    """Drops steps as long as the two still differ."""
    import peer

    player = peer.Peer(endpoint, "fidelity-shortened")
    deadline = time.monotonic() + SHORTENING_SECONDS
    place = len(script["steps"])
    while place > 0 and time.monotonic() < deadline:
        place -= 1
        for replacement in shorter(script["steps"][place]):
            steps = script["steps"][:place] + replacement + script["steps"][place + 1 :]
            shorter_script = simulation.play({**script, "steps": steps})
            found = attempt(player, shorter_script)
            if found:
                script, lines = shorter_script, found
                break
    print(f"script {script['number']}, shortened:")
    print("  " + json.dumps({name: value for name, value in bare(script).items() if name != "steps"}))
    for step in script["steps"]:
        print("  " + json.dumps(step))
    print(*lines, sep="\n  ")


def shorter(step):
    """What a step may be replaced by."""
    if step["op"] == "interrupt":
        return [[], [step["by"]], [step["step"]], [step["step"], step["by"]]]
    return [[]]


def attempt(player, script):
    try:
        return differences(player, script)[0]
    except Exception as error:  # A shortened script may ask for what the published client refuses outright.
        print(f"  (a shorter script ended with {error!r})")
        return []


if __name__ == "__main__":
    sys.exit(main())
