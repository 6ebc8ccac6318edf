"""Measure times and memory, then write the tables of docs/speed.md.

python -m benchmarks.speed [--only WORDS] [--report]

Our call and the peer's take turns in one process, with two threads. The figure is the
ratio of our time to the peer's: its median over the turns, and its quartiles. Results
are kept in benchmarks/results/speed.json; a selection is printed only. --report
measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import memory
from benchmarks.pages import publish, read_record, write_record
from benchmarks.shapes import load
from benchmarks.speed.cases import Case, all_cases, prepared
from benchmarks.speed.page import parts, picture
from benchmarks.timing import THREADS, circumstances, in_turns

RESULTS = Path(__file__).parents[1] / "results" / "speed.json"


def measured(case: Case) -> dict[str, Any]:
    """Return the times of both calls and their ratio."""
    X, y = load(case.shape) if case.shape else (None, None)
    with warnings.catch_warnings(action="ignore"):
        calls = prepared(case, X, y)
    data = case.shape.label if case.shape else ""
    names = {"group": case.group, "data": data, "ours": case.ours, "peer": case.peer}
    return names | in_turns(*calls)


def main() -> int:
    """Measure, and write the figures and the page."""
    parser = argparse.ArgumentParser("benchmarks.speed")
    parser.add_argument("--only", default="", help="cases whose names have these words")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.report:
        words = options.only.lower().split()
        cases = [c for c in all_cases() if all(w in str(c).lower() for w in words)]
        times = []
        with threadpool_limits(THREADS):
            for number, case in enumerate(cases, 1):
                text = f"[{number}/{len(cases)}] {case.group}: {case.ours}, {case.peer}"
                print(text, file=sys.stderr, flush=True)
                times.append(measured(case))
            machine = circumstances()
        if words:
            print(json.dumps(times, indent=1))
            return 0
        record = {"machine": machine, "times": times, "memory": memory.measured()}
        write_record(RESULTS, record)
    record = read_record(RESULTS)
    publish("speed", parts(record), {"speed.png": picture(record["times"])})
    return 0


if __name__ == "__main__":
    sys.exit(main())
