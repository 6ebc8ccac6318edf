"""The command that compares classifiers on the rows of files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.data_source import (
    categories_of,
    check_outputs,
    name_of,
    reading_of,
    source_of,
)
from heterolda.cli.fit_options import (
    Categorical,
    Exclude,
    Features,
    Target,
    WholeRows,
)
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.options import (
    JUDGE,
    WRITE,
    Data,
    Debug,
    Decimal,
    Delimiter,
    Na,
    NoHeader,
    SampleWeight,
)
from heterolda.cli.parsing import check_columns, split_names

_PICTURES = ".png", ".svg"


def compare(
    data: Data,
    target: Target,
    columns: Features = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    sample_weight: SampleWeight = None,
    missing: WholeRows = "error",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    na: Na = None,
    cv: Annotated[
        int,
        typer.Option(
            **JUDGE,
            metavar="NUMBER",
            min=2,
            max=1000,
            help="Number of folds. Each is held out once, and the models are fitted to "
            "the others. Equal rows of a class go to the same fold.",
        ),
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            **WRITE,
            metavar="FILE",
            help="Picture of the comparison, .png or .svg.",
        ),
    ] = None,
    debug: Debug = False,
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
        from heterolda.data.table import Table
        from heterolda.inspection.displays.base import pyplot

        with usage_errors():
            check_columns(columns, exclude)
            if out is not None and out.suffix.lower() not in _PICTURES:
                raise ValueError(f"--out {out}: name a .png or .svg file")
        check_outputs({"--out": out}, data=data)
        if out is not None:
            pyplot()  # type: ignore[no-untyped-call]  # or say what to install
        reading = reading_of(delimiter, decimal, no_header, na)
        with source_of(data, reading) as source, warnings_as_notes():
            names, others = split_names(columns) or None, split_names(exclude)
            rows = Table(
                source,
                target,
                names,
                others,
                sample_weight,
                missing,
                takes_gaps=False,
            )
            found = _compare_rows(categories_of(rows, categorical), cv)
        print_result([f"Models for {name_of(data)}:", "", str(found)])
        if not found.finished:
            print_to_stderr("heterolda: interrupted")
            raise typer.Exit(1)
        if out is not None:
            _write_picture(found, out)


def _compare_rows(rows: Any, n_folds: int) -> Any:
    """Read all rows and compare; an interrupt leaves the models that are finished."""
    from heterolda.cli.odd_numbers import note_odd_numbers
    from heterolda.cli.progress import StatusLine
    from heterolda.exceptions import SearchInterruptedWarning
    from heterolda.inspection.comparison import compare

    with StatusLine() as status, warnings.catch_warnings():
        # Whoever interrupts this command wants to see what there is.
        warnings.simplefilter("ignore", SearchInterruptedWarning)
        read = rows.in_memory(status.rows("reading the data into memory"))
        X, y, weight, names = read
        note_odd_numbers(rows, X, names)

        def show(name: str, done: float) -> None:
            status.share(f"comparing: {name}")(done)

        return compare(X, y, sample_weight=weight, cv=n_folds, progress=show)


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
