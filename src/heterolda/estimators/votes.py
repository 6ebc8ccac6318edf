"""From the scores of the rules to decisions and probabilities.

`Binary`, `OneVsOne` and `OneVsAll` each turn scores of shape (n_samples, n_pairs) into
winning classes and class probabilities that agree with each other:
also those of a row alone and of the same row among others, because a score depends on
its row and its rule only (:mod:`heterolda.kernels.ordered_scores`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import heterolda.kernels as kernels
from heterolda.estimators.posterior import LogOdds
from heterolda.estimators.temperature import Evidence
from heterolda.foundations.arrays import Array, Index
from heterolda.kernels.coupling import Curve, couple, couple_numpy, couple_rows
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import (
    Ballot,
    count_votes,
    incidence,
    leaders,
    vote_winners,
)
from heterolda.solvers.rules import Rules

Float = TypeVar("Float", np.float64, np.float32)


@dataclass(frozen=True)
class Committee(ABC):
    """Rules that decide together.

    What is computed from the fields is kept, but not copied or pickled with them; only
    the temperature is, instead of the rows that it comes from.

    Attributes
    ----------
    planes : Rules
        The rules.
    evidence : Evidence or float
        Rows for the temperature by which log probabilities are divided, or the
        temperature itself.
    """

    planes: Rules
    evidence: Evidence | float = field(default=1.0, kw_only=True)

    @abstractmethod
    def winners(self, scores: Array) -> Index:
        """Index of the winning class of each row."""

    @abstractmethod
    def probabilities(self, scores: Array) -> Array:
        """Class probabilities, largest for the winner."""

    @cached_property
    def temperature(self) -> float:
        """The temperature, found when it is first asked for."""
        if isinstance(self.evidence, float):
            return self.evidence
        plain = replace(self, evidence=1.0)
        return self.evidence.temperature(plain.probabilities(self.evidence.scores))

    def of_rows(
        self, method: str, rows: Array, coef: Array, intercept: Array
    ) -> NDArray[Any]:
        """What a method says of the scores of rows by rules."""
        result: NDArray[Any] = getattr(self, method)(
            ordered_scores(rows, coef, intercept)
        )
        return result

    def numbers_per_row(self) -> int:
        """How many numbers a row needs."""
        return len(self.planes.coef)

    @cached_property
    def posterior(self) -> Callable[[Array], Array]:
        """Log-odds as a function of the scores: those given, or the Gaussian model's.

        The latter take root finding. Threads that ask at the same time find the same.
        """
        given: Callable[[Array], Array] | None = getattr(self, "log_odds", None)
        return given or LogOdds.from_rules(self.planes)

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return state | {"evidence": self.temperature}


@dataclass(frozen=True)
class Binary(Committee):
    """Two classes, one rule.

    Attributes
    ----------
    log_odds : callable or None
        Log-odds as a function of the score; None stands for the Gaussian model.
    """

    log_odds: Callable[[Array], Array] | None = None

    def decisions(self, scores: Array) -> Array:
        """The score itself, of shape (n_samples,)."""
        return scores[:, 0]

    def winners(self, scores: Array) -> Index:
        """The second class for a positive score."""
        return (scores[:, 0] > 0).astype(np.intp)

    def probabilities(self, scores: Array) -> Array:
        """The posterior given the score."""
        log_odds = self.posterior(scores)
        return tempered(
            np.hstack([expit(-log_odds), expit(log_odds)]), self.temperature
        )


@dataclass(frozen=True)
class OneVsOne(Committee):
    """One rule for each pair of classes, in the usual order; their votes decide.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    voting : {"weighted", "majority", "coupled"}
        Whether a vote counts 1 - p_e or 1, or the coupled probabilities decide.
    log_odds : callable or None
        Log-odds as a function of the score; None stands for the Gaussian model.
    """

    n_classes: int
    voting: str
    log_odds: Callable[[Array], Array] | None = None

    @cached_property
    def _weights(self) -> Array:
        """Weights of the votes."""
        return vote_weights(self.planes.error, self.n_classes, self.voting)

    @cached_property
    def _ballot(self) -> Ballot:
        """The votes of all rules, and a guess from scores in standard deviations."""
        planes, scale = self.planes, self.planes.deviations.mean(axis=1)
        return Ballot.of_rules(self._weights, planes.coef, planes.intercept, scale)

    @cached_property
    def _curve(self) -> Curve | None:
        """The log-odds in the form that kernels take, if there is one."""
        curve: Curve | None = getattr(self.posterior, "curve", None)
        return curve

    def votes(self, scores: Array) -> Array:
        """Sums of votes, of shape (n_samples, n_classes)."""
        return count_votes(scores, self._weights)

    def winners(self, scores: Array) -> Index:
        """The class of most votes; exact ties go to the larger sum of scores."""
        if self.voting == "coupled":
            winner: Index = self._coupled(scores).argmax(axis=1)
            return winner
        return winners_of_votes(self.votes(scores), scores)

    def probabilities(self, scores: Array) -> Array:
        """Coupled pairwise posteriors, the largest swapped to the winner."""
        coupled = self._coupled(scores)
        if self.voting == "coupled":
            return coupled
        return swap_largest_to_winner(coupled, self.winners(scores))

    def of_rows(
        self, method: str, rows: Array, coef: Array, intercept: Array
    ) -> NDArray[Any]:
        """The same without all scores, where they are not needed."""
        rules, coupled_decide = (coef, intercept), self.voting == "coupled"
        if method == "winners" and not coupled_decide:
            winner = vote_winners(rows, *rules, self._ballot)
            return self._break_ties(winner, rows, *rules)
        if self._curve is None:
            return super().of_rows(method, rows, *rules)
        p, votes = couple_rows(rows, *rules, self._weights, self._curve)
        p = tempered(p, self.temperature)
        if method == "winners":
            likeliest: Index = p.argmax(axis=1)
            return likeliest
        if not coupled_decide:
            winner = self._break_ties(leaders(votes), rows, *rules)
            p = swap_largest_to_winner(p, winner)
        return p

    def numbers_per_row(self) -> int:
        """How many numbers a row needs."""
        few = kernels.compiled is not None
        return self.n_classes if few else super().numbers_per_row()

    def _break_ties(
        self, winner: Index, rows: Array, coef: Array, intercept: Array
    ) -> Index:
        """Put winners in the place of -1."""
        tied = np.flatnonzero(winner < 0)
        if len(tied):
            winner[tied] = self.winners(ordered_scores(rows[tied], coef, intercept))
        return winner

    def _coupled(self, scores: Array) -> Array:
        """Coupled pairwise posteriors."""
        if self._curve is not None:
            return tempered(couple(scores, self._curve), self.temperature)
        return tempered(couple_numpy(self.posterior(scores)), self.temperature)


@dataclass(frozen=True)
class OneVsAll(Committee):
    """One rule for each class against all others; the largest log-odds win.

    The second class of rule k is class k.

    Attributes
    ----------
    log_odds : callable or None
        Log-odds as a function of the score; None stands for the Gaussian model.
    """

    log_odds: Callable[[Array], Array] | None = None

    def winners(self, scores: Array) -> Index:
        """The class of largest log-odds, the first of equals.

        Scores have arbitrary scales, log-odds do not.
        """
        winner: Index = np.argmax(self.posterior(scores), axis=1)
        return winner

    def probabilities(self, scores: Array) -> Array:
        """Posteriors of the classes against all others, scaled to sum to one."""
        log_odds = self.posterior(scores)
        posterior = expit(log_odds)
        posterior /= posterior.sum(axis=1, keepdims=True)
        posterior = tempered(posterior, self.temperature)
        return swap_largest_to_winner(posterior, np.argmax(log_odds, axis=1))


def committee_of(
    rules: Rules, pairs: Index, voting: str, evidence: Evidence | float = 1.0
) -> Committee:
    """Return how the rules of pairs decide together."""
    if len(pairs) == 1:
        return Binary(rules, evidence=evidence)
    if pairs[0, 0] < 0:
        return OneVsAll(rules, evidence=evidence)
    return OneVsOne(rules, int(pairs.max()) + 1, voting, evidence=evidence)


def vote_weights(error: Array, n_classes: int, voting: str) -> Array:
    """Weight of each pair's vote: 1 - p_e, or 1 for a plain majority.

    Weights are rounded to so many binary digits that sums of them are exact in any
    order; so ties are exact, and do not depend on the order of summation.
    """
    if voting == "majority":
        return np.ones(error.shape)
    digits = 53 - int(np.ceil(np.log2(n_classes)))
    return np.ldexp(np.round(np.ldexp(1 - error, digits)), -digits)


def winners_of_votes(votes: Array, scores: Array) -> Index:
    """The class of most votes; exact ties go to the larger sum of scores.

    Of classes that are tied in their scores, too, the first wins.
    """
    winner = leaders(votes)
    tied = np.flatnonzero(winner < 0)
    if len(tied):
        some = votes[tied]
        confidence = scores[tied] @ incidence(some.shape[1])
        confidence[some < some.max(axis=1, keepdims=True)] = -np.inf
        winner[tied] = confidence.argmax(axis=1)
    return winner


def tempered(probabilities: Array, temperature: float) -> Array:
    """Return positive probabilities whose logarithms are divided by a temperature.

    One above 1 brings them closer to each other.
    """
    if temperature == 1:
        return probabilities
    largest = probabilities.max(axis=1, keepdims=True)
    p: Array = (probabilities / largest) ** (1 / temperature)
    np.maximum(p, np.finfo(float).tiny, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


def swap_largest_to_winner(probabilities: Array, winner: Index) -> Array:
    """Swap each row's largest probability to the winning class, in place."""
    rows = np.arange(len(winner))
    leader = np.argmax(probabilities, axis=1)
    highest = probabilities[rows, leader]
    probabilities[rows, leader] = probabilities[rows, winner]
    probabilities[rows, winner] = highest
    return set_apart(probabilities, winner)


def logarithms(probabilities: NDArray[Float]) -> NDArray[Float]:
    """Logarithms of probabilities, the largest where theirs is."""
    return set_apart(np.log(probabilities), probabilities.argmax(axis=1))


def set_apart(values: NDArray[Float], winner: Index) -> NDArray[Float]:
    """Raise the winner's value above equal ones by the least step, in place."""
    beaten = np.flatnonzero(values.argmax(axis=1) != winner)
    if len(beaten):
        most = values[beaten].max(axis=1)
        values[beaten, winner[beaten]] = np.nextafter(most, np.inf, dtype=values.dtype)
    return values


def in_format_of(X: NDArray[Any], values: Array) -> NDArray[Any]:
    """Values in single precision if X is, kept finite; else as they are."""
    if X.dtype != np.float32:
        return values
    limits = np.finfo(np.float32)
    return np.clip(values, limits.min, limits.max).astype(np.float32)


def rounded(values: Array, X: NDArray[Any]) -> NDArray[Any]:
    """Decision values or probabilities in the format of X, for the same classes.

    What is positive stays so, and the largest stays the largest.
    """
    found = in_format_of(X, values)
    if found is values:
        return values
    least = np.finfo(np.float32).tiny
    found[(values > 0) & (found < least)] = least
    return found if found.ndim == 1 else set_apart(found, values.argmax(axis=1))
