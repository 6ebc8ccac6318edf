"""Class statistics of chunks: an entry for every label from the start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.wording import listed
from heterolda.statistics.class_statistics import ClassStatistics


def with_all_classes(known: NDArray[Any], chunk: ClassStatistics) -> ClassStatistics:
    """The statistics of a chunk with an entry for every label; weight 0 for others."""
    unseen = np.setdiff1d(chunk.classes, known)
    if len(unseen):
        raise ValueError(
            f"y has labels {listed(unseen)} that are not among the classes "
            f"{listed(known)} of the first call of partial_fit: list every label in "
            "classes from the start"
        )
    wide, names = chunk.factors is not None, chunk.feature_names
    complete = ClassStatistics._empty(known, chunk.n_features, names, wide=wide)
    places = np.searchsorted(known, chunk.classes)
    for i, k in enumerate(places):
        complete._add(k, chunk.weights[i], chunk.means[i], chunk._parts[i])
    return complete
