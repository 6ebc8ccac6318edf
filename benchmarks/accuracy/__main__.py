"""Compare accuracies by cross-validation, then write the page and the picture.

python -m benchmarks.accuracy [--datasets NAMES] [--methods NAMES] [--jobs N]
    [--out FOLDER] [--report] [--development]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import heterolda
from benchmarks.accuracy.methods import LIMITS, METHODS, RECOMMENDED, resolve
from benchmarks.accuracy.study import (
    DATASETS,
    DEVELOPMENT,
    FOLDS,
    SET_ASIDE,
    TRIALS,
    AccuracyStudy,
)
from heterolda.experiments.catalogue import resolve_datasets
from heterolda.experiments.protocol import run
from heterolda.terminal import ProgressDisplay

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Compute what is missing, then write docs/accuracy.md and its picture."""
    options = _parser().parse_args(arguments)
    if not options.report:
        methods = resolve(options.methods.split(","))
        if RECOMMENDED in methods and not hasattr(heterolda, RECOMMENDED):
            print("heterolda.recommended is not there: left out", file=sys.stderr)
            methods.remove(RECOMMENDED)
        chosen = DEVELOPMENT if options.development else DATASETS
        if options.datasets:
            chosen = resolve_datasets(options.datasets.split(","))
        study = AccuracyStudy(
            datasets=chosen,
            methods=methods,
            trials=options.trials,
            folds=options.folds,
            limits=LIMITS,
        )
        with ProgressDisplay() as display:
            run(study, options.out, display, jobs=options.jobs)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks.accuracy", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--datasets", help="names with commas between (default: all of the study)")
    add(
        "--methods",
        default="all",
        help=f"of {', '.join(METHODS)}; or all, ours, peers, default, tuned",
    )
    add("--trials", type=int, default=TRIALS, help="shuffles")
    add("--folds", type=int, default=FOLDS, help="parts of each shuffle")
    add("--jobs", type=int, default=1, help="processes")
    add("--out", type=Path, default=Path("build/accuracy"), help="folder of results")
    add("--report", action="store_true", help="compute nothing, write the page")
    add(
        "--development",
        action="store_true",
        help=f"leave out what is set aside: {', '.join(SET_ASIDE)}",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
