"""The methods by which a fitted discriminant moves along its optimal trade-off."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from heterolda.solvers import resolve_solver
from heterolda.statistics.shrinkage import class_covariances
from heterolda.tradeoff.frontier import Frontier

_SAME = object()


class OnTheFrontier:
    """Methods of a discriminant of Gaussian classes.

    Fitting sets `statistics_`, `priors_` and `pairs_`; `_solve` makes a fitted
    estimator from statistics.
    """

    @property
    def frontier_(self):
        """For each pair its optimal trade-off, a sequence of :class:`Frontier`.

        Each is computed when it is asked for. With "ova" and more than two classes
        there is none: the mixture of all other classes is not Gaussian.
        """
        self._check_ready()
        if self.pairs_[0, 0] < 0:
            raise AttributeError("frontier_ is about pairs of classes: use 'ovo'")
        self._check_statistics()
        return _Frontiers(self)

    def with_operating_point(
        self, criterion="bayes", *, costs=None, max_error=None, priors=_SAME
    ):
        """A fitted copy at another point of the optimal trade-off.

        Parameters
        ----------
        criterion : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
            As in the constructor.
        costs, max_error
            As in the constructor.
        priors : array-like of shape (n_classes,) or None
            As in the constructor; by default those of this estimator.

        Returns
        -------
        GaussianLinearDiscriminant
            A new estimator, the same as one fitted to the same data with these
            parameters. It is computed from the class statistics: no data is needed.
            The covariances are shrunk as they were in this fit.
        """
        self._check_ready()
        self._check_statistics()
        point = {"criterion": criterion, "costs": costs, "max_error": max_error}
        if priors is not _SAME:
            point["priors"] = priors
        return solved_again(self, point)

    def _check_statistics(self):
        """Refuse what a model from a file without statistics cannot do."""
        if not hasattr(self, "statistics_"):
            raise NotFittedError(
                "this model was loaded from a file without class statistics, which "
                "this needs: save it with include_statistics=True, or fit it again"
            )


class _Frontiers(Sequence):
    """The frontiers of all pairs, made one by one: together they may be large."""

    def __init__(self, estimator):
        self._pairs = estimator.pairs_
        self._priors = estimator.priors_
        self._statistics = estimator.statistics_
        self._covariances = class_covariances(
            estimator.statistics_,
            estimator._settings["shrinkage"],
            estimator.shrinkage_,
        )

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


def solved_again(estimator, parameters):
    """A copy with other parameters, fitted to the same statistics."""
    same = {"shrinkage": estimator._settings["shrinkage"]}
    copy = clone(estimator).set_params(**same, **parameters)
    copy._validate_params()
    copy._solve(
        estimator.statistics_.copy(),
        resolve_solver(copy.solver),
        estimator.shrinkage_,
    )
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(copy, name, getattr(estimator, name))
    return copy
