"""Measure times and memory, then write the tables of docs/speed.md.

python -m benchmarks [--quick] [--only WORDS] [--threads 2] [--report]

The figures are kept in benchmarks/results/speed.json; a quick run and a selection are
printed only. --report measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import heterolda
from benchmarks.cases import all_cases
from benchmarks.pages import publish
from benchmarks.picture import pictures
from benchmarks.report import machine, parts, with_summary
from benchmarks.runner import FULL, QUICK, Settings

RESULTS = Path(__file__).parent / "results" / "speed.json"


def measure_all(cases: list, settings: Settings) -> dict[str, Any]:
    """Run the cases one by one; an interrupt ends the run but keeps what it has."""
    kinds = ("times", "stages", "growth", "memory", "installed", "failed")
    found: dict[str, Any] = {kind: [] for kind in kinds}
    found["complete"] = False
    begin = time.perf_counter()
    try:
        for number, case in enumerate(cases, 1):
            passed = time.perf_counter() - begin
            progress = f"[{number}/{len(cases)}, {passed:.0f} s] {case.name}"
            print(progress, file=sys.stderr, flush=True)
            try:
                found[case.kind].append(case.run(settings))
            except Exception as error:  # the others are worth having
                print(f"failed: {error!r}", file=sys.stderr)
                found["failed"].append(case.name)
        found["complete"] = not found["failed"]
    except KeyboardInterrupt:
        print("interrupted; writing what there is", file=sys.stderr)
    found["times"] = with_summary(found["times"])
    return found


def report() -> None:
    """Write the tables of the page and its pictures from the figures that there are."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    publish("speed", parts(record), pictures(record))


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the figures and the page."""
    parser = argparse.ArgumentParser(
        "benchmarks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller data, fewer turns"
    )
    parser.add_argument(
        "--only", metavar="WORDS", help="cases whose name has these words"
    )
    parser.add_argument("--threads", type=int, default=2, help="of BLAS and our loops")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if options.report:
        report()
        return 0
    words = (options.only or "").lower().split()
    cases = [c for c in all_cases() if all(word in c.name.lower() for word in words)]
    if not cases:
        parser.error(f"--only {options.only!r}: no case has these words")

    settings = replace(QUICK if options.quick else FULL, threads=options.threads)
    with threadpool_limits(options.threads):
        found = measure_all(cases, settings)
        record = {
            "heterolda": heterolda.__version__,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": machine(),
            **found,
        }
    if words or options.quick:
        print(*parts(record).values(), sep="\n\n")
    else:
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        report()
    return 0 if found["complete"] else 1


if __name__ == "__main__":
    sys.exit(main())
