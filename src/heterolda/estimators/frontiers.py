"""The trade-offs of all pairs of a discriminant."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from heterolda.estimators.thresholds import has_few_rows
from heterolda.estimators.warn import warn_of_plug_in
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.wide import in_span
from heterolda.tradeoff.frontier import Frontier


class Frontiers(Sequence):
    """Frontiers of all pairs, computed one by one, since all may be large."""

    def __init__(self, estimator):
        self._pairs = estimator.pairs_
        self._priors = estimator.priors_
        self._statistics = estimator.statistics_
        self._shrinkage = estimator._settings["shrinkage"], estimator.shrinkage_
        self._few = has_few_rows(estimator)

    @cached_property
    def _known(self):
        """Statistics, covariances and priors of the classes, and their span.

        Computed on first use: `dir` reads all attributes of an estimator.
        """
        if self._few:
            warn_of_plug_in()
        stats, span = in_span(self._statistics, self._shrinkage[0])
        cov = Shrinkage.of(stats, *self._shrinkage).covariances(stats)
        return (stats, cov, self._priors), span

    def __len__(self):
        return len(self._pairs)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[place] for place in range(*k.indices(len(self)))]
        known, span = self._known
        return Frontier._of_pair(*known, self._pairs[k], span)

    def __repr__(self):
        return f"<frontiers of {len(self)} pairs of classes>"
