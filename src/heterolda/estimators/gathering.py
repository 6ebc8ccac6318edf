"""Class statistics for an estimator: from rows, from chunks, or given."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import device_of, on_host, put_like, to_host, xp_of
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.validation import (
    check_several_classes,
    encode,
    has_missing_values,
)
from heterolda.foundations.wording import listed
from heterolda.kernels.class_moments import by_class
from heterolda.statistics.class_statistics import ClassStatistics, check_decay
from heterolda.statistics.incomplete_rows import IncompleteRows
from heterolda.statistics.missing import filled_rows
from heterolda.statistics.rows import Rows, validated
from heterolda.statistics.samples import most_rows
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM

# Rows on a device with no more numbers than this are fitted on the host.
FEW_NUMBERS = 1 << 17


def check_statistics(statistics) -> ClassStatistics:
    """Return a copy of class statistics from a user; TypeError for anything else."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics object, got "
            f"{type(statistics).__name__}: use fit(X, y) for data"
        )
    return statistics.copy()


def training_rows(estimator, X, y, sample_weight) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows in memory, and the rows, for `fit`.

    Both are in NumPy. If many rows are on a device, the rows are a sample.
    """
    device = device_of(X)
    if device is not None and _needs_host(estimator, X, device):
        X, y, sample_weight = on_host(X, y, sample_weight)
        device = None
    rows = validated(X, y, sample_weight, estimator=estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if device is not None:
        return _sampled_on_device(rows)
    if getattr(estimator, "missing", "error") == "em" and has_missing_values(rows.X):
        sizes = rows.weights, len(rows.classes)
        incomplete = IncompleteRows.from_arrays(rows.X, rows.codes, *sizes)
        statistics = ClassStatistics.from_incomplete([incomplete], rows.classes, names)
        return statistics, replace(rows, X=filled_rows(rows.X, statistics))
    return ClassStatistics.from_rows(rows, names), rows


def rows_in_memory(estimator, X, y, sample_weight) -> Rows:
    """Return the rows of positive weight, dense and in NumPy, of several classes."""
    name = type(estimator).__name__
    if lazy_backend(X) is not None:
        raise TypeError(
            f"{name} needs rows in memory. Draw a sample, such as "
            "X.sample(frac=0.01).compute() of a data frame or X[::100].compute() of an "
            "array, and fit it to that."
        )
    X, y, sample_weight = on_host(X, y, sample_weight)
    rows = validated(X, y, sample_weight, estimator=estimator, sparse=False)
    check_several_classes(len(rows.classes))
    if rows.weights is None or rows.weights.all():
        return rows
    if not rows.weights.any():
        raise ParameterError(
            "sample_weight", "is zero for all rows: give some of them positive weights"
        )
    return rows.take(rows.weights > 0)


def _needs_host(estimator, X, device) -> bool:
    """Return whether rows on a device are few, or must be in NumPy."""
    n, d = X.shape if X.ndim == 2 else (0, 0)
    # With fewer rows per feature, rows choose the shrinkage.
    few = n <= (ENOUGH_FREEDOM + 1) * d or n * d <= FEW_NUMBERS
    by_rows = getattr(estimator, "covariance_estimator", None) is not None
    by_rows |= getattr(estimator, "missing", "error") == "em"
    by_rows |= isinstance(estimator.shrinkage, str) and estimator.shrinkage == "cv"
    return by_rows or few or not device.has_float64


def _sampled_on_device(rows) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows on a device, and a sample of the rows in NumPy."""
    xp, X, codes, weights = xp_of(rows.X), rows.X, rows.codes, rows.weights
    stats = ClassStatistics.from_rows(rows)
    if weights is not None:
        counted = np.flatnonzero(weights)
        codes = xp.take(codes, put_like(counted, X))
    order, bounds = by_class(codes, len(rows.classes))
    most, rng = most_rows(X.shape[1], len(rows.classes)), np.random.default_rng(0)
    drawn = [
        start + np.sort(rng.choice(n, min(n, most), replace=False))
        for start, n in zip(bounds, np.diff(bounds), strict=False)
    ]
    chosen = to_host(xp.take(order, put_like(np.concatenate(drawn), X)))
    if weights is not None:
        chosen = counted[chosen]
        weights = weights[chosen]
    labels = np.repeat(rows.classes, [len(part) for part in drawn])
    stats = stats.without_empty_classes()
    sample = to_host(xp.take(X, put_like(chosen, X), axis=0))
    return stats, Rows(sample, encode(labels, stats.classes), weights, stats.classes)


def add_chunk(estimator, chunk: ClassStatistics, decay) -> ClassStatistics:
    """Return the sum of earlier statistics, decayed, and those of a new chunk."""
    if decay is not None:
        check_decay("decay", decay)
    if not hasattr(estimator, "statistics_"):
        return chunk
    earlier = estimator.statistics_
    return (earlier if decay is None else earlier.decayed(decay)) + chunk


def chunk_statistics(estimator, X, y, sample_weight) -> ClassStatistics:
    """Return the statistics of a chunk of rows, for `partial_fit`.

    At the first call the estimator learns the number and names of the features.
    """
    first = not hasattr(estimator, "statistics_")
    lazy = lazy_backend(X)
    if lazy is not None:
        if not first:  # says what is wrong before it goes through the data
            validate_data(estimator, lazy.sample(X), reset=False)
        return lazy.statistics(X, y, sample_weight)
    rows = validated(X, y, sample_weight, estimator=estimator, first=first, sums=True)
    if device_of(X) is None and has_missing_values(rows.X):
        raise ParameterError(
            "X",
            "has missing values, and their moments depend on all rows, not only on a "
            "chunk: pass all rows to fit at once, or files to "
            "heterolda.data.fit_batches",
        )
    names = getattr(estimator, "feature_names_in_", None)
    return ClassStatistics.from_rows(rows, names)


def with_all_classes(labels, chunk: ClassStatistics) -> ClassStatistics:
    """Return the statistics of a chunk with an entry for every known label."""
    unseen = np.setdiff1d(chunk.classes, labels)
    if len(unseen):
        raise ValueError(
            f"y has labels {listed(unseen)} that are not among the classes "
            f"{listed(labels)} of the first call of partial_fit: list every label in "
            "classes from the start"
        )
    return chunk.with_classes(labels)


def forget_fit(estimator) -> None:
    """Delete fitted attributes, so that a failed fit leaves none behind."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def check_has_statistics(estimator, what="this") -> None:
    """Refuse what a model from a file without statistics cannot do."""
    if not hasattr(estimator, "statistics_"):
        raise NotFittedError(
            "this model was loaded from a file without class statistics, which "
            f"{what} needs: save it with include_statistics=True, or fit it again"
        )


def keep_statistics(estimator, statistics: ClassStatistics) -> None:
    """Set the attributes for statistics, classes and features."""
    estimator.classes_ = statistics.classes
    estimator.statistics_ = statistics
    estimator.n_features_in_ = statistics.n_features
    if statistics.feature_names is not None:
        estimator.feature_names_in_ = statistics.feature_names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
