"""Rules for equal covariances: Fisher's rule (7) of each pair, and pooled LDA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import softmax

from heterolda.foundations.arrays import Array, Priors, dense
from heterolda.foundations.rounding import LDA_SINGULAR
from heterolda.foundations.validation import check_priors
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import Rules, Status, bayes_error
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import pooled_basis
from heterolda.statistics.wide import in_span


@dataclass(frozen=True)
class Fisher:
    r"""Linear discriminant analysis of each pair, with its pooled covariance.

    .. math::
        w = \Sigma_x^{-1} (m_1 - m_2), \quad
        \Sigma_x = \frac{n_1 S_1 + n_2 S_2}{n_1 + n_2}, \quad
        w_0 = \tfrac12 w \cdot (m_1 + m_2) + \ln \tau

    This is equation (7) of the paper with the normalized form of (8). If
    :math:`\Sigma_x` is singular, its pseudo-inverse is used.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.solvers import Fisher
    >>> GaussianLinearDiscriminant(solver=Fisher())
    GaussianLinearDiscriminant(solver=Fisher())
    """

    moore_penrose = True
    draws = False

    def solve(self, pencil: Pencil, rng: Generator) -> Rules:
        """Return rules for a batch of pairs; `rng` is not used."""
        u = pencil.fisher_coordinates
        D, sigma1, sigma2 = pencil.project(u)
        t = 0.5 * D + pencil.log_tau  # (7)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = bayes_error(t, D, sigma1, sigma2, *pencil.priors.T)
        return Rules.from_coordinates(
            pencil, u, t, error, status=Status.CLOSED_FORM, n_iter=1
        )


class PooledLDA:
    r"""Linear discriminant analysis from class statistics, as in scikit-learn.

    A row goes to the class with the largest
    :math:`x' P^+ m_k - m_k' P^+ m_k / 2 + \ln p_k`, where P is the pooled covariance
    of all classes (divisor n - K).

    Attributes
    ----------
    basis : ndarray of shape (d, r)
        Directions along which P is diagonal.
    precisions : ndarray of shape (r,)
        Inverse variances along them; zero where the variance is zero.
    """

    def __init__(
        self, stats: ClassStatistics, priors: Priors = None, to_diagonal: float = 0.0
    ) -> None:
        inside, span = in_span(stats)
        self.basis, spectrum = pooled_basis(inside)
        variances = (1 - to_diagonal) * spectrum + to_diagonal
        regular = variances > LDA_SINGULAR * variances.max(initial=0.0)
        self.precisions = np.where(regular, 1 / np.where(regular, variances, 1.0), 0.0)
        centers = (inside.means - inside.means.mean(axis=0)) @ self.basis
        basis = self.basis if span is None else span.basis @ self.basis
        self._center = stats.means.mean(axis=0)
        self._normals = centers * self.precisions @ basis.T
        self._offsets = -0.5 * centers**2 @ self.precisions
        self.classes_ = stats.classes
        self._log_priors = np.log(check_priors(priors, stats.classes, stats.weights))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of rows, which may be sparse."""
        labels: NDArray[Any] = self.classes_[self._scores(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes."""
        chances: Array = softmax(self._scores(X), axis=1)
        return chances

    def _scores(self, X: Any) -> Array:
        """Return the log-odds of the classes, up to a constant of each row."""
        scores = (dense(X) - self._center) @ self._normals.T
        scores += self._offsets + self._log_priors
        return np.asarray(scores, np.float64)
