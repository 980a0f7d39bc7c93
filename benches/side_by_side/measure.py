"""Both aggregators on the same batches, in turns, on one engine."""

from dataclasses import dataclass, field
from statistics import median

from counting_proxy import CountingProxy
from engine import Engine
from lambda_runtime import Function
from workload import Workload

# An engine slows down with what it holds; later rounds would measure that.
ROUNDS_OF_ONE_ENGINE = 3


@dataclass
class Side:
    """One of the two aggregators."""

    name: str
    command: list
    artifact: str

    def start(self, url, table):
        return Function(self.command, {"TABLE_NAME": table, "AWS_ENDPOINT_URL_DYNAMODB": url, "LANG": "C.UTF-8"})


@dataclass
class Figures:
    """What was seen of one side with batches of one form."""

    wall_s: list = field(default_factory=list)
    cpu_s: list = field(default_factory=list)
    peak_mb: float = 0.0


class Bench:
    """Every measurement has engines of its own."""

    def __init__(self, program, sides):
        self.program, self.sides, self.workload = program, sides, Workload()

    def counted(self, forms):
        """Calls by operation, write units and read units of one batch of each form, by side and form."""
        found = {}
        for side in self.sides:
            with Engine(self.program) as engine:
                proxy, table = CountingProxy(engine.url), engine.table(side.name)
                function = side.start(proxy.url, table)
                # The first batch also pays for what happens once in a process.
                for form in [(1, 1), *forms]:
                    event, items = self.workload.batch(*form)
                    engine.put(table, items)
                    function.invoke(event)
                    found[side.name, form] = proxy.take()
                function.stop()
                proxy.stop()
        return found

    def timed(self, form, rounds, only=None):
        """Warm batches of this form, both sides in turns, each with entities and a table of its own."""
        sides = [side for side in self.sides if only in (None, side.name)]
        figures = {side.name: Figures() for side in sides}
        for first in range(0, rounds, ROUNDS_OF_ONE_ENGINE):
            with Engine(self.program) as engine:
                self.take_turns(engine, form, min(ROUNDS_OF_ONE_ENGINE, rounds - first), sides, figures)
        return figures

    def take_turns(self, engine, form, rounds, sides, figures):
        functions = {side.name: (table := engine.table(side.name), side.start(engine.url, table)) for side in sides}
        for nth in range(rounds + 1):
            for name, (table, function) in functions.items():
                # The first batch also pays for what happens once in a process.
                event, items = self.workload.batch(*(form if nth else (1, 1)))
                engine.put(table, items)
                wall, cpu, _ = function.invoke(event)
                if nth:
                    figures[name].wall_s.append(wall)
                    figures[name].cpu_s.append(cpu)
        for name, (_, function) in functions.items():
            figures[name].peak_mb = max(figures[name].peak_mb, function.peak_mb())
            function.stop()

    def delivered_twice(self, records):
        """What each side has counted of a limit that every record takes one token of, after two deliveries."""
        counted = {}
        for side in self.sides:
            with Engine(self.program) as engine:
                table = engine.table(side.name)
                function = side.start(engine.url, table)
                event, items = self.workload.batch(records, 1)
                engine.put(table, items)
                function.invoke(event)
                function.invoke(event)
                function.stop()
                snapshots = [item for item in engine.items(table) if item["SK"]["S"].startswith("#USAGE#")]
                (counted[side.name],) = {int(item["rpm"]["N"]) for item in snapshots}
        return counted

    def starts(self, rounds):
        """Seconds from the start of a process to its first answer, to a batch of one record, by side."""
        seen = {side.name: [] for side in self.sides}
        with Engine(self.program) as engine:
            tables = {side.name: engine.table(side.name) for side in self.sides}
            for _ in range(rounds):
                for side in self.sides:
                    event, items = self.workload.batch(1, 1)
                    engine.put(tables[side.name], items)
                    function = side.start(engine.url, tables[side.name])
                    seen[side.name].append(function.invoke(event)[2])
                    function.stop()
        return seen


class Goals:
    """What is hoped for. Whatever falls below its floor, which leaves room for a busy machine, fails the run."""

    def __init__(self):
        self.broken = []

    def judge(self, text, is_reached, keeps_floor=None):
        """The goal as the page tells of it. Without a floor of its own it has to be reached."""
        if not (is_reached if keeps_floor is None else keeps_floor):
            self.broken.append(text)
        return f"{text}: {'met' if is_reached else '**missed**'}"


def spread(values, scale, digits):
    """Median, and from the least to the most."""
    low, mid, high = (f"{value * scale:,.{digits}f}" for value in (min(values), median(values), max(values)))
    return f"{mid} ({low} to {high})"


def ratio(theirs, ours):
    """How many times the other side's median is ours."""
    return median(theirs) / median(ours)
