"""Labels of the classes of rows and of chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.types import Index
from heterolda.foundations.validation import (
    are_labels,
    check_labels,
    encode,
    label_array,
)
from heterolda.foundations.wording import listed
from heterolda.kernels.label_codes import label_codes


def coded_labels(y: NDArray[Any], *, warn: bool = True) -> tuple[NDArray[Any], Index]:
    """`check_labels`, and the place of each label among the distinct ones."""
    if not are_labels(y):
        classes = check_labels(y, warn=warn)
        return classes, encode(y, classes).astype(np.int64)
    classes, codes = label_codes(y)
    if warn and 2 * len(classes) > len(y):
        check_labels(y)  # which warns
    return classes, codes


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
            f"partial_fit, {listed(known)}: use a new estimator"
        )
    return given
