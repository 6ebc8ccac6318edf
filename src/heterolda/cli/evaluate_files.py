"""Fitted models on rows in files: accuracy and calibration."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from heterolda.data.labels import ClassFinder
from heterolda.data.table import RowProgress, Table
from heterolda.foundations.types import Array, Index
from heterolda.inspection.scoring import Scores


def feature_columns(model: Any, columns: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Columns that a model needs, in its order: its own names, or those given."""
    names = columns or getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "the model does not know the names of its features: name its "
            f"{model.n_features_in_} columns with --columns"
        )
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"the model has {model.n_features_in_} features, but {len(names)} columns "
            "are named"
        )
    return tuple(map(str, names))


def without_names(model: Any) -> Any:
    """A shallow copy that takes plain arrays, whose columns are in order already."""
    plain = copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def evaluate_rows(model: Any, data: Table, progress: RowProgress) -> Scores:
    """Compare a model with rows of known class, in one pass over the files."""
    scores, finder = Scores(model.classes_), ClassFinder(model.classes_)
    plain = without_names(model)
    for rows in data.batches(progress):
        scores.add(finder.of(rows), plain.predict_proba(rows.X), rows.weight)
    if not scores.weight:
        raise ValueError("the data have no rows")
    return scores


def training_accuracy(
    model: Any, data: Table, progress: RowProgress
) -> tuple[float, float]:
    """Weight of the rows that a model predicts right, and of all."""
    finder = ClassFinder(model.classes_)
    counts = [
        count_right(model, rows.X, finder.of(rows), rows.weight)
        for rows in data.batches(progress)
    ]
    right, total = np.sum(counts, axis=0)
    return right, total


def count_right(
    model: Any, X: Array, truth: Index, weight: Array | None
) -> tuple[float, float]:
    """Weight of the rows whose class index is predicted right, and of all."""
    if not len(X):
        return 0.0, 0.0
    w = np.ones(len(X)) if weight is None else weight
    right = without_names(model)._blockwise(X, "winners") == truth
    return float(w @ right), float(w.sum())
