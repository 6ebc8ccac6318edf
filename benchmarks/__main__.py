"""The one entry: measure, then write the figures, the page and the picture.

python -m benchmarks [--quick] [--only WORDS] [--threads 2] [--output FOLDER]
python -m benchmarks --report    (writes the page from the figures that there are)
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
from benchmarks.pages import write
from benchmarks.picture import pictures
from benchmarks.report import machine, page, with_summary
from benchmarks.runner import FULL, QUICK, Settings

DOCS = Path(__file__).resolve().parent.parent / "docs"


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


def write_all(record: dict[str, Any], folder: Path) -> None:
    """Write the record, the page and its pictures."""
    results = json.dumps(record, indent=1) + "\n"
    pages = {"benchmarks.json": results, "benchmarks.md": page(record)}
    write(folder, pages | pictures(record))


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the page and write it."""
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
    parser.add_argument(
        "--output", type=Path, help="folder (default: docs; with --only: none)"
    )
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if options.report:
        folder = options.output or DOCS
        write_all(json.loads((folder / "benchmarks.json").read_text()), folder)
        return 0
    words = (options.only or "").lower().split()
    cases = [c for c in all_cases() if all(word in c.name.lower() for word in words)]
    if not cases:
        parser.error(f"--only {options.only!r}: no case has these words")

    settings = replace(QUICK if options.quick else FULL, threads=options.threads)
    command = ["python -m benchmarks"]
    command += ["--quick"] * options.quick
    command += [f'--only "{options.only}"'] * bool(words)
    command += [f"--threads {options.threads}"] * (options.threads != FULL.threads)
    with threadpool_limits(options.threads):
        found = measure_all(cases, settings)
        record = {
            "heterolda": heterolda.__version__,
            "command": " ".join(command),
            "quick": options.quick,
            "machine": machine(),
            **found,
        }
    record["complete"] &= not words
    print(page(record))
    if options.output or not words:
        write_all(record, options.output or DOCS)
    return 0 if found["complete"] else 1


if __name__ == "__main__":
    sys.exit(main())
