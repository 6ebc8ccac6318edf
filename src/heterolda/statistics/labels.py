"""Labels of the classes of rows and of chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import check_labels, encode, label_array
from heterolda.foundations.wording import listed


def coded_labels(y: NDArray[Any], *, warn: bool = True) -> tuple[NDArray[Any], Index]:
    """`check_labels`, and the place of each label among the distinct ones."""
    classes = check_labels(y, warn=warn)
    return classes, encode(y, classes).astype(np.int64)


def class_order(
    codes: Index, weight: Array | None, n_classes: int
) -> tuple[Index, Index]:
    """Indices of the rows of all classes, and bounds of those of each class.

    `codes` are the classes of the rows. Rows of weight zero are left out.
    """
    # Integers of one or two bytes sort in linear time.
    small = codes.astype(np.min_scalar_type(max(n_classes - 1, 0)))
    order = small.argsort(kind="stable")
    if weight is not None:
        order, codes = order[weight[order] > 0], codes[weight > 0]
    counts = np.bincount(codes, minlength=n_classes)
    return order, np.append(0, counts.cumsum())


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
