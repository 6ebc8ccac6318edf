"""Predictions for the rows of files, batch by batch, after what the files have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.cli.messages import note, print_to_stderr, warnings_as_notes
from heterolda.cli.models import (
    columns_of_the_model,
    load_classifier,
    missing_for,
    missing_notes,
    model_table,
    winners,
    without_names,
)
from heterolda.cli.parsing import UsageError
from heterolda.cli.progress import StatusLine
from heterolda.data.categories import encoded
from heterolda.data.files import PARQUET, STANDARD_STREAM
from heterolda.data.formats import Format
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import File, Table
from heterolda.data.writer import write_table
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.wording import count, named, names_text


@dataclass(frozen=True)
class Output:
    """What the table of predictions has."""

    column: str
    proba: bool  # whether the probability of each class follows
    only: tuple[str, ...]  # columns of the data to keep, if not all of them
    missing: str | None  # error; em, a prediction; keep, an empty one; drop, no row
    path: str

    @property
    def is_typed(self) -> bool:
        """Whether features of text files are written as numbers."""
        return self.path.lower().endswith(PARQUET)

    def new_columns(self, classes: NDArray[Any]) -> list[str]:
        """Return the names of the columns that are added."""
        labels = classes.tolist() if self.proba else []
        return [self.column, *(f"probability_{label}" for label in labels)]


def predict_files(
    path: Path, source: Any, columns: tuple[str, ...], text: Format, output: Output
) -> None:
    """Predict the rows of files, and write them; notes come after."""
    model = load_classifier(path)
    missing = missing_for(model, output.missing)
    # Incomplete rows are kept, with a prediction or without.
    table = model_table(
        model,
        columns,
        text,
        source=source,
        missing="em" if missing == "keep" else missing,
        keep=True,
    )
    quiet = output.path == STANDARD_STREAM and sys.stdout.isatty()
    output = replace(output, missing=missing)
    reading, notes = Pass(table), list[str]()
    with warnings_as_notes(), StatusLine(quiet) as status, columns_of_the_model(None):
        batches = _predicted(model, reading, output, notes)
        n_rows = write_table(batches, output.path, status.doing("predicting"))
    if reading.n_dropped:
        notes.append(f"dropped {count(reading.n_dropped, 'row')} with missing values")
    note(*notes)
    if output.path != STANDARD_STREAM:
        print_to_stderr(f"{n_rows:,} rows in {output.path}")


def _predicted(
    model: Any, reading: Pass, output: Output, notes: list[str]
) -> Iterator[tuple[Any, Format]]:
    """Yield all batches with the columns of the first file, after one without rows.

    These are followed by the prediction, then probabilities; with each comes the format
    of its file.
    """
    import pyarrow as pa

    plain, n_incomplete = without_names(model), 0
    names: list[str] = []
    for file, records, X in _batches(reading):
        if not names:
            names = file.schema.names
            notes += _check_names(file, reading.table, model, output)
        absent = np.asarray(np.isnan(X).any(axis=1))
        if output.missing == "em":
            n_incomplete += int(absent.sum())
            absent[:] = False
        columns = dict(zip(names, records.select(names).columns, strict=True))
        if output.is_typed and file.is_text:
            columns |= _numbers(X, file)
        if output.only:
            columns = {name: columns[name] for name in output.only}
        columns |= _answers(plain, X, absent, output)
        yield pa.RecordBatch.from_pydict(columns), file.format
    notes += reading.unseen.notes(reading.table.categories)
    notes += missing_notes(n_incomplete)


def _batches(reading: Pass) -> Iterator[tuple[File, Any, Array]]:
    """Yield file, records and features of all batches, the first without rows.

    It is there before a row has come, so that whoever waits sees the names.
    """
    import pyarrow as pa

    is_first = True
    for file in open_files(reading.table):
        if is_first:
            empty = pa.RecordBatch.from_pylist([], schema=file.schema)
            yield file, empty, np.empty((0, len(file.table.features)))
            is_first = False
        for records, rows in reading.of_file(file):
            yield file, records, rows.X


def _check_names(file: File, table: Table, model: Any, output: Output) -> list[str]:
    """Refuse columns that are not there, or would be there twice; note unused ones."""
    names, added = file.schema.names, output.new_columns(model.classes_)
    absent = [name for name in output.only if name not in names]
    if absent:
        raise UsageError(
            f"{file.name}: no column is named {named(absent)}; it has {named(names)}"
        )
    kept = [*(output.only or names), *added]
    clash = next((name for name in added if kept.count(name) > 1), None)
    if clash is not None:
        raise ValueError(
            f"{file.name}: there is already a column {clash!r}: choose another name "
            "with --column"
        )
    used = {*file.table.feature_columns, *output.only}
    extra = [name for name in names if name not in used]
    return [f"the model does not use {names_text(extra)}"] if extra else []


def _numbers(X: Array, file: File) -> dict[str, Any]:
    """Return the features of a text file as numbers, but for those of categories."""
    import pyarrow as pa

    missing = np.isnan(X)
    pairs = encoded(file.table.feature_columns, file.table.categories)
    return {
        name: pa.array(X[:, j], mask=missing[:, j])
        for j, (column, name) in enumerate(pairs)
        if column == name
    }


def _answers(model: Any, X: Array, absent: Mask, output: Output) -> dict[str, Any]:
    """Return the new columns."""
    import pyarrow as pa

    X = np.where(absent[:, None], 0.0, X) if absent.any() else X
    prediction, *probabilities = output.new_columns(model.classes_)
    places, chances = np.zeros(0, np.int64), np.zeros((0, len(probabilities)))
    if len(X) and output.proba:
        chances = model.predict_proba(X)
        places = chances.argmax(axis=1)
    elif len(X):
        places = winners(model, X)
    labels = pa.array(model.classes_.tolist())
    columns = {prediction: labels.take(pa.array(places, mask=absent))}
    for j, name in enumerate(probabilities):
        columns[name] = pa.array(chances[:, j], mask=absent)
    return columns
