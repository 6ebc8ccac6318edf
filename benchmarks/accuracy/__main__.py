"""Compare accuracies by cross-validation, then write the page and the picture.

python -m benchmarks.accuracy [--datasets NAMES] [--methods NAMES] [--trials N]
    [--jobs N] [--out FOLDER] [--published] [--report] [--development]
    [--join FOLDER] [--page FOLDER]

Names are those of sets and methods, or of groups of them. --published computes, in the
folder `published` of the results, the recommended recipe alone by the protocol of
published figures, on the sets that have some.

The page is docs/accuracy.md only for the full protocol; a selection has a page only
with --page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy.comparisons import Comparisons, covers, joined
from benchmarks.accuracy.methods import METHODS, RECOMMENDED, resolve
from benchmarks.accuracy.picture import pictures
from benchmarks.accuracy.report import pages
from benchmarks.accuracy.sets import SET_ASIDE, SETS, published
from benchmarks.accuracy.sets import resolve as resolve_sets
from benchmarks.accuracy.study import (
    FOLDS,
    PUBLISHED_FOLDS,
    TRIALS,
    AccuracyStudy,
    Score,
    run,
)
from benchmarks.pages import write
from heterolda.cli.progress import StudyProgress
from heterolda.experiments.results import read_results

# In the folder of results: the recommended recipe by the protocol of published figures.
PUBLISHED = "published"
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Compute what is missing, then write the page and its picture."""
    parser = _parser()
    options = parser.parse_args(arguments)
    selection = "a selection is not the page of the full protocol: name its --page"
    pageless = options.page is None and _is_selection(options)
    if pageless and options.report:
        parser.error(selection)
    if not options.report:
        with StudyProgress() as display:
            try:
                run(*_asked(options), display, options.jobs)
            except (OSError, ValueError) as error:
                parser.error(str(error))
            except KeyboardInterrupt:
                print("interrupted; the same command goes on", file=sys.stderr)
                return 1
    if pageless or options.published:
        print(options.out)
        return 0
    folders = [options.out, *options.join]
    results = joined([read_results(f, Score) for f in folders], options.trials)
    if options.page is None and not covers(results.run["plan"]):
        parser.error(f"{selection} (the folders of results have less)")
    target = options.page or DOCS
    beside = options.out / PUBLISHED
    fourfold = read_results(beside, Score) if beside.is_dir() else None
    comparisons = Comparisons(results, options.development, fourfold)
    images = {f"images/{k}": data for k, data in pictures(comparisons).items()}
    write(target, pages(comparisons) | images)
    print(target / "accuracy.md")
    return 0


def _is_selection(options: argparse.Namespace) -> bool:
    """Whether less, or anything else, is asked for than the full protocol."""
    return (
        options.development
        or options.datasets is not None
        or set(resolve(options.methods.split(","))) != set(METHODS)
        or (options.trials, options.folds) != (TRIALS, FOLDS)
    )


def _asked(options: argparse.Namespace) -> tuple[AccuracyStudy, Path]:
    """The study, and its folder."""
    if options.published:
        hidden = SET_ASIDE if options.development else ()
        sets = resolve_sets([name for name in published() if name not in hidden])
        study = AccuracyStudy(sets, [RECOMMENDED], 1, PUBLISHED_FOLDS)
        return study, options.out / PUBLISHED
    methods = resolve(options.methods.split(","))
    datasets = [n for n in SETS if not (options.development and n in SET_ASIDE)]
    if options.datasets:
        datasets = resolve_sets(options.datasets.split(","))
    study = AccuracyStudy(datasets, methods, options.trials, options.folds)
    return study, options.out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "benchmarks.accuracy", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add(
        "--datasets",
        help=f"of {', '.join(SETS)}; or all, study, development (the new ones but for "
        "those that are set aside), aside",
    )
    add(
        "--methods",
        default="all",
        help=f"of {', '.join(METHODS)}; or all, ours, peers, default, tuned, "
        "landmarks, plain, power",
    )
    add("--trials", type=int, default=TRIALS, help="shuffles")
    add("--folds", type=int, default=FOLDS, help="parts of each shuffle")
    add("--jobs", type=int, default=1, help="processes")
    add("--out", type=Path, default=Path("build/accuracy"), help="folder of results")
    add("--published", action="store_true", help="compute what compares with those")
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
        help="folder of the page (default: docs, and none for a selection)",
    )
    add(
        "--development",
        action="store_true",
        help=f"leave out what is set aside: {', '.join(SET_ASIDE)}",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
