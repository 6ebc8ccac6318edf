"""The trade-offs of all pairs of a discriminant."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence

from heterolda.tradeoff.frontier import Frontier


class Frontiers(Sequence):
    """The frontiers of all pairs, made one by one: together they may be large."""

    def __init__(self, estimator):
        self._pairs = estimator.pairs_
        self._priors = estimator.priors_
        self._statistics = estimator.statistics_
        self._covariances = estimator.covariance_

    def __len__(self):
        return len(self._pairs)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[place] for place in range(*k.indices(len(self)))]
        two, statistics = self._pairs[k], self._statistics
        return Frontier._of_two(
            statistics.classes[two],
            statistics.means[two],
            self._covariances[two],
            self._priors[two],
            statistics.weights[two],
        )

    def __repr__(self):
        return f"<frontiers of {len(self)} pairs of classes>"
