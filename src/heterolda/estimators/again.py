"""Fitted discriminants solved again, without rows."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from sklearn.base import clone

from heterolda.estimators.chosen import Chosen, chosen, model_at, on_curve
from heterolda.estimators.gaussians import Gaussians, has_few_rows
from heterolda.estimators.odds import effective_priors
from heterolda.estimators.warn import warn_of_plug_in, warn_of_trivial_rules
from heterolda.foundations.arrays import Mask
from heterolda.foundations.wording import MULTICLASS
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.wide import in_span
from heterolda.tradeoff.frontier import Frontier

# Covariances of few rows are not computed if they have more values than this.
_MAX_VALUES = 4_000_000


def solve_again(fitted, parameters):
    """Return a copy of a fitted model with other parameters, without rows."""
    copy, model = _again(fitted, parameters, fitted.statistics_.copy())
    by_model = model.settings.choose_on == "model" or not model.follows_optimum
    if by_model or fitted._position.curve is None:
        choice = chosen(model, None)
    else:
        choice = on_curve(model, fitted._position.curve)
    warn_of_trivial_rules(model, choice.rules)
    return copy._write(model, choice)


def _again(fitted, parameters, stats):
    """Return a copy of a model with other parameters, and its Gaussian classes."""
    fixed = {"shrinkage": fitted._settings["shrinkage"]} | parameters
    copy = clone(fitted).set_params(**fixed)
    copy._validate_params()
    span = in_span(stats, copy.shrinkage)[1]
    return copy, Gaussians.of(copy._gaussian(), stats, fitted.shrinkage_, span)


def as_discriminant(fitted):
    """Return a discriminant; of smoothed rows, one of the transformed features.

    It has the classes and rules of the model, and so all that is said of them.
    """
    if fitted._gaussian() is fitted:
        return fitted
    copy, model = _again(fitted, {}, fitted.statistics_.copy())
    planes = fitted._rules[:2]
    planes = planes if model.span is None else model.span.rules_inside(*planes)
    rules = model.solve().along(*planes, model.moments)
    weights = fitted._position.weights
    rest = fitted.left_out_error_rates_, weights, weights[:, 0]
    odds = fitted._committee.curve
    choice = Chosen(rules, weights[:, 0] > 0, *rest, odds, fitted._position.curve)
    return copy._gaussian()._write(model, choice)


def fitted_with(fitted):
    """Return the parameters of a fit, ignoring later calls of set_params."""
    multiclass = MULTICLASS[int(fitted.pairs_[0, 0] < 0)]
    are_frequencies = fitted.priors is None and fitted.class_weight is None
    priors = None if are_frequencies else fitted.priors_
    fixed = {"multiclass": multiclass, "priors": priors, "class_weight": None}
    return fitted._settings | fixed


def restricted_to(fitted, mask):
    """Return the model for a mask of features, which may all be False."""
    part = _restricted(fitted.statistics_, mask)
    copy, model = _again(fitted, fitted_with(fitted), part)
    moved = fitted.chosen_on_rows_ & (fitted.statistics_.factors is None)
    priors = effective_priors(fitted._committee.planes)
    choice = model_at(model, fitted._position.weights, priors, moved)
    return copy._write(model, choice)


def _restricted(stats: ClassStatistics, mask: Mask) -> ClassStatistics:
    """Return statistics of some features; if none, of one uninformative feature."""
    if not mask.any():
        spread = np.maximum(stats.weights - 1, 0.0)[:, None, None]
        moments = stats.weights, np.zeros((stats.n_classes, 1)), spread
        return ClassStatistics(stats.classes, *moments, given=stats.given)
    names, scatters = stats.feature_names, stats.factors
    if scatters is None:
        scatters = stats.scatters[:, mask][:, :, mask]
    else:
        scatters = [factor[:, mask] for factor in scatters]
    return ClassStatistics(
        stats.classes,
        stats.weights,
        stats.means[:, mask],
        scatters,
        None if names is None else names[mask],
        given=stats.given,
        estimated_by=stats.estimated_by,
    )


def covariances_of(fitted):
    """Return the shrunk covariances of the classes."""
    stats = fitted.statistics_
    # `dir` and the HTML of an estimator read all attributes.
    if stats.factors and stats.n_classes * stats.n_features**2 > _MAX_VALUES:
        raise AttributeError(
            f"covariance_ of {stats.n_features} features would be large: use "
            "statistics_.covariances()"
        )
    fixed = fitted._settings["shrinkage"], fitted.shrinkage_
    return Shrinkage.of(stats, *fixed).covariances(stats)


class Frontiers(Sequence):
    """Frontiers of all pairs, each computed when accessed."""

    def __init__(self, model):
        self._model = model

    @cached_property
    def _moments(self):
        """Return statistics, covariances and priors of the classes, and their span."""
        model = self._model
        if has_few_rows(model):
            warn_of_plug_in()
        shrinkage = model._settings["shrinkage"]
        stats, span = in_span(model.statistics_, shrinkage)
        cov = Shrinkage.of(stats, shrinkage, model.shrinkage_).covariances(stats)
        return (stats, cov, model.priors_), span

    def __len__(self):
        return len(self._model.pairs_)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        moments, span = self._moments
        return Frontier._of_pair(*moments, self._model.pairs_[k], span)
