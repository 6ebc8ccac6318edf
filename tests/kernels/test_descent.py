"""The descent to a minimum of the smooth count, compiled and in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from heterolda import kernels
from heterolda.kernels import descent
from heterolda.kernels.descent import descend, descend_numpy, objective

LOSSES = {
    "error": lambda x: expit(-x),
    "logistic": lambda x: np.logaddexp(0, -x),
}


def problem(rng, n, r):
    Z = rng.normal(size=(n, r)) * rng.choice([-1.0, 1.0], (n, 1))
    return Z, rng.normal(0.5, 1, n), rng.dirichlet(np.ones(n))


def settings(n_problems=4):
    loss = np.array(["error", "logistic"] * n_problems)[:n_problems]
    return loss, np.linspace(0.3, 1, n_problems), np.geomspace(0.02, 2, n_problems)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_minimum_is_that_of_a_general_optimiser(rng, kernels, loss):
    Z, start, weight = problem(rng, 60, 4)
    h, penalty = 0.7, 0.3
    given = np.array([loss]), np.array([h]), np.array([penalty])
    (found,) = descend(Z, start, weight, *given, tol=1e-14)

    def cost(u):
        return weight @ LOSSES[loss]((start + Z @ u) / h) + penalty * u @ u

    assert cost(found) < cost(0 * found)
    assert_allclose(found, minimize(cost, found, tol=1e-12).x, atol=1e-5)


# Columns and rows about the sizes in which the loops go.
@pytest.mark.parametrize("n", [1, 7, 8, 255, 256, 257, 600])
@pytest.mark.parametrize("r", [1, 4, 9])
def test_compiled_descent_is_the_one_in_numpy(rng, n, r):
    arrays = *problem(rng, n, r), *settings()
    found = descend(*arrays, tol=1e-12, max_iter=30)
    plain = np.empty_like(found)
    descend_numpy(*arrays, 1e-12, 30, None, None, plain)
    assert_allclose(found, plain, rtol=1e-6, atol=1e-8)


def test_order_and_type_of_the_arrays_do_not_matter(rng):
    Z, start, weight = problem(rng, 40, 3)
    expected = descend(Z, start, weight, *settings())
    for form in (np.asfortranarray(Z), np.repeat(Z, 2, axis=0)[::2]):
        copies = np.repeat([start, weight], 2, axis=1)[:, ::2]
        assert_array_equal(descend(form, *copies, *settings()), expected)


@pytest.mark.parametrize("size", [1e-200, 1e200, np.inf, np.nan])
def test_margins_of_any_size_leave_finite_shifts(rng, kernels, size):
    Z, start, weight = problem(rng, 20, 3)
    with np.errstate(all="ignore"):
        for numbers in ((Z, size * start), (size * Z, start)):
            shifts = descend(*numbers, weight, *settings())
            assert np.isfinite(shifts).all()


def test_no_rows_no_coordinates_no_problems(rng, kernels):
    for n, r, p in [(0, 3, 4), (5, 0, 4), (5, 3, 0)]:
        arrays = problem(rng, n, r) if n else (np.empty((0, r)), *np.empty((2, 0)))
        assert_array_equal(descend(*arrays, *settings(p)), np.zeros((p, r)))


def test_reports_tell_the_errors_of_each_iteration(rng, kernels):
    Z, start, weight = problem(rng, 50, 3)
    costs = rng.integers(1, 4, 50) * 1.0
    heard = []
    arrays = Z, start, weight, *settings(1)
    out = np.empty((1, 3))

    def report(n_iter, errors):
        heard.append((n_iter, errors))

    descend(*arrays, costs=costs, report=report, out=out)
    assert [k for k, _ in heard] == list(range(1, len(heard) + 1))
    assert heard[0][1] == costs[start <= 0].sum()
    assert heard[-1][1] == costs[start + Z @ out[0] <= 0].sum()

    # An error that is raised there escapes, and what was reached is kept.
    def stop(n_iter, errors):
        if n_iter == 3:
            raise KeyboardInterrupt

    reached = np.empty((1, 3))
    with pytest.raises(KeyboardInterrupt):
        descend(*arrays, costs=costs, report=stop, out=reached)
    assert_allclose(reached, descend(*arrays, max_iter=2), atol=1e-12)
    assert np.any(reached != out)


@pytest.mark.skipif(kernels.compiled is None, reason="there are no compiled kernels")
def test_arguments_are_checked(rng):
    Z, start, weight = problem(rng, 9, 2)
    good = [np.ascontiguousarray(Z.T), start, weight, None, np.ones(1, np.int64)]
    good += [np.ones(1), np.ones(1), 1e-9, 5, np.empty((1, 2)), None]
    kernels.compiled.descend(*good)
    for place, wrong in [(0, Z), (1, start[:5]), (4, np.ones(1)), (9, np.empty(2))]:
        bad = [*good[:place], wrong, *good[place + 1 :]]
        with pytest.raises(ValueError, match="must be"):
            kernels.compiled.descend(*bad)
    with pytest.raises(TypeError, match="arguments"):
        kernels.compiled.descend(*good[:-1])
    with pytest.raises(TypeError, match="callable"):
        kernels.compiled.descend(*good[:-1], 7)


def test_derivatives_are_those_of_the_values(rng):
    n, r = 40, 3
    Z, start = rng.normal(size=(n, r)), rng.normal(size=n)
    weight = rng.dirichlet(np.ones(n))
    loss = np.array(["error", "logistic", "error", "logistic"])
    h, penalty = np.array([0.5, 0.3, 1.0, 0.7]), np.array([0.1, 0.0, 0.02, 0.1])
    u = rng.normal(size=(3, r))
    active = np.array([0, 2, 3])
    arrays = Z, start, weight, loss, h, penalty
    values, gradient = objective(*arrays, u, active)
    for k, problem in enumerate(active):
        at = (Z @ u[k] + start) / h[problem]
        plain = LOSSES[loss[problem]](at) @ weight
        assert_allclose(values[k], plain + penalty[problem] * u[k] @ u[k])
        slope = approx_fprime(
            u[k], lambda x, k=k: objective(*arrays, x[None], active[k : k + 1])[0][0]
        )
        assert_allclose(gradient[k], slope, atol=1e-6)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_losses_at_the_ends_of_the_numbers(loss):
    x = np.array([-1e300, -800.0, -1.0, 0.0, 1.0, 800.0, 1e300])
    value, slope = descent.LOSSES[loss][0](x)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert np.all(np.diff(value) <= 0)
    expected = [1.0, 0.5, 0.0] if loss == "error" else [800.0, np.log(2), 0.0]
    assert_allclose(value[[1, 3, 5]], expected, atol=1e-15)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_curvature_is_bounded_as_stated(loss):
    function, bound, _ = descent.LOSSES[loss]
    x = np.linspace(-10, 10, 100_001)
    bend = np.diff(function(x)[1]) / np.diff(x)
    assert bend.max() <= bound * (1 + 1e-6)
    assert bend.max() >= bound * (1 - 1e-3)
