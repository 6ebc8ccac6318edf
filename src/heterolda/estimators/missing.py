r"""Rules for rows with missing values.

A row with missing values is classified by the optimum for its observed features, which
is solved once for each pattern of missing values. If one call has too many patterns,
the rarest get the rule of all features, with conditional means in place of missing
values: with the coefficients c of a pair,

.. math::
    u = M_{oo}^{-1} M_{o\cdot} c, \qquad M = b S_1 + a S_2,

and the best threshold for the scores u.x of both classes. M is the mixture of their
covariances for which c is proportional to :math:`M^{-1} (m_2 - m_1)`: the rule keeps
its position on the arc. If the covariances are equal, it is the optimum.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from heterolda.estimators.calibration import gaussian_log_odds
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.guard import with_rules
from heterolda.estimators.pair_problem import PairProblem, with_log_odds
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import listed
from heterolda.kernels.coupling import Curve
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import solve_fisher
from heterolda.solvers.left_out import arc_weights
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics

# One call solves as many patterns as take a few seconds, estimated by the number of
# pairs times the cube of the number of features, which counts as at least this.
_WORK, _MIN_FEATURES = 5e8, 12
_MIN_SOLVED, _MAX_SOLVED = 20, 2000
# Share of the variances added before a matrix is inverted.
_MIN_VARIANCE = 1e-10
# Number of coefficients gathered at a time.
_BLOCK_SIZE = 1 << 20


def restricted(stats: ClassStatistics, mask: Mask) -> ClassStatistics:
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


def feature_mask(features, n_features: int, names) -> Mask:
    """Return a mask of features given by a mask, by indices or by names."""
    chosen = np.asarray(features)
    mask = np.zeros(n_features, bool)
    if chosen.ndim == 1 and chosen.dtype == bool and len(chosen) == n_features:
        mask |= chosen
    elif chosen.ndim == 1 and chosen.dtype.kind in "iu":
        inside = (chosen >= 0) & (chosen < n_features)
        mask[chosen[inside]] = inside.all()
    elif chosen.ndim == 1 and names is not None and np.isin(chosen, names).all():
        mask = np.isin(names, chosen)
    if not mask.any():
        choices = "" if names is None else f", of {listed(names)}"
        raise ParameterError(
            "features",
            f"must be a mask of {n_features} features, not all False, or indices or "
            f"names of features{choices}, got {features!r:.80}",
        )
    return mask


def predict_incomplete(model, X: Array, method: str, like: Array):
    """Apply a method of a model's committee to rows, in the format of `like`.

    The optimum is solved for the most frequent patterns, or for all if the threshold of
    the model bounds an error rate: its scores must not depend on the batch.
    """
    check_has_statistics(model, "the prediction of rows with missing values")
    fitted, threshold = getattr(model, "_moved_from", (model, 0.0))
    bits, of_row, counts = np.unique(
        np.packbits(~np.isnan(X), axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    n_pairs, d = model.coef_.shape
    work = n_pairs * max(d, _MIN_FEATURES) ** 3
    n_solved = int(np.clip(_WORK / work, _MIN_SOLVED, _MAX_SOLVED))
    if fitted is not model or model.statistics_.factors is not None:
        n_solved = len(bits)
    order = np.argsort(-counts, kind="stable")
    patterns = np.unpackbits(bits[order], axis=1, count=d).astype(bool)
    of_row = np.argsort(order)[of_row.ravel()]
    rows = np.argsort(of_row, kind="stable")
    ends = np.append(0, np.cumsum(counts[order]))
    step = max(1, _BLOCK_SIZE // (n_pairs * d))
    results = []
    for start, stop in pairwise([0, *range(n_solved, len(bits), step), len(bits)]):
        rules_of = _by_conditional_means if start else _solved_rules
        rules = rules_of(fitted, patterns[start:stop]).minus(threshold)
        chosen = rows[ends[start] : ends[stop]]
        for part in np.array_split(chosen, -(-len(chosen) // step)):
            values = np.nan_to_num(X[part], nan=0.0)
            scores, committee = _scores(model, rules, values, of_row[part] - start)
            results.append(getattr(committee, method)(scores, like))
    joined = np.concatenate(results)
    result = np.empty_like(joined)
    result[rows] = joined
    return result


def _scores(model, rules: Rules, X: Array, of_row: Index):
    """Return scores by the rules of each row's pattern, and their committee."""
    n_pairs, d = model.coef_.shape
    places = of_row[:, None] * n_pairs + np.arange(n_pairs)
    coef = rules.coef.reshape(-1, n_pairs, d)[of_row]
    scores = linear_scores(X, coef.mT, rules.intercept[places])
    curve = gaussian_log_odds(rules)
    # With given log-odds, a committee uses only the errors of its rules.
    return scores, replace(
        model._committee,
        planes=replace(rules, error=rules.error[places]),
        log_odds=Curve(*(values[..., places] for values in curve)),
        evidence=model._committee.temperature,
    )


def _solved_rules(model, patterns: Mask) -> Rules:
    """Return the optima of observed features, with zeros for the others."""
    cache = model._by_pattern
    if len(cache) > 10 * _MAX_SOLVED:
        cache.clear()
    rules = []
    for mask in patterns:
        key = np.packbits(mask).tobytes()
        solved = cache.get(key)  # another thread may clear the cache
        if solved is None:
            with no_warnings():  # the fit has already warned
                solved = model._for_features(mask)._committee.planes
            coef = np.zeros((len(solved.coef), len(mask)))
            coef[:, mask] = solved.coef[:, : mask.sum()]
            solved = cache[key] = replace(solved, coef=coef)
        rules.append(solved)
    return Rules.concatenate(rules)


def _by_conditional_means(model, patterns: Mask) -> Rules:
    """Return rules for patterns, derived from the rules of all features."""
    settings = clone(model).set_params(**model._fitted_with())
    problem = PairProblem.of(settings, model.statistics_, model.shrinkage_)
    full, n = problem.moments, len(patterns)
    cov, weights, pairs = full.covariances, full.weights, full.pairs
    shares = np.maximum(arc_weights(model._committee.planes), 0.0)
    shares = np.where(model.guarded_[:, None], weights[pairs], shares)
    coef = np.empty((n, *model.coef_.shape))
    variance = np.empty((n, *pairs.shape))
    for p, (pair, c) in enumerate(zip(pairs, model.coef_, strict=True)):
        mixture = np.tensordot(shares[p] / shares[p].sum(), cov[pair], axes=1)
        coef[:, p] = _conditional(c, mixture, patterns)
        products = coef[:, p] @ cov[pair]
        variance[:, p] = np.einsum("knj,nj->nk", products, coef[:, p])
    # Along each normal, this is a problem with one feature.
    mean = np.einsum("npj,pkj->npk", coef, full.means[pairs])
    undefined = ~(variance > 0).all(axis=2, keepdims=True)
    tiled = np.tile(pairs, (n, 1))
    moments = Moments(
        np.where(undefined, 0.0, mean).reshape(-1, 1),
        np.where(undefined, 1.0, variance).reshape(-1, 1, 1),
        full.priors[tiled].ravel(),
        weights[tiled].ravel(),
        np.arange(tiled.size).reshape(-1, 2),
        None if full.shares is None else np.tile(full.shares, (n, 1)),
    )
    rules = problem.solve(moments)
    guarded = np.flatnonzero(np.tile(model.guarded_, n))
    if len(guarded):
        those = moments.take(guarded)
        rules = with_rules(rules, guarded, solve_fisher(those), those)
    rules = problem.criterion.rate(rules, full.priors, tiled).planes
    if problem.one_vs_rest:
        rules = with_log_odds(rules, moments)
    return replace(rules, coef=rules.coef * coef.reshape(len(tiled), -1))


def _conditional(c: Array, cov: Array, patterns: Mask) -> Array:
    """Return coefficients of the observed features of each pattern, zero elsewhere.

    With the inverse Q of the covariance they are ``c - Q_m. Q_mm^-1 c_m``.
    """
    variances = np.diag(cov)
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    ridge = _MIN_VARIANCE * np.eye(len(c))
    inverse = np.linalg.inv(cov / np.outer(unit, unit) + ridge)
    c, coef = c * unit, np.empty(patterns.shape)
    n_missing = (~patterns).sum(axis=1)
    for m in np.unique(n_missing):
        same = np.flatnonzero(n_missing == m)
        missing = np.nonzero(~patterns[same])[1].reshape(len(same), m)
        block = inverse[missing[:, :, None], missing[:, None, :]]
        part = np.linalg.solve(block, c[missing][:, :, None]).mT
        coef[same] = c - (part @ inverse[missing])[:, 0]
    return np.where(patterns, coef / unit, 0.0)
