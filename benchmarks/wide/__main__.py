"""Compare accuracies on wide data, then write the page and the picture.

python -m benchmarks.wide [--data FOLDER] [--sets NAMES] [--methods NAMES]
    [--out FOLDER] [--page FOLDER]

The folder (by default that of HETEROLDA_DATA) has subfolders `wide` and `more` of gzip
CSV files whose last column is `target`. Results are kept as they come, so that an
interrupted run goes on where it was. A selection has no page unless --page is given.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.pages import write
from benchmarks.wide.methods import METHODS
from benchmarks.wide.picture import draw
from benchmarks.wide.report import page
from benchmarks.wide.study import SETS, run

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page and its picture."""
    parser = argparse.ArgumentParser(
        "benchmarks.wide", description=__doc__.partition("\n")[0]
    )
    home = os.environ.get("HETEROLDA_DATA")
    add = parser.add_argument
    add("--data", type=Path, default=home, required=not home, help="folder of sets")
    add("--sets", default=";".join(SETS), help="names separated by semicolons")
    add("--methods", default=";".join(METHODS), help="names separated by semicolons")
    add("--out", type=Path, default=Path("build/wide"), help="folder of results")
    add("--page", type=Path, help="folder of the page (default: docs)")
    options = parser.parse_args(arguments)
    names, methods = options.sets.split(";"), options.methods.split(";")
    with threadpool_limits(1):
        say = partial(print, file=sys.stderr, flush=True)
        results = run(Path(options.data), names, methods, options.out, say)
    whole = set(names) == set(SETS) and set(methods) == set(METHODS)
    target = options.page or (DOCS if whole else None)
    if target is not None:
        picture = {"images/wide_accuracy.png": draw(results)}
        write(target, {"wide_accuracy.md": page(results)} | picture)
        print(target / "wide_accuracy.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
