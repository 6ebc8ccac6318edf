"""Fitted models on rows in files: accuracy and calibration."""

from __future__ import annotations

from copy import copy
from typing import Any

from heterolda.data.labels import ClassFinder
from heterolda.data.table import RowProgress, Table
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
