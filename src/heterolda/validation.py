"""Checks of arguments that several modules share, with messages that say the remedy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

Array = NDArray[np.float64]


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Validate sample weights: one finite, non-negative number for each row.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), number or None
        The weights; None means that all are 1.
    n : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n,) or None
        The weights.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weight: Array = check_array(
        sample_weight,
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {n} rows of X, got "
            f"shape {weight.shape}"
        )
    if np.any(weight < 0):
        raise ValueError(
            "sample_weight has negative values: weights are frequencies, use 0 to "
            "leave a row out"
        )
    return weight


def check_finite(name: str, value: ArrayLike, ndim: int) -> Array:
    """Return a finite float64 array, or name the argument that is none.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array-like
        Its value.
    ndim : int
        Number of dimensions it must have.

    Returns
    -------
    ndarray
        A copy.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}")
    array = array.astype(np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, got {array.ndim}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinity: every entry must be finite")
    return array


def check_covariance(label: object, cov: Array) -> None:
    """Refuse a matrix that is not symmetric and positive semi-definite.

    Parameters
    ----------
    label : object
        The class, for the message.
    cov : ndarray of shape (n_features, n_features)
        The matrix. Deviations of the order of rounding errors pass.
    """
    variance = np.diag(cov)
    if np.any(variance < 0):
        raise ValueError(
            f"covariances: the matrix of class {label!r} has a negative variance at "
            f"feature {int(np.argmax(variance < 0))}; a covariance must be positive "
            "semi-definite"
        )
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    correlation = cov / scale / scale[:, None]
    if np.any(np.abs(correlation - correlation.T) > 1e-8):
        raise ValueError(
            f"covariances: the matrix of class {label!r} is not symmetric; pass "
            "(C + C.T) / 2 if the difference means nothing"
        )
    smallest = np.linalg.eigvalsh(0.5 * (correlation + correlation.T))[0]
    if smallest < -1e-8:
        raise ValueError(
            f"covariances: the matrix of class {label!r} is indefinite (smallest "
            f"eigenvalue of its correlation form {smallest:.3g}); a covariance must be "
            "positive semi-definite"
        )


def union_of_labels(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Sorted union of two arrays of labels; numbers and strings do not mix.

    Parameters
    ----------
    a, b : ndarray of shape (n_classes,)
        Labels.

    Returns
    -------
    ndarray
        The union.
    """
    numeric = [x.dtype.kind in "biuf" for x in (a, b) if len(x)]
    if len(set(numeric)) > 1:
        raise TypeError(
            "classes of the two statistics are numbers in one and strings in the "
            "other: convert the labels to one type"
        )
    return np.unique(np.concatenate([x for x in (a, b) if len(x)] or [a]))


def check_priors(priors: ArrayLike | None, weights: Array) -> Array:
    """Validate class priors; relative frequencies if none are given.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None
        The priors.
    weights : ndarray of shape (n_classes,)
        Total weight of each class.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive numbers that sum to one.
    """
    if priors is None:
        frequencies: Array = weights / weights.sum()
        return frequencies
    given = check_finite("priors", priors, 1)
    if given.shape != weights.shape:
        raise ValueError(
            f"priors must have one entry for each of the {len(weights)} classes, got "
            f"{len(given)}"
        )
    if not np.all(given > 0):
        raise ValueError(
            f"priors must be positive, got {given.tolist()}: leave a class that never "
            "occurs out of the data"
        )
    if not np.isclose(given.sum(), 1.0, rtol=0, atol=1e-6):
        raise ValueError(
            f"priors must sum to one, got a sum of {given.sum():.6g}: divide them by it"
        )
    given /= given.sum()
    return given
