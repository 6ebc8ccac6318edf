"""Rules for shrinking and pooling class covariances, and mixtures of classes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Amount, Array, Mask
from heterolda.foundations.wording import listed


def two_amounts(shrinkage: Any) -> tuple[Any, float | None]:
    """Return the share of the pooled covariance, and that of its diagonal or None."""
    if not isinstance(shrinkage, tuple | list):
        return 0.0 if shrinkage is None else shrinkage, None
    if len(shrinkage) != 2 or not all(
        isinstance(amount, Real) and 0 <= amount <= 1  # type: ignore[operator]
        for amount in shrinkage
    ):
        raise ParameterError(
            "shrinkage",
            "must be two numbers in [0, 1], (to_pooled, to_diagonal), got "
            f"{shrinkage!r:.80}",
        )
    return float(shrinkage[0]), float(shrinkage[1])


def too_small(weights: Array, shrinkage: Amount) -> Mask:
    """Return a mask of the classes with too little weight for a covariance."""
    single: Mask = weights <= 1  # can only use the pooled covariance of other classes
    if single.all() or not single.any() or two_amounts(shrinkage)[0] == 0:
        return single
    return weights <= 0


def reject_small_classes(classes: NDArray[Any], weights: Array, small: Mask) -> None:
    """Raise an error if any class is too small for a covariance."""
    if not small.any():
        return
    zero = "" if weights.any() else " (every sample_weight is zero)"
    raise ValueError(
        f"classes {listed(classes[small])} have a total weight (number of samples, or "
        f"sum of sample_weight) of 1 or less{zero}, from which no covariance can be "
        "estimated: add samples of these classes or leave them out"
    )


def pooled_freedom(weights: Array) -> float:
    """Return the degrees of freedom of the pooled covariance, the sum of W_k - 1."""
    return float(np.maximum(weights - 1, 0.0).sum())


def against_all_others(
    means: Array, covariances: Array, priors: Array, weights: Array
) -> tuple[Array, Array, Array, Array]:
    """Return one-vs-rest moments: of mixtures of other classes, then of classes."""
    others = np.where(np.eye(len(priors)), 0.0, priors)
    share = others / others.sum(axis=1, keepdims=True)
    origin = means.mean(axis=0)  # subtracted, so that a large offset loses no digits
    mixed = share @ (means - origin) + origin
    shifts = (means - mixed[:, None, :]) * np.sqrt(share)[:, :, None]
    within = np.tensordot(share, covariances, axes=1)
    return (
        np.concatenate([mixed, means]),
        np.concatenate([within + shifts.mT @ shifts, covariances]),
        np.concatenate([others.sum(axis=1), priors]),  # more exact than 1 - priors
        np.concatenate([weights.sum() - weights, weights]),
    )
