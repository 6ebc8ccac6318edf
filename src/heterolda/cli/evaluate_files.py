"""Fitted models on rows in files: accuracy and calibration."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.labels import ClassFinder
from heterolda.data.table import RowProgress, Table, silent
from heterolda.inspection.scoring import Scores

Array = NDArray[np.float64]

__all__ = [
    "evaluate",
    "feature_columns",
    "hits",
    "training_accuracy",
    "without_names",
]


def feature_columns(
    model: Any, columns: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """Columns that a model needs, in its order.

    Parameters
    ----------
    model : fitted estimator
        The model.
    columns : tuple of str or None, default=None
        Names to use if the model has none, or instead of its own.

    Returns
    -------
    tuple of str
        The names.
    """
    names = columns
    if names is None:
        given = getattr(model, "feature_names_in_", None)
        if given is None:
            raise ValueError(
                "the model does not know the names of its features: name the "
                f"{model.n_features_in_} columns in their order"
            )
        names = tuple(map(str, given))
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"the model has {model.n_features_in_} features, but {len(names)} columns "
            "are named"
        )
    return names


def without_names(model: Any) -> Any:
    """A copy that takes plain arrays, whose columns are in order already.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    estimator
        A shallow copy.
    """
    plain = copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def evaluate(model: Any, data: Table, progress: RowProgress = silent) -> Scores:
    """Compare a model with rows of known class, in one pass over the files.

    Parameters
    ----------
    model : fitted estimator
        The model.
    data : Table
        The rows; its columns are those of the model.
    progress : callable
        Called with the number of rows so far.

    Returns
    -------
    Scores
        Accuracy, confusion, calibration and loss.
    """
    scores, places = Scores(model.classes_), ClassFinder(model.classes_)
    plain = without_names(model)
    for rows in data.batches(progress):
        scores.add(places.of(rows), plain.predict_proba(rows.X), rows.weight)
    if not scores.weight:
        raise ValueError("source has no rows")
    return scores


def training_accuracy(
    model: Any, data: Table, progress: RowProgress = silent
) -> tuple[float, float]:
    """Weight of the rows that a model predicts right, and of all.

    Parameters
    ----------
    model, data, progress
        As for `evaluate`.

    Returns
    -------
    right, total : float
        Weights: numbers of rows, if these have none.
    """
    places = ClassFinder(model.classes_)
    total = np.zeros(2)
    for rows in data.batches(progress):
        total += hits(model, rows.X, places.of(rows), rows.weight)
    return float(total[0]), float(total[1])


def hits(
    model: Any, X: Array, truth: NDArray[np.intp], weight: Array | None
) -> tuple[float, float]:
    """Weight of the rows that are predicted right, and of all.

    Parameters
    ----------
    model : fitted estimator
        The model.
    X : ndarray of shape (n_rows, n_features)
        Features.
    truth : ndarray of shape (n_rows,)
        Index of the class of each row.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.

    Returns
    -------
    right, total : float
        Weights.
    """
    if not len(X):
        return 0.0, 0.0
    w = np.ones(len(X)) if weight is None else weight
    hit = without_names(model)._blockwise(X, "winners") == truth
    return float(w @ hit), float(w.sum())
