"""Data that arrive in chunks: all labels must be known from the start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.validation import check_labels
from heterolda.foundations.wording import listed
from heterolda.statistics.class_statistics import ClassStatistics


def all_labels(classes: ArrayLike | None, known: NDArray[Any] | None) -> NDArray[Any]:
    """The labels that chunks may have.

    Parameters
    ----------
    classes : array-like of shape (n_classes,) or None
        What is passed with a chunk.
    known : ndarray of shape (n_classes,) or None
        What was passed with the first one; None if this is the first.

    Returns
    -------
    ndarray of shape (n_classes,)
        Distinct labels, sorted.
    """
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed to the first call of partial_fit: the list of "
                "all labels that will occur"
            )
        return known
    given = check_labels(np.asarray(classes), "classes", warn=False)
    if known is not None and not np.array_equal(given, known):
        raise ValueError(
            f"classes={listed(given)} differs from the classes of the first call of "
            f"partial_fit, {listed(known)}: start a new estimator"
        )
    return given


def among(known: NDArray[Any], chunk: ClassStatistics) -> ClassStatistics:
    """The statistics of a chunk with an entry for every label.

    Parameters
    ----------
    known : ndarray of shape (n_classes,)
        All labels, sorted.
    chunk : ClassStatistics
        Statistics of some of them.

    Returns
    -------
    ClassStatistics
        The classes are `known`; those that the chunk lacks have weight 0.
    """
    unseen = np.setdiff1d(chunk.classes, known)
    if len(unseen):
        raise ValueError(
            f"y has labels {listed(unseen)} that are not among the classes "
            f"{listed(known)} of the first call of partial_fit: list every label in "
            "classes from the start"
        )
    k, d = len(known), chunk.n_features
    weights, means, scatters = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    at = np.searchsorted(known, chunk.classes)
    weights[at], means[at], scatters[at] = chunk.weights, chunk.means, chunk.scatters
    return ClassStatistics(known, weights, means, scatters, chunk.feature_names)
