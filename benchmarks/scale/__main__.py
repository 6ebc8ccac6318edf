"""Measure on data larger than memory, then write the tables of the page.

python -m benchmarks.scale [--quick] [--only WORDS] [--threads 2] [--fresh] [--report]

Results are kept in benchmarks/results/scale.json as they come; the same command goes on
where it was interrupted, and --fresh begins again. The data, about 6 GB, are written to
build/scale, and removed at the end. A quick run is printed only. --report measures
nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import heterolda
from benchmarks.pages import on_machine, publish
from benchmarks.report import machine
from benchmarks.runner import Settings
from benchmarks.scale.cluster import TwoWorkers
from benchmarks.scale.data import FULL, QUICK, Folder
from benchmarks.scale.report import draw, parts
from benchmarks.scale.streams import PEERS, Growth, Memory, Throughput

RESULTS = Path(__file__).parents[1] / "results" / "scale.json"
DATA = Path("build/scale")
Record = dict[str, Any]

CASES = [
    *map(Throughput, PEERS),
    Growth(),
    TwoWorkers(),
    Memory("Parquet"),
    Memory("CSV"),
]


def settings_for(quick: bool, threads: int) -> Settings:
    """How often to measure; a turn of the larger cases takes about half a minute."""
    if quick:
        return Settings(True, threads, repetitions=2, budget=0.0, minimum=2)
    return Settings(False, threads, repetitions=9, budget=90.0, minimum=3)


def measure(record: Record, cases: list, folder: Folder, settings: Settings) -> bool:
    """Run the cases that have no result yet; whether all of them have one now."""
    done = {result["name"] for result in record["results"]}
    complete = True
    try:
        for case in cases:
            if case.name in done:
                continue
            folder.say(case.name)
            try:
                result = case.run(folder, settings)
            except Exception as error:  # the others are worth having
                folder.say(f"failed: {error!r}")
                complete = False
                continue
            about = {"name": case.name, "kind": case.kind}
            record["results"].append(about | result)
            if not settings.quick:
                save(record)
    except KeyboardInterrupt:
        folder.say("interrupted; the same command goes on")
        complete = False
    finally:
        folder.clear()
    return complete


def save(record: Record) -> None:
    """Write the results, in the order of the cases."""
    order = [case.name for case in CASES]
    record["results"].sort(key=lambda result: order.index(result["name"]))
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def report() -> None:
    """Write the tables of the page and its picture."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    publish("speed", parts(record), {"scale.png": draw(record)})


def machine_in_words() -> str:
    """Return the machine and the versions, with the limits on threads in force."""
    here = machine()
    here["libraries"] |= {name: version(name) for name in ("pyarrow", "dask")}
    words = on_machine(here, heterolda.__version__).removeprefix("**Machine**: ")
    return f"{words} {time.strftime('%Y-%m-%d', time.gmtime())}."


def main() -> int:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser("benchmarks.scale")
    add = parser.add_argument
    add("--quick", action="store_true", help="small data, few turns")
    add("--only", metavar="WORDS", help="cases whose name has these words")
    add("--threads", type=int, default=2, help="of BLAS in this process")
    add("--fresh", action="store_true", help="forget the results so far")
    add("--report", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args()
    words = (options.only or "").lower().split()
    cases = [c for c in CASES if all(word in c.name.lower() for word in words)]
    if not cases:
        parser.error(f"--only {options.only!r}: no case has these words")
    if options.report:
        report()
        return 0
    begin = time.perf_counter()

    def say(what: str) -> None:
        passed = time.perf_counter() - begin
        print(f"[{passed:.0f} s] {what}", file=sys.stderr, flush=True)

    with threadpool_limits(options.threads):
        record: Record = {"machine": machine_in_words(), "results": []}
        if RESULTS.exists() and not (options.fresh or options.quick):
            record = json.loads(RESULTS.read_text(encoding="utf-8"))
        settings = settings_for(options.quick, options.threads)
        DATA.mkdir(parents=True, exist_ok=True)
        folder = Folder(DATA / "data", QUICK if options.quick else FULL, say)
        complete = measure(record, cases, folder, settings)
    if options.quick:
        print(*parts(record).values(), sep="\n\n")
    else:
        report()
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
