"""Measure on data larger than memory, then write the page.

python -m benchmarks.scale [--quick] [--only WORDS] [--threads 2] [--out FOLDER]
    [--page FOLDER] [--fresh] [--report]

Results are kept in the folder of --out as they come, and the same command goes on
where it was interrupted. The data, about 6 GB, are written there, too, and removed at
the end. The page is docs/benchmarks_scale.md only for a full run; else name --page.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from threadpoolctl import threadpool_limits

import heterolda
from benchmarks.pages import write
from benchmarks.report import machine
from benchmarks.runner import Settings
from benchmarks.scale.cluster import TwoWorkers
from benchmarks.scale.data import FULL, QUICK, Folder, Sizes
from benchmarks.scale.report import draw, page
from benchmarks.scale.streams import PEERS, Growth, Memory, Throughput
from heterolda.foundations.files import written_whole

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
NAME = "benchmarks_scale.md"

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


class Results:
    """What a run has found so far, in a file.

    Parameters
    ----------
    path : Path
        The file. Results of other sizes, or of another version, are forgotten.
    about : dict
        What the results depend on.
    """

    def __init__(self, path: Path, about: dict[str, Any]):
        self.path, self.about = path, about
        self.found: dict[str, Any] = {}
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            if before["about"] == about:
                self.found = before["found"]

    def keep(self, name: str, result: dict[str, Any]) -> None:
        """Add a result and write the file."""
        self.found[name] = result
        content = {"about": self.about, "found": self.found}
        with written_whole(self.path) as file:
            file.write((json.dumps(content, indent=1) + "\n").encode())


def measure(results: Results, cases: list, folder: Folder, settings: Settings) -> bool:
    """Run the cases that have no result yet; whether all of them have one now."""
    failed = False
    try:
        for case in cases:
            if case.name in results.found:
                continue
            folder.say(case.name)
            try:
                result = case.run(folder, settings)
            except Exception as error:  # the others are worth having
                folder.say(f"failed: {error!r}")
                failed = True
                continue
            about = {"name": case.name, "kind": case.kind}
            whole = {"full_size": not folder.sizes.quick}
            for line in result.get("lines", []):
                line |= whole
            results.keep(case.name, about | whole | result)
    except KeyboardInterrupt:
        folder.say("interrupted; the same command goes on")
        failed = True
    finally:
        folder.clear()
    return not failed


def record_of(results: Results, command: str) -> dict[str, Any]:
    """All that the page says."""
    return {
        **results.about,
        "command": command,
        "results": [results.found[c.name] for c in CASES if c.name in results.found],
        "missing": [c.name for c in CASES if c.name not in results.found],
    }


def _machine() -> dict[str, Any]:
    here = machine()
    more = {name: version(name) for name in ("pyarrow", "dask")}
    return here | {"libraries": here["libraries"] | more}


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, print the page and write it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    words = (options.only or "").lower().split()
    cases = [c for c in CASES if all(word in c.name.lower() for word in words)]
    if not cases:
        parser.error(f"--only {options.only!r}: no case has these words")
    sizes: Sizes = QUICK if options.quick else FULL
    options.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()

    def say(what: str) -> None:
        passed = time.perf_counter() - begin
        print(f"[{passed:.0f} s] {what}", file=sys.stderr, flush=True)

    file = options.out / ("quick.json" if options.quick else "results.json")
    if options.fresh:
        file.unlink(missing_ok=True)
    with threadpool_limits(options.threads):
        about = {
            "heterolda": heterolda.__version__,
            "quick": options.quick,
            "file_rows": sizes.file_rows,
            "decoding_threads": pa.cpu_count(),
            "machine": _machine(),
        }
        results = Results(file, about)
        complete = True
        if not options.report:
            settings = settings_for(options.quick, options.threads)
            folder = Folder(options.out / "data", sizes, say)
            complete = measure(results, cases, folder, settings)
    command = ["python -m benchmarks.scale"] + ["--quick"] * options.quick
    command += [f"--threads {options.threads}"] * (options.threads != 2)
    record = record_of(results, " ".join(command))
    text = page(record)
    print(text)
    target = options.page
    if target is None and not options.quick and not record["missing"]:
        target = DOCS
    if target is not None:
        write(target, {NAME: text, "images/benchmarks_scale.png": draw(record)})
    return 0 if complete else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks.scale", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="small data, few turns")
    add("--only", metavar="WORDS", help="cases whose name has these words")
    add("--threads", type=int, default=2, help="of BLAS in this process")
    add("--out", type=Path, default=Path("build/scale"), help="folder of results")
    add("--page", type=Path, help="folder of the page (default: docs, for a full run)")
    add("--fresh", action="store_true", help="forget the results so far")
    add("--report", action="store_true", help="measure nothing, write the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
