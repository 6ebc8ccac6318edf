"""Model files: what they hold, and the tables that they need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from heterolda.data.formats import Format
from heterolda.data.labels import ClassFinder
from heterolda.data.not_numeric import NotNumericError
from heterolda.data.reading import open_files
from heterolda.data.table import AbsentColumnsError, Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.categories import raw_columns
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.export import load
from heterolda.foundations.wording import count, listed, named

# Options for cells that are not numbers, with the same columns.
_FOR_MODELS = ("na", "decimal", "missing")


def load_model(path: Path) -> Any:
    """Load a model; a file that cannot be one, such as a table, is named plainly."""
    with path.open("rb") as file:
        if not file.read(100).lstrip().startswith(b"{"):
            raise ValueError(
                f"{path} is not a model file written by `heterolda fit --out`"
            )
    return load(path)


def load_classifier(path: Path) -> Any:
    """Load a classifier or a pipeline that ends in one; refuse a mere projection."""
    model = linear_form(load_model(path))
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{path} holds a projection, which does not predict classes: save a "
            "classifier, or a pipeline of the projection and a classifier"
        )
    return model


def _takes_missing(model: Any) -> bool:
    """Return whether rows with missing values can be decided by what they have.

    A bound is on rows such as those of the fit: incomplete, if these may have been.
    """
    plain = isinstance(model, GaussianLinearDiscriminant)
    as_in_fit = not hasattr(model, "bound_") or model.missing == "em"
    return plain and as_in_fit and hasattr(model, "statistics_")


def missing_for(model: Any, missing: str | None) -> str:
    """Return what to do with missing values, by default what the model was fitted for.

    The model is set to it.
    """
    can = _takes_missing(model)
    if missing is None:
        return model.missing if can else "error"
    if missing == "em" and not can:
        raise ParameterError(
            "missing",
            "='em' needs a model that is not refined, and a bounded model fitted "
            "with it: choose missing='drop'",
        )
    if can:
        model.set_params(missing="em" if missing == "em" else "error")
    return missing


def missing_notes(n_incomplete: int) -> list[str]:
    """Return how many incomplete rows were decided nevertheless, if any."""
    if not n_incomplete:
        return []
    rows = count(n_incomplete, "row")
    return [f"{rows} with missing values: decided by the values they have"]


def model_table(
    model: Any, columns: tuple[str, ...], text: Format, **settings: Any
) -> Table:
    """Return the table that a model needs, read as that of its fit.

    Columns have the names that the model knows, or those given in its order; options
    about the format come first.
    """
    record = getattr(model, "fit_record_", None)
    categories = () if record is None else record.categories
    n_columns: tuple[int, ...] = ()
    if record is not None:
        text = replace(text, na=tuple(dict.fromkeys([*record.marks, *text.na])))
    if record is not None and record.n_columns is not None:
        # New files may lack the labels, if no other column moves by that.
        n = record.n_columns
        n_columns = (n, n - 1) if record.target == f"column_{n}" else (n,)
        text = replace(text, header=False)
    own = getattr(model, "feature_names_in_", None)
    if own is None and not columns:
        raise ValueError(
            "the model file has no feature names: name the "
            f"{model.n_features_in_} columns with --columns"
        )
    needed = columns if own is None else raw_columns(map(str, own), categories)
    names = columns or needed
    n_needed = model.n_features_in_ if own is None else len(needed)
    if len(names) != n_needed:
        what = f"needs {n_needed} columns" if categories else f"has {n_needed} features"
        raise ParameterError(
            "columns", f"names {count(len(names), 'column')}, but the model {what}"
        )
    new = dict(zip(needed, names, strict=True))
    return Table(
        columns=names,
        categories=tuple(replace(c, column=new[c.column]) for c in categories),
        n_columns=n_columns,
        format=text,
        takes_missing=_takes_missing(model),
        **settings,
    )


def with_target(table: Table) -> Table:
    """Return a table whose labels are in the one column that is not a feature."""
    file = next(open_files(table))
    others = [name for name in file.schema.names if name not in file.table.read]
    if not others:
        raise ValueError(f"{file.name}: there is no column left for the labels")
    if len(others) > 1:
        raise ValueError(
            f"{file.name}: the columns {listed(np.array(others))} are not features of "
            "the model: name the column of the labels with target=..."
        )
    return replace(table, target=others[0])


@contextmanager
def columns_of_the_model(typed: str | None = None) -> Iterator[None]:
    """Say what to do about columns that a model needs as they are.

    Those that a table lacks are wrong data, unless their name was typed.
    """
    try:
        yield
    except NotNumericError as error:
        usable = {k: v for k, v in error.options.items() if k in _FOR_MODELS}
        usable = {} if usable.keys() <= {"missing"} else usable
        remedy = ". The model needs numbers there: correct the file"
        raise NotNumericError(error.problem, remedy, usable) from error
    except AbsentColumnsError as error:
        if typed in error.absent:
            raise
        raise ValueError(str(error)) from error


def without_names(model: Any) -> Any:
    """Return a copy that takes plain arrays, whose columns are in order already."""
    if isinstance(model, Pipeline):
        return Pipeline([(name, without_names(step)) for name, step in model.steps])
    plain = copy(model)
    # Steps of a pipeline pass arrays to each other, whatever `set_output` has said.
    for name in ("feature_names_in_", "_sklearn_output_config"):
        plain.__dict__.pop(name, None)
    return plain


def labelled(model: Any, classes: NDArray[Any]) -> Any:
    """Return an unfitted copy, with labels in place of their text in parameters."""
    finder = ClassFinder(classes)
    params = {
        name: _by_label(name.rpartition("__")[2], value, finder)
        for name, value in model.get_params().items()
        if isinstance(value, dict)
    }
    return clone(model).set_params(**params)


def _by_label(parameter: str, given: Any, finder: ClassFinder) -> Any:
    """Return dictionaries by labels instead of their text; other values as they are."""
    if not isinstance(given, dict):
        return given
    labels, by_labels = finder.classes.tolist(), {}
    for text, value in given.items():
        k = finder.find(text)
        if k < 0:
            raise ParameterError(
                parameter, f": {text!r} is not one of the classes {named(labels, 10)}"
            )
        by_labels[labels[k]] = _by_label(parameter, value, finder)
    return by_labels
