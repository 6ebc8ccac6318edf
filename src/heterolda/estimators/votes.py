"""From the scores of the rules to decisions and probabilities.

`Binary`, `OneVsOne` and `OneVsAll` each turn scores of shape (n_samples, n_pairs) into
decision values, winning classes and class probabilities that agree with each other:
also those of a row alone and of the same row among others, because a score depends on
its row and its rule only (:mod:`heterolda.kernels.ordered_scores`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import heterolda.kernels as kernels
from heterolda.estimators.posterior import LogOdds
from heterolda.foundations.types import Array, Index
from heterolda.kernels.coupling import Curve, couple, couple_numpy, couple_rows
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.votes import (
    Ballot,
    count_votes,
    incidence,
    leaders,
    vote_winners,
)
from heterolda.solvers.hyperplanes import Hyperplanes


@dataclass(frozen=True)
class Committee(ABC):
    """Rules that decide together.

    What is computed from the fields is kept, but not copied or pickled with them.

    Attributes
    ----------
    planes : Hyperplanes
        The rules.
    """

    planes: Hyperplanes

    @abstractmethod
    def decisions(self, scores: Array) -> Array:
        """Decision values, as `decision_function` returns them."""

    @abstractmethod
    def winners(self, scores: Array) -> Index:
        """Index of the winning class of each row."""

    @abstractmethod
    def probabilities(self, scores: Array) -> Array:
        """Class probabilities, largest for the winner."""

    def of_rows(
        self, method: str, rows: Array, coef: Array, intercept: Array
    ) -> NDArray[Any]:
        """What a method says of the scores of rows by rules."""
        result: NDArray[Any] = getattr(self, method)(
            ordered_scores(rows, coef, intercept)
        )
        return result

    def numbers_per_row(self, method: str) -> int:
        """How many numbers a row needs."""
        del method
        return len(self.planes.coef)

    @cached_property
    def posterior(self) -> Callable[[Array], Array]:
        """Log-odds as a function of the scores: those given, or the Gaussian model's.

        The latter take root finding. Threads that ask at the same time find the same.
        """
        given: Callable[[Array], Array] | None = getattr(self, "log_odds", None)
        return given or LogOdds.from_hyperplanes(self.planes)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


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
        return np.hstack([expit(-log_odds), expit(log_odds)])


@dataclass(frozen=True)
class OneVsOne(Committee):
    """One rule for each pair of classes; their votes decide.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        First and second class of each pair.
    n_classes : int
        Number of classes.
    voting : {"weighted", "majority", "coupled"}
        Whether a vote counts 1 - p_e or 1, or the coupled probabilities decide.
    log_odds : callable or None
        Log-odds as a function of the score; None stands for the Gaussian model.
    sharpness : float
        Power to which the coupled probabilities are raised, before they are scaled
        to sum to one.
    """

    pairs: Index
    n_classes: int
    voting: str
    log_odds: Callable[[Array], Array] | None = None
    sharpness: float = 1.0

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

    def decisions(self, scores: Array) -> Array:
        """Sums of votes, with exact ties set apart; or coupled probabilities."""
        if self.voting == "coupled":
            return self._coupled(scores)
        return rank_ties(self.votes(scores), scores)

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
        if self._curve is None or not (coupled_decide or method == "probabilities"):
            return super().of_rows(method, rows, *rules)
        coupled, votes = couple_rows(rows, *rules, self._weights, self._curve)
        coupled = self._sharpened(coupled)
        if coupled_decide:
            return coupled.argmax(axis=1) if method == "winners" else coupled
        winner = self._break_ties(leaders(votes), rows, *rules)
        return swap_largest_to_winner(coupled, winner)

    def numbers_per_row(self, method: str) -> int:
        """How many numbers a row needs."""
        few = kernels.compiled is not None and method != "decisions"
        return self.n_classes if few else super().numbers_per_row(method)

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
            return self._sharpened(couple(scores, self._curve))
        return self._sharpened(couple_numpy(self.posterior(scores)))

    def _sharpened(self, coupled: Array) -> Array:
        return coupled if self.sharpness == 1 else sharpen(coupled, self.sharpness)


@dataclass(frozen=True)
class OneVsAll(Committee):
    """One rule for each class against all others; the largest log-odds win.

    The second class of rule k is class k.
    """

    def decisions(self, scores: Array) -> Array:
        """Log-odds of each class: scores have arbitrary scales, log-odds do not."""
        return self.posterior(scores)

    def winners(self, scores: Array) -> Index:
        """The class of largest log-odds, the first of equals."""
        winner: Index = np.argmax(self.decisions(scores), axis=1)
        return winner

    def probabilities(self, scores: Array) -> Array:
        """Posteriors of the classes against all others, scaled to sum to one."""
        log_odds = self.decisions(scores)
        posterior = expit(log_odds)
        posterior /= posterior.sum(axis=1, keepdims=True)
        return swap_largest_to_winner(posterior, np.argmax(log_odds, axis=1))


def vote_weights(error: Array, n_classes: int, voting: str) -> Array:
    """Weight of each pair's vote: 1 - p_e, or 1 for a plain majority.

    Weights are rounded to so many binary digits that sums of them are exact in any
    order; so ties are exact, and do not depend on the order of summation.
    """
    if voting == "majority":
        return np.ones(len(error))
    digits = 53 - int(np.ceil(np.log2(n_classes)))
    return np.ldexp(np.round(np.ldexp(1 - error, digits)), -digits)


def winners_of_votes(votes: Array, scores: Array) -> Index:
    """The class of most votes; exact ties go to the larger sum of scores."""
    winner = leaders(votes)
    tied = np.flatnonzero(winner < 0)
    if len(tied):
        winner[tied] = rank_ties(votes[tied], scores[tied]).argmax(axis=1)
    return winner


def rank_ties(votes: Array, scores: Array) -> Array:
    """Order classes with exactly equal votes by their summed scores, in place.

    Votes have shape (n_samples, n_classes), scores (n_samples, n_pairs). Those of the
    better of tied classes are raised by the least step that a float allows. Classes
    tied in their scores too are taken in the order of `classes_`.
    """
    ordered = np.sort(votes, axis=1)
    tied = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if not len(tied):
        return votes
    n_classes, some = votes.shape[1], votes[tied]
    confidence = scores[tied] @ incidence(n_classes)
    # Reversed, because the last of equals counts as the best for a stable sort.
    order = np.lexsort((confidence[:, ::-1], some[:, ::-1]), axis=-1)
    order = n_classes - 1 - order
    ranked = np.take_along_axis(some, order, axis=1)
    for k in range(1, n_classes):
        step = np.nextafter(ranked[:, k - 1], np.inf)
        ranked[:, k] = np.maximum(ranked[:, k], step)
    np.put_along_axis(some, order, ranked, axis=1)
    votes[tied] = some
    return votes


def sharpen(probabilities: Array, power: float) -> Array:
    """Positive probabilities raised to a power and scaled to sum to one.

    A power below one brings them closer to each other.
    """
    largest = probabilities.max(axis=1, keepdims=True)
    p: Array = np.maximum((probabilities / largest) ** power, np.finfo(float).tiny)
    p /= p.sum(axis=1, keepdims=True)
    return p


def swap_largest_to_winner(probabilities: Array, winner: Index) -> Array:
    """Swap each row's largest probability to the winning class, in place."""
    rows = np.arange(len(winner))
    leader = np.argmax(probabilities, axis=1)
    highest = probabilities[rows, leader]
    probabilities[rows, leader] = probabilities[rows, winner]
    probabilities[rows, winner] = highest
    beaten = np.argmax(probabilities, axis=1) != winner  # an exact tie
    probabilities[rows[beaten], winner[beaten]] = np.nextafter(highest[beaten], 2.0)
    return probabilities
