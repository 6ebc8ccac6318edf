"""Checks of class statistics that come from users or files, and the file format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.foundations.arrays import Array
from heterolda.foundations.rounding import ROUGH_COVARIANCE
from heterolda.foundations.validation import check_finite, check_labels, label_array
from heterolda.foundations.wording import listed
from heterolda.statistics.moments import Scatters, check_range, compressed

# Version of the file format; no others can be read.
_FORMAT = 1
_INCONSISTENT = "its arrays do not fit together"


def checked_moments(
    classes: ArrayLike, counts: ArrayLike, means: ArrayLike, covariances: ArrayLike
) -> tuple[NDArray[Any], Array, Array, Array]:
    """Return labels, weights, means and scatters, sorted by label."""
    labels = np.asarray(label_array(classes, "classes"))
    if labels.ndim != 1 or len(check_labels(labels, "classes", warn=False)) != len(
        labels
    ):
        raise ValueError("classes must be a one-dimensional list of distinct labels")
    n = check_finite("counts", counts, 1)
    mean = check_finite("means", means, 2)
    cov = check_finite("covariances", covariances, 3)
    k, d = len(labels), mean.shape[1]
    shapes = n.shape, mean.shape, cov.shape
    if not d or shapes != ((k,), (k, d), (k, d, d)):
        raise ValueError(
            f"counts, means and covariances must have shapes ({k},), ({k}, d) and "
            f"({k}, d, d), got {shapes}"
        )
    if np.any(n <= 1):
        raise ValueError(
            f"counts must exceed 1: classes {listed(labels[n <= 1])} have no more "
            "than one sample, from which no covariance can be estimated; leave "
            "them out or merge them"
        )
    _check_covariances(labels, cov)
    with np.errstate(over="ignore"):
        scatters: Array = 0.5 * (cov + cov.mT) * (n - 1)[:, None, None]
    squares, variances = (np.einsum("kjj->kj", S) for S in (scatters, cov))
    check_range(squares, variances > 0, "covariances")
    order = np.argsort(labels)
    return labels[order], n[order], mean[order], scatters[order]


def _check_covariances(labels: NDArray[Any], covariances: Array) -> None:
    """Reject matrices that are not positive semi-definite, up to rounding."""
    for label, cov in zip(labels.tolist(), covariances, strict=True):
        variance = np.diag(cov)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        with np.errstate(over="ignore"):
            # A correlation above one makes a matrix indefinite; clipping only avoids
            # overflow.
            correlation = np.clip(cov / scale / scale[:, None], -2.0, 2.0)
        if np.any(np.abs(correlation - correlation.T) > ROUGH_COVARIANCE):
            raise ValueError(
                f"covariances: the matrix of class {label!r} is not symmetric; pass "
                "(C + C.T) / 2 if the difference does not matter"
            )
        smallest = np.linalg.eigvalsh(0.5 * (correlation + correlation.T))[0]
        if smallest < -ROUGH_COVARIANCE or np.any(variance < 0):
            raise ValueError(
                f"covariances: the matrix of class {label!r} is indefinite (smallest "
                f"eigenvalue of its correlation form {smallest:.3g}); a covariance "
                "must be positive semi-definite"
            )


def union_of_labels(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted union of labels; numbers and strings do not mix."""
    if not len(a) or not len(b):
        return a if len(a) else b
    joined = np.concatenate([a, b])
    kinds = {"number" if x.dtype.kind in "biuf" else "text" for x in (a, b)}
    # The common type of int64 and uint64 is float64, in which large labels coincide.
    lossy = joined.dtype.kind == "f" and not {a.dtype.kind, b.dtype.kind} & {"f"}
    if len(kinds) > 1 or lossy:
        raise TypeError(
            f"classes of the two statistics are of types {a.dtype} and {b.dtype}, "
            "which do not mix: convert the labels to one type"
        )
    return np.unique(joined)


def arrays_of(stats: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays to save for `ClassStatistics`, without pickle."""
    classes = stats.classes
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
        "weights": stats.weights,
        "means": stats.means,
        "given": np.array(stats.given),
    }
    if stats.factors is None:
        content["scatters"] = stats.scatters
    else:  # compressed, so that they reveal no more than the scatters
        factors = [compressed(factor) for factor in stats.factors]
        content["factors"] = np.concatenate([stats.means[:0], *factors])
        content["n_factors"] = np.array([len(factor) for factor in factors], np.int64)
    if stats.estimated_by is not None:
        content["estimated_by"] = np.array(stats.estimated_by)
    if stats.feature_names is not None:
        content["feature_names"] = stats.feature_names.astype(str)
    return content


def read_moments(content: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arguments of `ClassStatistics` from the untrusted arrays of a file."""
    if not np.array_equal(content["format"], _FORMAT):
        raise ValueError(f"its format is not {_FORMAT}: save the statistics again")
    try:
        for values in content.values():
            if values.dtype.kind == "U":
                values.tolist()
    except (SystemError, ValueError) as error:
        raise ValueError("its text has characters beyond Unicode") from error
    classes, names = content["classes"], content.get("feature_names")
    given, estimated_by = content["given"], content.get("estimated_by")
    weights = check_finite("weights", content["weights"], 1)
    means = check_finite("means", content["means"], 2)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if (
        np.any(weights < 0)
        or np.isinf(total)
        or classes.dtype.kind not in "biufU"
        or given.shape != ()
        or given.dtype.kind != "b"
        or (estimated_by is not None and estimated_by.dtype.kind != "U")
        or not np.array_equal(np.unique(classes), classes)
        or not means.shape[1]
        or (names is not None and names.shape != means.shape[1:])
    ):
        raise ValueError(_INCONSISTENT)
    return {
        "classes": classes,
        "weights": weights,
        "means": means,
        "scatters": _read_scatters(content, classes, means.shape[1]),
        "feature_names": None if names is None else names.astype(object),
        "given": bool(given),
        "estimated_by": None if estimated_by is None else str(estimated_by),
    }


def _read_scatters(
    content: dict[str, NDArray[Any]], classes: NDArray[Any], n_features: int
) -> Scatters:
    """Return the scatters, or the factors, from the arrays of a file."""
    if "scatters" in content or "factors" not in content:
        scatters = check_finite("scatters", content["scatters"], 3)
        _check_covariances(classes, scatters)
        return scatters
    rows, counts = check_finite("factors", content["factors"], 2), content["n_factors"]
    if (
        rows.shape[1] != n_features
        or counts.ndim != 1
        or counts.dtype.kind not in "iu"
        or np.any((counts < 0) | (counts > len(rows)))  # else the sum may overflow
        or counts.sum() != len(rows)
    ):
        raise ValueError(_INCONSISTENT)
    return np.split(rows, np.cumsum(counts))[:-1]
