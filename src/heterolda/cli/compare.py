"""The command that compares classifiers on the rows of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, name_of, need_matplotlib, training_table
from heterolda.cli.messages import StatusLine, note, print_result, print_to_stderr

# Options of fit for models of the comparison.
_COMMANDS = {
    "LDA": "--method gaussian --solver fisher --shrinkage 1",
    "GLD": "--method gaussian",
    "GLD with shrinkage": "--method gaussian --shrinkage cv",
    "smoothed": "--method smoothed",
}


def compare(
    *,
    rows: opt.Rows,
    missing: opt.Missing = "error",
    reading: opt.Reading,
    testing: opt.Testing,
    out: Annotated[
        Path | None,
        opt.write(
            "FILE",
            "Picture of the comparison, .png or .svg.",
            "--out",
            "-o",
            parser=opt.file_named(".png", ".svg"),
        ),
    ] = None,
) -> None:
    """Compare seven classifiers on held-out rows and recommend one.

    - `heterolda compare iris.csv --target class`
    - `heterolda compare iris.csv -t class --cv 5 --out models.png`
    - `heterolda compare 'parts/*.parquet' -t kind --exclude id --time date`

    The seven are LDA, heterolda's discriminant (GLD) without and with shrinkage,
    logistic regression, a linear SVM, the model of fit --method smoothed, and QDA. The
    table shows accuracy, difference from the best with its standard error, and log
    loss, all on held-out rows, and the time of a fit. All rows are read into memory.
    """
    test = () if testing.test is None else (testing.test,)
    check_files({"out": out}, *test, data=rows.data)
    if out is not None:
        need_matplotlib()
    text = reading.format
    from heterolda.cli.testing import split_arguments
    from heterolda.cli.traps import group_advice, training_traps
    from heterolda.data.gathering import read_all
    from heterolda.inspection.comparison import compare as compare_models

    with (
        training_table(rows, missing, text, testing) as table,
        StatusLine() as status,
    ):
        data, used = read_all(table, status.doing("reading the data into memory"))
        note(*training_traps(used, data), *group_advice(table))
        data, settings = split_arguments(data, table, testing)
        comparison = compare_models(
            data.X,
            data.labels,
            sample_weight=data.weights,
            progress=status.doing("comparing"),
            **settings,
        )
    how = _COMMANDS.get(str(comparison.choice))
    print_result(
        [
            f"Models for {name_of(rows.data)}:",
            "",
            str(comparison),
            *(["", f"On the command line: heterolda fit ... {how}"] if how else []),
        ]
    )
    if out is not None:
        import matplotlib

        from heterolda.foundations.files import atomic_write

        matplotlib.use("agg")  # no window
        with atomic_write(out) as file:
            figure = comparison.plot().figure
            figure.savefig(file, format=out.suffix[1:].lower(), dpi=150)
        print_to_stderr(f"the picture is in {out}")
