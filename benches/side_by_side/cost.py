"""What a month costs: arithmetic from counted calls, measured CPU, and list prices."""

from dataclasses import dataclass
from math import ceil

# USD, us-east-1, on demand, without free tier.
PER_MILLION_WRITES = 0.625
PER_MILLION_READS = 0.125
PER_GB_SECOND = 0.0000166667
PER_MILLION_REQUESTS = 0.20

MEMORY_GB = 0.25
# What a small write takes within a region, as a round figure.
CALL_S = 0.004
# Ours has as many calls under way at once; the other one makes them one after the other.
IN_FLIGHT = {"limiter-aggregator": 16, "zae-limiter": 1}


@dataclass(frozen=True)
class Month:
    """How many records, and how they come: records in a batch and the entities they belong to."""

    records: int
    form: tuple


MONTHS = [Month(10**6, (2, 1)), Month(10**9, (100, 10)), Month(10**11, (1_000, 100))]


def month(side, case, counted, cpu_s_per_batch):
    """Write units, GB-seconds, requests and USD of a month."""
    calls, writes, reads = counted[side, case.form]
    batches = case.records / case.form[0]
    duration_s = cpu_s_per_batch + ceil(sum(calls.values()) / IN_FLIGHT[side]) * CALL_S
    gb_s = batches * duration_s * MEMORY_GB
    table = batches * (writes * PER_MILLION_WRITES + reads * PER_MILLION_READS) / 1e6
    function = gb_s * PER_GB_SECOND + batches * PER_MILLION_REQUESTS / 1e6
    return {"writes": batches * writes, "gb_s": gb_s, "requests": batches, "table": table, "function": function}
