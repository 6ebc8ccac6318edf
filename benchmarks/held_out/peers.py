"""HLDA and SAVE, from the same class moments as our own components."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from heterolda.subspaces.classes import WhitenedClasses
from heterolda.subspaces.methods import fisher, leading

Array = np.ndarray


def total_covariance(classes: WhitenedClasses) -> Array:
    """The covariance of all rows, in the classes' coordinates."""
    within = np.tensordot(classes.priors, classes.covariances, axes=1)
    return within + (classes.means.T * classes.priors) @ classes.means


def _standardizing(classes: WhitenedClasses) -> Array:
    """To coordinates in which the covariance of all rows is the identity."""
    spread, turn = np.linalg.eigh(total_covariance(classes))
    return turn / np.sqrt(spread)


def hlda_loss(classes: WhitenedClasses, A: Array) -> tuple[float, Array]:
    r"""Negative log-likelihood of HLDA, less a constant, and its gradient in A.

    In n - q directions all classes have one mean and one covariance, in the q columns
    of A each its own. The best other directions are those that are uncorrelated with
    A, and then

    .. math:: \sum_k p_k \ln |A' S_k A| - \ln |A' T A|

    with the covariance T of all rows remains to be minimized [1]_.

    References
    ----------
    .. [1] N. Kumar and A. G. Andreou (1998), "Heteroscedastic discriminant analysis
       and reduced rank HMMs for improved speech recognition", Speech Communication 26,
       283-297.
    """
    matrices = np.concatenate([classes.covariances, total_covariance(classes)[None]])
    weights = np.append(classes.priors, -1.0)
    along = matrices @ A
    inner = A.T @ along
    value = weights @ np.linalg.slogdet(inner)[1]
    slope = np.tensordot(weights, along @ np.linalg.inv(inner), axes=1)
    return float(value), 2 * slope


def hlda(classes: WhitenedClasses, n_components: int) -> Array:
    """Directions of heteroscedastic discriminant analysis by maximum likelihood.

    The best of three descents, from Fisher's directions, from those of SAVE, and from
    eigenvectors of the mean of the logarithms of the covariances.
    """
    best, least = np.eye(classes.rank), np.inf
    if n_components == classes.rank:
        return best
    root = _standardizing(classes)
    values, vectors = np.linalg.eigh(root.T @ classes.covariances @ root)
    logarithms = (vectors * np.log(values)[:, None, :]) @ vectors.mT
    mean = np.tensordot(classes.priors, logarithms, axes=1)
    means = fisher(classes, min(n_components, len(classes.priors) - 1))
    others = save(classes, n_components)
    for first in (means, others, root @ leading(-mean, n_components)):
        start = np.linalg.qr(np.column_stack([first, others]))[0][:, :n_components]
        actual = minimize(
            _flat_loss,
            start.ravel(),
            (classes, start.shape),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 500, "ftol": 1e-9, "gtol": 1e-6},
        )
        if actual.fun < least:
            best, least = np.linalg.qr(actual.x.reshape(start.shape))[0], actual.fun
    return best


def _flat_loss(
    entries: Array, classes: WhitenedClasses, shape: tuple[int, int]
) -> tuple[float, Array]:
    value, slope = hlda_loss(classes, entries.reshape(shape))
    return value, slope.ravel()


def save(classes: WhitenedClasses, n_components: int) -> Array:
    r"""Directions of sliced average variance estimation; the classes are the slices.

    In coordinates in which the covariance of all rows is the identity they are
    eigenvectors of

    .. math:: \sum_k p_k (I - S_k)^2,

    as [1]_ propose.

    References
    ----------
    .. [1] R. D. Cook and S. Weisberg (1991), comment on "Sliced inverse regression for
       dimension reduction", Journal of the American Statistical Association 86,
       328-332.
    """
    root = _standardizing(classes)
    apart = np.eye(classes.rank) - root.T @ classes.covariances @ root
    kernel = np.tensordot(classes.priors, apart @ apart, axes=1)
    return np.linalg.qr(root @ leading(kernel, n_components))[0]
