"""Error curves and search histories of single pairs of classes, for the pictures."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import TrivialRuleWarning
from heterolda.experiments import datasets
from heterolda.experiments.catalogue import CATALOGUE
from heterolda.experiments.methods import METHODS, pure_model
from heterolda.foundations.arrays import Array
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.rules import bayes_error, best_threshold

__all__ = ["PairStudy", "study_pair"]


ON_THE_CURVE = ("LDA", "C-HLD", "R-HLD-1", "R-HLD-2", "GLD", "GLD-global")
SEARCHES = ("LNS", "global+LNS")

_WIDEST = (-1.5, 2.5)
_POINTS = 241


@dataclass(frozen=True)
class PairStudy:
    """A pair of classes in detail.

    The curves are the errors of the rules w = (s S1 + (1 - s) S2)^-1 (m1 - m2), (12),
    with the threshold (13) and with the best one (39). Methods whose s lies far outside
    of [0, 1], or that have none, are not among the choices.
    """

    dataset: str
    classes: tuple[object, object]
    n: int  # points of the two classes
    s: Array  # of shape (m,), like the errors
    error: Array
    best_error: Array
    trivial_error: float  # of always choosing the likelier class
    choices: dict[str, tuple[float, float]]  # s and error by method
    histories: dict[str, Array]  # training errors at each iteration, by method

    @property
    def title(self) -> str:
        """The set and the two classes."""
        return "{}: {} and {}".format(self.dataset, *self.classes)


def study_pair(name: str, data_dir: datasets.DataDir = None) -> PairStudy | None:
    """Study that pair of a data set on which LDA's rule costs the most points.

    None if the data are not on this machine: nothing is downloaded.
    """
    if name not in CATALOGUE or datasets.dataset_source(name, data_dir) is None:
        return None
    X, y = datasets.load_dataset(name, data_dir=data_dir)
    with warnings.catch_warnings():
        # Rare classes are part of the paper's study.
        warnings.simplefilter("ignore", TrivialRuleWarning)
        lda, best = pure_model("fisher").fit(X, y), pure_model("global").fit(X, y)
        loss = lda.bayes_error_ - best.bayes_error_
        loss *= lda.statistics_.weights[lda.pairs_].sum(axis=1)
        pair = lda.classes_[lda.pairs_[np.argmax(loss)]]
        rows = np.isin(y, pair)
        return _study(name, X[rows], y[rows])


def _study(name: str, X: Array, y: NDArray[Any]) -> PairStudy:
    """The curve and all choices, on the rows of two classes."""
    models = {method: METHODS[method].make(0).fit(X, y) for method in ON_THE_CURVE}
    lda = models["LDA"]
    pencil = Pencil.from_moments(
        lda.statistics_.means[None],
        lda.statistics_.covariances(0.0)[None],
        lda.priors_[None],
        lda.statistics_.weights[None],
        moore_penrose=True,
    )
    choices = {}
    for method, model in models.items():
        weight = _weight(pencil, -model.coef_[0])
        if _WIDEST[0] <= weight <= _WIDEST[1]:
            choices[method] = (weight, float(model.bayes_error_[0]))
    s, error, best_error = _curves(pencil, [s for s, _ in choices.values()])
    return PairStudy(
        dataset=name,
        classes=tuple(lda.classes_.tolist()),
        n=len(y),
        s=s,
        error=error,
        best_error=best_error,
        trivial_error=float(lda.priors_.min()),
        choices=choices,
        histories={m: METHODS[m].make(0).fit(X, y).history_[0] for m in SEARCHES},
    )


def _weight(pencil: Pencil, w: Array) -> float:
    """The s for which (s S1 + (1 - s) S2) w is parallel to m1 - m2; NaN if none is."""
    cov, delta = pencil.covariances[0], pencil.means[0, 0] - pencil.means[0, 1]
    basis = pencil.basis[0]
    sides = basis.T @ np.column_stack([cov[0] @ w, cov[1] @ w])
    size = np.linalg.norm(sides)
    if size == 0:  # the trivial rule
        return np.nan
    b, a = np.linalg.lstsq(sides / size, basis.T @ delta, rcond=None)[0]
    return float(b / (a + b)) if a + b > 0 else np.nan


def _curves(pencil: Pencil, chosen: list[float]) -> tuple[Array, Array, Array]:
    """Errors for the s around [0, 1] and the chosen ones, while the matrix is definite.

    In the pencil the matrix is s alpha + (1 - s) beta, and (13) is t = (1 - s)
    sigma2^2, measured from the mean of class 2.
    """
    alpha, beta = pencil.alpha[0], pencil.beta[0]
    with np.errstate(divide="ignore"):
        zeros = beta / (beta - alpha)
    low = max([_WIDEST[0], *zeros[zeros <= 0]])
    high = min([_WIDEST[1], *zeros[zeros >= 1]])
    inside = 1e-3 * (high - low)
    low = max(low + inside, min([-0.25, *(s - 0.25 for s in chosen)]))
    high = min(high - inside, max([1.25, *(s + 0.25 for s in chosen)]))
    s = np.linspace(low, high, _POINTS)
    s = np.union1d(s, [x for x in chosen if low < x < high])
    u = pencil.c[:, None, :] / (s[:, None] * alpha + (1 - s[:, None]) * beta)
    D, sigma1, sigma2 = pencil.project(u)
    p1, p2 = pencil.priors[0]
    error = bayes_error((1 - s) * sigma2**2, D, sigma1, sigma2, p1, p2)[0]
    t = best_threshold(D, sigma1, sigma2, pencil.log_tau[:, None])
    best = bayes_error(t, D, sigma1, sigma2, p1, p2)[0]
    return s, error, np.fmin(best, min(p1, p2))  # at worst, the likelier class
