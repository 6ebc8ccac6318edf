"""The trade-offs of all pairs of a discriminant."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence

from heterolda.statistics.shrinkage import class_covariances
from heterolda.statistics.span import in_span
from heterolda.tradeoff.frontier import Frontier


class Frontiers(Sequence):
    """The frontiers of all pairs, made one by one: together they may be large."""

    def __init__(self, estimator):
        self._pairs = estimator.pairs_
        self._priors = estimator.priors_
        self._statistics, self._span = in_span(estimator.statistics_)
        how = estimator._settings["shrinkage"], estimator.shrinkage_
        self._covariances = class_covariances(self._statistics, *how)

    def __len__(self):
        return len(self._pairs)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[place] for place in range(*k.indices(len(self)))]
        known = self._statistics, self._covariances, self._priors
        return Frontier._of_pair(*known, self._pairs[k], self._span)

    def __repr__(self):
        return f"<frontiers of {len(self)} pairs of classes>"
