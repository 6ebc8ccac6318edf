"""Scores of a classifier, the threshold of an error bound, and rules that are there."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.odds import gaussian_log_odds
from heterolda.estimators.pair_rules import unfrozen
from heterolda.foundations.arrays import Array
from heterolda.tradeoff.criteria import error_rates

# Scores that differ by less than this share of their size count as equal: the score of
# a row may differ slightly in another batch, in single precision or in C.
_SAME_SCORE = 1e-6
# Infinite scores are replaced by this.
_LARGEST_SCORE = 1e300


def finite_scores(estimator, X) -> Array:
    """Return finite scores: decisions of a discriminant, or log-odds if available."""
    classifier = unfrozen(estimator)
    if isinstance(classifier, GaussianLinearDiscriminant):
        scores = at_threshold(classifier, 0.0).decision_function(X)
    elif hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
        scores = logs[:, 1] - logs[:, 0]
    else:
        scores = estimator.decision_function(X)
    scores = np.asarray(scores, dtype=np.float64)
    if np.isnan(scores).any():
        name = type(classifier).__name__
        raise ValueError(f"estimator {name} has scores that are NaN")
    return np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE)


def threshold_of(scores: Array, bound: ErrorBound, classes) -> float:
    """Return the threshold of a bound, from scores of rows set aside.

    Scores above that of the rank, and not equal to it, mean the other class.
    """
    side = 1.0 if bound.label == classes.tolist()[0] else -1.0
    scores = np.sort(side * scores)
    score = scores[bound.rank - 1]
    size = max(abs(score), np.median(np.abs(scores)))
    return float(side * (score + max(_SAME_SCORE * size, np.spacing(abs(score)))))


def at_threshold(model: GaussianLinearDiscriminant, threshold: float):
    """Return a copy of a discriminant that decides at another threshold."""
    rules = replace(model._committee.planes.minus(threshold), gap=np.full(1, np.nan))
    rates = error_rates(rules)
    rules = replace(rules, error=rates @ model.priors_)
    moved = copy(model)
    moved._decide_by(rules, rates, rules.error, partial(gaussian_log_odds, rules))
    moved._settings = {**model._settings, "costs": None}
    moved._moved_from = model, threshold  # for incomplete rows
    return moved
