"""The record `Rules` that every solver returns, and the sign convention.

The paper's class 1 is the first class i of a pair (i, j) and its rule decides class 1
when w.x >= w0. The record has coef = -w and intercept = w0, so that a positive score
coef.x + intercept means the second class j, as in every binary scikit-learn
classifier; a score of exactly zero means class i. Only this module converts between
the two.

Along w, a threshold is measured from the mean of class 2: t = w0 - w.m2. D is
w.(m1 - m2), and sigma1, sigma2 are the deviations of the two classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from scipy.special import ndtr

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.rounding import (
    EPS,
    MOST_UNCERTAIN,
    NO_SPREAD,
    UNCERTAIN_UNITS,
)
from heterolda.solvers.axes import is_unresolved
from heterolda.solvers.pencil import Moments, Pencil


class Status(IntEnum):
    """Outcome of a solver for a pair."""

    CLOSED_FORM = 0
    CERTIFIED = 1
    BEST_TRIAL = 2
    CONVERGED = 3
    MAX_ITER = 4
    NO_ROOT = 5
    TRIVIAL = 6
    SEPARABLE = 7
    CHOSEN_ON_ROWS = 8


# Arrays are compared with integers in less time than with members of an enumeration.
_TRIVIAL, _SEPARABLE = int(Status.TRIVIAL), int(Status.SEPARABLE)


@dataclass(frozen=True)
class Rules:
    """One linear rule for each pair of classes."""

    coef: Array  # -w, (n_pairs, d)
    intercept: Array  # w0; the prior log-odds for a trivial rule
    error: Array  # p_e of the rule under the Gaussian model
    gap: Array  # (error - proven lower bound) / error; NaN without a certificate
    n_iter: Index  # number of iterations, trials or evaluations
    status: Index  # a `Status`
    means: Array  # means of the score in the two classes, (n_pairs, 2)
    deviations: Array  # deviations of the score in the two classes
    # Properties of the pairs, for any solver:
    fisher_coef: Array | None = None  # Fisher's rule
    fisher_intercept: Array | None = None
    rank: Index | None = None  # number of directions in which either class varies
    dropped: Array | None = None  # as in `Pencil`
    floored: Mask | None = None

    @property
    def trivial(self) -> Mask:
        """Return a mask of the pairs whose rule always chooses the same class."""
        trivial: Mask = self.status == _TRIVIAL
        return trivial

    @property
    def separable(self) -> Mask:
        """Return a mask of the pairs that a direction without variance separates."""
        separable: Mask = self.status == _SEPARABLE
        return separable

    @property
    def fisher(self) -> tuple[Array, Array]:
        """Return the coefficients and intercepts of Fisher's rules."""
        rules: Any = self.fisher_coef, self.fisher_intercept
        coef, intercept = rules
        return coef, intercept

    @classmethod
    def from_coordinates(
        cls,
        pencil: Pencil,
        u: Array,
        t: Array,
        error: Array,
        *,
        status: Index | int,
        n_iter: Index | int,
        gap: Array | float = np.nan,
    ) -> Rules:
        """Return rules w = V u, given their coordinates in the pencil.

        Thresholds t are measured from the mean of class 2. If t is NaN or w is zero,
        the rule is trivial. If a direction without variance separates a pair, the rule
        is that direction, with error 0.
        """
        p1, p2 = pencil.priors.T
        w = (pencil.basis @ u[:, :, None])[:, :, 0]
        D, sigma1, sigma2 = pencil.project(u)
        deviations = np.array([sigma1, sigma2]).T
        separable = (pencil.separation != 0).any(axis=1)
        trivial = np.isnan(t) | ~w.any(axis=1) | (deviations == 0).any(axis=1)
        gap = np.where(pencil.blurred, np.nan, gap)
        status, n_iter = (np.full(len(t), x) for x in (status, n_iter))
        if separable.any():
            trivial &= ~separable
            gap = np.where(separable & ~np.isnan(gap), 0.0, gap)
            w = np.where(separable[:, None], pencil.separation, w)
            t = np.where(separable, 1.0, t)
            D = np.where(separable, 2.0, D)
            deviations[separable] = 2 * NO_SPREAD
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
        fisher = (pencil.basis @ pencil.fisher_coordinates[:, :, None])[:, :, 0]
        projected = np.einsum("pi,pki->p", fisher, pencil.means) / 2
        return cls(
            coef=-w,
            intercept=w0,
            error=error,
            gap=gap,
            n_iter=n_iter,
            status=status,
            means=means,
            deviations=deviations,
            fisher_coef=-fisher,
            fisher_intercept=projected + pencil.log_tau,
            rank=pencil.rank,
            dropped=pencil.dropped,
            floored=pencil.floored,
        )

    def with_rounding(self, moments: Moments) -> Rules:
        """Add what rounding may change of errors to the gaps; NaN where it is much.

        The variance w'S w of a class is uncertain by a few EPS of sum w_i^2 S_ii. Pairs
        in which an unresolved nonzero variance was raised get no certificate.
        """
        ruled = ~(self.trivial | self.separable)
        deviations = np.where(ruled[:, None], self.deviations, np.inf)
        variances = np.einsum("kii->ki", moments.covariances)
        unit = variances.max(axis=0)
        unit[unit == 0] = 1.0
        squares, shares = (self.coef * np.sqrt(unit)) ** 2, variances / unit
        noise = np.einsum("pi,pki->pk", squares, shares[moments.pairs])
        share = UNCERTAIN_UNITS * EPS * noise / deviations**2
        y = np.abs(self.means) / deviations
        larger = ndtr(-y / np.sqrt(1 + share))
        smaller = ndtr(-y / np.sqrt(np.maximum(1 - share, EPS)))
        change = np.sum(moments.pair_priors * (larger - smaller), axis=1)
        gap = self.gap + change / np.where(self.error > 0, self.error, np.inf)
        uncertain = change > MOST_UNCERTAIN
        if self.floored is not None and self.floored.any():
            unresolved = np.zeros(len(moments.means), bool)
            for k in np.unique(moments.pairs[self.floored]):
                unresolved[k] = is_unresolved(moments.covariances[k])
            uncertain |= (self.floored & unresolved[moments.pairs]).any(axis=1)
        return replace(self, gap=np.where(uncertain, np.nan, gap))

    def along(self, coef: Array, intercept: Array, moments: Moments) -> Rules:
        """Replace the rules by others that rows chose, without certificates."""
        pairs, variances = moments.pairs, np.empty(moments.pairs.shape)
        means = np.einsum("pi,pki->pk", coef, moments.means[pairs]) + intercept[:, None]
        for k in np.unique(pairs):  # class by class, to save memory
            pair, position = np.nonzero(pairs == k)
            w = coef[pair]
            products = w @ moments.covariances[k]
            variances[pair, position] = np.einsum("pi,pi->p", products, w)
        D = np.diff(means)[:, 0]
        deviations = np.sqrt(np.maximum(variances, (NO_SPREAD * D[:, None]) ** 2))
        priors = moments.pair_priors.T
        return replace(
            self,
            coef=coef,
            intercept=intercept,
            error=bayes_error(means[:, 1], D, *deviations.T, *priors),
            gap=np.full(len(D), np.nan),
            status=np.full(len(D), Status.CHOSEN_ON_ROWS),
            means=means,
            deviations=deviations,
        )

    def minus(self, threshold: float) -> Rules:
        """Subtract a threshold from the scores."""
        intercept, means = self.intercept - threshold, self.means - threshold
        return replace(self, intercept=intercept, means=means)

    def take(self, pairs: Index | Mask) -> Rules:
        """Select pairs by index or mask."""
        return self._each(lambda column: column[pairs], self)

    def replaced(self, pairs: Index, rules: Rules) -> Rules:
        """Replace the rules of the pairs with these indices."""

        def replace_in(column: Any, new: Any) -> Any:
            column = column.copy()
            column[pairs] = new
            return column

        return self._each(replace_in, self, rules)

    @classmethod
    def concatenate(cls, records: list[Rules]) -> Rules:
        """Join the records of consecutive groups of pairs."""
        if len(records) == 1:
            return records[0]
        return cls._each(lambda *columns: np.concatenate(columns), *records)

    @classmethod
    def _each(cls, make: Callable[..., Any], *records: Rules) -> Rules:
        """Make a record attribute by attribute; None if any record has None there."""
        attributes: dict[str, Any] = {}
        for name in (field.name for field in fields(cls)):
            columns = [getattr(record, name) for record in records]
            missing = any(column is None for column in columns)
            attributes[name] = None if missing else make(*columns)
        return cls(**attributes)


def best_threshold(D: Array, sigma1: Array, sigma2: Array, log_tau: Array) -> Array:
    """Return the threshold t of least error along w; log_tau is ln(p2 / p1).

    For D > 0 this is (39), rationalized so that it needs no cases:

        t = sigma2^2 (D^2 + 2 sigma1^2 L) / (D sigma2^2 + sigma1 sigma2 root)
        root = sqrt(D^2 + 2 (sigma1^2 - sigma2^2) L),  L = ln(tau sigma1 / sigma2)

    For D <= 0 it is (39) as printed, minus mu2. It is NaN where no threshold is
    stationary, so that the error is monotone in t, and always choosing the more
    probable class is best along w.
    """
    size = np.hypot(sigma1, sigma2)  # scaled out, since w may have any length
    D, s1, s2 = D / size, sigma1 / size, sigma2 / size
    L = log_tau + np.log(sigma1 / sigma2)
    difference = (s1 - s2) * (s1 + s2)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(D**2 + 2 * difference * L)
        t = np.where(  # (39)
            D > 0,
            s2**2 * (D**2 + 2 * s1**2 * L) / (D * s2**2 + s1 * s2 * root),
            (s1 * s2 * root - D * s2**2) / difference,
        )
        return np.where(np.isfinite(t), t * size, np.nan)


def bayes_error(
    t: Array, D: Array, sigma1: Array, sigma2: Array, p1: Array, p2: Array
) -> Array:
    """Return the error p_e of a rule, (9), from the class errors (19) and (20)."""
    error: Array = p1 * ndtr((t - D) / sigma1) + p2 * ndtr(-t / sigma2)
    return error
