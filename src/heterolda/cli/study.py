"""The commands of the paper's study."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.data_source import check_outputs
from heterolda.cli.messages import (
    errors_in_one_line,
    note,
    print_to_stderr,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.options import FIT, READ, WRITE, Debug, one_of
from heterolda.cli.parsing import split_names

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
    str | None,
    typer.Option(
        **READ,
        metavar="NAMES",
        help="Data sets, separated by commas, or the groups all, paper, embedded. "
        "By default all that need no download, or none with --data. heterolda datasets "
        "lists them.",
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        **READ,
        metavar="FILE",
        help="A table of your own, text, Excel or Parquet, under the name of the file. "
        "May be given several times.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        **READ,
        metavar="COLUMN",
        help="Column of the classes in --data.",
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="NAMES",
        help="Methods, separated by commas: pairwise-lda, c-hld, r-hld-1, r-hld-2, "
        "algorithm-1, algorithm-2, svm, gld, gld+algorithm-2, lda, "
        "logistic-regression, linear-svc; the groups all, paper; or a classifier of "
        "your own as MODULE:CLASS. By default all.",
    ),
]
Trials = Annotated[
    int,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="How often to shuffle the rows and split them again; 20 in the paper.",
    ),
]
Folds = Annotated[
    int,
    typer.Option(**FIT, metavar="NUMBER", min=2, help="Folds of each trial."),
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
    one_of(("text", "markdown"), "Format of the tables.", "--format", **WRITE),
]


def reproduce(
    datasets: Datasets = None,
    data: Data = None,
    target: Target = None,
    data_dir: DataDir = None,
    methods: Methods = None,
    trials: Trials = 1,
    folds: Folds = 10,
    jobs: Jobs = None,
    seed: Seed = 0,
    out: Out = Path("heterolda-results"),
    table_format: TableFormat = "text",
    debug: Debug = False,
) -> None:
    """Run the paper's study and print its Tables 2, 3 and 4.

    - `heterolda reproduce --datasets D1,wine`
    - `heterolda reproduce --data mine.csv -t y --methods lda,gld,mine.module:MyClass`
    - `heterolda reproduce --datasets paper --trials 20 --out results`

    The results are kept in a folder. Run the same command again to continue after an
    interrupt, or another one to add data sets, methods or trials.
    """
    with errors_in_one_line(debug), warnings_as_notes():
        from joblib import cpu_count

        from heterolda.experiments.results import RESULTS, RUN
        from heterolda.experiments.study import Study
        from heterolda.experiments.tables import render_table

        with usage_errors():
            if bool(data) != bool(target):
                raise ValueError("--data and --target belong together: give both")
            sets = _catalogue_sets(datasets, data, data_dir)
            _check_names("data sets", [*sets, *map(_name_of_set, data or [])])
            study = Study(
                datasets=sets,
                methods=_methods(methods),
                trials=trials,
                folds=folds,
                seed=seed,
                data_dir=data_dir,
            )
        check_outputs({}, out / RESULTS, out / RUN, *(data or []))
        study.datasets = sets | _own_sets(data, target)
        try:
            with _progress() as progress:
                results = study.run(out, jobs=jobs or cpu_count(), progress=progress)
        except KeyboardInterrupt:
            note(
                f"finished folds are in {str(out)!r}, and the same command continues "
                "from there"
            )
            raise
        for number in (2, 3, 4):
            print(render_table(results, number, table_format))
        cells = [
            results.cells.get((d, m)) for d in study.datasets for m in study.methods
        ]
        if not all(cell is not None and cell.complete for cell in cells):
            print_to_stderr("heterolda: some methods failed, as the notes say")
            raise typer.Exit(1)


def datasets(
    details: Annotated[
        bool,
        typer.Option("--details", **READ, help="Show origin, license and notes."),
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
            CATALOGUE,
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
            path = Path(f"{write}.csv") if out is None else out
            check_outputs({"--out": path}, *filter(None, [read]))
            print(write_sample(write, path, data_dir))
            return
        print(f"{'name':14}{'paper':7}{'n':>7}{'d':>5}{'K':>4}  available")
        for row in CATALOGUE.values():
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
        from heterolda.experiments.datasets import CATALOGUE, dataset_file
        from heterolda.experiments.report import write_report
        from heterolda.experiments.results import RESULTS, RUN

        path = folder / "report.html" if out is None else out
        files = [dataset_file(name, data_dir) for name in CATALOGUE if out is not None]
        read = folder / RESULTS, folder / RUN, *filter(None, files)
        check_outputs({"--out": path}, *read)
        print(write_report(folder, path, data_dir))


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Show the status on a terminal, elsewhere a line for each trial of a data set."""
    from heterolda.cli.progress import StatusLine

    last = ""

    def show(text: str, share: float) -> None:
        nonlocal last
        status("computing", share)
        if not status.is_shown and text != last:
            print_to_stderr(f"{text} ({share:.0%} of all)")
        last = text

    with StatusLine() as status:
        yield show


def _catalogue_sets(
    names: str | None, data: list[str] | None, data_dir: Path | None
) -> dict[str, Any]:
    """Return the sets that were asked for, or all that need no download."""
    from heterolda.experiments.datasets import (
        CATALOGUE,
        dataset_source,
        resolve_datasets,
    )

    if names is not None:
        return dict.fromkeys(resolve_datasets(split_names(names)))
    if data:
        return {}
    return dict.fromkeys(
        name for name in CATALOGUE if dataset_source(name, data_dir) is not None
    )


def _check_names(what: str, names: list[str]) -> None:
    """Refuse a name of two things: the results of one would be lost."""
    for name in set(names):
        if names.count(name) > 1:
            raise ValueError(f"two {what} have the name {name!r}: rename one of them")


def _name_of_set(path: str) -> str:
    return Path(path).name.partition(".")[0]


def _own_sets(data: list[str] | None, target: str | None) -> dict[str, Any]:
    """Return rows and labels of files, by the names of the files."""
    from heterolda.data.gathering import read_all
    from heterolda.data.table import Table

    sets = {}
    for path in data or []:
        rows, _ = read_all(Table(path, target, takes_missing=False))
        sets[_name_of_set(path)] = rows.X, rows.labels
    return sets


def _methods(names: str | None) -> dict[str, Any]:
    """Return the methods that were asked for, None for those of the study."""
    from heterolda.experiments.study import resolve_methods

    given = split_names(names or "all")
    listed = resolve_methods([name for name in given if ":" not in name])
    own = [_imported(name) for name in given if ":" in name]
    _check_names("methods", [*listed, *(type(model).__name__ for model in own)])
    return dict.fromkeys(listed) | {type(model).__name__: model for model in own}


def _imported(name: str) -> Any:
    """Return the classifier of MODULE:CLASS, from the current folder or installed."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), attribute)()
    except Exception as error:
        raise ValueError(
            f"--methods {name}: cannot make this classifier: "
            f"{type(error).__name__}: {error}"
        ) from error
