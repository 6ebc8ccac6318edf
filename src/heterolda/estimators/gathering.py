"""Gather class statistics for an estimator from rows, chunks or a user's object."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    Mask,
    blocks,
    dense,
    device_of,
    on_host,
    put_like,
    to_host,
    xp_of,
)
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.draws import RowDraws, drawn_of, seed_of
from heterolda.foundations.validation import check_several_classes, has_missing_values
from heterolda.foundations.wording import listed
from heterolda.kernels.class_moments import by_class
from heterolda.statistics.class_statistics import ClassStatistics, check_decay
from heterolda.statistics.completion import filled_rows
from heterolda.statistics.covariances import too_small
from heterolda.statistics.estimated import estimated_statistics
from heterolda.statistics.incomplete_rows import IncompleteRows
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import Rows, all_labels, check_frequencies, validated
from heterolda.statistics.samples import (
    MANY_ROWS,
    MAX_ROWS,
    RowSample,
    as_frequencies,
)
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM

# Rows on a device with at most this many values are fitted on the host.
FEW_NUMBERS = 1 << 17
# Number of values that are transformed at a time, and of those that are made dense.
_BLOCK, _MAX_DENSE = 1 << 22, 1 << 29

Powers = PowerTransformation | None  # None leaves features as they are
# Functions that return the statistics of all transformed rows, or rows in memory, too.
Statistics = Callable[[Powers], ClassStatistics]
Transformed = Callable[[Powers], tuple[ClassStatistics, Rows]]


def check_statistics(statistics) -> ClassStatistics:
    """Return a copy of class statistics; raise TypeError for anything else."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics object, got "
            f"{type(statistics).__name__}: use fit(X, y) for data"
        )
    return statistics.copy()


def training_rows(estimator, X, y, sample_weight) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows in memory, and the rows, for `fit`.

    Both are in NumPy. Of many rows on a device, only a sample is returned.
    """
    if _belongs_on_host(estimator, X):
        X, y, sample_weight = on_host(X, y, sample_weight)
    rows = validated(X, y, sample_weight, estimator=estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if device_of(X) is not None:
        return _sampled_on_device(rows, getattr(estimator, "random_state", 0))
    statistics, rows = _moments(rows, names, em=_takes_nan(estimator))
    if getattr(estimator, "covariance_estimator", None) is not None:
        statistics = estimated_statistics(estimator, statistics, rows)
    return statistics, rows


def _takes_nan(estimator) -> bool:
    return getattr(estimator, "missing", "error") == "em"


def _moments(rows: Rows, names, *, em: bool) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows, by EM if values are missing, and completed rows."""
    if not em or not has_missing_values(rows.X):
        return ClassStatistics.from_rows(rows, names), rows
    sizes = rows.weights, len(rows.classes)
    incomplete = IncompleteRows.from_arrays(rows.X, rows.codes, *sizes)
    stats = ClassStatistics.from_incomplete([incomplete], rows.classes, names)
    return stats, replace(rows, X=filled_rows(rows.X, stats))


def rows_to_transform(estimator, X, y, sample_weight) -> tuple[Rows, Transformed]:
    """Return rows, dense and in NumPy, and a function that transforms them.

    Of many rows that are sparse, on a device or in a lazy collection, some are drawn.
    """
    lazy = lazy_backend(X)
    if lazy is not None:
        estimator._validate_params()
        data = X, y, sample_weight
        stats, sample = lazy.statistics_and_sample(*data, n_together=MANY_ROWS)

        def again(powers: Powers) -> ClassStatistics:
            if powers is None:
                return stats
            return lazy.statistics_and_sample(*data, powers=powers)[0]

        return drawn_to_transform(sample, again, stats.feature_names)
    if not issparse(X) and (device_of(X) is None or _belongs_on_host(estimator, X)):
        rows = rows_in_memory(estimator, X, y, sample_weight)
        names = getattr(estimator, "feature_names_in_", None)
        em = _takes_nan(estimator)
        return rows, lambda powers: _moments(_transformed(rows, powers), names, em=em)
    rows = validated(X, y, sample_weight, estimator=estimator)
    n, d = X.shape
    if issparse(X) and _takes_nan(estimator):
        has_missing_values(rows.X)  # rejects them
    if issparse(X) and min(n, MANY_ROWS) * d > _MAX_DENSE:
        raise ParameterError(
            "X",
            f"of {min(n, MANY_ROWS):,} rows and {d:,} features would take "
            f"{min(n, MANY_ROWS) * d / 2**27:.0f} GB as dense rows: pass fewer rows or "
            "features, or use GaussianLinearDiscriminant, which keeps them sparse",
        )
    drawn = rows if device_of(X) is None else replace(rows, codes=to_host(rows.codes))
    keys = RowDraws().keys(drawn.drawn_codes)
    parts = rows.X, drawn.labels, rows.weights, keys
    sample = RowSample.from_arrays(*parts, n_together=MANY_ROWS)

    def of_block(block: slice, powers: Powers) -> ClassStatistics:
        w = None if rows.weights is None else rows.weights[block]
        part = Rows(dense(rows.X[block, :]), rows.codes[block], w, rows.classes)
        return ClassStatistics.from_rows(_transformed(part, powers))

    def statistics(powers: Powers) -> ClassStatistics:
        parts = blocks(n, max(1, _BLOCK // d))
        return reduce(add, (of_block(block, powers) for block in parts))

    return drawn_to_transform(sample, statistics)


def drawn_to_transform(
    sample: RowSample, statistics: Statistics, names=None
) -> tuple[Rows, Transformed]:
    """Return drawn rows, and a function that transforms them.

    `statistics` gathers those of all transformed rows, if not all have been drawn.
    """
    rows = sample.as_rows()
    check_several_classes(len(rows.classes))

    def transform(powers: Powers) -> tuple[ClassStatistics, Rows]:
        if len(sample.y) == sample.n_rows:
            weights = check_frequencies(rows.weights, len(sample.y))
            moved = _transformed(replace(rows, weights=weights), powers)
            return _moments(moved, names, em=True)
        stats, drawn = sampled_rows(statistics(powers), sample, together=True)
        drawn = _transformed(drawn, powers)
        if has_missing_values(drawn.X):
            drawn = replace(drawn, X=filled_rows(drawn.X, stats))
        return stats, drawn

    return rows, transform


def _transformed(rows: Rows, powers: Powers) -> Rows:
    """Return rows with transformed features."""
    return rows if powers is None else replace(rows, X=powers.apply(rows.X))


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


def _belongs_on_host(estimator, X) -> bool:
    """Return whether rows are on a device but should be fitted in NumPy."""
    device = device_of(X)
    if device is None or X.ndim != 2:
        return device is not None
    n, d = X.shape
    # With fewer rows per feature, rows choose the shrinkage.
    few = n <= (ENOUGH_FREEDOM + 1) * d or n * d <= FEW_NUMBERS
    needs_rows = getattr(estimator, "covariance_estimator", None) is not None
    needs_rows |= _takes_nan(estimator)
    needs_rows |= isinstance(estimator.shrinkage, str) and estimator.shrinkage == "cv"
    return needs_rows or few or not device.has_float64


def _sampled_on_device(rows: Rows, random_state) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows on a device, and a sample of the rows in NumPy."""
    xp, X, codes, positive = xp_of(rows.X), rows.X, rows.codes, None
    if rows.weights is not None:  # rows of weight zero are not drawn
        positive = put_like(np.flatnonzero(rows.weights), X)
        codes = xp.take(codes, positive)
    order, bounds = by_class(codes, len(rows.classes))
    seed = seed_of(random_state)
    drawn = [
        start + drawn_of(stop - start, MAX_ROWS, seed)
        for start, stop in pairwise(bounds)
    ]
    chosen = xp.take(order, put_like(np.concatenate(drawn), X))
    chosen = chosen if positive is None else xp.take(positive, chosen)
    codes = np.repeat(np.arange(len(drawn)), [len(part) for part in drawn])
    weights = None if rows.weights is None else rows.weights[to_host(chosen)]
    sample = Rows(to_host(xp.take(X, chosen, axis=0)), codes, weights, rows.classes)
    stats = ClassStatistics.from_rows(rows).without_empty_classes()
    return stats, sample.without_empty_classes()


def feature_mask(features, n_features: int, names) -> Mask:
    """Return a mask of features given by a mask, by indices or by names."""
    chosen = np.asarray(features)
    mask = np.zeros(n_features, bool)
    if chosen.ndim == 1 and chosen.dtype == bool and len(chosen) == n_features:
        mask |= chosen
    elif chosen.ndim == 1 and chosen.dtype.kind in "iu":
        inside = (chosen >= 0) & (chosen < n_features)
        mask[chosen[inside]] = inside.all()
    elif chosen.ndim == 1 and names is not None and np.isin(chosen, names).all():
        mask = np.isin(names, chosen)
    if not mask.any():
        choices = "" if names is None else f", of {listed(names)}"
        raise ParameterError(
            "features",
            f"must be a mask of {n_features} features, not all False, or indices or "
            f"names of features{choices}, got {features!r:.80}",
        )
    return mask


def labels_of(estimator, classes):
    """Return all labels that will ever occur, for `partial_fit`."""
    earlier = None
    if hasattr(estimator, "classes_"):
        check_has_statistics(estimator)
        earlier = estimator.statistics_.classes
    return all_labels(*on_host(classes), earlier)


def can_be_solved(statistics: ClassStatistics, shrinkage) -> bool:
    """Return whether all classes have enough rows for a covariance."""
    return not too_small(statistics.weights, shrinkage).any()


def sampled_rows(
    statistics: ClassStatistics, sample: RowSample, *, together: bool = False
) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows that are not in memory, and some rows of each class.

    With `together`, these are all rows of the sample.
    """
    stats, sample = as_frequencies(statistics.without_empty_classes(), sample)
    rows = sample.as_rows if together else sample.rows
    return stats, rows(stats.classes)


def with_chunk(estimator, X, y, sample_weight, decay, labels=None) -> ClassStatistics:
    """Return the decayed sum of earlier chunks plus a new one, for `partial_fit`.

    The first call sets the number and names of the features. If `labels` are given, the
    result has an entry for each.
    """
    if decay is not None:
        check_decay("decay", decay)
    earlier = getattr(estimator, "statistics_", None)
    chunk = _chunk(estimator, X, y, sample_weight, first=earlier is None)
    if labels is not None:
        unseen = np.setdiff1d(chunk.classes, labels)
        if len(unseen):
            raise ValueError(
                f"y has labels {listed(unseen)} that are not among the classes "
                f"{listed(labels)} of the first call of partial_fit: list every label "
                "in classes from the start"
            )
        chunk = chunk.with_classes(labels)
    if earlier is None:
        return chunk
    return (earlier if decay is None else earlier.decayed(decay)) + chunk


def _chunk(estimator, X, y, sample_weight, *, first: bool) -> ClassStatistics:
    """Return the statistics of a chunk of rows."""
    lazy = lazy_backend(X)
    if lazy is not None:
        if not first:  # fails before it reads all data
            validate_data(estimator, lazy.sample(X), reset=False)
        return lazy.statistics_and_sample(X, y, sample_weight)[0]
    rows = validated(X, y, sample_weight, estimator=estimator, first=first, sums=True)
    if device_of(X) is None and has_missing_values(rows.X):
        raise ParameterError(
            "X",
            "has missing values, and their moments depend on all rows, not only on a "
            "chunk: pass all rows to fit at once, or files to "
            "heterolda.data.fit_batches",
        )
    return ClassStatistics.from_rows(
        rows, getattr(estimator, "feature_names_in_", None)
    )


def forget_fit(estimator) -> None:
    """Delete fitted attributes, so that a failed fit leaves none behind."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def check_has_statistics(estimator, what="this") -> None:
    """Raise an error if the model was loaded without statistics."""
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
