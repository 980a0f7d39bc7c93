"""Measures both aggregators and prints one table of each kind; `--write` puts them into docs/benchmarks.md."""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "peer"))
import cost  # noqa: E402
import page  # noqa: E402
from measure import Bench, Goals, Side, ratio, spread  # noqa: E402

OURS, THEIRS = "limiter-aggregator", "zae-limiter"
SPREADS = [(100, 1), (100, 10), (100, 100)]
TIMES_FASTER = {(100, 1): 20, (100, 100): 5}
LARGE = [(1_000, 10), (10_000, 100)]


def operations(calls):
    return ", ".join(f"{count} {operation}" for operation, count in sorted(calls.items()))


def named(form):
    return f"{form[0]:,} on {form[1]}"


def calls_table(counted, goals):
    lines = []
    for form in SPREADS:
        ours, theirs = counted[OURS, form], counted[THEIRS, form]
        wanted = goals.judge("at most 3 calls", sum(ours[0].values()) <= 3) if form == (100, 1) else ""
        lines.append([named(form), operations(ours[0]), operations(theirs[0]), f"{ours[1]:,.0f}", f"{theirs[1]:,.0f}", wanted])
    return page.rows(["records on entities", OURS, THEIRS, "write units", "write units", "goal"], lines)


def time_table(timed, goals):
    lines = []
    for form, figures in timed.items():
        ours, theirs = figures[OURS], figures[THEIRS]
        times, least = ratio(theirs.wall_s, ours.wall_s), TIMES_FASTER.get(form)
        wanted = goals.judge(f"{least} times faster on {form[1]}", times >= least, times >= least / 2) if least else ""
        per_record = [f"{median(side.cpu_s) / form[0] * 1e6:,.0f}" for side in (ours, theirs)]
        lines.append([named(form), spread(ours.wall_s, 1e3, 1), spread(theirs.wall_s, 1e3, 0), f"{times:.1f}", *per_record, wanted])
    titles = ["records on entities", f"{OURS}, ms", f"{THEIRS}, ms", "times faster", "CPU/record, µs", "CPU/record, µs", "goal"]
    return page.rows(titles, lines)


def large_table(bench, full, goals):
    lines, least = [], {}
    for form in LARGE:
        figures = bench.timed(form, 7 if full else 3, only=OURS)[OURS]
        least[form] = min(figures.wall_s) / form[0], min(figures.cpu_s) / form[0]
        per_record = [f"{median(seen) / form[0] * 1e6:.1f}" for seen in (figures.wall_s, figures.cpu_s)]
        lines.append([named(form), spread(figures.wall_s, 1e3, 0), *per_record, f"{figures.peak_mb:.0f}"])
    wall, cpu = (large / small for small, large in zip(*(least[form] for form in LARGE), strict=True))
    growth = max(wall, cpu)
    judged = goals.judge("at most 1.15", growth <= 1.15, growth <= 1.5) if full else "judged in the full form"
    table = page.rows([f"records on entities, {OURS}", "ms", "µs/record", "CPU µs/record", "peak MB"], lines)
    return f"{table}\n\nGrowth per record from 1,000 to 10,000, of the least: time {wall:.2f}, CPU {cpu:.2f}; {judged}."


def process_table(bench, rounds, timed, goals):
    starts, twice = bench.starts(rounds), bench.delivered_twice(10)
    times = ratio(starts[THEIRS], starts[OURS])
    ours, theirs = (max(figures[name].peak_mb for figures in timed.values()) for name in (OURS, THEIRS))
    sizes = {side.name: f"{os.path.getsize(side.artifact) / 1e6:.2f}" for side in bench.sides}
    lines = [
        ["process start to first answer, ms", spread(starts[OURS], 1e3, 1), spread(starts[THEIRS], 1e3, 0), f"{times:.1f}",
         goals.judge("8 times", times >= 8, times >= 4)],
        ["peak memory at 100 records, MB", f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}", goals.judge("a third", ours * 3 <= theirs)],
        ["artifact, MB", sizes[OURS], f"{sizes[THEIRS]} and the Python runtime with boto3", "", ""],
        ["usage counted of 10 tokens, delivered twice", twice[OURS], twice[THEIRS], "", goals.judge("10", twice[OURS] == 10)],
    ]
    return page.rows(["", OURS, THEIRS, "ratio", "goal"], lines)


def cost_table(counted, timed):
    lines = []
    for case in cost.MONTHS:
        # Where a form was not timed, its CPU is that of the likest one, record by record.
        likest = case.form if case.form in timed else ((100, 1) if case.form[0] < 100 else (100, 10))
        for name in (OURS, THEIRS):
            cpu_s = median(timed[likest][name].cpu_s) / likest[0] * case.form[0]
            month = cost.month(name, case, counted, cpu_s)
            amounts = [f"{month[key]:,.0f}" for key in ("writes", "gb_s", "requests")]
            dollars = [f"{value:,.2f}" for value in (month["table"], month["function"], month["table"] + month["function"])]
            lines.append([f"{case.records:,}", named(case.form), name, *amounts, *dollars])
    titles = ["records a month", "batch", "aggregator", "write units", "GB-s", "requests", "table, USD", "Lambda, USD", "sum, USD"]
    return page.rows(titles, lines)


def side_by_side(bench, full):
    """The tables by name, and the goals that were broken."""
    goals, rounds = Goals(), 15 if full else 5
    counted = bench.counted(dict.fromkeys([*SPREADS, *(month.form for month in cost.MONTHS)]))
    timed = {form: bench.timed(form, rounds) for form in SPREADS}
    tables = {
        "calls": calls_table(counted, goals),
        "time": time_table(timed, goals),
        "large": large_table(bench, full, goals),
        "process": process_table(bench, rounds, timed, goals),
        "cost": cost_table(counted, timed),
    }
    return tables, goals.broken


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--engine", required=True, help="the program `replay`")
    arguments.add_argument("--function", required=True, help="the function's zip, as it is shipped")
    arguments.add_argument("--full", action="store_true", help="more rounds, and the goal of growth is judged")
    arguments.add_argument("--write", action="store_true")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = f"{folder}/package.zip"
        exporter = Path(sys.executable).parent / THEIRS
        subprocess.run([exporter, "lambda-export", "--force", "--output", package], check=True, capture_output=True)
        with zipfile.ZipFile(asked.function) as shipped:
            bootstrap = shipped.extract("bootstrap", folder)
        os.chmod(bootstrap, 0o755)
        sides = [
            Side(OURS, [bootstrap], asked.function),
            Side(THEIRS, [sys.executable, "-m", "awslambdaric", "zae_limiter_aggregator.handler.handler"], package),
        ]
        tables, broken = side_by_side(Bench(asked.engine, sides), asked.full)
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
    if asked.write:
        page.write(tables)
    if broken:
        sys.exit(f"far from its goal: {'; '.join(broken)}")


main()
