"""Class statistics of chunks: every label from the start, an entry for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.validation import check_labels, label_array
from heterolda.foundations.wording import listed
from heterolda.statistics.class_statistics import ClassStatistics


def all_labels(classes: ArrayLike | None, known: NDArray[Any] | None) -> NDArray[Any]:
    """The distinct labels that chunks may have, sorted.

    These are `classes` as passed with a chunk, or else those `known` from the first.
    """
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: the list of "
                "all labels that will occur"
            )
        return known
    given = check_labels(
        np.asarray(label_array(classes, "classes")), "classes", warn=False
    )
    if known is not None and not np.array_equal(given, known):
        raise ValueError(
            f"classes={listed(given)} differs from the classes of the first call of "
            f"partial_fit, {listed(known)}: start a new estimator"
        )
    return given


def with_all_classes(known: NDArray[Any], chunk: ClassStatistics) -> ClassStatistics:
    """The statistics of a chunk with an entry for every label; weight 0 for others."""
    unseen = np.setdiff1d(chunk.classes, known)
    if len(unseen):
        raise ValueError(
            f"y has labels {listed(unseen)} that are not among the classes "
            f"{listed(known)} of the first call of partial_fit: list every label in "
            "classes from the start"
        )
    complete = ClassStatistics._empty(known, chunk.n_features, chunk.feature_names)
    at = np.searchsorted(known, chunk.classes)
    complete.weights[at], complete.means[at] = chunk.weights, chunk.means
    complete.scatters[at] = chunk.scatters
    return complete
