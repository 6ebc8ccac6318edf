"""The command that predicts the rows of files, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_outputs, format_of
from heterolda.cli.messages import (
    StatusLine,
    errors_in_one_line,
    note,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.data.files import PARQUET, STANDARD_STREAM, check_written
from heterolda.foundations.wording import count, named, names_text

if TYPE_CHECKING:
    from heterolda.data.reading import Pass
    from heterolda.data.table import File
    from heterolda.foundations.arrays import Array, Mask


Missing = Annotated[
    Literal["error", "em", "keep", "drop"] | None,
    opt.read(
        None,
        "Rows with missing values: stop with an error, decide them by the values they "
        "have (em), keep them with an empty prediction, or drop them. By default em "
        "for models fitted that way, otherwise error.",
    ),
]
Out = Annotated[
    str,
    opt.write(
        "FILE",
        "A .csv, .tsv (also .gz) or .parquet file. By default, and with -, CSV on "
        "standard output.",
        "--out",
        "-o",
        show_default=False,
    ),
]
Proba = Annotated[
    bool, opt.write(None, "Add the probability of each class.", "--proba")
]
Column = Annotated[str, opt.write("NAME", "Name of the column of predictions.")]


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    columns: opt.ModelColumns = None,
    missing: Missing = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    out: Out = STANDARD_STREAM,
    proba: Proba = False,
    identifier: opt.Identifier = None,
    column: Column = "prediction",
    debug: opt.Debug = False,
) -> None:
    """Predict the class of each row of a table, in a new column.

    - `heterolda predict iris.json new.csv --out predicted.csv`
    - `heterolda predict iris.json new.parquet --id sample --proba -o p.parquet`
    - `cat new.csv | heterolda predict iris.json - | head`

    Columns are found by name, in any order. Those that the model does not use are
    passed on as they are, text files character by character. Rows keep their order.
    Files are read and written piece by piece, so they may be larger than memory.
    """
    with errors_in_one_line(debug):
        check_written(out)
        to_stdout = out == STANDARD_STREAM
        check_outputs({"--out": None if to_stdout else out}, model=model, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        import heterolda.cli.models as models
        from heterolda.data.reading import Pass
        from heterolda.data.writer import write_table

        fitted = models.load_classifier(model)
        way = models.missing_for(fitted, missing)
        table = models.model_table(
            fitted,
            opt.split_names(columns),
            text,
            source=STANDARD_STREAM if data == [STANDARD_STREAM] else data,
            missing="em" if way == "keep" else way,
            keep=True,
        )
        labels = fitted.classes_.tolist() if proba else []
        added = [column, *(f"probability_{label}" for label in labels)]
        reading, notes = Pass(table), list[str]()
        quiet = to_stdout and sys.stdout.isatty()
        with (
            warnings_as_notes(),
            StatusLine(quiet) as status,
            models.columns_of_the_model(),
        ):
            batches = _predicted(
                fitted,
                reading,
                added,
                only=opt.split_names(identifier),
                missing=way,
                typed=out.lower().endswith(PARQUET),
                notes=notes,
            )
            n_rows = write_table(batches, out, status.doing("predicting"))
        if reading.n_dropped:
            dropped = count(reading.n_dropped, "row")
            notes.append(f"dropped {dropped} with missing values")
        note(*notes)
        if not to_stdout:
            print_to_stderr(f"{n_rows:,} rows in {out}")


def _predicted(
    model: Any,
    reading: Pass,
    added: list[str],
    *,
    only: tuple[str, ...],
    missing: str,
    typed: bool,
    notes: list[str],
) -> Iterator[tuple[Any, Any]]:
    """Yield all batches with the columns of the first file, or `only` some of them.

    They are followed by those that are `added`. With each batch comes the format of its
    file. With `typed`, features of text files are written as numbers.
    """
    import numpy as np
    import pyarrow as pa

    from heterolda.cli.models import missing_notes, without_names

    plain, n_incomplete = without_names(model), 0
    names: list[str] = []
    for file, records, X in _batches(reading):
        if not names:
            names = file.schema.names
            notes += _check_names(file, added, only)
        absent = np.asarray(np.isnan(X).any(axis=1))
        if missing == "em":
            n_incomplete += int(absent.sum())
            absent[:] = False
        columns = dict(zip(names, records.select(names).columns, strict=True))
        if typed and file.is_text:
            # A feature of a category has the name of no column.
            features = zip(file.table.features, X.T, strict=True)
            numbers = {k: pa.array(x, mask=np.isnan(x)) for k, x in features}
            columns |= {k: v for k, v in numbers.items() if k in columns}
        if only:
            columns = {name: columns[name] for name in only}
        columns |= _answers(plain, X, absent, added)
        yield pa.RecordBatch.from_pydict(columns), file.format
    notes += reading.unseen.notes(reading.table.categories)
    notes += missing_notes(n_incomplete)


def _batches(reading: Pass) -> Iterator[tuple[File, Any, Array]]:
    """Yield file, records and features of all batches, the first without rows.

    It is there before a row has come, so that whoever waits sees the names.
    """
    import numpy as np
    import pyarrow as pa

    from heterolda.data.reading import open_files

    is_first = True
    for file in open_files(reading.table):
        if is_first:
            empty = pa.RecordBatch.from_pylist([], schema=file.schema)
            yield file, empty, np.empty((0, len(file.table.features)))
            is_first = False
        for records, rows in reading.of_file(file):
            yield file, records, rows.X


def _check_names(file: File, added: list[str], only: tuple[str, ...]) -> list[str]:
    """Refuse columns that are not there, or would be there twice; note unused ones."""
    names = file.schema.names
    absent = [name for name in only if name not in names]
    if absent:
        raise opt.UsageError(
            f"{file.name}: no column is named {named(absent)}; it has {named(names)}"
        )
    kept = [*(only or names), *added]
    clash = next((name for name in added if kept.count(name) > 1), None)
    if clash is not None:
        raise ValueError(
            f"{file.name}: there is already a column {clash!r}: choose another name "
            "with --column"
        )
    used = {*file.table.feature_columns, *only}
    extra = [name for name in names if name not in used]
    return [f"the model does not use {names_text(extra)}"] if extra else []


def _answers(model: Any, X: Array, absent: Mask, added: list[str]) -> dict[str, Any]:
    """Return the new columns: predictions, then probabilities if they are asked for."""
    import numpy as np
    import pyarrow as pa

    X = np.where(absent[:, None], 0.0, X) if absent.any() else X
    prediction, *probabilities = added
    labels, chances = model.classes_[:0], np.zeros((0, len(probabilities)))
    if len(X) and probabilities:
        chances = model.predict_proba(X)
        labels = model.classes_[chances.argmax(axis=1)]
    elif len(X):
        labels = model.predict(X)
    kind = pa.array(model.classes_.tolist()).type
    columns = {prediction: pa.array(labels, kind, mask=absent)}
    for j, name in enumerate(probabilities):
        columns[name] = pa.array(chances[:, j], mask=absent)
    return columns
