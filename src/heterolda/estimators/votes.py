"""Decisions and probabilities from the scores of the rules.

`Binary`, `OneVsOne` and `OneVsAll` each turn scores of shape (n_samples, n_pairs) into
winning classes and class probabilities that agree with each other. A row gets the same
answer alone and in a batch, because a score depends only on its row and its rule
(:mod:`heterolda.kernels.ordered_scores`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.estimators.calibration import (
    Evidence,
    best_temperature,
    gaussian_log_odds,
)
from heterolda.foundations.arrays import Array, Index, is_numpy, put_like, xp_of
from heterolda.kernels.coupling import Curve, couple, couple_rows
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import (
    Ballot,
    count_votes,
    leaders,
    vote_winners,
    winners_of_votes,
)
from heterolda.solvers.rules import Rules


@dataclass(frozen=True)
class Committee(ABC):
    """Rules that decide together; pickles store the temperature instead of rows."""

    planes: Rules
    # The temperature that divides log probabilities, or rows to compute it from.
    evidence: Evidence | float = field(default=1.0, kw_only=True)
    # Log-odds of the scores; None means those of the Gaussian model.
    log_odds: Curve | None = field(default=None, kw_only=True)

    @abstractmethod
    def winners(self, scores: Any) -> Any:
        """Return the index of the winning class of each row."""

    @abstractmethod
    def probabilities(self, scores: Any) -> Any:
        """Return class probabilities, largest for the winner."""

    @cached_property
    def temperature(self) -> float:
        """Return the temperature of the probabilities, computed on first use."""
        rows = self.evidence
        if isinstance(rows, float):
            return rows
        p = replace(self, evidence=1.0).probabilities(rows.scores)
        # Temperatures below one are worse for small data sets.
        return best_temperature(p, rows.codes, rows.weights, 1.0)

    def of_rows(self, method: str, rows: Any, coef: Any, intercept: Any) -> Any:
        """Apply a method to the scores of rows."""
        return getattr(self, method)(ordered_scores(rows, coef, intercept))

    def values_per_row(self) -> int:
        """Return the number of values that a row needs in memory."""
        return len(self.planes.coef)

    @cached_property
    def curve(self) -> Curve:
        """Return the log-odds of scores, as given or of the Gaussian model."""
        return self.log_odds or gaussian_log_odds(self.planes)

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state | {"evidence": self.temperature}


@dataclass(frozen=True)
class Binary(Committee):
    """Two classes, one rule."""

    def decisions(self, scores: Any) -> Any:
        """Return the score itself, of shape (n_samples,)."""
        return scores[:, 0]

    def winners(self, scores: Any) -> Any:
        """Return the second class for a positive score."""
        xp = xp_of(scores)
        return xp.astype(scores[:, 0] > 0, xp.int64)

    def probabilities(self, scores: Any) -> Any:
        """Return the posterior given the score."""
        xp = xp_of(scores)
        odds = xp.exp(-self.curve.log_odds(scores) / self.temperature)
        return xp.concat([1 / (1 + 1 / odds), 1 / (1 + odds)], axis=1)


@dataclass(frozen=True)
class OneVsOne(Committee):
    """One rule for each pair of classes, in the usual order; their votes decide."""

    n_classes: int
    voting: str  # "weighted", by 1 - p_e, or "majority"

    @cached_property
    def _weights(self) -> Array:
        """Return the weights of the votes."""
        return vote_weights(self.planes.error, self.n_classes, self.voting)

    @cached_property
    def _ballot(self) -> Ballot:
        """Return the votes of rules, with a first guess from standardized scores."""
        planes, scale = self.planes, self.planes.deviations.mean(axis=1)
        return Ballot.of_rules(self._weights, planes.coef, planes.intercept, scale)

    def votes(self, scores: Any) -> Any:
        """Return sums of votes, of shape (n_samples, n_classes)."""
        return count_votes(scores, self._weights)

    def winners(self, scores: Any) -> Any:
        """Return the class with the most votes; ties go to the larger sum of scores."""
        return winners_of_votes(self.votes(scores), scores)

    def probabilities(self, scores: Any) -> Any:
        """Return coupled pairwise posteriors, the largest swapped to the winner."""
        coupled = tempered(couple(scores, self.curve), self.temperature)
        return swap_largest_to_winner(coupled, self.winners(scores))

    def of_rows(self, method: str, rows: Any, coef: Any, intercept: Any) -> Any:
        """Apply a method to rows; compiled code does not store all their scores."""
        rules = coef, intercept
        if kernels.compiled is None:
            return super().of_rows(method, rows, *rules)
        if method == "winners":
            winner = vote_winners(rows, *rules, self._ballot)
            return self._break_ties(winner, rows, rules)
        p, votes = couple_rows(rows, *rules, self._weights, self.curve)
        winner = self._break_ties(leaders(votes), rows, rules)
        return swap_largest_to_winner(tempered(p, self.temperature), winner)

    def values_per_row(self) -> int:
        """Return the number of values that a row needs in memory."""
        is_compiled = kernels.compiled is not None
        return self.n_classes if is_compiled else super().values_per_row()

    def _break_ties(self, winner: Index, rows: Array, rules: tuple[Any, Any]) -> Index:
        """Replace -1 by the winners of ties."""
        tied = np.flatnonzero(winner < 0)
        if len(tied):
            winner[tied] = self.winners(ordered_scores(rows[tied], *rules))
        return winner


@dataclass(frozen=True)
class OneVsAll(Committee):
    """One rule for each class against all others; the largest log-odds win.

    The second class of rule k is class k.
    """

    def winners(self, scores: Any) -> Any:
        """Return the class with the largest log-odds, the first if several tie.

        Scores have arbitrary scales, log-odds do not.
        """
        return xp_of(scores).argmax(self.curve.log_odds(scores), axis=1)

    def probabilities(self, scores: Any) -> Any:
        """Return posteriors of the classes against all others, scaled to sum to one."""
        xp, log_odds = xp_of(scores), self.curve.log_odds(scores)
        p = 1 / (1 + xp.exp(-log_odds))
        p = tempered(p / xp.sum(p, axis=1, keepdims=True), self.temperature)
        return swap_largest_to_winner(p, xp.argmax(log_odds, axis=1))


def committee_of(
    rules: Rules,
    pairs: Index,
    voting: str,
    evidence: Evidence | float = 1.0,
    log_odds: Curve | None = None,
) -> Committee:
    """Return the committee of the rules of pairs."""
    options: dict[str, Any] = {"evidence": evidence, "log_odds": log_odds}
    if len(pairs) == 1:
        return Binary(rules, **options)
    if pairs[0, 0] < 0:
        return OneVsAll(rules, **options)
    return OneVsOne(rules, int(pairs.max()) + 1, voting, **options)


def vote_weights(error: Array, n_classes: int, voting: str) -> Array:
    """Return the weight of each pair's vote: 1 - p_e, or 1 for a plain majority.

    Weights are rounded so that their sums are exact. Ties are therefore exact, too, and
    do not depend on the order of summation.
    """
    if voting == "majority":
        return np.ones(error.shape)
    digits = 53 - int(np.ceil(np.log2(n_classes)))
    return np.ldexp(np.round(np.ldexp(1 - error, digits)), -digits)


def tempered(probabilities: Any, temperature: float) -> Any:
    """Return positive probabilities whose logarithms are divided by a temperature.

    A temperature above 1 brings them closer together.
    """
    xp, p = xp_of(probabilities), probabilities
    if temperature == 1:
        return p
    p = (p / xp.max(p, axis=1, keepdims=True)) ** (1 / temperature)
    p = xp.clip(p, float(xp.finfo(xp.float64).smallest_normal), None)
    return p / xp.sum(p, axis=1, keepdims=True)


def swap_largest_to_winner(probabilities: Any, winner: Any) -> Any:
    """Return probabilities with each row's largest swapped to the winning class."""
    xp, p = xp_of(probabilities), probabilities
    leader = xp.argmax(p, axis=1)
    if is_numpy(p):  # in place, since few rows change
        rows = np.flatnonzero(leader != winner)
        leading, winning = (rows, leader[rows]), (rows, winner[rows])
        p[leading], p[winning] = p[winning], p[leading]
        return break_tie(p, winner)
    of_winner, of_leader = (
        xp.take_along_axis(p, column[:, None], axis=1) for column in (winner, leader)
    )
    p = xp.where(_marked(p, leader), of_winner, p)
    return break_tie(xp.where(_marked(p, winner), of_leader, p), winner)


def logarithms(probabilities: Any) -> Any:
    """Return logarithms of probabilities, with the same argmax."""
    xp = xp_of(probabilities)
    return break_tie(xp.log(probabilities), xp.argmax(probabilities, axis=1))


def break_tie(values: Any, winner: Any) -> Any:
    """Return values with the winner's raised above equal ones by the smallest step."""
    xp = xp_of(values)
    is_beaten = xp.argmax(values, axis=1) != winner
    if not bool(xp.any(is_beaten)):
        return values
    largest = xp.max(values, axis=1, keepdims=True)
    larger = xp.nextafter(largest, xp.full_like(largest, xp.inf))
    return xp.where(is_beaten[:, None] & _marked(values, winner), larger, values)


def _marked(values: Any, column: Any) -> Any:
    """Return an array that is True in one column of each row."""
    return put_like(np.arange(values.shape[1]), values) == column[:, None]


def in_format_of(X: Any, values: Any) -> Any:
    """Return values in single precision if X is, clipped to stay finite."""
    xp = xp_of(values)
    if X.dtype != xp.float32:
        return values
    limits = xp.finfo(xp.float32)
    return xp.astype(xp.clip(values, float(limits.min), float(limits.max)), xp.float32)


def rounded(values: Any, X: Any) -> Any:
    """Return decision values or probabilities in the format of X, with equal winners.

    Positive values stay positive, and the largest stays the largest.
    """
    result = in_format_of(X, values)
    if result is values:
        return values
    xp = xp_of(values)
    smallest = float(xp.finfo(xp.float32).smallest_normal)
    result = xp.where((values > 0) & (result < smallest), smallest, result)
    return result if result.ndim == 1 else break_tie(result, xp.argmax(values, axis=1))
