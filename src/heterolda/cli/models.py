"""Load models, open the tables that they need, and write their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heterolda.data.files import PARQUET, STANDARD_STREAM
from heterolda.data.formats import Format
from heterolda.data.labels import ClassFinder
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import AbsentColumnsError, File, Table
from heterolda.data.writer import write_table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import raw_columns
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.export import load
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import Progress
from heterolda.foundations.wording import count, named


def load_classifier(path: Path, *, proba: bool = False) -> Any:
    """Load a classifier or a pipeline that ends in one; reject a projection."""
    model = linear_form(load(path))
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{path} holds a projection, which does not predict classes: save a "
            "classifier, or a pipeline of the projection and a classifier"
        )
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{path} decides by votes, which have no probabilities for more than two "
            "classes: fit without --voting"
        )
    return model


def _takes_missing(model: Any) -> bool:
    """Return whether rows with missing values can be classified."""
    kinds = GaussianLinearDiscriminant, SmoothedLinearDiscriminant
    # A bound holds for rows like those of the fit.
    as_in_fit = not hasattr(model, "bound_") or model.missing == "em"
    return isinstance(model, kinds) and as_in_fit and hasattr(model, "statistics_")


def missing_for(model: Any, missing: str | None) -> str:
    """Return how to treat missing values, by default as in the fit, and set it."""
    takes_missing = _takes_missing(model)
    if missing is None:
        return model.missing if takes_missing else "error"
    if missing == "em" and not takes_missing:
        raise ParameterError(
            "missing",
            "='em' needs a model that is not refined and, if bounded, was fitted "
            "with it: choose missing='drop'",
        )
    if takes_missing:
        model.set_params(missing="em" if missing == "em" else "error")
    return missing


def missing_notes(n_incomplete: int) -> list[str]:
    """Return a note on the number of incomplete rows that were classified."""
    if not n_incomplete:
        return []
    rows = count(n_incomplete, "row")
    return [f"{rows} with missing values: classified by the values they have"]


def model_table(model: Any, data: list[str], text: Format, **settings: Any) -> Table:
    """Return the table that a model needs, in the format of its fit and the options."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "the model file has no feature names: set the attribute feature_names_in_ "
            "of the model, and save it again"
        )
    record = getattr(model, "fit_record_", None)
    if record is not None:
        n, na = record.n_columns, tuple(dict.fromkeys([*record.marks, *text.na]))
        text = replace(text, na=na, header=text.header and n is None)
        settings["categories"] = record.categories
        if n is not None:
            # New files may lack the labels if that moves no other column.
            is_last = record.target == f"column_{n}"
            text = replace(text, n_columns=(n, n - 1) if is_last else (n,))
    return Table(
        source=STANDARD_STREAM if data == [STANDARD_STREAM] else data,
        columns=raw_columns(map(str, names), settings.get("categories", ())),
        format=text,
        takes_missing=_takes_missing(model),
        **settings,
    )


def labeled(model: Any, classes: NDArray[Any]) -> Any:
    """Return an unfitted copy, with labels in place of their text in parameters."""
    finder = ClassFinder(classes)
    params = {
        name: _by_label(name.rpartition("__")[2], value, finder)
        for name, value in model.get_params().items()
        if isinstance(value, dict)
    }
    return clone(model).set_params(**params)


def _by_label(parameter: str, by_text: Any, finder: ClassFinder) -> Any:
    """Replace text with labels in keys of dictionaries; return other values as is."""
    if not isinstance(by_text, dict):
        return by_text
    labels, by_labels = finder.classes.tolist(), {}
    for text, value in by_text.items():
        k = finder.find(text)
        if k < 0:
            raise ParameterError(
                parameter, f": {text!r} is not one of the classes {named(labels, 10)}"
            )
        by_labels[labels[k]] = _by_label(parameter, value, finder)
    return by_labels


def write_answers(
    reading: Pass,
    out: str,
    selected: Sequence[str],
    dropped: Sequence[str],
    added: Sequence[str],
    answer: Callable[[Array], Sequence[Any]],
    progress: Progress,
) -> int:
    """Write columns of a table unchanged, then `added` ones; return the number of rows.

    The columns are `selected`, or all except `dropped`. `answer` computes added columns
    from the features of a batch. In Parquet files, features of text files are numbers.
    """
    import pyarrow as pa

    as_numbers = out.lower().endswith(PARQUET)
    kept: list[str] = []

    def answered(file: File, records: Any, X: Array) -> tuple[Any, Any]:
        columns = dict(zip(kept, records.select(kept).columns, strict=True))
        if as_numbers and file.is_text:
            # Features of categories are not columns.
            for name, x in zip(file.features, X.T, strict=True):
                if name in columns:
                    columns[name] = pa.array(x, mask=np.isnan(x))
        columns |= dict(zip(added, answer(X), strict=True))
        return pa.RecordBatch.from_pydict(columns), file.format

    def batches() -> Iterator[tuple[Any, Any]]:
        for file in open_files(reading.table):
            if not kept:
                names = [name for name in file.schema.names if name not in dropped]
                kept.extend(selected or names)
                _check_names(file, kept, added)
                # Column names come first, so that a pipe delivers them at once.
                empty = pa.RecordBatch.from_pylist([], schema=file.schema)
                yield answered(file, empty, np.empty((0, len(file.features))))
            for records, rows in reading.of_file(file):
                yield answered(file, records, rows.X)

    return write_table(batches(), out, progress)


def _check_names(file: File, kept: Sequence[str], added: Sequence[str]) -> None:
    """Reject columns that do not exist, or would be written twice."""
    names = file.schema.names
    absent = sorted({*kept} - {*names})
    if absent:
        raise AbsentColumnsError(
            f"{file.name}: no column is named {named(absent)}; it has {named(names)}"
        )
    columns = [*kept, *added]
    clash = next((name for name in added if columns.count(name) > 1), None)
    if clash is not None:
        raise ValueError(
            f"{file.name}: there is already a column {clash!r}: rename it, or choose "
            "the columns to write with --id"
        )
