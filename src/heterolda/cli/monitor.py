"""The command that says whether rows in use are like those of the fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, name_of
from heterolda.cli.messages import StatusLine, note, print_result
from heterolda.data.files import STANDARD_STREAM

if TYPE_CHECKING:
    from heterolda.inspection.monitoring import Monitor

Reference = Annotated[
    str | None,
    opt.read(
        "FILE",
        "File, folder or quoted pattern to compare with, in place of the rows of the "
        "fit.",
        "--reference",
    ),
]
FailAbove = Annotated[
    float | None,
    opt.write(
        "SHARE",
        "Exit with status 3 if more than this share of the rows is unlike those of the "
        "fit.",
        "--fail-above",
        min=0,
        max=1,
    ),
]


def monitor(
    *,
    model: opt.ModelFile,
    data: opt.Data,
    reference: Reference = None,
    target: Annotated[
        str | None,
        opt.read(
            "COLUMN",
            "Column with the class of each row, if it is known. By default the target "
            "of the fit, if the files have it.",
            "--target",
            "-t",
        ),
    ] = None,
    reading: opt.Reading,
    as_json: Annotated[
        bool, opt.write(None, "Print one JSON object instead of text.", "--json")
    ] = False,
    fail_above: FailAbove = None,
) -> None:
    """Say whether rows in use are like those of the fit, and classes as frequent.

    - `heterolda monitor iris.json today.csv`
    - `heterolda monitor iris.json today.csv --reference last_month.csv --json`
    - `heterolda monitor iris.json today.csv --fail-above 0.01`

    Shows the share of rows that are unlike those of the fit, with the columns that make
    them so; estimated frequencies of the classes; undecided rows; and, where there are
    labels, the error of each class. Rows with missing values are left out. Remarks are
    what chance does not explain. Files are read once, in pieces.
    """
    check_files({}, model, data=data)
    import typer

    from heterolda.export import load

    fitted = load(model)
    with StatusLine() as status:
        now = _gathered(fitted, model, data, target, reading.format, status)
        before = None
        if reference is not None:
            given = [reference], target, reading.format, status
            before = _gathered(fitted, model, *given)
        found = now.result(before)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, allow_nan=False))
    else:
        print_result([name_of(data), "", str(found)])
    if fail_above is not None and now.unlike.share > fail_above:
        raise typer.Exit(3)


def _gathered(
    fitted: Any, path: Path, data: list[str], target: str | None, text: Any, status: Any
) -> Monitor:
    """Return what rows of files say."""
    import heterolda.cli.models as models
    from heterolda.data.reading import Pass, open_files
    from heterolda.inspection.monitoring import Monitor

    settings = {"missing": "drop"}
    table = models.model_table(fitted, data, text, **settings)
    record = getattr(fitted, "fit_record_", None)
    if target is None and record is not None and data != [STANDARD_STREAM]:
        file = next(open_files(table))
        target = record.target if record.target in file.schema.names else None
    if target is not None:
        table = models.model_table(fitted, data, text, target=target, **settings)
    seen = Monitor(fitted)
    classes = None if target is None else fitted.classes_
    rows = Pass(table, status.doing("reading"), classes=classes)
    for batch in rows:
        labels = None if target is None else fitted.classes_[batch.codes]
        seen.add(batch.X, labels)
    note(*rows.unseen_notes())
    if rows.n_dropped:
        note(f"left out {rows.n_dropped:,} rows with missing values")
    seen.unlike.with_unseen(rows.unseen)
    return seen
