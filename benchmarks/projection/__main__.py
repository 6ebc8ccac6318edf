"""Compare reductions of dimension by the accuracy that they leave.

python -m benchmarks.projection [--data FOLDER ...] [--sets NAMES] [--reductions NAMES]
    [--out FOLDER] [--page FOLDER]

The folders hold gzip CSV files whose last column is `target`; by default that of
HETEROLDA_DATA and its subfolder `more`. Results are kept as they come, so that an
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
from benchmarks.projection.picture import draw
from benchmarks.projection.reductions import REDUCTIONS
from benchmarks.projection.report import page
from benchmarks.projection.study import run, sets

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page and its picture."""
    parser = argparse.ArgumentParser(
        "benchmarks.projection", description=__doc__.partition("\n")[0]
    )
    home = os.environ.get("HETEROLDA_DATA")
    known = [Path(home), Path(home) / "more"] if home else []
    add = parser.add_argument
    add("--data", type=Path, nargs="*", default=known, help="folders of sets")
    add("--sets", help="names separated by commas (default: all)")
    add("--reductions", help=f"of {', '.join(REDUCTIONS)} (default: all)")
    add("--out", type=Path, default=Path("build/projection"), help="folder of results")
    add("--page", type=Path, help="folder of the page (default: docs)")
    options = parser.parse_args(arguments)
    data = sets(options.data)
    names = options.sets.split(",") if options.sets else list(data)
    reductions = options.reductions.split(",") if options.reductions else [*REDUCTIONS]
    whole = set(names) == set(data) and set(reductions) == set(REDUCTIONS)
    with threadpool_limits(1):
        say = partial(print, file=sys.stderr, flush=True)
        chosen = {name: data[name] for name in names}
        results = run(chosen, reductions, options.out, say)
    target = options.page or (DOCS if whole and known else None)
    if target is not None:
        picture = {"images/projection_accuracy.png": draw(results)}
        write(target, {"projection_accuracy.md": page(results)} | picture)
        print(target / "projection_accuracy.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
