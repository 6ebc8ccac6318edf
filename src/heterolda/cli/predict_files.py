"""Predictions for the rows of files, batch by batch, beside what the files have."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.cli.evaluate_files import (
    can_take_gaps,
    gap_notes,
    winners,
    without_names,
)
from heterolda.data.batches import check_finite, place_of
from heterolda.data.categories import encoded
from heterolda.data.columns import Columns, OpenFile
from heterolda.data.decoding import features_of
from heterolda.data.not_numbers import NotNumbersError
from heterolda.data.prefetch import prefetch
from heterolda.data.reading import Reading
from heterolda.data.sources import open_source
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.wording import count, listed, names_text


@dataclass(frozen=True)
class Output:
    """What the table of predictions has."""

    column: str = "prediction"
    proba: bool = False  # whether the probability of each class follows
    only: tuple[str, ...] = ()  # columns of the data to keep, if not all of them
    missing: str = "error"  # or em, a prediction; keep, an empty one; drop, no row
    numbers: bool = False  # whether features of text files are written as numbers

    def new_columns(self, classes: NDArray[Any]) -> list[str]:
        """Names of the columns that are added."""
        labels = classes.tolist() if self.proba else []
        return [self.column, *(f"probability_{label}" for label in labels)]


def predict_batches(
    model: Any,
    source: Any,
    needed: Columns,
    output: Output,
    notice: Callable[[str], None],
) -> Generator[tuple[Any, Reading], None, None]:
    """Predict the rows of files, in their order; a first batch has no rows.

    Batches have the columns of the data, then the prediction, then probabilities; with
    each comes how its rows were read.
    `notice` is called with what the user should know, in a line.
    """
    wanted = replace(needed, exclude=output.only, keep=True)
    plain = without_names(model)
    n_dropped = n_gaps = 0
    batches = _batches(open_source(source, wanted))
    for number, (file, batch, n_before) in enumerate(prefetch(batches, source)):
        if number == 0:
            _check_names(file, output.new_columns(model.classes_), output)
            used = {*(needed.features or ()), *output.only}
            extra = [name for name in file.schema.names if name not in used]
            if extra:
                notice(f"the model does not use {names_text(extra)}")
        try:
            X = features_of(batch, file, n_before)
        except NotNumbersError as error:
            if output.missing == "error":
                error.complete("em" if can_take_gaps(model) else "drop")
            raise
        absent = _absent(X, file, n_before, model, output.missing)
        if output.missing == "em":
            n_gaps += int(absent.sum())
            absent[:] = False
        if output.missing == "drop" and absent.any():
            n_dropped += int(absent.sum())
            batch, X, absent = batch.filter(~absent), X[~absent], absent[~absent]
        yield _appended(batch, X, absent, file, plain, output), file.reading
    for text in [*needed.unseen.notes(needed.categories), *gap_notes(n_gaps)]:
        notice(text)
    if n_dropped:
        notice(f"dropped {count(n_dropped, 'row')} with missing values")


def _batches(files: Iterator[OpenFile]) -> Iterator[tuple[OpenFile, Any, int]]:
    """All batches with the columns of the first file in its order, after an empty one.

    With each batch comes the number of rows of its file before it.
    """
    import pyarrow as pa

    names: list[str] | None = None
    for file in same_columns(files):
        if names is None:
            names = file.schema.names
            yield file, pa.RecordBatch.from_pylist([], schema=file.schema), 0
        n_before = 0
        for batch in file.batches:
            yield file, batch.select(names), n_before
            n_before += batch.num_rows


def same_columns(files: Iterator[OpenFile]) -> Iterator[OpenFile]:
    """The same files; an error if one of them has other columns than the first."""
    first: OpenFile | None = None
    for file in files:
        first = first or file
        differing = set(file.schema.names) ^ set(first.schema.names)
        if differing:
            raise ValueError(
                f"{file.name}: its columns differ from those of {first.name}: "
                f"only one of the two has {listed(np.array(sorted(differing)))}"
            )
        if file.is_text and file.reading.decimal != first.reading.decimal:
            raise ValueError(
                f"{file.name}: its decimal mark differs from that of {first.name}, and "
                "the output would mix both: process these files one by one"
            )
        yield file


def _check_names(file: OpenFile, added: list[str], output: Output) -> None:
    """Refuse new columns that have the names of others."""
    names = [*(output.only or file.schema.names), *added]
    clash = next((name for name in added if names.count(name) > 1), None)
    if clash is not None:
        raise ValueError(
            f"{file.name}: there is already a column {clash!r}: choose another name "
            "with --column"
        )


def _absent(X: Array, file: OpenFile, n_before: int, model: Any, missing: str) -> Mask:
    """Rows with missing values, if there may be such; infinity may never be there."""
    gaps = np.isnan(X)
    check_finite(X, file, n_before)
    if missing == "error" and gaps.any():
        raise ValueError(
            f"{place_of(gaps, file, n_before)} is missing: fill it in, or choose "
            f"--missing {'em, ' if can_take_gaps(model) else ''}keep or drop"
        )
    return np.asarray(gaps.any(axis=1))


def _appended(
    batch: Any,
    X: Array,
    absent: Mask,
    file: OpenFile,
    model: Any,
    output: Output,
) -> Any:
    """A batch with its predictions."""
    import pyarrow as pa

    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if output.numbers and file.is_text:
        gaps = np.isnan(X)
        features = encoded(file.columns.features or (), file.columns.categories)
        for j, (column, name) in enumerate(features):
            if column == name:  # and not of a category
                columns[name] = pa.array(X[:, j], mask=gaps[:, j])
    if output.only:
        columns = {name: columns[name] for name in output.only}
    known = np.where(absent[:, None], 0.0, X) if absent.any() else X
    prediction, *probabilities = output.new_columns(model.classes_)
    places, chances = np.zeros(0, np.int64), np.zeros((0, len(probabilities)))
    if len(X) and output.proba:
        chances = model.predict_proba(known)
        places = chances.argmax(axis=1)
    elif len(X):
        places = winners(model, known)
    labels = pa.array(model.classes_.tolist())
    columns[prediction] = labels.take(pa.array(places, mask=absent))
    for j, name in enumerate(probabilities):
        columns[name] = pa.array(chances[:, j], mask=absent)
    return pa.RecordBatch.from_pydict(columns)
