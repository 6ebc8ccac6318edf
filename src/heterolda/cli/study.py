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
from heterolda.experiments.methods import METHODS, resolve_methods

PAPER_TRIALS = 20

DataDir = Annotated[
    Path | None,
    typer.Option(
        **READ,
        metavar="FOLDER",
        help="Folder with files NAME.csv.gz. By default the one that the environment "
        "variable HETEROLDA_DATA names.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        **READ,
        metavar="NAMES",
        help="Data sets, separated by commas, or the groups all, paper, embedded. "
        "By default all that need no download; heterolda datasets lists them.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        **FIT,
        metavar="NAMES",
        help=f"Of {', '.join(METHODS)}; or the groups all, paper.",
    ),
]
Trials = Annotated[
    int | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="How often to shuffle the rows and cut them anew. By default 1.",
    ),
]
Full = Annotated[
    bool,
    typer.Option("--full", **FIT, help=f"The paper's {PAPER_TRIALS} trials."),
]
Folds = Annotated[
    int,
    typer.Option(**FIT, metavar="NUMBER", min=2, help="Parts (folds) of each trial."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        **FIT,
        metavar="METHOD:DATASET=TRIALS",
        help="Fewer trials of a slow method on a large set.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="Processes at a time. By default as many as processors.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(**FIT, metavar="NUMBER", min=0, help="Where random choices start."),
]
Out = Annotated[
    Path,
    typer.Option(**WRITE, metavar="FOLDER", help="Folder of the results."),
]
TableFormat = Annotated[
    str,
    one_of(tuple(FORMATS), "How tables are printed.", "--format", **WRITE),
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

    The results are kept in a folder. The same command goes on where an interrupted one
    stopped; another one adds data sets, methods or trials to it.
    """
    with errors_in_one_line(debug):
        from joblib import cpu_count

        from heterolda.cli.progress import StudyProgress
        from heterolda.experiments.protocol import Study, run_study

        with usage_errors():
            if full and trials not in (None, PAPER_TRIALS):
                raise ValueError(f"--full means --trials {PAPER_TRIALS}, got {trials}")
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
                    f"interrupted; what is done is kept in {str(out)!r}, and the same "
                    "command goes on from there"
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
            help="Write this set to a CSV file, with its classes in the column class.",
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
    - `heterolda datasets --write wine --out wine.csv`
    - `heterolda datasets --details`
    """
    texts = {"drawn": "drawn", "bundled": "with scikit-learn", "file": "file"}
    with errors_in_one_line(debug):
        from heterolda.experiments.datasets import (
            dataset_file,
            dataset_source,
            write_sample,
        )

        if write is not None:
            with usage_errors():
                if write not in CATALOGUE:
                    raise ValueError(f"--write {write}: no data set has this name")
            read = dataset_file(write, data_dir)
            target = Path(f"{write}.csv") if out is None else out
            check_outputs({"--out": target}, *filter(None, [read]))
            print(write_sample(write, target, data_dir))
            return
        print(f"{'name':14}{'paper':7}{'n':>7}{'d':>5}{'K':>4}  available")
        for row in CATALOGUE.values():
            source = dataset_source(row.name, data_dir)
            absent = "no: needs its file" + (", or OpenML" if row.openml else "")
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
            **READ, metavar="FOLDER", help="Results that heterolda reproduce wrote."
        ),
    ],
    data_dir: DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(
            **WRITE, metavar="FILE", help="The page. By default in the folder."
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a page with tables and pictures of a folder of results.

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
