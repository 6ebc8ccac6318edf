"""Decisions and probabilities from the scores of the rules.

`Binary`, `OneVsOne` and `OneVsRest` each turn scores of shape (n_samples, n_pairs) into
class probabilities and winning classes. A row gets the same answer alone and in a
batch, because a score depends only on its row and its rule
(:mod:`heterolda.kernels.ordered_scores`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Index, xp_of
from heterolda.kernels.coupling import Curve, couple, couple_rows, pair_winners
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import count_votes, pair_sums, winners_of_votes
from heterolda.solvers.rules import Rules

# Weights of votes are multiples of this, so that their sums are exact.
_UNIT = 2.0**-26
# Numbers in this ratio, or less, may be equal in single and in double precision.
_CLOSE_IN_SINGLE, _CLOSE = 1 + 2.0**-20, 1 + 2.0**-30
# From this number on, leaving out rules pays (benchmarks/kernels.py).
_MANY_CLASSES = 6
# Parts of `Rules` that only fits use.
_OF_FITS: dict[str, Any] = dict.fromkeys(
    ("fisher_coef", "fisher_intercept", "rank", "dropped", "floored")
)


@dataclass(frozen=True)
class Committee(ABC):
    """Rules that decide together."""

    planes: Rules
    log_odds: Any  # of the scores: a curve, or a function that returns it

    @cached_property
    def curve(self) -> Curve:
        """Return the log-odds of the scores, computed on first use."""
        given = self.log_odds
        return given if isinstance(given, Curve) else given()

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state | {"log_odds": self.curve}

    @abstractmethod
    def winners(self, scores: Any, X: Any) -> Any:
        """Return the index of the winning class of each row of X."""

    @abstractmethod
    def probabilities(self, scores: Any, X: Any) -> Any:
        """Return class probabilities, in the format of X."""

    def of_rows(self, method: str, rows: Any, coef: Any, intercept: Any, X: Any) -> Any:
        """Apply a method to the rows of X, given in double precision."""
        return getattr(self, method)(ordered_scores(rows, coef, intercept), X)

    def values_per_row(self) -> int:
        """Return the number of values that a row needs in memory."""
        return len(self.planes.coef)


@dataclass(frozen=True)
class Binary(Committee):
    """Two classes, one rule."""

    def decisions(self, scores: Any, X: Any) -> Any:
        """Return the score itself, of shape (n_samples,)."""
        return rounded(scores[:, 0], X)

    def winners(self, scores: Any, X: Any) -> Any:
        """Return the second class for a positive score."""
        xp = xp_of(scores)
        return xp.astype(scores[:, 0] > 0, xp.int64)

    def probabilities(self, scores: Any, X: Any) -> Any:
        """Return the posterior given the score."""
        xp = xp_of(scores)
        odds = xp.exp(-self.curve.log_odds(scores))
        return rounded(xp.concat([1 / (1 + 1 / odds), 1 / (1 + odds)], axis=1), X)


@dataclass(frozen=True)
class OneVsOne(Committee):
    """One rule for each pair of classes, in the usual order."""

    n_classes: int
    voting: str  # "probability"; or votes decide, "weighted" by 1 - p_e, or "majority"

    @cached_property
    def _guess(self) -> Array:
        """Return linear functions of rows, the largest for a class likely to win.

        They sum over pairs the lines through the log-odds at the means of both classes.
        """
        planes, means = self.planes, self.planes.means.T.copy()
        below, above = self.curve.log_odds(means)
        scores = np.column_stack([planes.coef, planes.intercept]).T
        with np.errstate(all="ignore"):
            scores = np.nan_to_num(scores * ((above - below) / (means[1] - means[0])))
        guess: Array = pair_sums(scores, -scores)
        return guess

    @cached_property
    def vote_weights(self) -> Array:
        """Return the weight of the vote of each pair: 1 - p_e, or 1 for a majority."""
        error = self.planes.error
        if self.voting == "majority":
            return np.ones(error.shape)
        return _UNIT * np.round((1 - error) / _UNIT)

    def decisions(self, scores: Any, X: Any) -> Any:
        """Return sums of votes, and a share of the sums of scores that breaks ties.

        Its size is below a third of the smallest difference of votes, as in
        scikit-learn's `OneVsOneClassifier`.
        """
        sums = pair_sums(scores, -scores)
        unit = 1.0 if self.voting == "majority" else _UNIT
        shares = unit / 3 * sums / (xp_of(sums).abs(sums) + 1)
        return rounded(count_votes(scores, self.vote_weights) + shares, X)

    def winners(self, scores: Any, X: Any) -> Any:
        """Return the class of largest probability, or with most votes."""
        if self.voting == "probability":
            return xp_of(scores).argmax(self.probabilities(scores, X), axis=1)
        return winners_of_votes(count_votes(scores, self.vote_weights), scores)

    def probabilities(self, scores: Any, X: Any) -> Any:
        """Return the probabilities of all pairs together."""
        return rounded(couple(scores, self.curve), X)

    def of_rows(self, method: str, rows: Any, coef: Any, intercept: Any, X: Any) -> Any:
        """Apply a method to rows; compiled code does not store all their scores."""
        if kernels.compiled is None or self.voting != "probability":
            return super().of_rows(method, rows, coef, intercept, X)

        def probabilities(rows: Array) -> Any:
            return rounded(couple_rows(rows, coef, intercept, self.curve), X)

        if method == "probabilities":
            return probabilities(rows)
        if self.n_classes < _MANY_CLASSES:
            return probabilities(rows).argmax(axis=1)
        close = _CLOSE_IN_SINGLE if X.dtype == np.float32 else _CLOSE
        given = coef, intercept, self.curve, self._guess, close
        winner = pair_winners(rows, *given)
        left = np.flatnonzero(winner < 0)
        if len(left):
            winner[left] = probabilities(rows[left]).argmax(axis=1)
        return winner

    def values_per_row(self) -> int:
        """Return the number of values that a row needs in memory."""
        is_compiled = kernels.compiled is not None and self.voting == "probability"
        return self.n_classes if is_compiled else super().values_per_row()


@dataclass(frozen=True)
class OneVsRest(Committee):
    """One rule for each class against all others; the largest log-odds win.

    The second class of rule k is class k.
    """

    def winners(self, scores: Any, X: Any) -> Any:
        """Return the class with the largest log-odds, the first if several tie.

        Scores have arbitrary scales, log-odds do not.
        """
        return xp_of(scores).argmax(self.curve.log_odds(scores), axis=1)

    def probabilities(self, scores: Any, X: Any) -> Any:
        """Return posteriors of the classes against all others, scaled to sum to one."""
        xp = xp_of(scores)
        p = 1 / (1 + xp.exp(-self.curve.log_odds(scores)))
        return rounded(p / xp.sum(p, axis=1, keepdims=True), X)


def committee_of(rules: Rules, pairs: Index, voting: str, log_odds: Any) -> Committee:
    """Return the committee of the rules of pairs.

    The log-odds of their scores are a curve, or a function that returns it.
    """
    rules = replace(rules, **_OF_FITS)
    if len(pairs) == 1:
        return Binary(rules, log_odds)
    if pairs[0, 0] < 0:
        return OneVsRest(rules, log_odds)
    return OneVsOne(rules, log_odds, int(pairs.max()) + 1, voting)


def rounded(values: Any, X: Any) -> Any:
    """Return decision values or probabilities in the format of X.

    Values in single precision stay finite, and positive ones stay positive.
    """
    xp = xp_of(values)
    if X.dtype != xp.float32:
        return values
    limits = xp.finfo(xp.float32)
    result = xp.clip(values, float(limits.min), float(limits.max))
    smallest = float(limits.smallest_normal)
    result = xp.where((values > 0) & (values < smallest), smallest, result)
    return xp.astype(result, xp.float32)
