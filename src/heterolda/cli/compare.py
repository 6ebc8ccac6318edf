"""The command that compares classifiers on the rows of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import heterolda.cli.fit_options as fit_opt
import heterolda.cli.options as opt
from heterolda.cli.data_source import (
    check_outputs,
    format_of,
    name_of,
    training_table,
)
from heterolda.cli.messages import (
    errors_in_one_line,
    note,
    print_result,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.cli.parsing import INTERRUPTED, UsageError

_PICTURES = ".png", ".svg"


def compare(
    data: opt.Data,
    target: opt.Target,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    sample_weight: opt.SampleWeight = None,
    missing: opt.WholeRows = "error",
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    cv: fit_opt.Folds = 10,
    out: opt.PictureOut = None,
    debug: opt.Debug = False,
) -> None:
    """Compare seven classifiers on held-out rows and recommend one.

    - `heterolda compare iris.csv --target class`
    - `heterolda compare iris.csv -t class --cv 5 --out models.png`
    - `heterolda compare 'parts/*.parquet' -t kind --exclude id,date`

    The seven are LDA, heterolda's discriminant (GLD) without and with shrinkage,
    logistic regression, a linear SVM, what fit --recommended fits, and QDA. The table
    shows accuracy, difference from the best with its standard error, and log loss, all
    on held-out rows, and the time of a fit. All rows are read into memory. Ctrl-C shows
    the models that are finished.
    """
    with errors_in_one_line(debug):
        if out is not None and out.suffix.lower() not in _PICTURES:
            raise UsageError(f"--out {out}: name a .png or .svg file")
        check_outputs({"--out": out}, data=data)
        if out is not None:
            _need_matplotlib()
        text = format_of(delimiter, decimal, no_header, na)
        rows = {"sample_weight": sample_weight, "missing": missing, "format": text}
        rows |= {"takes_missing": False}
        names = columns, exclude, categorical
        with (
            warnings_as_notes(),
            training_table(data, target, *names, **rows) as table,
        ):
            found = _compare_rows(table, cv)
        print_result([f"Models for {name_of(data)}:", "", str(found)])
        if not found.finished:
            print_to_stderr("heterolda: interrupted")
            raise typer.Exit(INTERRUPTED)
        if out is not None:
            _write_picture(found, out)


def _need_matplotlib() -> None:
    """Say what to install, before long work."""
    from heterolda.inspection.displays.base import pyplot

    pyplot()  # type: ignore[no-untyped-call]


def _compare_rows(table: Any, n_folds: int) -> Any:
    """Read all rows and compare; an interrupt leaves the models that are finished."""
    from heterolda.cli.progress import StatusLine
    from heterolda.cli.traps import training_traps
    from heterolda.data.gathering import read_all
    from heterolda.inspection.comparison import compare

    with StatusLine() as status:
        rows, done = read_all(table, status.doing("reading the data into memory"))
        names = done.file.table.features
        note(*training_traps(table, names, done.first, rows.X, rows.codes))
        return compare(
            rows.X,
            rows.labels,
            sample_weight=rows.weights,
            cv=n_folds,
            progress=status.doing("comparing"),
        )


def _write_picture(found: Any, out: Path) -> None:
    """Write the picture, whole or not at all; of the same rows it is the same."""
    import matplotlib

    from heterolda.foundations.files import written_whole

    matplotlib.use("agg")  # no window
    form = out.suffix[1:].lower()
    metadata = {"Date": None} if form == "svg" else None
    with (
        matplotlib.rc_context({"svg.hashsalt": "heterolda"}),
        written_whole(out) as file,
    ):
        figure = found.plot().figure
        figure.savefig(file, format=form, dpi=150, metadata=metadata)
    print_to_stderr(f"the picture is in {out}")
