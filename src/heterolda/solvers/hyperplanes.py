"""The record that every solver returns, and the sign convention.

The paper's class 1 is the first class i of a pair (i, j) and its rule decides class 1
when w.x >= w0. Stored are coef = -w and intercept = w0, so that a positive score
coef.x + intercept means the second class j, as in every binary scikit-learn
classifier; a score of exactly zero means class i. This module is the only place that
turns one into the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.solvers.pencil import Pencil

# Projected standard deviation, relative to the distance of the means, that stands for
# "none" where a direction separates the classes without any variance.
_NO_DEVIATION = 1e-7
# Scores are kept below this, so that sums of them do not overflow.
_LARGEST_SCORE = 1e300


class Status(IntEnum):
    """How a solver ended with a pair."""

    CLOSED_FORM = 0
    CERTIFIED = 1
    BEST_TRIAL = 2
    CONVERGED = 3
    MAX_ITER = 4
    NO_ROOT = 5
    TRIVIAL = 6
    SEPARABLE = 7


@dataclass(frozen=True)
class Hyperplanes:
    """One linear rule for each pair of classes.

    Attributes
    ----------
    coef : ndarray of shape (n_pairs, n_features)
        Minus w; zero for a trivial rule of two classes.
    intercept : ndarray of shape (n_pairs,)
        w0; the prior log-odds for a trivial rule.
    error : ndarray of shape (n_pairs,)
        Error p_e of the rule under the Gaussian model.
    gap : ndarray of shape (n_pairs,)
        (error - proven lower bound) / error; NaN without a certificate.
    n_iter : ndarray of shape (n_pairs,)
        Iterations, trials or evaluations that the solver spent.
    status : ndarray of shape (n_pairs,)
        `Status` of each pair.
    means, deviations : ndarray of shape (n_pairs, 2)
        Mean and standard deviation of the score in the two classes.
    dropped, floored : ndarray or None
        What the pencil says about these; None for rules that come from elsewhere.
    """

    coef: Array
    intercept: Array
    error: Array
    gap: Array
    n_iter: Index
    status: Index
    means: Array
    deviations: Array
    dropped: Array | None = None
    floored: Mask | None = None

    @property
    def trivial(self) -> Mask:
        """Pairs for which always choosing the likelier class is the rule."""
        trivial: Mask = self.status == Status.TRIVIAL
        return trivial

    @classmethod
    def from_coordinates(
        cls,
        pencil: Pencil,
        u: Array,
        t: Array,
        error: Array,
        *,
        status: Index,
        n_iter: Index,
        gap: Array | None = None,
    ) -> Hyperplanes:
        """Rules w = V u from their coordinates in the pencil.

        Thresholds t are measured from the mean of class 2. NaN asks for the trivial
        rule, and so does a w of zero. A pair that some direction separates without any
        variance gets that direction and error 0, whatever the solver found.
        """
        p1, p2 = pencil.priors.T
        w = (pencil.basis @ u[:, :, None])[:, :, 0]
        D, sigma1, sigma2 = pencil.project(u)
        deviations = np.array([sigma1, sigma2]).T
        separable = (pencil.separation != 0).any(axis=1)
        trivial = np.isnan(t) | ~w.any(axis=1) | (deviations == 0).any(axis=1)
        gap = np.full(len(t), np.nan) if gap is None else gap
        if separable.any():
            trivial &= ~separable
            gap = np.where(separable & ~np.isnan(gap), 0.0, gap)
            w = np.where(separable[:, None], pencil.separation, w)
            t = np.where(separable, 1.0, t)
            D = np.where(separable, 2.0, D)
            deviations[separable] = 2 * _NO_DEVIATION
            error = np.where(separable, 0.0, error)
            status = np.where(separable, Status.SEPARABLE, status)
        means = np.array([t - D, t]).T
        w0 = np.einsum("pi,pi->p", w, pencil.means[:, 1]) + t
        if trivial.any():
            odds = pencil.log_tau
            w[trivial] = 0.0
            deviations[trivial] = 0.0
            means[trivial] = odds[trivial, None]
            w0 = np.where(trivial, odds, w0)
            error = np.where(trivial, np.minimum(p1, p2), error)
            status = np.where(trivial, Status.TRIVIAL, status)
        known = pencil.dropped, pencil.floored
        return cls(-w, w0, error, gap, n_iter, status, means, deviations, *known)

    @classmethod
    def from_projections(
        cls,
        coef: Array,
        intercept: Array,
        error: Array,
        *,
        n_iter: Index,
        means: Array,
        deviations: Array,
    ) -> Hyperplanes:
        """Rules that were found in some other way than from the pencil.

        Where both classes have one and the same score, the rule is trivial.
        """
        distance = np.abs(means[:, 1] - means[:, 0])[:, None]
        deviations = np.maximum(deviations, _NO_DEVIATION * distance)
        trivial = ~np.any(coef, axis=1) | np.any(deviations == 0, axis=1)
        return cls(
            coef=coef,
            intercept=intercept,
            error=error,
            gap=np.full(len(coef), np.nan),
            n_iter=n_iter,
            status=np.where(trivial, Status.TRIVIAL, Status.BEST_TRIAL),
            means=means,
            deviations=deviations,
        )

    def less(self, threshold: float) -> Hyperplanes:
        """The same rules with scores less a threshold."""
        less = self.intercept - threshold, self.means - threshold
        return replace(self, intercept=less[0], means=less[1])

    def take(self, pairs: Index) -> Hyperplanes:
        """Some of the pairs."""
        return self._each(lambda column: column[pairs], self)

    def put(self, pairs: Index, rules: Hyperplanes) -> None:
        """Replace the rules of some pairs, in place."""
        for field in fields(self):
            getattr(self, field.name)[pairs] = getattr(rules, field.name)

    @classmethod
    def where(
        cls, chosen: Mask, these: Hyperplanes, others: Hyperplanes
    ) -> Hyperplanes:
        """For each pair one of two rules."""

        def choose(one: Any, other: Any) -> Any:
            return np.where(chosen[:, None] if one.ndim == 2 else chosen, one, other)

        return cls._each(choose, these, others)

    @classmethod
    def concatenate(cls, records: list[Hyperplanes]) -> Hyperplanes:
        """Join the records of consecutive groups of pairs."""
        if len(records) == 1:
            return records[0]
        return cls._each(lambda *columns: np.concatenate(columns), *records)

    @classmethod
    def _each(cls, make: Callable[..., Any], *records: Hyperplanes) -> Hyperplanes:
        """A record made attribute by attribute; None where one of them has none."""
        made: dict[str, Any] = {}
        for name in (field.name for field in fields(cls)):
            columns = [getattr(record, name) for record in records]
            missing = any(column is None for column in columns)
            made[name] = None if missing else make(*columns)
        return cls(**made)


def linear_scores(rows: Array, normals: Array, intercept: Array) -> Array:
    """Scores of rows of data; `normals` is `coef` transposed, perhaps for each row.

    They are finite and have the right sign even if products overflow: positive for the
    second class of a pair.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _products(rows, normals)
        scores += intercept
        # The sum of all is finite unless one of them is not, or nearly so.
        if not np.isfinite(scores.sum()) and not np.isfinite(scores).all():
            huge = ~np.isfinite(scores).all(axis=1)
            if normals.ndim == 3:
                normals, intercept = normals[huge], intercept[huge]
            size = np.abs(rows[huge]).max(axis=1, keepdims=True)
            part = _products(rows[huge] / size, normals)
            scores[huge] = size * (part + intercept / size)
            np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE, out=scores)
    return scores


def _products(rows: Array, normals: Array) -> Array:
    """Products of rows with normals, the same for all rows or those of each."""
    if normals.ndim == 2:
        return rows @ normals
    products: Array = np.einsum("rj,rjp->rp", rows, normals)
    return products
