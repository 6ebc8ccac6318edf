"""Fitted models on rows in files: columns, accuracy and calibration."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from heterolda.data.categories import Category, raw_columns
from heterolda.data.columns import Columns
from heterolda.data.labels import ClassFinder
from heterolda.data.reading import Reading
from heterolda.data.table import RowProgress, Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.export import load
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.wording import count
from heterolda.inspection.scoring import Scores


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


def can_take_gaps(model: Any) -> bool:
    """Whether rows with gaps can be decided by what they have.

    A bound is on rows such as those of the fit: with gaps, if these may have had some.
    """
    plain = isinstance(model, GaussianLinearDiscriminant)
    as_in_fit = not hasattr(model, "bound_") or model.missing == "em"
    return plain and as_in_fit and hasattr(model, "statistics_")


def gaps_for(model: Any, missing: str | None) -> str:
    """What to do with gaps: what was asked for, or what the model was fitted for.

    The model is set to it.
    """
    can = can_take_gaps(model)
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


def gap_notes(n_gaps: int) -> list[str]:
    """How many rows had gaps and were decided nevertheless, if any."""
    if not n_gaps:
        return []
    rows = count(n_gaps, "row")
    return [f"{rows} with missing values: decided by the values they have"]


def needs_of(
    model: Any, columns: tuple[str, ...], reading: Reading
) -> tuple[Columns, Reading]:
    """The columns that a model needs, and how to read files as those of its fit.

    Columns have the names that the model knows, or those given in its order; options
    about the reading come first.
    """
    record = getattr(model, "fit_record_", None)
    if record is None:
        return _feature_columns(model, columns, ()), reading
    needed = _feature_columns(model, columns, record.categories)
    marks = dict.fromkeys([*record.marks, *reading.marks])
    reading = replace(reading, marks=tuple(marks))
    n = record.n_columns
    if n is None:
        return needed, reading
    # New files may lack the labels, if no other column moves by that.
    counts = (n, n - 1) if record.target == f"column_{n}" else (n,)
    return replace(needed, n_columns=counts), replace(reading, header=False)


def _feature_columns(
    model: Any, columns: tuple[str, ...], categories: tuple[Category, ...]
) -> Columns:
    """Columns of features in the order of a model: its own names, or those given."""
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
    renamed = tuple(replace(c, column=new[c.column]) for c in categories)
    return Columns(names, None, categories=renamed)


def without_names(model: Any) -> Any:
    """A shallow copy that takes plain arrays, whose columns are in order already."""
    if isinstance(model, Pipeline):
        return Pipeline([(name, without_names(step)) for name, step in model.steps])
    plain = copy(model)
    # Steps of a pipeline pass arrays to each other, whatever `set_output` has said.
    for name in ("feature_names_in_", "_sklearn_output_config"):
        plain.__dict__.pop(name, None)
    return plain


def winners(model: Any, X: Array) -> Index:
    """Places of the predicted classes among all."""
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    *projections, (_, classifier) = steps
    for _, projection in projections:
        X = projection.transform(X)
    places: Index = classifier._blockwise(X, "winners")
    return places


def evaluate_rows(
    model: Any, data: Table, progress: RowProgress
) -> tuple[Scores, list[str]]:
    """Compare a model with rows of known class, in one pass over the files.

    Notes about the rows come with it.
    """
    scores, finder = Scores(model.classes_), ClassFinder(model.classes_)
    plain, n_gaps = without_names(model), 0
    for rows in data.batches(progress):
        n_gaps += rows.n_gaps
        scores.add(finder.of(rows), plain.predict_proba(rows.X), rows.weight)
    if not scores.weight:
        raise ValueError("the data have no rows")
    return scores, [*data.unseen.notes(data.categories), *gap_notes(n_gaps)]
