"""Class statistics for an estimator: from rows, chunks, or given as they are."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from heterolda.data.lazy import lazy_backend
from heterolda.foundations.gaps import has_gaps
from heterolda.foundations.validation import check_sample_weight, validate_rows
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.em import filled
from heterolda.statistics.frequencies import (
    check_frequencies,
    without_empty_classes,
)
from heterolda.statistics.labels import coded_labels
from heterolda.statistics.moments import check_decay, total_moments
from heterolda.statistics.patterns import GapRows
from heterolda.statistics.row_sample import ClassRows


def check_statistics(statistics) -> ClassStatistics:
    """A copy of class statistics that a user has passed; TypeError for others."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics object, got "
            f"{type(statistics).__name__}: use fit(X, y) for data"
        )
    return statistics.copy()


def training_rows(estimator, X, y, sample_weight) -> tuple[ClassStatistics, ClassRows]:
    """Statistics of rows in memory, and the rows class by class, for `fit`."""
    X, y = validate_rows(estimator, X, y, accept_sparse="csr")
    weight = check_frequencies(sample_weight, len(y))
    X, y, weight = without_empty_classes(X, y, weight)
    classes, codes = coded_labels(y)
    names = getattr(estimator, "feature_names_in_", None)
    if getattr(estimator, "missing", "error") == "em" and has_gaps(X):
        gaps = GapRows.from_arrays(X, codes, weight, len(classes))
        statistics = ClassStatistics.from_gaps([gaps], classes, names)
        moments = statistics.means, statistics.scatters, statistics.weights
        X = filled(X, *total_moments(*moments))
        return statistics, ClassRows(X, y, weight, classes, codes)
    statistics = ClassStatistics.from_codes(X, codes, classes, weight, names)
    return statistics, ClassRows(X, y, weight, classes, codes)


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
    checks = {"accept_sparse": "csr", "ensure_min_samples": 0}
    X, y = validate_rows(estimator, X, y, reset=first, **checks)
    weight = check_sample_weight(sample_weight, len(y))
    names = getattr(estimator, "feature_names_in_", None)
    labels, codes = coded_labels(y, warn=False)
    return ClassStatistics.from_codes(X, codes, labels, weight, names)


def forget_fit(estimator) -> None:
    """Drop what an earlier fit has found: if a new one fails, nothing is left of it."""
    known = vars(estimator)
    for name in [name for name in known if name.endswith("_")]:
        del known[name]


def check_has_statistics(estimator) -> None:
    """Refuse what a model from a file without statistics cannot do."""
    if not hasattr(estimator, "statistics_"):
        raise NotFittedError(
            "this model was loaded from a file without class statistics, which "
            "this needs: save it with include_statistics=True, or fit it again"
        )


def are_enough(statistics: ClassStatistics) -> bool:
    """Whether every class has rows, and one of them enough for a covariance."""
    return bool(np.all(statistics.weights > 0) and np.any(statistics.weights > 1))


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
