"""Class statistics as the arrays of a file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array
from heterolda.foundations.validation import (
    check_covariance,
    check_finite,
    check_number,
)
from heterolda.foundations.wording import listed
from heterolda.statistics.factors import compressed
from heterolda.statistics.moments import check_distances, check_range

# The format of the files that are written, and the only one that is read.
_FORMAT = 1


def check_count(classes: NDArray[Any], weights: Array, min_count: float) -> None:
    """Refuse classes of so few rows that statistics would give them away."""
    check_number("min_count", min_count, 0, np.inf)
    few = (weights > 0) & (weights < min_count)
    if few.any():
        raise ValueError(
            f"classes {listed(classes[few])} have fewer rows than min_count="
            f"{min_count}; their statistics could reveal these: leave the classes out"
        )


def arrays_of(statistics: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a file of `ClassStatistics`; no pickle is involved.

    Factors are those that tell no more than the scatters.
    """
    classes = statistics.classes
    if classes.dtype.kind not in "biufU":
        if not all(isinstance(label, str) for label in classes):
            raise ValueError(
                "classes must be numbers, booleans or strings to be saved without "
                f"pickle, got {classes.tolist()!r}"
            )
        classes = classes.astype(str)
    content = {
        "format": np.array(_FORMAT),
        "classes": classes,
        "classes_are_objects": np.array(classes is not statistics.classes),
        "weights": statistics.weights,
        "means": statistics.means,
        "given": np.array(statistics.given),
    }
    if statistics.factors is None:
        content["scatters"] = statistics.scatters
    else:
        factors = [compressed(factor) for factor in statistics.factors]
        none = np.zeros((0, statistics.means.shape[1]))
        content["factors"] = np.concatenate([none, *factors])
        content["n_factors"] = np.array([len(factor) for factor in factors], np.int64)
    if statistics.estimated_by is not None:
        content["estimated_by"] = np.array(statistics.estimated_by)
    if statistics.feature_names is not None:
        content["feature_names"] = statistics.feature_names.astype(str)
    return content


def check_factors(rows: Array) -> None:
    """Refuse rows of all factors whose squares leave the range of float64."""
    if len(rows):  # if not, there may be any number of features
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->j", rows, rows)
        check_range(squares, np.zeros(len(squares), bool), "factors")


def _check_format(found: NDArray[Any]) -> None:
    """Refuse a file of another format."""
    if found.shape != () or found.dtype.kind not in "iu":
        raise ValueError("its format is not an integer")
    if found != _FORMAT:
        raise ValueError(
            f"it has format {found}, and this release reads only format {_FORMAT}: "
            "save the statistics again with this release"
        )


def _read_factors(content: dict[str, NDArray[Any]], n_features: int) -> list[Array]:
    """The factors of each class in the arrays of a file."""
    rows = check_finite("factors", content["factors"], 2)
    counts = content["n_factors"]
    if (
        rows.shape[1] != n_features
        or counts.ndim != 1
        or counts.dtype.kind not in "iu"
        or np.any((counts < 0) | (counts > len(rows)))  # or sums would overflow
        or counts.sum() != len(rows)
    ):
        raise ValueError("its arrays do not fit together")
    check_factors(rows)
    return np.split(rows, np.cumsum(counts))[:-1]


def read_moments(
    content: dict[str, NDArray[Any]],
) -> tuple[NDArray[Any], Array, Array, Any, NDArray[Any] | None, bool, str | None]:
    """Check the arrays of a file and return the arguments of `ClassStatistics`.

    The file may hold anything; a KeyError says which array is missing.
    """
    _check_format(content["format"])
    classes, names = content["classes"], content.get("feature_names")
    objects, given = content["classes_are_objects"], content["given"]
    estimated_by = content.get("estimated_by")
    weights = check_finite("weights", content["weights"], 1)
    means = check_finite("means", content["means"], 2)
    wide = "factors" in content and "scatters" not in content
    if wide:
        scatters: Any = _read_factors(content, means.shape[1])
    else:
        scatters = check_finite("scatters", content["scatters"], 3)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if (
        np.any(weights < 0)
        or np.isinf(total)
        or classes.dtype.kind not in "biufU"
        or objects.shape != ()
        or given.shape != ()
        or given.dtype.kind != "b"
        or (estimated_by is not None and estimated_by.dtype.kind != "U")
        or not np.array_equal(np.unique(classes), classes)
        or (names is not None and names.shape != means.shape[1:])
    ):
        raise ValueError("its arrays do not fit together")
    if len(means):
        check_distances(means)
    if not wide:
        for label, scatter in zip(classes.tolist(), scatters, strict=True):
            check_covariance(label, scatter)
    if objects and classes.dtype.kind == "U":
        classes = classes.astype(object)
    if names is not None:
        names = names.astype(object)
    name = None if estimated_by is None else str(estimated_by)
    return classes, weights, means, scatters, names, bool(given), name
