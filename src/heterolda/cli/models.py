"""Model files: what they hold, and the tables that they need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.data.categories import Category, raw_columns
from heterolda.data.formats import Format
from heterolda.data.not_numeric import NotNumericError
from heterolda.data.reading import open_files
from heterolda.data.table import AbsentColumnsError, Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.export import load
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.wording import count, listed

# Options for cells that are not numbers, with the same columns.
_FOR_MODELS = ("na", "decimal", "missing")


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model; a file that cannot be one, such as a table, is named plainly."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            start = file.read(100).lstrip()
        if start and not start.startswith(b"{"):
            name = os.fspath(path)
            raise ValueError(
                f"{name} is not a model file written by `heterolda fit --out`"
            )
    return load(path)


def load_classifier(path: str | os.PathLike[str]) -> Any:
    """Load a classifier or a pipeline that ends in one; refuse a mere projection."""
    model = linear_form(load_model(path))
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{os.fspath(path)} holds a projection, which does not predict classes: "
            "save a classifier, or a pipeline of the projection and a classifier"
        )
    return model


def takes_missing(model: Any) -> bool:
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
    can = takes_missing(model)
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
    n_columns: tuple[int, ...] = ()
    categories: tuple[Category, ...] = ()
    if record is not None:
        categories = record.categories
        text = replace(text, na=tuple(dict.fromkeys([*record.marks, *text.na])))
        n = record.n_columns
        if n is not None:
            # New files may lack the labels, if no other column moves by that.
            n_columns = (n, n - 1) if record.target == f"column_{n}" else (n,)
            text = replace(text, header=False)
    names, categories = _feature_columns(model, columns, categories)
    return Table(
        columns=names,
        categories=categories,
        n_columns=n_columns,
        format=text,
        takes_missing=takes_missing(model),
        **settings,
    )


def _feature_columns(
    model: Any, columns: tuple[str, ...], categories: tuple[Category, ...]
) -> tuple[tuple[str, ...], tuple[Category, ...]]:
    """Return columns in the order of a model: its own names, or those given."""
    own = getattr(model, "feature_names_in_", None)
    if own is None and not columns:
        raise ValueError(
            "the model file has no feature names: name the "
            f"{model.n_features_in_} columns with --columns"
        )
    needed = columns if own is None else raw_columns(map(str, own), categories)
    names = columns or needed
    n = model.n_features_in_ if own is None else len(needed)
    if len(names) != n:
        what = "needs %s columns" if categories else "has %s features"
        raise ParameterError(
            "columns", f"names {count(len(names), 'column')}, but the model {what % n}"
        )
    new = dict(zip(needed, names, strict=True))
    return names, tuple(replace(c, column=new[c.column]) for c in categories)


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
def columns_of_the_model(typed: str | None) -> Iterator[None]:
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


def winners(model: Any, X: Array) -> Index:
    """Return indices of the predicted classes."""
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    *projections, (_, classifier) = steps
    for _, projection in projections:
        X = projection.transform(X)
    places: Index = classifier._blockwise(X, "winners")
    return places
