"""Compare accuracies on rows with gaps, then write the page and the picture.

python -m benchmarks.gaps [--sets NAMES] [--methods NAMES] [--out FOLDER] [--report]
    [--page FOLDER]

The environment variable HETEROLDA_DATA names the folder of the sets. Results are kept
as they come, so that an interrupted run goes on where it was. --report computes
nothing and writes the page from what the folder has. A selection has no page unless
--page is given.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.gaps import large
from benchmarks.gaps.comparisons import Comparisons
from benchmarks.gaps.methods import METHODS
from benchmarks.gaps.picture import draw
from benchmarks.gaps.report import page
from benchmarks.gaps.study import SETS, read, resolve, run
from benchmarks.pages import write

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page and its picture."""
    parser = argparse.ArgumentParser(
        "benchmarks.gaps", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--sets", default="all", help="names, or all, development, aside; by commas")
    add("--methods", default=",".join(METHODS), help="names separated by commas")
    add("--out", type=Path, default=Path("build/gaps"), help="folder of results")
    add("--report", action="store_true", help="compute nothing, write the page")
    add("--page", type=Path, help="folder of the page (default: docs)")
    options = parser.parse_args(arguments)
    sets, methods = resolve(options.sets.split(",")), options.methods.split(",")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"no methods: {unknown}; choose from {', '.join(METHODS)}")
    whole = set(sets) == set(SETS) and set(methods) == set(METHODS)
    if not options.report:
        with threadpool_limits(1):
            run(sets, methods, options.out, partial(print, file=sys.stderr, flush=True))
            if whole:
                large.measure(options.out)
    target = options.page or (DOCS if whole else None)
    if target is not None:
        kept = read(options.out, sets, methods)
        comparisons = Comparisons(kept)
        text = page(comparisons, large.sentence(options.out))
        picture = {"images/gaps_accuracy.png": draw(comparisons)}
        write(target, {"gaps_accuracy.md": text} | picture)
        print(target / "gaps_accuracy.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
