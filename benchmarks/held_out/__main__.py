"""Measure accuracies on rows held out, and write the tables of the pages again.

python -m benchmarks.held_out [STUDY ...] [--jobs N] [--report]

The studies are guard, outliers, wide, missing, projection and "few rows". Results are
appended to benchmarks/results/held_out.csv, set by set, so that a run that was stopped
goes on; to measure a study again, delete its lines. --report computes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

from joblib import Parallel, delayed

from benchmarks.accuracy.sets import SET_ASIDE
from benchmarks.held_out.few_rows import FEW_ROWS
from benchmarks.held_out.guard import CONDITION, GUARD
from benchmarks.held_out.missing import MISSING
from benchmarks.held_out.outliers import OUTLIERS
from benchmarks.held_out.projection import LOOKED_AT, PROJECTION
from benchmarks.held_out.runner import Study, append, measure, read
from benchmarks.held_out.tables import Figures
from benchmarks.held_out.wide import WIDE
from benchmarks.pages import publish


class Page(NamedTuple):
    """Where a study is shown: a page, its tables and its picture there."""

    study: Study
    name: str
    tables: Callable[[Figures], dict[str, str]]
    picture: Callable[[Figures], bytes] | None = Figures.picture_of_means

    def parts(self) -> dict[str, str]:
        """Return the tables from the file of results."""
        return self.tables(Figures(self.study, read()))


UNSEEN = [name for name in SET_ASIDE if name not in LOOKED_AT]
PAGES = [
    Page(FEW_ROWS, "guide/few_rows", lambda f: {"few rows": f.means()}, None),
    Page(
        GUARD,
        "accuracy",
        lambda f: {"guard": f.versus(CONDITION, "LDA")},
        lambda f: f.picture_of_leads(CONDITION, "LDA"),
    ),
    Page(OUTLIERS, "limits", lambda f: {"outliers": f.means()}),
    Page(
        WIDE,
        "accuracy",
        lambda f: {"wide": f.means(), "wide, sets": f.each_set(CONDITION)},
        None,
    ),
    Page(
        MISSING,
        "accuracy",
        lambda f: {"missing": f.means(), "missing, tests": f.tests()},
        None,
    ),
    Page(
        PROJECTION,
        "accuracy",
        lambda f: {"projection": f.means(), "projection, tests": f.tests(UNSEEN)},
        None,
    ),
]


def report(page: Page) -> None:
    """Write the tables of a study into its page, and its picture."""
    picture = page.picture
    figures = Figures(page.study, read())
    drawn = {} if picture is None else {f"{page.study.name}.png": picture(figures)}
    publish(page.name, page.parts(), drawn)


def main() -> int:
    """Compute what is missing, then write the pages."""
    parser = argparse.ArgumentParser("benchmarks.held_out")
    names = [page.study.name for page in PAGES]
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(names))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="compute nothing")
    options = parser.parse_args()
    if unknown := set(options.studies) - set(names):
        parser.error(f"no studies: {', '.join(unknown)}; choose from {names}")
    for page in PAGES:
        study = page.study
        if options.studies and study.name not in options.studies:
            continue
        if not options.report:
            done = {line.set for line in read() if line.study == study.name}
            tasks = [name for name in study.sets if name not in done]
            work = Parallel(options.jobs, return_as="generator_unordered", batch_size=1)
            results = work(delayed(measure)(study, name) for name in tasks)
            for number, lines in enumerate(results, 1):
                append(lines)
                text = f"[{number}/{len(tasks)}] {study.name}, {lines[0].set}"
                print(text, file=sys.stderr, flush=True)
        report(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
