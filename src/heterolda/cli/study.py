"""The commands of the paper's study."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import heterolda.cli.options as opt
from heterolda.cli.files import check_files
from heterolda.cli.messages import StatusLine, note, print_to_stderr
from heterolda.exceptions import ParameterError

DataDir = Annotated[
    Path | None,
    opt.read(
        "FOLDER",
        "Folder with files NAME.csv.gz. By default that of the environment variable "
        "HETEROLDA_DATA.",
    ),
]


Trials = Annotated[
    int,
    opt.model(
        "NUMBER",
        "Number of times to shuffle and split the rows; 20 in the paper.",
        min=1,
    ),
]
Jobs = Annotated[
    int | None,
    opt.model(
        "NUMBER", "Number of processes. By default one for each processor.", min=1
    ),
]


def reproduce(
    *,
    datasets: Annotated[
        str | None,
        opt.read(
            "NAMES",
            "Data sets, separated by commas, or the groups all, paper, embedded. By "
            "default all that need no download, or none with --data. heterolda "
            "datasets lists them.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        opt.read(
            "FILE",
            "Your own table, as text, Excel or Parquet, named after the file. May be "
            "given several times.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        opt.read("COLUMN", "Column of the classes in --data.", "--target", "-t"),
    ] = None,
    data_dir: DataDir = None,
    methods: Annotated[
        str,
        opt.model(
            "NAMES",
            "Methods, separated by commas: pairwise-lda, c-hld, r-hld-1, r-hld-2, "
            "algorithm-1, algorithm-2, svm, gld, gld+algorithm-2, lda, "
            "logistic-regression, linear-svc; the groups all, paper; or your own "
            "classifier as MODULE:CLASS.",
        ),
    ] = "all",
    trials: Trials = 1,
    folds: Annotated[int, opt.model("NUMBER", "Folds of each trial.", min=2)] = 10,
    jobs: Jobs = None,
    seed: Annotated[int, opt.model("NUMBER", "Seed of random choices.", min=0)] = 0,
    out: Annotated[Path, opt.write("FOLDER", "Folder for the results.")] = Path(
        "heterolda-results"
    ),
    table_format: Annotated[
        Literal["text", "markdown"],
        opt.write(None, "Format of the tables.", "--format"),
    ] = "text",
) -> None:
    """Run the paper's study and print its Tables 2, 3 and 4.

    - `heterolda reproduce --datasets D1,wine`
    - `heterolda reproduce --data mine.csv -t y --methods lda,gld,mine.module:MyClass`
    - `heterolda reproduce --datasets paper --trials 20 --out results`

    The results are kept in a folder. Run the same command again to continue after an
    interrupt, or another one to add data sets, methods or trials.
    """
    if bool(data) != bool(target):
        raise ParameterError("data", "and --target belong together: give both")
    from joblib import cpu_count

    from heterolda.experiments.datasets import CATALOG, dataset_source, resolve_datasets
    from heterolda.experiments.study import Study
    from heterolda.experiments.tables import render_table

    names: list[str] = []
    if datasets is not None:
        names = resolve_datasets(opt.split_names(datasets))
    elif not data:
        names = [name for name in CATALOG if dataset_source(name, data_dir)]
    models = _methods(methods)
    sets = dict.fromkeys(names) | _own_sets(data or [], target, names)
    study = Study(sets, models, trials, folds, seed, data_dir)
    try:
        with StatusLine() as status:
            show = _progress(status)
            results = study.run(out, jobs=jobs or cpu_count(), progress=show)
    except KeyboardInterrupt:
        note(
            f"finished folds are in {str(out)!r}, and the same command continues "
            "from there"
        )
        raise
    for number in (2, 3, 4):
        print(render_table(results, number, table_format))
    if study.tasks({row.key for row in results.rows}):
        print_to_stderr("heterolda: some methods failed, as the notes say")
        raise typer.Exit(1)


def _progress(status: StatusLine) -> Callable[[str, float], None]:
    """Show the status on a terminal; otherwise print a line per trial of a data set."""
    last = ""

    def show(text: str, share: float) -> None:
        nonlocal last
        status("computing", share)
        if not status.is_shown and text != last:
            print_to_stderr(f"{text} ({share:.0%} of all)")
        last = text

    return show


def _own_sets(
    paths: list[str], target: str | None, others: list[str]
) -> dict[str, Any]:
    """Return features and labels of files, by file name."""
    from heterolda.data.gathering import read_all
    from heterolda.data.table import Table

    sets: dict[str, Any] = {}
    for path in paths:
        name = Path(path).name.partition(".")[0]
        if name in (*others, *sets):
            raise ParameterError("data", f"has two sets named {name!r}: rename one")
        rows, _ = read_all(Table(path, target, takes_missing=None))
        sets[name] = rows.X, rows.labels
    return sets


def _methods(names: str) -> dict[str, Any]:
    """Return the requested methods, None for those of the study."""
    from heterolda.experiments.study import resolve_methods

    requested = opt.split_names(names)
    imported = [name for name in requested if ":" in name]
    methods: dict[str, Any] = dict.fromkeys(
        resolve_methods([name for name in requested if name not in imported])
    )
    for classifier in map(_imported, imported):
        name = type(classifier).__name__
        if name in methods:
            raise ParameterError("methods", f"has two named {name!r}: rename one")
        methods[name] = classifier
    return methods


def _imported(name: str) -> Any:
    """Return the classifier of MODULE:CLASS, from the current folder or installed."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), attribute)()
    except Exception as error:
        raise ParameterError(
            "methods",
            f"has {name}, which failed to load: {type(error).__name__}: {error}",
        ) from error


def datasets(
    details: Annotated[
        bool, opt.read(None, "Show origin, license and notes.", "--details")
    ] = False,
    data_dir: DataDir = None,
    write: Annotated[
        str | None,
        opt.write(
            "NAME",
            "Write this set to a CSV file, with the classes in the column class.",
        ),
    ] = None,
    out: Annotated[
        Path | None, opt.write("FILE", "By default NAME.csv.", "--out", "-o")
    ] = None,
) -> None:
    """List data sets to try, or write one to a CSV file.

    - `heterolda datasets`
    - `heterolda datasets --write iris --out iris.csv`
    - `heterolda datasets --details`
    """
    from heterolda.experiments.datasets import (
        CATALOG,
        dataset_file,
        dataset_source,
        write_sample,
    )

    if write is not None:
        if write not in CATALOG:
            raise ParameterError(
                "write", f"has no {write!r}: heterolda datasets lists the sets"
            )
        path, file = out or Path(f"{write}.csv"), dataset_file(write, data_dir)
        check_files({"out": path}, *([file] if file and file.exists() else []))
        print(write_sample(write, path, data_dir))
        return
    texts = {"drawn": "drawn", "bundled": "in scikit-learn", "file": "file"}
    print(f"{'name':14}{'paper':7}{'n':>7}{'d':>5}{'K':>4}  available")
    for row in CATALOG.values():
        source = dataset_source(row.name, data_dir)
        absent = "no: needs a file" + (", or OpenML" if row.openml else "")
        available = absent if source is None else f"yes: {texts[source]}"
        print(f"{row.name:14}{row.label:7}{row.n:7}{row.d:5}{row.k:4}  {available}")
        if details:
            openml = f" OpenML: {row.openml['data_id']}." if row.openml else ""
            print(f"    {row.origin}. License: {row.license}.{openml}")
            print(f"    {row.notes}\n" if row.notes else "")


def report(
    folder: Annotated[
        Path,
        opt.argument(metavar="FOLDER", help="Folder that heterolda reproduce wrote."),
    ],
    out: Annotated[
        Path | None,
        opt.write("FILE", "Page to write. By default in the folder.", parser=opt.page),
    ] = None,
) -> None:
    """Write a page with the tables and pictures of a folder of results.

    - `heterolda report heterolda-results`
    - `heterolda report results --out study.html`
    """
    from heterolda.experiments.report import write_report
    from heterolda.experiments.results import RESULTS, RUN

    path = folder / "report.html" if out is None else out
    check_files({"out": path}, folder / RESULTS, folder / RUN)
    print(write_report(folder, path))
