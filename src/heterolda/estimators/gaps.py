r"""Rules for rows in which features are missing.

For a row with gaps the rule is that of the features that are there: the optimum of the
block of their moments, which is solved once for each pattern of gaps. Beyond a number
of patterns in one call, the rarest get the rule of all features with the conditional
mean where nothing is: with the coefficients c of a pair,

.. math::
    u = M_{oo}^{-1} M_{o\cdot} c, \qquad M = b S_1 + a S_2,

and the threshold that is the best for the scores u.x of both classes. M is that mixture
of their covariances for which c is proportional to :math:`M^{-1} (m_2 - m_1)`: the rule
keeps its place on the arc. Where the covariances are equal, it is the optimum, too.
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
from heterolda.estimators.guard import with_fisher
from heterolda.estimators.pair_problem import PairProblem, with_log_odds
from heterolda.estimators.posterior import LogOdds
from heterolda.exceptions import ParameterError
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.wording import listed
from heterolda.solvers import Moments, resolve_solver, solve
from heterolda.solvers.left_out import arc_weights
from heterolda.solvers.rules import Rules, linear_scores
from heterolda.statistics.class_statistics import ClassStatistics

# Patterns of one call that get the optimum of their own: as many as take some seconds,
# by the number of pairs times the cube of the number of features, or of a few of them.
_WORK, _FEW = 5e8, 12
_LEAST, _MOST = 20, 2000
# What is added to variances, as a share of them, before a matrix is inverted.
_LEAST_VARIANCE = 1e-10
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
            "features",
            f"must be a mask of {n_features} features, not all False, or indices or "
            f"names of features{known}, got {features!r:.80}",
        )
    return there


def of_rows_with_gaps(model, X: Array, method: str):
    """What the committee of a model says of rows that all have gaps.

    A threshold that bounds an error rate is for scores that are the same in any call:
    then all patterns have rules of their own.
    """
    check_has_statistics(model, "the prediction of rows with missing values")
    fitted, threshold = getattr(model, "_moved_from", (model, None))
    bits, of_row, counts = np.unique(
        np.packbits(~np.isnan(X), axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    n_pairs, d = model.coef_.shape
    patterns = np.unpackbits(bits, axis=1, count=d).astype(bool)
    most = int(np.clip(_WORK / (n_pairs * max(d, _FEW) ** 3), _LEAST, _MOST))
    if threshold is not None or model.statistics_.factors is not None:
        most = len(bits)
    order = np.argsort(-counts, kind="stable")
    step = max(1, _BLOCK_SIZE // (n_pairs * d))
    rare = [order[start : start + step] for start in range(most, len(order), step)]
    rows_of = np.argsort(of_row.ravel(), kind="stable")
    ends = np.append(0, np.cumsum(counts))
    X, result = np.nan_to_num(X, nan=0.0), None
    for some in [order[:most], *rare]:
        rules = _by_conditional_means if result is not None else _own_rules
        planes = rules(fitted, patterns[some])
        if threshold is not None:
            planes = planes.less(threshold)
        mine = [rows_of[ends[i] : ends[i + 1]] for i in some]
        of_pattern = np.repeat(np.arange(len(some)), counts[some])
        rows = np.concatenate(mine)
        found = _decided(model, planes, X, rows, of_pattern, method)
        if result is None:
            result = np.empty((len(X), *found.shape[1:]), found.dtype)
        result[rows] = found
    return result


def _decided(model, planes: Rules, X, rows: Index, of_pattern: Index, method):
    """What the committee says of some rows, by the rules of the pattern of each."""
    n_pairs, d = model.coef_.shape
    curve = LogOdds.from_rules(planes)
    normals = planes.coef.reshape(-1, n_pairs, d).transpose(0, 2, 1)
    found, step = [], max(1, _BLOCK_SIZE // (n_pairs * d))
    for start in range(0, len(rows), step):
        here, mine = rows[start : start + step], of_pattern[start : start + step]
        places = mine[:, None] * n_pairs + np.arange(n_pairs)
        scores = linear_scores(X[here], normals[mine], planes.intercept[places])
        errors = SimpleNamespace(error=planes.error[places])
        committee = replace(model._committee, planes=errors)
        vars(committee)["posterior"] = _each_by_its_own(curve, places)
        found.append(getattr(committee, method)(scores))
    return np.concatenate(found)


def _each_by_its_own(curve: LogOdds, places: Index):
    """Log-odds as a function of scores, of which each has a curve of its own."""
    mine = LogOdds(*(getattr(curve, f.name)[places].ravel() for f in fields(curve)))
    return lambda scores: mine(scores.reshape(1, -1)).reshape(scores.shape)


def _own_rules(model, patterns: Mask) -> Rules:
    """The optima of the features that are there, with zeros for the others."""
    known = model._by_pattern
    if len(known) > 10 * _MOST:
        known.clear()
    found = []
    for there in patterns:
        key = np.packbits(there).tobytes()
        rules = known.get(key)  # another thread may clear them
        if rules is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit has said what there is to say
                planes = model._for_features(there)._committee.planes
            coef = np.zeros((len(planes.coef), len(there)))
            coef[:, there] = planes.coef[:, : there.sum()]
            rules = known[key] = replace(planes, coef=coef)
        found.append(rules)
    return Rules.concatenate(found)


def _by_conditional_means(model, patterns: Mask) -> Rules:
    """Rules for patterns by those of all features."""
    settings = clone(model).set_params(**model._fitted_with())
    solver = resolve_solver(settings.solver)
    problem = PairProblem.of(settings, model.statistics_, solver, model.shrinkage_)
    known, n = problem.moments, len(patterns)
    means, cov, weights, pairs = (
        known.means,
        known.covariances,
        known.weights,
        known.pairs,
    )
    part = np.maximum(arc_weights(model._committee.planes), 0.0).T
    part = np.where(model.guarded_[:, None], weights[pairs], part)
    coef = np.empty((n, *model.coef_.shape))
    variance = np.empty((n, len(pairs), 2))
    groups = _same_size(patterns)
    for p, (pair, c) in enumerate(zip(pairs, model.coef_, strict=True)):
        mixture = np.tensordot(part[p] / part[p].sum(), cov[pair], axes=1)
        coef[:, p] = _conditional(c, mixture, groups, n)
        for place, k in enumerate(pair):
            product = coef[:, p] @ cov[k]
            variance[:, p, place] = np.einsum("nj,nj->n", product, coef[:, p])
    # Along each normal, a problem of one feature.
    along = np.einsum("npj,pkj->npk", coef, means[pairs])
    none = ~(variance > 0).all(axis=2, keepdims=True)
    along, variance = np.where(none, 0.0, along), np.where(none, 1.0, variance)
    each = np.tile(pairs, (n, 1))
    moments = Moments(
        along.reshape(-1, 1),
        variance.reshape(-1, 1, 1),
        known.priors[each].ravel(),
        weights[each].ravel(),
        np.arange(each.size).reshape(-1, 2),
        None if known.shares is None else np.tile(known.shares, (n, 1)),
    )
    planes = solve(moments, problem.criterion.solver, problem.seed)
    planes = with_fisher(planes, moments, np.tile(model.guarded_, n))
    planes = problem.criterion.rate(planes, known.priors, each).planes
    if problem.one_vs_all:
        planes = with_log_odds(planes, moments)
    return replace(planes, coef=planes.coef * coef.reshape(len(each), -1))


def _same_size(patterns: Mask) -> list[tuple[Index, Index]]:
    """Places of the patterns with the same number of gaps, and these gaps."""
    sizes = (~patterns).sum(axis=1)
    same = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    return [(at, np.nonzero(~patterns[at])[1].reshape(len(at), -1)) for at in same]


def _conditional(c: Array, cov: Array, groups, n: int) -> Array:
    """Coefficients of what is there, for n patterns: zero where nothing is.

    With the inverse Q of the covariance they are ``c - Q_m. Q_mm^-1 c_m``.
    """
    variances = np.diag(cov)
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    least = _LEAST_VARIANCE * np.eye(len(c))
    inverse = np.linalg.inv(cov / np.outer(unit, unit) + least)
    c, found = c * unit, np.empty((n, len(c)))
    for at, gaps in groups:
        block = inverse[gaps[:, :, None], gaps[:, None, :]]
        part = np.linalg.solve(block, c[gaps][:, :, None]).mT
        found[at] = c - (part @ inverse[gaps])[:, 0]
        found[at[:, None], gaps] = 0.0
    return found / unit
