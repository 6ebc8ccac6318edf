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
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
from sklearn.base import clone

from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.guard import KeptFisher
from heterolda.estimators.pair_problem import PairProblem
from heterolda.estimators.posterior import LogOdds
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.wording import listed
from heterolda.solvers import resolve_solver, solve_pairs
from heterolda.solvers.hyperplanes import Hyperplanes
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
    check_has_statistics(model)
    bits, of_row, counts = np.unique(
        np.packbits(~np.isnan(X), axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    n_pairs, d = model.coef_.shape
    patterns = np.unpackbits(bits, axis=1, count=d).astype(bool)
    most = int(np.clip(_WORK / (n_pairs * d**3), _LEAST, _MOST))
    if model.statistics_.factors is not None:
        most = len(bits)
    order = np.argsort(-counts, kind="stable")
    step = max(1, _BLOCK_SIZE // (n_pairs * d))
    rare = [order[start : start + step] for start in range(most, len(order), step)]
    rows_of = np.argsort(of_row.ravel(), kind="stable")
    ends = np.append(0, np.cumsum(counts))
    X, result = np.nan_to_num(X, nan=0.0), None
    for some in [order[:most], *rare]:
        rules = _by_conditional_means if result is not None else _own_rules
        planes = rules(model, patterns[some])
        mine = [rows_of[ends[i] : ends[i + 1]] for i in some]
        of_pattern = np.repeat(np.arange(len(some)), counts[some])
        rows = np.concatenate(mine)
        found = _decided(model, planes, X, rows, of_pattern, method)
        if result is None:
            result = np.empty((len(X), *found.shape[1:]), found.dtype)
        result[rows] = found
    return result


def _decided(model, planes: Hyperplanes, X, rows: Index, of_pattern: Index, method):
    """What the committee says of some rows, by the rules of the pattern of each."""
    n_pairs, d = model.coef_.shape
    curve = LogOdds.from_hyperplanes(planes)
    coef = planes.coef.reshape(-1, n_pairs, d)
    found, step = [], max(1, _BLOCK_SIZE // (n_pairs * d))
    for start in range(0, len(rows), step):
        here, mine = rows[start : start + step], of_pattern[start : start + step]
        places = mine[:, None] * n_pairs + np.arange(n_pairs)
        scores = np.einsum("rpj,rj->rp", coef[mine], X[here])
        scores += planes.intercept[places]
        errors = SimpleNamespace(error=planes.error[places])
        committee = replace(model._committee, planes=errors)
        vars(committee)["posterior"] = _each_by_its_own(curve, places)
        found.append(getattr(committee, method)(scores))
    return np.concatenate(found)


def _each_by_its_own(curve: LogOdds, places: Index):
    """Log-odds as a function of scores, of which each has a curve of its own."""
    mine = LogOdds(*(getattr(curve, f.name)[places].ravel() for f in fields(curve)))
    return lambda scores: mine(scores.reshape(1, -1)).reshape(scores.shape)


def _own_rules(model, patterns: Mask) -> Hyperplanes:
    """The optima of the features that are there, with zeros for the others."""
    known = model._found.setdefault("gaps", {})
    if len(known) > _MOST:
        known.clear()
    found = []
    for there in patterns:
        key = np.packbits(there).tobytes()
        if key not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit has said what there is to say
                planes = model._for_features(there)._committee.planes
            coef = np.zeros((len(planes.coef), len(there)))
            coef[:, there] = planes.coef[:, : there.sum()]
            known[key] = replace(planes, coef=coef)
        found.append(known[key])
    return Hyperplanes.concatenate(found)


def _by_conditional_means(model, patterns: Mask) -> Hyperplanes:
    """Rules for patterns by those of all features."""
    settings = clone(model).set_params(**model._fitted_with())
    solver = resolve_solver(settings.solver)
    problem = PairProblem.of(settings, model.statistics_, solver, model.shrinkage_)
    means, cov, shares, weights = problem.moments
    pairs, n, weighted = problem.solved, len(patterns), problem.weighted_priors()
    pooled = np.tensordot(weights, cov, axes=1) / weights.sum()
    variances = np.diag(pooled)
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    pooled = pooled / np.outer(unit, unit)
    coef = np.zeros((n, *model.coef_.shape))
    for there, found in zip(patterns, coef, strict=True):
        some = np.linalg.lstsq(pooled[there][:, there], pooled[there])[0]
        found[:, there] = (model.coef_ * unit) @ some.T / unit[there]
    # Along each normal, a problem of one feature.
    along = np.einsum("npj,pkj->npk", coef, means[pairs])
    both = cov[pairs]
    variance = np.array([np.einsum("pi,pkij,pj->pk", c, both, c) for c in coef])
    none = ~(variance > 0).all(axis=2, keepdims=True)
    along, variance = np.where(none, 0.0, along), np.where(none, 1.0, variance)
    each = np.tile(pairs, (n, 1))
    planes = solve_pairs(
        along.reshape(-1, 1),
        variance.reshape(-1, 1, 1),
        shares[each].ravel(),
        weights[each].ravel(),
        np.arange(each.size).reshape(-1, 2),
        problem.criterion.solver,
        problem.seed,
        None if weighted is None else np.tile(weighted, (n, 1)),
        KeptFisher(np.tile(model.guarded_, n), None),
    )
    planes = problem.criterion.rate(planes, shares, each).planes
    return replace(planes, coef=planes.coef * coef.reshape(len(each), -1))
