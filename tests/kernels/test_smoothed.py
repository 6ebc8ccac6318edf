"""The descent on the smoothed error and on the ridge loss, compiled and in NumPy."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from heterolda import kernels as package
from heterolda.kernels.smoothed import (
    PairRows,
    log_smoothed_error,
    ridge_loss,
    smoothed_path,
)

WIDTHS = np.array([0.7, 0.35, 0.1, 0.02])
OBJECTIVES = {"smoothed": log_smoothed_error, "ridge": ridge_loss}


def draw(rng, n=80, r=4, *, apart=1.5, kind="smoothed"):
    """Draw rows of two classes, of which a third are in the first."""
    n_first = n // 3
    first = np.arange(n) < n_first
    alpha = rng.uniform(0.1, 0.9, r)
    scale = np.sqrt(np.where(first, alpha[:, None], 1 - alpha[:, None]))
    columns = scale * rng.normal(size=(r, n))
    weight = rng.uniform(0.5, 2, n)
    share = np.where(first, 0.4, 0.6) * weight
    for part in (first, ~first):
        share[part] /= max(weight[part].sum(), 1e-300)
    c = apart * rng.normal(size=r)
    if kind == "ridge":
        columns += np.where(first, 0.5, -0.5) * c[:, None]
        return PairRows(columns, n_first, share)
    mixed = rng.normal(size=(r, r)) / r  # axes of the two classes that differ
    first = np.diag(alpha) + 0.1 * mixed @ mixed.T
    return PairRows(columns, n_first, share, (c, first, np.diag(1 - alpha)))


def start_of(rows):
    r = len(rows.columns)
    return np.append(rows.moments[0] if rows.moments else np.zeros(r), 0.1)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_minima_are_those_of_a_general_optimizer(rng, kind):
    rows = draw(rng, kind=kind, apart=0.5)
    settings = {"tol": 1e-13, "max_iter": 500}
    rules, values, _ = smoothed_path(rows, WIDTHS[:2], start_of(rows), **settings)
    for h, rule, value in zip(WIDTHS, rules, values, strict=False):
        best = minimize(lambda v, h=h: OBJECTIVES[kind](rows, h, v)[0], rule)
        assert_allclose(value, best.fun, rtol=1e-8)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_compiled_descent_is_the_one_in_numpy(rng, monkeypatch, kind):
    # Columns and rows about the sizes in which the loops go.
    for n, r in product((3, 8, 257, 600), (1, 4, 9)):
        rows = draw(rng, n, r, kind=kind)
        settings = WIDTHS[:2], start_of(rows)
        rules, values, n_iter = smoothed_path(rows, *settings, tol=1e-9, max_iter=10)
        with monkeypatch.context() as without:
            without.setattr(package, "compiled", None)
            plain = smoothed_path(rows, *settings, tol=1e-9, max_iter=10)
        assert_allclose(values, plain[1], rtol=1e-6, atol=1e-9)
        assert_allclose(rules, plain[0], rtol=1e-4, atol=1e-6)
        assert_array_equal(n_iter, plain[2])


@pytest.mark.usefixtures("kernels")
def test_rules_of_separable_classes_settle(rng):
    rows = draw(rng, 60, 2, apart=0)
    moments = np.array([9.0, 1]), *rows.moments[1:]
    rows = PairRows(rows.columns, 20, rows.share, moments)
    widths = np.geomspace(0.7, 0.002, 12)
    settings = {"tol": 1e-9, "max_iter": 300}
    rules, values, n_iter = smoothed_path(rows, widths, start_of(rows), **settings)
    assert np.isfinite(rules).all()
    assert np.isfinite(values).all()
    u, w0 = rules[-1, :2], rules[-1, 2]
    side = np.where(rows.first, 1, -1)
    scores = side * (rows.moments[0] @ u) / 2 + u @ rows.columns
    assert (side * (scores - w0)).min() > 0
    # Far on the right sides of all rows, a rule stays.
    settled = np.flatnonzero(values < -30)[0]
    assert not n_iter[settled + 1 :].any()
    rules /= np.linalg.norm(rules, axis=1, keepdims=True)
    assert_allclose(rules[-1], rules[settled], rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_numbers_that_are_not_finite_come_to_an_end(rng):
    rows = draw(rng)
    rows.columns[0, 0] = np.nan
    rules, *_ = smoothed_path(rows, WIDTHS, start_of(rows), tol=1e-6, max_iter=50)
    assert rules.shape == (4, 5)
