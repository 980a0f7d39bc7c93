"""Measures both aggregators and prints one table of each kind; `--write` puts them into docs/benchmarks.md."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import cost
from measure import Bench, Side, ratio, spread

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "peer"))
import page  # noqa: E402

OURS, THEIRS = "limiter-aggregator", "zae-limiter"
SPREADS = [(100, 1), (100, 10), (100, 100)]
LARGE = [(1_000, 10), (10_000, 100)]


def said(goal, met):
    return f"{goal}: {'met' if met else '**missed**'}"


def operations(calls):
    return ", ".join(f"{count} {operation}" for operation, count in sorted(calls.items()))


def side_by_side(bench, rounds, full):
    """The tables, and what was hoped for, each with whether its floor was kept."""
    tables, met = {}, []

    def goal(text, reached, floor=True):
        """A goal for the page. Whoever falls below the floor, which leaves room for a busy machine, fails the run."""
        met.append((text, floor))
        return said(text, reached)

    counted = bench.counted([*SPREADS, *(month.form for month in cost.MONTHS if month.form not in SPREADS)])
    lines = []
    for form in SPREADS:
        ours, theirs = counted[OURS, form], counted[THEIRS, form]
        wanted = goal("at most 3 calls", *[sum(ours[0].values()) <= 3] * 2) if form == (100, 1) else ""
        lines.append([f"{form[0]} on {form[1]}", operations(ours[0]), operations(theirs[0]), f"{ours[1]:,.0f}", f"{theirs[1]:,.0f}", wanted])
    tables["calls"] = page.rows(["records on entities", OURS, THEIRS, "write units", "write units", "goal"], lines)

    lines, memory, cpu = [], {}, {}
    for form in SPREADS:
        figures = bench.timed(form, rounds)
        times = ratio(figures[THEIRS].wall_s, figures[OURS].wall_s)
        least = {1: 20, 100: 5}.get(form[1])
        wanted = goal(f"{least} times faster on {form[1]}", times >= least, times >= least / 2) if least else ""
        lines.append([
            f"{form[0]} on {form[1]}", spread(figures[OURS].wall_s, 1e3, 1), spread(figures[THEIRS].wall_s, 1e3, 0), f"{times:.1f}",
            f"{median(figures[OURS].cpu_s) / form[0] * 1e6:,.0f}", f"{median(figures[THEIRS].cpu_s) / form[0] * 1e6:,.0f}", wanted,
        ])
        for name, seen in figures.items():
            memory[name] = max(memory.get(name, 0), seen.peak_mb)
            cpu[name, form] = median(seen.cpu_s)
    tables["time"] = page.rows(
        ["records on entities", f"{OURS}, ms", f"{THEIRS}, ms", "times faster", "CPU/record, µs", "CPU/record, µs", "goal"], lines
    )

    lines, per_record = [], {}
    for form in LARGE:
        figures = bench.timed(form, 7 if full else 3, only=OURS)[OURS]
        per_record[form] = {"wall": min(figures.wall_s) / form[0], "cpu": min(figures.cpu_s) / form[0]}
        lines.append([f"{form[0]:,} on {form[1]}", spread(figures.wall_s, 1e3, 0), f"{median(figures.wall_s) / form[0] * 1e6:.1f}",
                      f"{median(figures.cpu_s) / form[0] * 1e6:.1f}", f"{figures.peak_mb:.0f}"])
    growth = {kind: per_record[LARGE[1]][kind] / per_record[LARGE[0]][kind] for kind in ("wall", "cpu")}
    tables["large"] = page.rows([f"records on entities, {OURS}", "ms", "µs/record", "CPU µs/record", "peak MB"], lines)
    tables["large"] += f"\n\nGrowth per record from 1,000 to 10,000, of the least: time {growth['wall']:.2f}, CPU {growth['cpu']:.2f}; " + (
        goal("at most 1.15", max(growth.values()) <= 1.15, max(growth.values()) <= 1.5) if full else "judged in the full form"
    ) + "."

    starts = bench.starts(rounds)
    times = ratio(starts[THEIRS], starts[OURS])
    twice = bench.delivered_twice(10)
    artifacts = {side.name: os.path.getsize(side.artifact) for side in bench.sides}
    lines = [
        ["process start to first answer, ms", spread(starts[OURS], 1e3, 1), spread(starts[THEIRS], 1e3, 0), f"{times:.1f}", goal("8 times", times >= 8, times >= 4)],
        ["peak memory at 100 records, MB", f"{memory[OURS]:.1f}", f"{memory[THEIRS]:.1f}", f"{memory[THEIRS] / memory[OURS]:.1f}",
         goal("a third", *[memory[OURS] * 3 <= memory[THEIRS]] * 2)],
        ["artifact, MB", f"{artifacts[OURS] / 1e6:.2f}", f"{artifacts[THEIRS] / 1e6:.2f} and the Python runtime with boto3", "", ""],
        ["usage counted of 10 tokens, delivered twice", twice[OURS], twice[THEIRS], "", goal("10", *[twice[OURS] == 10] * 2)],
    ]
    tables["process"] = page.rows(["", OURS, THEIRS, "ratio", "goal"], lines)

    lines = []
    for case in cost.MONTHS:
        for name in (OURS, THEIRS):
            spent = cpu.get((name, case.form))
            if spent is None:
                nearest = (100, 1) if case.form[0] < 100 else (100, 10)
                spent = cpu[name, nearest] / nearest[0] * case.form[0]
            found = cost.month(name, case, counted, spent)
            lines.append([f"{case.records:,}", f"{case.form[0]:,} on {case.form[1]}", name, f"{found['writes']:,.0f}", f"{found['gb_s']:,.0f}",
                          f"{found['requests']:,.0f}", f"{found['table']:,.2f}", f"{found['function']:,.2f}", f"{found['table'] + found['function']:,.2f}"])
    tables["cost"] = page.rows(["records a month", "batch", "aggregator", "write units", "GB-s", "requests", "table, USD", "Lambda, USD", "sum, USD"], lines)
    return tables, met


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--engine", required=True, help="the program `replay`")
    arguments.add_argument("--bootstrap", required=True, help="the function's program, as it is shipped")
    arguments.add_argument("--full", action="store_true", help="more rounds, and the goal of growth is judged")
    arguments.add_argument("--write", action="store_true")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = f"{folder}/package.zip"
        exporter = Path(sys.executable).parent / THEIRS
        subprocess.run([exporter, "lambda-export", "--force", "--output", package], check=True, capture_output=True)
        sides = [
            Side(OURS, [asked.bootstrap], f"{asked.bootstrap}.zip"),
            Side(THEIRS, [sys.executable, "-m", "awslambdaric", "zae_limiter_aggregator.handler.handler"], package),
        ]
        tables, met = side_by_side(Bench(asked.engine, sides), 15 if asked.full else 5, asked.full)
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
    if asked.write:
        page.write(tables)
    missed = [text for text, floor in met if not floor]
    if missed:
        sys.exit(f"far from its goal: {'; '.join(missed)}")


main()
