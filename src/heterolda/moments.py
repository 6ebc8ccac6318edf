"""Moments of Gaussian classes: gathering, shrinking and mixing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Below this a sum of squares has lost digits to underflow.
_SMALLEST_SQUARE = 1e-305
# A pooled covariance counts as singular if the eigenvalues of its correlation form
# spread further than this.
_SINGULAR = 1e-10


def moments(rows: NDArray[Any], weight: Array | None) -> tuple[float, Array, Array]:
    """Weight, mean and centred scatter of some rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        At least one row of finite numbers; overwritten if it is float64.
    weight : ndarray of shape (n_rows,) or None
        Positive weights; None means that all are 1.

    Returns
    -------
    weight : float
        Total weight.
    mean : ndarray of shape (n_features,)
        Weighted mean.
    scatter : ndarray of shape (n_features, n_features)
        Weighted sum of outer products of the deviations from the mean.
    """
    z = rows.astype(np.float64, copy=False)
    # Centring on a row first makes the scatter of a constant column exactly zero
    # and takes out any offset before sums are formed.
    origin = z[0].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        z -= origin
        if weight is None:
            total = float(len(z))
            shift = z.mean(axis=0)
            z -= shift
        else:
            total = float(weight.sum())
            shift = weight @ z / total
            z -= shift
            z *= np.sqrt(weight)[:, None]
        scatter = z.T @ z
    check_range(scatter, (z != 0).any(axis=0))
    return total, origin + shift, scatter


def check_range(scatter: Array, varies: NDArray[np.bool_], name: str = "X") -> None:
    """Refuse scatter whose squares have left the range of float64.

    Parameters
    ----------
    scatter : ndarray of shape (n_features, n_features)
        Sums of squares and products.
    varies : ndarray of shape (n_features,)
        Features whose sum of squares cannot be zero.
    name : str, default="X"
        Name of the argument.
    """
    squares = np.diag(scatter)
    if not np.all(np.isfinite(scatter)):
        column = int(np.argmin(np.isfinite(squares)))
        raise ValueError(
            f"{name}: the values of feature {column} are so large that their squares "
            "overflow float64: divide the feature by a constant"
        )
    vanished = varies & (squares < _SMALLEST_SQUARE)
    if vanished.any():
        raise ValueError(
            f"{name}: the values of feature {int(np.argmax(vanished))} vary so little "
            "that their squares underflow float64: multiply the feature by a constant"
        )


def shrink(scatters: Array, weights: Array, shrinkage: float | str) -> Array:
    """Class covariances, moved towards the pooled covariance.

    Class k gets ``(1 - rho_k) S_k + rho_k S_pooled``. If the pooled covariance is
    itself singular it is first shrunk towards its own diagonal, by
    ``d / (W - K + d)``, where W is the total weight and K the number of classes.

    Parameters
    ----------
    scatters : ndarray of shape (n_classes, n_features, n_features)
        Class scatter.
    weights : ndarray of shape (n_classes,)
        Total weights, each above 1.
    shrinkage : float in [0, 1] or "auto"
        ``rho_k`` for all classes; "auto" means ``d / (W_k + d)``.

    Returns
    -------
    ndarray of shape (n_classes, n_features, n_features)
        The covariances.
    """
    d = scatters.shape[1]
    if shrinkage == "auto":
        rho = d / (weights + d)
    elif not isinstance(shrinkage, str) and 0 <= shrinkage <= 1:
        rho = np.full(len(weights), float(shrinkage))
    else:
        raise ValueError(
            f"shrinkage must be None, 'auto' or a number in [0, 1], got {shrinkage!r}"
        )
    freedom = weights.sum() - len(weights)
    pooled = scatters.sum(axis=0) / freedom
    scale = np.sqrt(np.where(np.diag(pooled) > 0, np.diag(pooled), 1.0))
    spectrum = np.linalg.eigvalsh(pooled / scale / scale[:, None])
    if spectrum[0] <= _SINGULAR * spectrum[-1]:
        gamma = d / (freedom + d)
        pooled = (1 - gamma) * pooled + gamma * np.diag(np.diag(pooled))
    own = ((1 - rho) / (weights - 1))[:, None, None]
    shrunk: Array = own * scatters + rho[:, None, None] * pooled
    return shrunk


def all_others(means: Array, covariances: Array, priors: Array) -> tuple[Array, Array]:
    """Means and covariances of the mixtures of all classes but one.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Class means.
    covariances : ndarray of shape (n_classes, n_features, n_features)
        Class covariances.
    priors : ndarray of shape (n_classes,)
        Class priors, by which the others are mixed.

    Returns
    -------
    means : ndarray of shape (n_classes, n_features)
        Mean of the mixture without class k.
    covariances : ndarray of shape (n_classes, n_features, n_features)
        Its covariance, within and between the classes.
    """
    share = np.tile(priors, (len(priors), 1))
    np.fill_diagonal(share, 0.0)
    share /= share.sum(axis=1, keepdims=True)
    origin = means.mean(axis=0)  # subtracted so that offsets cancel
    mixed = share @ (means - origin) + origin
    shifts = (means - mixed[:, None, :]) * np.sqrt(share)[:, :, None]
    within = np.tensordot(share, covariances, axes=1)
    return mixed, within + shifts.mT @ shifts
