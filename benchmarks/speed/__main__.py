"""Measure times and memory, then write the tables of docs/speed.md.

python -m benchmarks.speed [--report]

Our call and the peer's take turns in one process, with two threads. The figure is the
ratio of our time to the peer's: its median over the turns, and its quartiles. Results
are kept in benchmarks/results/speed.json. --report measures nothing.
"""

from __future__ import annotations

import sys
import warnings

from threadpoolctl import threadpool_limits

from benchmarks import memory
from benchmarks.pages import Record, command, publish
from benchmarks.shapes import load
from benchmarks.speed.cases import all_cases, prepared
from benchmarks.speed.page import parts, picture
from benchmarks.timing import THREADS, in_turns


def measure() -> Record:
    """Return times and memory of all cases."""
    times, cases = [], all_cases()
    with threadpool_limits(THREADS), warnings.catch_warnings(action="ignore"):
        for number, case in enumerate(cases, 1):
            text = f"[{number}/{len(cases)}] {case.group}: {case.ours}, {case.peer}"
            print(text, file=sys.stderr, flush=True)
            data = load(case.shape) if case.shape else (None, None)
            label = case.shape.label if case.shape else ""
            names = {"group": case.group, "data": label}
            names |= {"ours": case.ours, "peer": case.peer}
            times.append(names | in_turns(*prepared(case, *data)))
    return {"times": times, "memory": memory.measured()}


def write(record: Record) -> None:
    """Write the tables of the page, and its picture."""
    publish("speed", parts(record), {"speed.png": picture(record["times"])})


if __name__ == "__main__":
    command("speed", measure, write)
