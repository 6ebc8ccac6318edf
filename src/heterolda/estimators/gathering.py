"""Class statistics for an estimator: from rows, chunks, or given as they are."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from heterolda.data.lazy import lazy_backend
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import device_of, on_host, to_host
from heterolda.foundations.validation import has_missing_values
from heterolda.foundations.wording import listed
from heterolda.kernels.device.row_sample import sample_rows
from heterolda.statistics.class_statistics import ClassStatistics, check_decay
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.rows import Rows, validated
from heterolda.statistics.samples import filled_rows, most_rows
from heterolda.statistics.shrinkage import ENOUGH_FREEDOM

# Rows on a device with no more numbers than this are fitted on the host.
FEW_NUMBERS = 1 << 17


def check_statistics(statistics) -> ClassStatistics:
    """A copy of class statistics that a user has passed; TypeError for others."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics object, got "
            f"{type(statistics).__name__}: use fit(X, y) for data"
        )
    return statistics.copy()


def training_rows(estimator, X, y, sample_weight) -> tuple[ClassStatistics, Rows]:
    """Return statistics of rows in memory, and the rows, for `fit`.

    Both are in NumPy; of many rows on a device there is a sample.
    """
    on_device = device_of(X) is not None
    if on_device and _needs_host(estimator, X):
        X, y, sample_weight = on_host(X, y, sample_weight)
        on_device = False
    rows = validated(X, y, sample_weight, estimator=estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if on_device:
        return _sampled_on_device(rows, guard=estimator.guard)
    if getattr(estimator, "missing", "error") == "em" and has_missing_values(rows.X):
        sizes = rows.weights, len(rows.classes)
        incomplete = IncompleteRows.from_arrays(rows.X, rows.codes, *sizes)
        statistics = ClassStatistics.from_incomplete([incomplete], rows.classes, names)
        return statistics, replace(rows, X=filled_rows(rows.X, statistics))
    return ClassStatistics.from_rows(rows, names), rows


def _needs_host(estimator, X) -> bool:
    """Whether rows of a device are few, or have to be in NumPy."""
    # With fewer rows than this for each feature, they choose the shrinkage.
    many = X.ndim == 2 and X.shape[0] > (ENOUGH_FREEDOM + 1) * X.shape[1]
    many = many and X.shape[0] * X.shape[1] > FEW_NUMBERS
    by_rows = getattr(estimator, "covariance_estimator", None) is not None
    by_rows |= getattr(estimator, "missing", "error") == "em"
    shrinkage = estimator.shrinkage
    return not many or by_rows or (isinstance(shrinkage, str) and shrinkage == "cv")


def _sampled_on_device(rows, *, guard) -> tuple[ClassStatistics, Rows]:
    """Return statistics of many rows on a device, and a sample of the rows."""
    X, codes, weights, classes = rows.X, rows.codes, rows.weights, rows.classes
    device = device_of(X)
    statistics = ClassStatistics.from_rows(rows)
    chosen = own = np.zeros(0, np.int64)
    if guard:
        on_device, counts = None, statistics.weights.astype(np.int64)
        if weights is not None:
            on_device = device.put(weights)
            counts = np.bincount(to_host(codes)[weights > 0], minlength=len(classes))
        most = most_rows(X.shape[1], len(classes))
        chosen, own = sample_rows(device, X, codes, on_device, counts, most)
    if not statistics.weights.all() and statistics.weights.any():
        kept = statistics.weights > 0
        own, statistics = (np.cumsum(kept) - 1)[own], statistics.without_empty_classes()
    sample = to_host(device.xp.take(X, device.put(chosen), axis=0))
    weights = None if weights is None else weights[chosen]
    return statistics, Rows(sample, own, weights, statistics.classes)


def add_chunk(estimator, chunk: ClassStatistics, decay) -> ClassStatistics:
    """The statistics of earlier chunks, if any, decayed, and those of a new one."""
    if decay is not None:
        check_decay("decay", decay)
    if not hasattr(estimator, "statistics_"):
        return chunk
    known = estimator.statistics_
    return (known if decay is None else known.decayed(decay)) + chunk


def chunk_statistics(estimator, X, y, sample_weight) -> ClassStatistics:
    """The statistics of a chunk of rows, for `partial_fit`.

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


def with_all_classes(known, chunk: ClassStatistics) -> ClassStatistics:
    """Return the statistics of a chunk with an entry for every known label."""
    unseen = np.setdiff1d(chunk.classes, known)
    if len(unseen):
        raise ValueError(
            f"y has labels {listed(unseen)} that are not among the classes "
            f"{listed(known)} of the first call of partial_fit: list every label in "
            "classes from the start"
        )
    return chunk.with_classes(known)


def forget_fit(estimator) -> None:
    """Drop what an earlier fit has found: if a new one fails, nothing is left of it."""
    known = vars(estimator)
    for name in [name for name in known if name.endswith("_")]:
        del known[name]


def check_has_statistics(estimator, what="this") -> None:
    """Refuse what a model from a file without statistics cannot do."""
    if not hasattr(estimator, "statistics_"):
        raise NotFittedError(
            "this model was loaded from a file without class statistics, which "
            f"{what} needs: save it with include_statistics=True, or fit it again"
        )


def keep_statistics(estimator, statistics: ClassStatistics) -> None:
    """Write statistics and what they say of classes and features."""
    estimator.classes_ = statistics.classes
    estimator.statistics_ = statistics
    set_features(estimator, statistics)


def set_features(estimator, statistics: ClassStatistics) -> None:
    """Write the number and the names of the features."""
    estimator.n_features_in_ = statistics.n_features
    if statistics.feature_names is not None:
        estimator.feature_names_in_ = statistics.feature_names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
