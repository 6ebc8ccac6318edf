"""What a fit of Gaussian classes writes, and other operating points of it."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from functools import partial

from heterolda.estimators.base import host_of, put_on
from heterolda.estimators.chosen import Chosen, Position
from heterolda.estimators.gathering import check_has_statistics, keep_statistics
from heterolda.estimators.gaussians import Gaussians
from heterolda.estimators.odds import odds_of
from heterolda.foundations.arrays import device_of

_SAME = object()


class OperatingPoint:
    """A classifier with Gaussian classes, whose rules are points of curves.

    The method `_gaussian` returns the discriminant with its parameters, and
    `_decide_by` writes the attributes of rules.
    """

    # Parameters that set_params must not change in a fitted model.
    _fitted_with = "shrinkage", "criterion", "costs"

    def _write(self, model: Gaussians, choice: Chosen, far_rows=None):
        """Write the fitted attributes."""
        for name in ("fit_record_", "evaluation_"):  # of an earlier fit
            vars(self).pop(name, None)
        keep_statistics(self, model.features)
        self.shrinkage_ = model.chosen
        self.priors_ = model.priors
        self.pairs_ = model.pairs
        self.left_out_error_rates_ = choice.error_rates
        shares = model.moments.priors[model.moments.pairs]
        shares = shares / shares.sum(axis=1, keepdims=True)
        self.left_out_error_ = (shares * choice.error_rates).sum(axis=1)
        rules, rates, cost = model.rate(choice.rules)
        odds = partial(odds_of, rules, choice.log_odds)
        rules = rules if model.span is None else model.span.in_features(rules)
        self._decide_by(rules, rates, cost, odds)
        self._position = Position(choice.weights, choice.curve)
        self._far_rows = far_rows
        # Later calls of set_params do not change these.
        self._settings = {name: getattr(self, name) for name in self._fitted_with}
        return self

    def with_operating_point(
        self, criterion="bayes", *, costs=None, max_error=None, priors=_SAME
    ):
        """Return a fitted copy at another point of the optimal trade-off.

        Parameters
        ----------
        criterion : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
            As in the constructor.
        costs, max_error
            As in the constructor.
        priors : array-like of shape (n_classes,), dict, "equal" or None
            As in the constructor. If not given, the priors of this estimator.

        Returns
        -------
        estimator
            A new estimator, computed without any data. For two classes whose rows
            chose the rule, it is the best point on the curve of the fit, by the error
            rates of left-out rows; the optimum of the model has no preference there.
            The curve of a :class:`SmoothedLinearDiscriminant` has one direction, that
            of its rule. Without a curve, a discriminant equals one fitted to the same
            data with these parameters and ``choose_on="model"``. Covariances are shrunk
            as in this fit.
        """
        from heterolda.estimators.again import solve_again

        self._check_ready()
        check_has_statistics(self)
        point = {"criterion": criterion, "costs": costs, "max_error": max_error}
        if priors is not _SAME:
            point["priors"] = priors
        moved = solve_again(host_of(self), point)
        return put_on(moved, device_of(self._rules[0], always=True))
