"""The commands of the paper's study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heterolda.cli.data_source import check_outputs
from heterolda.cli.messages import errors_in_one_line, usage_errors
from heterolda.cli.options import FIT, READ, WRITE, Debug, one_of
from heterolda.cli.parsing import split_names
from heterolda.experiments.catalogue import CATALOGUE, resolve_datasets
from heterolda.experiments.formats import FORMATS
from heterolda.experiments.methods import METHODS, resolve_methods, title

PAPER_TRIALS = 20

DataDir = Annotated[
    Path | None,
    typer.Option(
        **READ,
        metavar="FOLDER",
        help="Folder with files NAME.csv.gz. By default that of the environment "
        "variable HETEROLDA_DATA.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        **READ,
        metavar="NAMES",
        help="Data sets, separated by commas, or the groups all, paper, embedded. "
        "By default all that need no download. heterolda datasets lists them.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        **FIT,
        metavar="NAMES",
        help="Methods, separated by commas: "
        + ", ".join(METHODS)
        + "; or the groups all, paper. In tables and pictures: "
        + ", ".join(f"{m} is {title(m)}" for m in METHODS if title(m) != m)
        + ".",
    ),
]
Trials = Annotated[
    int | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="How often to shuffle the rows and split them again. By default 1.",
    ),
]
Full = Annotated[
    bool,
    typer.Option("--full", **FIT, help=f"Run the paper's {PAPER_TRIALS} trials."),
]
Folds = Annotated[
    int,
    typer.Option(**FIT, metavar="NUMBER", min=2, help="Folds of each trial."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        **FIT,
        metavar="METHOD:DATASET=TRIALS",
        help="Run fewer trials of a slow method on a large set.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="Number of processes. By default one for each processor.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(**FIT, metavar="NUMBER", min=0, help="Seed of random choices."),
]
Out = Annotated[
    Path,
    typer.Option(**WRITE, metavar="FOLDER", help="Folder for the results."),
]
TableFormat = Annotated[
    str,
    one_of(tuple(FORMATS), "Format of the tables.", "--format", **WRITE),
]


def reproduce(
    datasets: Datasets = None,
    data_dir: DataDir = None,
    methods: Methods = None,
    trials: Trials = None,
    full: Full = False,
    folds: Folds = 10,
    limit: Limit = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    out: Out = Path("heterolda-results"),
    table_format: TableFormat = "text",
    debug: Debug = False,
) -> None:
    """Run the paper's study and print its Tables 2, 3 and 4.

    - `heterolda reproduce --datasets D1,wine`
    - `heterolda reproduce --datasets iris --methods LDA,GLD --trials 5`
    - `heterolda reproduce --full --out results`

    The results are kept in a folder. Run the same command again to continue after an
    interrupt, or another one to add data sets, methods or trials.
    """
    with errors_in_one_line(debug):
        from joblib import cpu_count

        from heterolda.cli.progress import StudyProgress
        from heterolda.experiments.protocol import Study, run_study

        with usage_errors():
            if full and trials not in (None, PAPER_TRIALS):
                raise ValueError(
                    f"--full means --trials {PAPER_TRIALS}, got {trials}: use only one "
                    "of them"
                )
            study = Study(
                datasets=_chosen_datasets(datasets, data_dir),
                methods=resolve_methods(_split(methods) if methods else ["all"]),
                trials=PAPER_TRIALS if full else trials or 1,
                folds=folds,
                seed=seed,
                limits=dict(map(_limit, limit or [])),
            )
        check_outputs({}, *_read_in(out))
        with StudyProgress() as display:
            try:
                run_study(
                    study, out, display, jobs=jobs or cpu_count(), data_dir=data_dir
                )
            except KeyboardInterrupt:
                raise RuntimeError(
                    f"interrupted; finished folds are in {str(out)!r}, and the same "
                    "command continues from there"
                ) from None
        _print_tables(out, table_format)


def datasets(
    details: Annotated[
        bool,
        typer.Option("--details", **READ, help="Show origin, licence and notes."),
    ] = False,
    data_dir: DataDir = None,
    write: Annotated[
        str | None,
        typer.Option(
            **WRITE,
            metavar="NAME",
            help="Write this set to a CSV file, with the classes in the column class.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", **WRITE, metavar="FILE", help="By default NAME.csv."
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """List data sets to try, or write one to a CSV file.

    - `heterolda datasets`
    - `heterolda datasets --write iris --out iris.csv`
    - `heterolda datasets --details`
    """
    texts = {"drawn": "drawn", "bundled": "in scikit-learn", "file": "file"}
    with errors_in_one_line(debug):
        from heterolda.experiments.datasets import (
            dataset_file,
            dataset_source,
            write_sample,
        )

        if write is not None:
            with usage_errors():
                if write not in CATALOGUE:
                    raise ValueError(
                        f"--write {write}: no data set has this name: see heterolda "
                        "datasets"
                    )
            read = dataset_file(write, data_dir)
            target = Path(f"{write}.csv") if out is None else out
            check_outputs({"--out": target}, *filter(None, [read]))
            print(write_sample(write, target, data_dir))
            return
        print(f"{'name':14}{'paper':7}{'n':>7}{'d':>5}{'K':>4}  available")
        for row in CATALOGUE.values():
            source = dataset_source(row.name, data_dir)
            absent = "no: needs a file" + (", or OpenML" if row.openml else "")
            available = absent if source is None else f"yes: {texts[source]}"
            print(f"{row.name:14}{row.label:7}{row.n:7}{row.d:5}{row.k:4}  {available}")
            if details:
                openml = f" OpenML: {row.openml.data_id}." if row.openml else ""
                print(f"    {row.origin}. Licence: {row.licence}.{openml}")
                print(f"    {row.notes}\n" if row.notes else "")


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            **READ, metavar="FOLDER", help="Folder that heterolda reproduce wrote."
        ),
    ],
    data_dir: DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(
            **WRITE, metavar="FILE", help="Page to write. By default in the folder."
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a page with the tables and pictures of a folder of results.

    - `heterolda report heterolda-results`
    - `heterolda report results --out study.html`
    - `heterolda report results --data-dir data`
    """
    with errors_in_one_line(debug):
        from heterolda.experiments.datasets import dataset_file
        from heterolda.experiments.report import write_report

        target = folder / "report.html" if out is None else out
        files = [dataset_file(name, data_dir) for name in CATALOGUE if out is not None]
        check_outputs({"--out": target}, *_read_in(folder), *filter(None, files))
        print(write_report(folder, target, data_dir))


def _read_in(folder: Path) -> tuple[Path, Path]:
    """What is read of a folder of results."""
    from heterolda.experiments.results import RESULTS, RUN

    return folder / RESULTS, folder / RUN


def _split(names: list[str]) -> list[str]:
    """Names of an option that may be repeated and may have commas."""
    return [name for text in names for name in split_names(text)]


def _chosen_datasets(names: list[str] | None, data_dir: Path | None) -> list[str]:
    """The sets that were asked for, or all that need no download."""
    if names:
        return resolve_datasets(_split(names))
    from heterolda.experiments.datasets import dataset_source

    return [name for name in CATALOGUE if dataset_source(name, data_dir) is not None]


def _limit(text: str) -> tuple[str, int]:
    """Key and number of an option METHOD:DATASET=TRIALS."""
    pair, _, number = text.partition("=")
    method, _, dataset = pair.partition(":")
    known = method in METHODS and dataset in CATALOGUE
    if not known or not number.isdecimal() or int(number) < 1:
        raise ValueError(
            f"--limit {text}: write METHOD:DATASET=TRIALS, for instance SVM:shuttle=2"
        )
    return pair, int(number)


def _print_tables(folder: Path, form: str) -> None:
    """Print the paper's Tables 2, 3 and 4."""
    from heterolda.experiments.results import read_results
    from heterolda.experiments.tables import render_table

    results = read_results(folder)
    for table in (2, 3, 4):
        print(render_table(results, table, form))
