"""A fitted binary classifier that decides at another threshold."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.foundations.arrays import Array
from heterolda.kernels.coupling import LEAST_LOG_ODDS, MOST_LOG_ODDS
from heterolda.tradeoff.criteria import error_rates

# Scores that are infinite count as this.
_LARGEST_SCORE = 1e300


def scores_of(estimator, X) -> Array:
    """Return finite scores of a classifier: its log-odds, if linear its decisions."""
    bare = unfrozen(estimator)
    if isinstance(bare, GaussianLinearDiscriminant):
        scores = at_threshold(bare, 0.0).decision_function(X)
    elif hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
        scores = logs[:, 1] - logs[:, 0]
    else:
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError(f"estimator {type(bare).__name__} has scores that are NaN")
    return np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)


def at_threshold(estimator, threshold: float, bound=None):
    """Return what predicts at a threshold; a discriminant if the estimator is one."""
    model = unfrozen(estimator)
    if not isinstance(model, GaussianLinearDiscriminant):
        return Thresholded(estimator, threshold)
    rules = replace(model._committee.planes.less(threshold), gap=np.full(1, np.nan))
    rates = error_rates(rules)
    rules = replace(rules, error=rates @ model.priors_)
    moved = copy(model)
    moved._decide_by(rules, rates, rules.error, model._committee.temperature)
    moved.bound_ = bound
    moved._settings = {**model._settings, "costs": None}
    moved._moved_from = model, threshold  # for incomplete rows
    return moved


@dataclass(frozen=True)
class Thresholded:
    """Any binary classifier that decides at another threshold of its scores."""

    estimator: Any
    threshold: float

    def decision_function(self, X):
        """Return scores minus the threshold."""
        return scores_of(self.estimator, X) - self.threshold

    def predict(self, X):
        """Return the second class where the score is above the threshold."""
        return self.estimator.classes_.take(self.decision_function(X) > 0)

    def predict_proba(self, X):
        """Return probabilities with the decision values as log-odds."""
        scores = self.decision_function(X)
        sizes = np.clip(np.abs(scores), LEAST_LOG_ODDS, MOST_LOG_ODDS)
        log_odds = np.where(scores > 0, sizes, -sizes)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))
