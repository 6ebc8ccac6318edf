"""From the scores of the rules to decisions and probabilities.

`Binary`, `OneVsOne` and `OneVsAll` each turn scores of shape (n_samples, n_pairs) into
decision values, winning classes and class probabilities that agree with each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from heterolda.estimators.posterior import LogOdds
from heterolda.foundations.types import Array, Index
from heterolda.solvers.hyperplanes import Hyperplanes

_MANY_CLASSES = 64


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
class Ballot:
    """How the rules of all pairs vote.

    Attributes
    ----------
    start : ndarray of shape (n_classes,)
        Votes of the classes if no score is positive.
    moves : matrix of shape (n_pairs, n_classes)
        What a positive score adds to them.
    """

    start: Array
    moves: Any

    @classmethod
    def of_weights(cls, weights: Array, pairs: Index, n_classes: int) -> Ballot:
        """The votes of pairs that count so much each."""
        start: Array = np.zeros(n_classes)
        np.add.at(start, pairs[:, 0], weights)
        moves = _incidence(pairs, n_classes)
        if isinstance(moves, np.ndarray):
            return cls(start, weights[:, None] * moves)
        return cls(start, moves.multiply(weights[:, None]).tocsr())

    def votes(self, scores: Array) -> Array:
        """Sums of votes, of shape (n_samples, n_classes)."""
        positive = np.greater(scores, 0, out=np.empty_like(scores))
        votes: Array = positive @ self.moves
        votes += self.start
        return votes


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
    def _ballot(self) -> Ballot:
        """The votes of all rules."""
        weights = vote_weights(self.planes.error, self.n_classes, self.voting)
        return Ballot.of_weights(weights, self.pairs, self.n_classes)

    def votes(self, scores: Array) -> Array:
        """Sums of votes, of shape (n_samples, n_classes)."""
        return self._ballot.votes(scores)

    def decisions(self, scores: Array) -> Array:
        """Sums of votes, with exact ties set apart; or coupled probabilities."""
        if self.voting == "coupled":
            return self._coupled(scores)
        return rank_ties(self.votes(scores), scores, self.pairs)

    def winners(self, scores: Array) -> Index:
        """The class of most votes; exact ties go to the larger sum of scores."""
        coupled = self.voting == "coupled"
        votes = self._coupled(scores) if coupled else self.votes(scores)
        if not coupled:
            return vote_winners(votes, scores, self.pairs)
        winner: Index = votes.argmax(axis=1)
        return winner

    def probabilities(self, scores: Array) -> Array:
        """Coupled pairwise posteriors, the largest swapped to the winner."""
        coupled = self._coupled(scores)
        if self.voting == "coupled":
            return coupled
        return swap_largest_to_winner(coupled, self.winners(scores))

    def _coupled(self, scores: Array) -> Array:
        """Coupled pairwise posteriors."""
        coupled = couple(self.posterior(scores), self.pairs, self.n_classes)
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


def vote_winners(votes: Array, scores: Array, pairs: Index) -> Index:
    """The class of most votes; exact ties go to the larger sum of scores."""
    winner: Index = votes.argmax(axis=1)
    # Votes are rounded so that ties are exact: the last of them shows it.
    last = votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)
    tied = np.flatnonzero(winner != last)
    if len(tied):
        ranked = rank_ties(votes[tied], scores[tied], pairs)
        winner[tied] = ranked.argmax(axis=1)
    return winner


def rank_ties(votes: Array, scores: Array, pairs: Index) -> Array:
    """Order classes with exactly equal votes by their summed scores.

    Votes have shape (n_samples, n_classes), scores (n_samples, n_pairs). Those of the
    better of tied classes are raised by the least step that a float allows. Classes
    tied in their scores too are taken in the order of `classes_`.
    """
    confidence = scores @ _incidence(pairs, votes.shape[1])
    # Reversed, because the last of equals counts as the best for a stable sort.
    order = np.lexsort((confidence[:, ::-1], votes[:, ::-1]), axis=-1)
    order = votes.shape[1] - 1 - order
    ranked = np.take_along_axis(votes, order, axis=1)
    for k in range(1, votes.shape[1]):
        step = np.nextafter(ranked[:, k - 1], np.inf)
        ranked[:, k] = np.maximum(ranked[:, k], step)
    result = np.empty_like(votes)
    np.put_along_axis(result, order, ranked, axis=1)
    return result


def couple(log_odds: Array, pairs: Index, n_classes: int) -> Array:
    """Class probabilities from log-odds of the second class of each pair.

    p_i is proportional to 1 / (1 + sum over j of p_j / p_i), the odds taken from the
    pairs: exact if the pairs agree with each other (Price, Knerr, Personnaz and
    Dreyfus 1995).
    """
    odds = np.exp(log_odds)
    against = odds @ _incidence(pairs, n_classes, first=1.0, second=0.0)
    against += (1 / odds) @ _incidence(pairs, n_classes, first=0.0, second=1.0)
    p: Array = 1 / (1 + against)
    p /= p.sum(axis=1, keepdims=True)
    return p


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


def _incidence(
    pairs: Index, n_classes: int, first: float = -1.0, second: float = 1.0
) -> Any:
    """Matrix of shape (n_pairs, n_classes) that marks the two classes of each pair.

    Sparse if there are many classes, so that a row costs O(n_pairs) and no more.
    """
    rows = np.repeat(np.arange(len(pairs)), 2)
    marks = np.tile([first, second], len(pairs))
    shape = len(pairs), n_classes
    matrix = csr_array((marks, (rows, pairs.ravel())), shape=shape)
    return matrix if n_classes > _MANY_CLASSES else matrix.toarray()
