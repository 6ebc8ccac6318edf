r"""Rules for rows in which features are missing.

For a row with gaps the rule is that of the features that are there: the optimum of the
block of their moments, which is solved once for each pattern of gaps. Beyond a number
of patterns in one call, the rarest get the rule of all features with the conditional
mean where nothing is: with the coefficients c of a pair and the pooled covariance P,

.. math::
    u = P_{oo}^{-1} P_{o\cdot} c,

and the threshold that is the best for the scores u.x of both classes. Where the
covariances are equal, that is the optimum, too.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from sklearn.base import clone

from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.pair_problem import PairProblem
from heterolda.estimators.posterior import LogOdds
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.wording import listed
from heterolda.solvers import resolve_solver, solve_pairs
from heterolda.solvers.hyperplanes import Hyperplanes, linear_scores
from heterolda.statistics.class_statistics import ClassStatistics

# Patterns of one call that get the optimum of their own: as many as take some seconds,
# by the number of pairs times the cube of the number of features.
_WORK = 2e9
_LEAST, _MOST = 20, 2000
# Coefficients that are gathered for rows at a time.
_BLOCK_SIZE = 1 << 20


def restricted(statistics: ClassStatistics, there: Mask) -> ClassStatistics:
    """Statistics of some features; of none, those of one that tells nothing."""
    known, names = statistics, statistics.feature_names
    if not there.any():
        k = known.n_classes
        spread = np.maximum(known.weights - 1, 0.0)[:, None, None]
        moments = known.weights, np.zeros((k, 1)), spread
        return ClassStatistics(known.classes, *moments, given=known.given)
    if known.factors is not None:
        parts = [factor[:, there] for factor in known.factors]
    else:
        parts = known.scatters[:, there][:, :, there]
    return ClassStatistics(
        known.classes,
        known.weights,
        known.means[:, there],
        parts,
        None if names is None else names[there],
        given=known.given,
        estimated_by=known.estimated_by,
    )


def chosen_features(features, n_features: int, names) -> Mask:
    """A mask of features that are given as one, or by their places or names."""
    chosen = np.asarray(features)
    there = np.zeros(n_features, bool)
    if chosen.ndim == 1 and chosen.dtype == bool and len(chosen) == n_features:
        there |= chosen
    elif chosen.ndim == 1 and chosen.dtype.kind in "iu":
        inside = (chosen >= 0) & (chosen < n_features)
        there[chosen[inside]] = inside.all()
    elif chosen.ndim == 1 and names is not None and np.isin(chosen, names).all():
        there = np.isin(names, chosen)
    if not there.any():
        known = "" if names is None else f", of {listed(names)}"
        raise ParameterError(
            Setting("features"),
            f" must be a mask of {n_features} features with some of them, or places or "
            f"names of such{known}, got {features!r:.80}",
        )
    return there


def of_rows_with_gaps(model, X: Array, method: str):
    """What the committee of a model says of rows that all have gaps."""
    check_has_statistics(model, "the prediction of rows with missing values")
    rules, of_row = _rules_for(model, ~np.isnan(X))
    X = np.nan_to_num(X, nan=0.0)
    n_pairs, d = len(model.pairs_), X.shape[1]
    curve = LogOdds.from_hyperplanes(rules)
    normals = rules.coef.reshape(-1, n_pairs, d).transpose(0, 2, 1)
    step = max(1, _BLOCK_SIZE // (n_pairs * d))
    found = []
    for start in range(0, len(X), step):
        rows, mine = X[start : start + step], of_row[start : start + step]
        places = mine[:, None] * n_pairs + np.arange(n_pairs)
        scores = linear_scores(rows, normals[mine], rules.intercept[places])
        committee = replace(
            model._committee, planes=SimpleNamespace(error=rules.error[places])
        )
        vars(committee)["posterior"] = _taken(curve, places)
        found.append(getattr(committee, method)(scores))
    return np.concatenate(found)


def _taken(curve: LogOdds, places: Index):
    """Log-odds of rows, each by curves of its own."""
    parts = (getattr(curve, name)[places].ravel() for name in _PARTS)
    mine = LogOdds(*parts)
    return lambda scores: mine(scores.reshape(1, -1)).reshape(scores.shape)


_PARTS = "bend", "slope", "low", "high", "unit"


def _rules_for(model, there: Mask) -> tuple[Hyperplanes, Index]:
    """Rules of all pairs for each pattern, and which pattern each row has.

    A threshold that bounds an error rate is for scores that are the same in any call:
    then all patterns have rules of their own.
    """
    model, threshold = getattr(model, "_moved_from", (model, None))
    bits, of_row, counts = np.unique(
        np.packbits(there, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    patterns = np.unpackbits(bits, axis=1, count=there.shape[1]).astype(bool)
    n_pairs, d = model.coef_.shape
    most = int(np.clip(_WORK / (n_pairs * d**3), _LEAST, _MOST))
    known = model._found.setdefault("gaps", {})
    if len(known) > 2 * most:
        known.clear()
    often = np.argsort(-counts, kind="stable")[:most]
    every = threshold is not None or model.statistics_.factors is not None
    own = np.isin(np.arange(len(bits)), often) | every
    rules = [None] * len(bits)
    for i in np.flatnonzero(own).tolist():
        key = bits[i].tobytes()
        rules[i] = known.get(key)  # other threads may clear it
        if rules[i] is None:
            rules[i] = known[key] = _own_rules(model, patterns[i])
    order = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
    rules = [rule for rule in rules if rule is not None]
    if not own.all():
        rules.append(_by_conditional_means(model, patterns[~own]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    found = Hyperplanes.concatenate(rules)
    return found if threshold is None else found.less(threshold), place[of_row.ravel()]


def _own_rules(model, there: Mask) -> Hyperplanes:
    """The optimum of the features that are there, with zeros for the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said what there is to say
        planes = model._for_features(there)._committee.planes
    coef = np.zeros((len(planes.coef), len(there)))
    coef[:, there] = planes.coef[:, : there.sum()]
    return replace(planes, coef=coef)


def _by_conditional_means(model, patterns: Mask) -> Hyperplanes:
    """Rules for patterns by those of all features; one after the other."""
    settings = clone(model).set_params(**model._settings)
    solver = resolve_solver(settings.solver)
    problem = PairProblem.of(settings, model.statistics_, solver, model.shrinkage_)
    means, cov, shares, weights = problem.moments
    pairs, n = problem.solved, len(problem.solved)
    pooled = np.tensordot(weights, cov, axes=1) / weights.sum()
    coef = np.zeros((len(patterns), *model.coef_.shape))
    for there, found in zip(patterns, coef, strict=True):
        to_all = pooled[there] @ model.coef_.T
        found[:, there] = np.linalg.lstsq(pooled[there][:, there], to_all)[0].T
    # Along each normal, a problem of one feature.
    both = cov[pairs]
    along = np.einsum("npj,pkj->npk", coef, means[pairs])
    variance = np.array([np.einsum("pi,pkij,pj->pk", c, both, c) for c in coef])
    none = ~(variance > 0).all(axis=2, keepdims=True)
    along, variance = np.where(none, 0.0, along), np.where(none, 1.0, variance)
    size = 2 * n * len(patterns)
    one = np.arange(size).reshape(-1, 2)
    each = np.tile(pairs, (len(patterns), 1))
    weighted = problem.weighted_priors()
    found = solve_pairs(
        along.reshape(size, 1),
        variance.reshape(size, 1, 1),
        shares[each].ravel(),
        weights[each].ravel(),
        one,
        problem.criterion.solver,
        problem.seed,
        None if weighted is None else np.tile(weighted, (len(patterns), 1)),
    )
    found = problem.criterion.rate(found, shares, each).planes
    return replace(found, coef=found.coef * coef.reshape(-1, coef.shape[2]))
