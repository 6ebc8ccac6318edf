"""Class statistics for an estimator: from rows, chunks, or given as they are."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from heterolda.data.lazy import lazy_backend
from heterolda.exceptions import ParameterError
from heterolda.foundations.devices import device_of, on_host, to_host
from heterolda.foundations.gaps import has_gaps
from heterolda.foundations.validation import check_sample_weight, validate_rows
from heterolda.kernels.device.row_sample import sample_rows
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.device_rows import check_rows, device_labels
from heterolda.statistics.frequencies import (
    check_frequencies,
    without_empty_classes,
)
from heterolda.statistics.labels import coded_labels
from heterolda.statistics.moments import check_decay
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.row_sample import ClassRows, filled_rows, most_rows

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


def training_rows(estimator, X, y, sample_weight) -> tuple[ClassStatistics, ClassRows]:
    """Statistics of rows in memory, and the rows class by class, for `fit`.

    Both are in NumPy; of many rows on a device, a sample stays there.
    """
    device = device_of(X)
    if device is not None:
        if not _needs_host(estimator, X):
            return _rows_on_device(estimator, device, X, y, sample_weight)
        X, y, sample_weight = on_host(X, y, sample_weight)
    X, y = validate_rows(estimator, X, y, accept_sparse="csr")
    weight = check_frequencies(sample_weight, len(y))
    X, y, weight = without_empty_classes(X, y, weight)
    classes, codes = coded_labels(y)
    names = getattr(estimator, "feature_names_in_", None)
    if getattr(estimator, "missing", "error") == "em" and has_gaps(X):
        incomplete = IncompleteRows.from_arrays(X, codes, weight, len(classes))
        statistics = ClassStatistics.from_incomplete([incomplete], classes, names)
        rows = ClassRows(filled_rows(X, statistics), y, weight, classes, codes)
        return statistics, rows
    statistics = ClassStatistics.from_codes(X, codes, classes, weight, names)
    return statistics, ClassRows(X, y, weight, classes, codes)


def _needs_host(estimator, X) -> bool:
    """Whether rows of a device are few, or have to be in NumPy."""
    many = X.ndim == 2 and X.shape[0] > 2 * X.shape[1]
    many = many and X.shape[0] * X.shape[1] > FEW_NUMBERS
    by_rows = getattr(estimator, "covariance_estimator", None) is not None
    by_rows |= getattr(estimator, "missing", "error") == "em"
    shrinkage = estimator.shrinkage
    return not many or by_rows or (isinstance(shrinkage, str) and shrinkage == "cv")


def _rows_on_device(estimator, device, X, y, sample_weight):
    """The same for many rows on a device, whose statistics need no more than sums."""
    X = check_rows(device, X)
    vars(estimator).pop("feature_names_in_", None)  # of an earlier fit
    estimator.n_features_in_ = X.shape[1]
    classes, codes = device_labels(device, y, X.shape[0])
    (weight,) = on_host(sample_weight)
    weight = check_frequencies(weight, X.shape[0])
    statistics = ClassStatistics.from_codes(X, codes, classes, weight)
    chosen = own = np.zeros(0, np.int64)
    if estimator.guard:
        there, counts = None, statistics.weights.astype(np.int64)
        if weight is not None:
            there = device.put(weight)
            counts = np.bincount(to_host(codes)[weight > 0], minlength=len(classes))
        most = most_rows(X.shape[1], len(classes))
        chosen, own = sample_rows(device, X, codes, there, counts, most)
    if not statistics.weights.all() and statistics.weights.any():
        kept = statistics.weights > 0
        own, statistics = (np.cumsum(kept) - 1)[own], statistics.without_empty_classes()
    some = to_host(device.xp.take(X, device.put(chosen), axis=0))
    known = statistics.classes
    part = None if weight is None else weight[chosen]
    return statistics, ClassRows(some, known[own], part, known, own)


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
    if (device := device_of(X)) is not None:
        X = check_rows(device, X, None if first else estimator.n_features_in_)
        found = ClassStatistics.from_data(X, y, sample_weight)
        if first:
            set_features(estimator, found)
        return found
    checks = {"accept_sparse": "csr", "ensure_min_samples": 0}
    X, y = validate_rows(estimator, X, y, reset=first, **checks)
    if has_gaps(X):
        raise ParameterError(
            "X",
            "has missing values, and their moments depend on all rows, not only on a "
            "chunk: pass all rows to fit at once, or files to "
            "heterolda.data.fit_batches",
        )
    weight = check_sample_weight(sample_weight, len(y))
    names = getattr(estimator, "feature_names_in_", None)
    labels, codes = coded_labels(y, warn=False)
    return ClassStatistics.from_codes(X, codes, labels, weight, names)


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
