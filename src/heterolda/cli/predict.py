"""The command that predicts the classes of rows in files, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files
from heterolda.cli.messages import StatusLine, note, print_to_stderr
from heterolda.data.files import STANDARD_STREAM, check_written
from heterolda.foundations.wording import count, names_text

if TYPE_CHECKING:
    from heterolda.foundations.arrays import Array


Identifier = Annotated[
    Sequence[str] | None,
    opt.write(
        "NAMES",
        "Write only these columns and the results.",
        "--id",
        parser=opt.split_names,
    ),
]


def predict(
    *,
    model: opt.ModelFile,
    data: opt.Data,
    missing: Annotated[
        Literal["error", "em", "keep", "drop"] | None,
        opt.read(
            None,
            "Rows with missing values: stop with an error, classify them by the values "
            "they have (em), keep them with an empty prediction, or drop them. By "
            "default em for models fitted that way, otherwise error.",
        ),
    ] = None,
    reading: opt.Reading,
    out: Annotated[
        str,
        opt.write(
            "FILE",
            "A .csv, .tsv (also .gz) or .parquet file. By default, and with -, CSV on "
            "standard output.",
            "--out",
            "-o",
            show_default=False,
        ),
    ] = STANDARD_STREAM,
    proba: Annotated[
        bool, opt.write(None, "Add the probability of each class.", "--proba")
    ] = False,
    identifier: Identifier = None,
) -> None:
    """Predict the class of each row of a table, in a new column.

    - `heterolda predict iris.json new.csv --out predicted.csv`
    - `heterolda predict iris.json new.parquet --id sample --proba -o p.parquet`
    - `cat new.csv | heterolda predict iris.json - | head`

    Columns are found by name, in any order. Columns that the model does not use are
    copied unchanged, in text files character by character. Rows keep their order. Files
    are read and written in pieces, so they may be larger than memory.
    """
    check_written(out)
    to_stdout = out == STANDARD_STREAM
    check_files({"out": out}, model, data=data)
    text = reading.format
    import numpy as np

    import heterolda.cli.models as models
    from heterolda.data.reading import Pass

    fitted = models.load_classifier(model, proba=proba)
    policy = models.missing_for(fitted, missing)
    table = models.model_table(
        fitted,
        data,
        text,
        missing="em" if policy == "keep" else policy,
        keep=True,
    )
    selected, n_incomplete = identifier or (), 0
    labels = fitted.classes_.tolist() if proba else []
    added = ["prediction", *(f"probability_{label}" for label in labels)]

    def answer(X: Array) -> list[Any]:
        nonlocal n_incomplete
        is_missing = np.asarray(np.isnan(X).any(axis=1))
        if policy == "em":
            n_incomplete += int(is_missing.sum())
            is_missing[:] = False
        return _answers(fitted, X, is_missing, proba)

    rows = Pass(table)
    with StatusLine(quiet=to_stdout and sys.stdout.isatty()) as status:
        show = status.doing("predicting")
        n_rows = models.write_answers(rows, out, selected, (), added, answer, show)
    used = {*rows.file.columns, *selected}
    unused = [name for name in rows.file.schema.names if name not in used]
    if unused:
        note(f"the model does not use {names_text(unused)}")
    note(*rows.unseen_notes(), *models.missing_notes(n_incomplete))
    if rows.n_dropped:
        note(f"dropped {count(rows.n_dropped, 'row')} with missing values")
    if not to_stdout:
        print_to_stderr(f"wrote {count(n_rows, 'row')} to {out}")


def _answers(model: Any, X: Array, is_missing: Any, proba: bool) -> list[Any]:
    """Return predictions, followed by probabilities if requested."""
    import numpy as np
    import pyarrow as pa

    classes = model.classes_
    labels, probabilities = classes[:0], np.zeros((0, len(classes)))
    if len(X):
        X = np.where(is_missing[:, None], 0.0, X) if is_missing.any() else X
        probabilities = model.predict_proba(X) if proba else probabilities
        labels = classes[probabilities.argmax(axis=1)] if proba else model.predict(X)
    columns = [pa.array(labels, pa.array(classes.tolist()).type, mask=is_missing)]
    if proba:
        columns += [pa.array(p, mask=is_missing) for p in probabilities.T]
    return columns
