"""Measure accuracies on rows held out, and write the tables of the pages again.

python -m benchmarks.held_out [STUDY ...] [--jobs N] [--report]

The studies are choose, outliers, wide, missing, projection and "few rows". Results are
appended to benchmarks/results/held_out.csv, set by set, so that a run that was stopped
goes on; to measure a study again, delete its lines. --report computes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.held_out.choose import CHOOSE, CONDITION
from benchmarks.held_out.few_rows import FEW_ROWS
from benchmarks.held_out.missing import MISSING
from benchmarks.held_out.outliers import OUTLIERS
from benchmarks.held_out.projection import PROJECTION, UNSEEN
from benchmarks.held_out.runner import Study, append, finished, measure, read
from benchmarks.held_out.tables import Figures
from benchmarks.held_out.wide import WIDE
from benchmarks.pages import origin, publish, record_origin
from benchmarks.timing import circumstances


class Page(NamedTuple):
    """A study and the page that shows it, with its tables and its picture."""

    study: Study
    name: str
    tables: Callable[[Figures], dict[str, str]]
    picture: Callable[[Figures], bytes] | None = None

    def figures(self) -> Figures:
        """Return the lines of the file of results."""
        return Figures(self.study, read())

    def parts(self) -> dict[str, str]:
        """Return the tables, and where they were measured."""
        name = self.study.name
        machine = {f"{name}, machine": origin(name, name.capitalize())}
        return self.tables(self.figures()) | machine


PAGES = [
    Page(FEW_ROWS, "guide/few_rows", lambda f: {"few rows": f.means()}),
    Page(
        CHOOSE,
        "accuracy",
        lambda f: {"choose": f.versus(CONDITION, "LDA"), "choose, tests": f.tests()},
        lambda f: f.picture_of_leads(CONDITION, "LDA"),
    ),
    Page(
        OUTLIERS, "limits", lambda f: {"outliers": f.means()}, Figures.picture_of_means
    ),
    Page(
        WIDE,
        "accuracy",
        lambda f: {"wide": f.means(), "wide, sets": f.each_set(CONDITION)},
    ),
    Page(
        MISSING,
        "accuracy",
        lambda f: {"missing": f.means(), "missing, tests": f.tests()},
    ),
    Page(
        PROJECTION,
        "accuracy",
        lambda f: {"projection": f.means(), "projection, tests": f.tests(UNSEEN)},
    ),
]


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
            tasks = [(study, name) for name in study.sets if name not in done]
            for lines in finished(measure, tasks, options.jobs):
                append(lines)
                record_origin(study.name, circumstances())
        picture = page.picture and page.picture(page.figures())
        images = {f"{study.name}.png": picture} if picture else {}
        publish(page.name, page.parts(), images)
    return 0


if __name__ == "__main__":
    sys.exit(main())
