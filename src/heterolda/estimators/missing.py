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

from heterolda.estimators.again import fitted_with, restricted_to
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.gaussians import Gaussians, with_log_odds
from heterolda.estimators.odds import effective_priors, gaussian_log_odds
from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.foundations.threads import no_warnings
from heterolda.kernels.coupling import Curve
from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import solve
from heterolda.solvers.pencil import Moments
from heterolda.solvers.rules import Rules

# One call solves as many patterns as take a few seconds, estimated by the number of
# pairs times the cube of the number of features, which counts as at least this.
_WORK, _MIN_FEATURES = 5e8, 12
_MIN_SOLVED, _MAX_SOLVED = 20, 2000
# Share of the variances added before a matrix is inverted.
_MIN_VARIANCE = 1e-10
# Number of coefficients gathered at a time.
_BLOCK_SIZE = 1 << 20


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
    # Of its rules, a committee uses only the errors.
    return scores, replace(
        model._committee,
        planes=replace(rules, error=rules.error[places]),
        log_odds=Curve(*(values[..., places] for values in curve)),
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
                solved = restricted_to(model, mask)._committee.planes
            coef = np.zeros((len(solved.coef), len(mask)))
            coef[:, mask] = solved.coef[:, : mask.sum()]
            solved = cache[key] = replace(solved, coef=coef)
        rules.append(solved)
    return Rules.concatenate(rules)


def _by_conditional_means(model, patterns: Mask) -> Rules:
    """Return rules for patterns, derived from the rules of all features."""
    settings = clone(model).set_params(**fitted_with(model))
    problem = Gaussians.of(settings, model.statistics_, model.shrinkage_)
    full, n, planes = problem.moments, len(patterns), model._committee.planes
    cov, weights, pairs = full.covariances, full.weights, full.pairs
    positions = np.maximum(model._position.weights, 0.0)
    # Thresholds that rows chose are best for other priors.
    moved, others = model.chosen_on_rows_[:, None], full.pair_priors
    shares = np.where(moved, effective_priors(planes), others)
    coef = np.empty((n, *model.coef_.shape))
    variance = np.empty((n, *pairs.shape))
    for p, (pair, c) in enumerate(zip(pairs, model.coef_, strict=True)):
        position = positions[p] / positions[p].sum()
        mixture = np.tensordot(position, cov[pair], axes=1)
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
        np.tile(shares, (n, 1)),
    )
    rules = solve(moments, problem.criterion.solver)
    rules, *_ = problem.criterion.rate(rules, full.priors, tiled)
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
