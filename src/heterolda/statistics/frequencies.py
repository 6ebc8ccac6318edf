r"""Frequencies of classes in new rows, from probabilities for other frequencies.

With probabilities :math:`p_k(x)` for the priors :math:`\pi`, the log-likelihood of the
frequencies :math:`\rho` is the sum of :math:`\log \sum_k \rho_k p_k(x_i) / \pi_k`,
which is concave (Saerens, Latinne and Decaestecker, 2002).

The probabilities come from n rows of a fit. Standard errors take both samples into
account: with the Hessian A of the mean log-likelihood, the covariance B of its
gradients, and C their derivatives for the parameters of the probabilities,

.. math:: A^{-1} (B / m + C I^{-1} C' / n) A^{-1},

where m is the number of new rows. The parameters are an offset of the log-odds of each
class and a common slope; their information I for a row is that of multinomial logistic
regression, the mean over new rows with weights that give them the frequencies of the
fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heterolda.foundations.arrays import Array

_MAX_ITER, _TOLERANCE = 2000, 1e-7
# Added to matrices before they are inverted, as a share of their size.
_RIDGE = 1e-9


@dataclass(frozen=True)
class Frequencies:
    """Estimated frequencies of classes in rows without labels.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels.
    priors : ndarray of shape (n_classes,)
        Frequencies of the fit.
    estimate : ndarray of shape (n_classes,)
        Estimated frequencies.
    standard_error : ndarray of shape (n_classes,)
        Their standard errors.
    low, high : ndarray of shape (n_classes,)
        Ends of 95 % intervals.
    n_rows : int
        Number of rows.

    See Also
    --------
    GaussianLinearDiscriminant.estimate_priors : Returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> frequencies = GaussianLinearDiscriminant().fit(X, y).estimate_priors(X[:60])
    >>> bool(0.7 < frequencies.estimate[0] < 0.9), frequencies.changed
    (True, True)
    """

    classes: NDArray[Any]
    priors: Array
    estimate: Array
    standard_error: Array
    low: Array
    high: Array
    n_rows: int

    @property
    def as_priors(self) -> dict[Any, float]:
        """Return the estimates as the parameter `priors` takes them, all positive."""
        positive = np.maximum(self.estimate, 0.5 / (self.n_rows + 1))
        return dict(
            zip(
                self.classes.tolist(), (positive / positive.sum()).tolist(), strict=True
            )
        )

    @property
    def changed(self) -> bool:
        """Return whether some frequency of the fit is outside its interval.

        The intervals are those for all classes at once, with Bonferroni's correction.
        """
        limit = -ndtri(0.025 / len(self.classes))
        off = np.abs(self.estimate - self.priors)
        return bool((off > limit * self.standard_error + _TOLERANCE).any())

    def to_frame(self) -> Any:
        """Return a data frame with a row for each class; needs pandas."""
        import pandas as pd

        names = "priors", "estimate", "standard_error", "low", "high"
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.classes, name="class"))


def estimated_frequencies(
    probabilities: Array, priors: Array, n_fit: float, classes: NDArray[Any]
) -> Frequencies:
    """Return the frequencies of classes in rows with these probabilities."""
    ratio = probabilities / priors
    rho = priors.copy()
    for _ in range(_MAX_ITER):
        before = rho
        rho = rho * (ratio / (ratio @ rho)[:, None]).mean(axis=0)
        if np.abs(rho - before).max() <= _TOLERANCE:
            break
    error = _standard_errors(ratio, rho, probabilities, n_fit)
    off = -ndtri(0.025) * error
    low, high = np.maximum(rho - off, 0.0), np.minimum(rho + off, 1.0)
    return Frequencies(classes, priors, rho, error, low, high, len(ratio))


def _standard_errors(ratio: Array, rho: Array, p: Array, n_fit: float) -> Array:
    """Return standard errors of the frequencies."""
    n, n_classes = ratio.shape
    mixture = ratio @ rho
    scores = ratio / mixture[:, None]
    # Frequencies sum to one: free directions are those of all but the last class.
    basis = np.vstack([np.eye(n_classes - 1), -np.ones(n_classes - 1)])
    gradients = scores @ basis
    hessian = gradients.T @ gradients / n
    hessian += _RIDGE * np.trace(hessian) * np.eye(len(hessian))
    centered = gradients - gradients.mean(axis=0)
    variance = centered.T @ centered / n**2
    # Levels of the classes, along which the common slope changes log-odds.
    levels = np.log(np.maximum(p, np.finfo(float).tiny))
    levels -= (p * levels).sum(axis=1, keepdims=True)
    size = np.sqrt((p * levels**2).sum(axis=1).mean())
    levels /= size if size else 1.0
    posterior, weight = scores * rho, 1 / mixture / (1 / mixture).sum()
    weighted = weight[:, None] * p
    information = np.zeros((n_classes, n_classes))
    information[:-1, :-1] = (np.diag(weighted.sum(axis=0)) - weighted.T @ p)[:-1, :-1]
    information[:-1, -1] = information[-1, :-1] = (weighted * levels).sum(axis=0)[:-1]
    information[-1, -1] = (weighted * levels**2).sum()
    information += _RIDGE * np.trace(information) * np.eye(n_classes)
    # Derivatives of the gradients for offsets, of which the last is zero, and slope.
    change = (np.diag(scores.sum(axis=0)) - scores.T @ posterior) / n
    off = levels - (posterior * levels).sum(axis=1, keepdims=True)
    change[:, -1] = (scores * off).mean(axis=0)
    change = basis.T @ change
    variance += change @ np.linalg.solve(information, change.T) / n_fit
    inverse = np.linalg.inv(hessian)
    covariance = basis @ inverse @ variance @ inverse @ basis.T
    errors: Array = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors
