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
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed

from benchmarks.held_out.few_rows import FEW_ROWS
from benchmarks.held_out.guard import CONDITION, GUARD
from benchmarks.held_out.missing import MISSING
from benchmarks.held_out.outliers import OUTLIERS
from benchmarks.held_out.projection import PROJECTION
from benchmarks.held_out.runner import Study, append, measure, read
from benchmarks.held_out.tables import Figures
from benchmarks.held_out.wide import WIDE
from benchmarks.pages import filled, write

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Page(NamedTuple):
    """A page of a study: its name, its tables and its picture."""

    study: Study
    name: str
    tables: Callable[[Figures], dict[str, str]]
    picture: Callable[[Figures], bytes] | None = Figures.picture_of_means


PAGES = [
    Page(FEW_ROWS, "guide/shrinkage", lambda f: {"few rows": f.by_condition()}, None),
    Page(
        GUARD,
        "guard",
        lambda f: {"sets": f.each_set(CONDITION, ["LDA"]), "tests": f.tests()},
        lambda f: f.picture_of_leads(CONDITION, "LDA"),
    ),
    Page(
        OUTLIERS,
        "outliers",
        lambda f: {
            "means": f.means(),
            **{kind: f.each_set(kind, ["GLD", "logistic"]) for kind in f.conditions},
        },
    ),
    Page(
        WIDE,
        "wide_accuracy",
        lambda f: {
            "sets": f.each_set(CONDITION, []),
            "means": f.means(),
            "tests": f.tests(),
        },
    ),
    Page(
        MISSING,
        "gaps_accuracy",
        lambda f: {"means": f.means(), "tests": f.tests()},
    ),
    Page(
        PROJECTION,
        "projection_accuracy",
        lambda f: {
            "means": f.means(),
            "tests": f.tests(),
            "sets": f.each_set("QDA, 2", ["LDA"]),
        },
    ),
]


def report(page: Page) -> dict[str, str | bytes]:
    """Return a page with its tables, and its picture."""
    figures = Figures(page.study, read())
    text = (DOCS / f"{page.name}.md").read_text(encoding="utf-8")
    made: dict[str, str | bytes] = {
        f"{page.name}.md": filled(text, page.tables(figures))
    }
    if page.picture is not None:
        made[f"images/{page.name}.png"] = page.picture(figures)
    return made


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
        write(DOCS, report(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
