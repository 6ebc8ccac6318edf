"""Compare accuracies by cross-validation, then write the page and the picture.

python -m benchmarks.accuracy [--datasets NAMES] [--methods NAMES] [--trials 3]
    [--jobs N] [--out FOLDER] [--report] [--development] [--join FOLDER]
    [--page FOLDER]

The page is docs/accuracy.md only for the full protocol; a selection needs --page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy.comparisons import Comparisons, covers, joined
from benchmarks.accuracy.methods import LIMITS, METHODS, resolve
from benchmarks.accuracy.picture import draw
from benchmarks.accuracy.report import page
from benchmarks.accuracy.study import (
    DATASETS,
    DEVELOPMENT,
    FOLDS,
    SET_ASIDE,
    TRIALS,
    AccuracyStudy,
    Score,
)
from heterolda.cli.progress import StudyProgress
from heterolda.experiments.catalogue import resolve_datasets
from heterolda.experiments.protocol import run_study
from heterolda.experiments.results import read_results
from heterolda.foundations.files import written_whole

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Compute what is missing, then write the page and its picture."""
    parser = _parser()
    options = parser.parse_args(arguments)
    selection = "a selection is not the page of the full protocol: name its --page"
    if options.page is None and _is_selection(options):
        parser.error(selection)
    if not options.report:
        with StudyProgress() as display:
            try:
                run_study(_study(options), options.out, display, jobs=options.jobs)
            except KeyboardInterrupt:
                print("interrupted; the same command goes on", file=sys.stderr)
                return 1
    folders = [options.out, *options.join]
    results = joined([read_results(f, Score) for f in folders], options.trials)
    if options.page is None and not covers(results.run["plan"]):
        parser.error(f"{selection} (the folders of results have less)")
    target = options.page or DOCS
    write(Comparisons(results, options.development), target)
    print(target / "accuracy.md")
    return 0


def write(comparisons: Comparisons, target: Path) -> None:
    """Write accuracy.md and images/accuracy.png."""
    (target / "images").mkdir(parents=True, exist_ok=True)
    content = {
        "accuracy.md": page(comparisons).encode(),
        "images/accuracy.png": draw(comparisons),
    }
    for name, data in content.items():
        with written_whole(target / name) as file:
            file.write(data)


def _is_selection(options: argparse.Namespace) -> bool:
    """Whether less, or anything else, is asked for than the full protocol."""
    return (
        options.development
        or options.datasets is not None
        or set(resolve(options.methods.split(","))) != set(METHODS)
        or (options.trials, options.folds) != (TRIALS, FOLDS)
    )


def _study(options: argparse.Namespace) -> AccuracyStudy:
    methods = resolve(options.methods.split(","))
    datasets = DEVELOPMENT if options.development else DATASETS
    if options.datasets:
        datasets = resolve_datasets(options.datasets.split(","))
    return AccuracyStudy(
        datasets=datasets,
        methods=methods,
        trials=options.trials,
        folds=options.folds,
        limits=LIMITS,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks.accuracy", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--datasets", help="names separated by commas (default: all of the study)")
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
        "--join",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="a further folder of results for the page, for instance of the peers",
    )
    add(
        "--page",
        type=Path,
        help="folder of the page (default: docs; must be given for a selection)",
    )
    add(
        "--development",
        action="store_true",
        help=f"leave out what is set aside: {', '.join(SET_ASIDE)}",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
