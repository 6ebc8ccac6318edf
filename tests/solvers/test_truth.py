"""The global solver against a slow reference with fifty digits.

The error of ``coef_`` and ``intercept_`` is computed from its definition.
"""

import functools

import numpy as np
import pytest

from helpers import reference
from helpers.problems import fit
from helpers.reference import (
    Gaussians,
    best_threshold,
    deviation,
    dot,
    error_of,
    minimise,
    mp,
    problem,
    reflection,
    rotated,
    rule_of,
    threshold_scale,
)

# Slow when traced; quicker tests take the same branches.
pytestmark = pytest.mark.no_cover

OTHER_SOLVERS = ["fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"]


Q2 = reflection([1, 2])
Q3 = reflection([1, 2, -1])
Q4 = reflection([1, -2, 3, 1])
P4 = reflection([2, 1, 1, -1])
Q5 = reflection([1, 2, 3, -2, 1])
P5 = reflection([-1, 1, 2, 1, 3])
Q8 = reflection([1, 2, -1, 3, 1, -2, 2, 1])
P8 = reflection([2, -1, 1, 1, -3, 1, 1, 2])
S3 = rotated(Q3, [1, 2, 5])
S4 = rotated(Q4, [0.5, 1, 2, 8])

# The four problems with several local minima were found by a scan over random ones and
# rounded; `check_name` makes sure that they still have several.
PROBLEMS = {
    # One dimension.
    "d1 strongly unequal variances": problem([3], [1], [100]),
    "d1 variances 1 and 1e6": problem([3], [1], [1e6]),
    "d1 no stationary threshold": problem([-0.5], [4], [1], 0.9),
    "d1 local minimum worse than trivial": problem([-0.5], [9], [0.04], 0.8),
    # Priors.
    "outside the unit interval": problem(
        [1, 0.5, -1], rotated(Q3, [1, 2, 0.5]), [1, 6, 3], 0.95
    ),
    "prior 0.01": problem(
        [2, 1, 0, 1], rotated(Q4, [1, 3, 2, 0.2]), rotated(P4, [2, 1, 9, 4]), 0.01
    ),
    # Several local minima.
    "two minima, d2": problem(
        [0.0511, 0.0535],
        [[15.8348, -10.1425], [-10.1425, 6.6104]],
        [[2.1973, -2.962], [-2.962, 4.7039]],
    ),
    "three minima, d4": problem(
        [-0.131, 0.1395, -0.0289, 0.1718],
        [
            [1.6875, -2.6404, -1.7062, -0.572],
            [-2.6404, 7.5756, -0.3711, 1.5174],
            [-1.7062, -0.3711, 4.4882, 0.0402],
            [-0.572, 1.5174, 0.0402, 0.3247],
        ],
        [
            [0.5119, 2.324, -2.815, -5.3101],
            [2.324, 10.796, -13.0601, -24.6357],
            [-2.815, -13.0601, 15.8243, 29.8339],
            [-5.3101, -24.6357, 29.8339, 56.2839],
        ],
    ),
    # Swapping the axes swaps the classes, so the two minima tie but for the priors.
    "near tie of 4e-6": problem([1, 1], [1, 25], [25, 1], 0.5 + 1e-6),
    "near tie of 4e-9": problem([1, 1], [1, 25], [25, 1], 0.5 - 1e-9),
    # Equal and proportional covariances.
    "equal covariances": problem([1, -0.5, 0.5, 1], S4, S4, 0.3),
    "equal to one ulp": problem([1, -0.5, 2], S3, np.nextafter(S3, np.inf), 0.4),
    "proportional covariances": problem([1, -0.5, 2], S3, 9 * S3, 0.4),
    # Equal means, where the arc shrinks to nothing.
    "equal means": problem([0, 0, 0], [1, 1, 1], [1, 9, 1]),
    "equal means, narrow rare class": problem([0, 0], [9, 1], [1, 1], 0.8),
    "equal Gaussians": problem([0, 0], [2, 1], [2, 1], 0.6),
    # Nearly equal means push the optimum into the very end of the arc.
    "means 1e-12 apart": problem(
        [1e-12, -2e-12, 1e-12], rotated(Q3, [1, 2, 0.5]), [1, 6, 3]
    ),
    "means 1e-12 apart, unequal priors": problem(
        [1e-12, -2e-12, 1e-12], rotated(Q3, [1, 2, 0.5]), [1, 6, 3], 0.8
    ),
    # The hard case: delta has no component at the pole of an end.
    "hard case": problem([1, 0], [1, 1], [1, 25], 0.7),
    "hard case, other end": problem([1, 0], [1, 25], [1, 1], 0.3),
    "hard case, continuation not best": problem([1, 0], [1, 1], [1, 25]),
    "hard case, rotated": problem(
        Q4[:, 0], rotated(Q4, [1, 1, 2, 1]), rotated(Q4, [1, 30, 1, 2]), 0.8
    ),
    "hard case, double pole": problem([1, 1, 0, 0], [1, 2, 1, 1], [3, 1, 40, 40], 0.75),
    "nearly hard case, 1e-9": problem([1, 1e-9], [1, 1], [1, 25], 0.7),
    "nearly hard case, 1e-15": problem([1, 1e-15], [1, 1], [1, 25], 0.7),
    # Well separated classes.
    "error about 1e-50": problem(
        [26, 24, 12], rotated(Q3, [1, 2, 0.5]), [1, 6, 3], 0.3
    ),
    "error about 1e-200": problem([60, 10], [1, 2], [1, 3]),
    # Condition numbers, units, and data far from the origin.
    "condition 1e6": problem(
        1e-2 * Q5.sum(axis=1),
        rotated(Q5, [1, 1e-2, 1e-3, 1e-5, 1e-6]),
        rotated(Q5, [2, 4e-2, 5e-4, 9e-5, 3e-6]),
        0.4,
    ),
    "variance ratios 1e-5 to 1e5": problem(
        [1, 1, 1, 1], [1, 1e2, 1e-4, 3], [1e2, 1e-3, 10, 4], 0.6
    ),
    "units from 1e-8 to 1e8": problem(
        [1e-8, -1, 1e8],
        [1e-16, 2, 3e16],
        [5e-16, 1, 1e16],
        0.3,
        m2=[2e-8, 1, -3e8],
    ),
    "condition 1e10, by units": problem(
        [1e-5, 1, 1], [1e-10, 1, 2], [4e-10, 1, 1], 0.4
    ),
    "far from the origin": problem(
        [1, 0.5, -1],
        rotated(Q3, [1, 2, 0.5]),
        [1, 6, 3],
        0.6,
        m2=[2.0**20, -(2.0**19), 2.0**20],
    ),
    # Larger.
    "d8": problem(
        [0.3, -0.2, 0.5, 0.1, 0.4, -0.3, 0.2, 0.6],
        rotated(Q8, [0.1, 0.5, 1, 2, 3, 5, 8, 13]),
        rotated(P8, [4, 0.2, 7, 1, 0.6, 2, 10, 1]),
        0.35,
    ),
}
UNDERFLOWING = {
    "errors underflow": problem(
        [150, 60, 40], rotated(Q3, [1, 2, 0.5]), [1, 6, 3], 0.3
    ),
    "errors underflow, equal covariances": problem([120, 0], [1, 2], [1, 2], 0.1),
}
ILL_CONDITIONED = {
    "condition 1e10, rotated": problem(
        1e-5 * Q4.sum(axis=1),
        rotated(Q4, [1, 1e-3, 1e-6, 1e-10]),
        rotated(Q4, [3, 1e-3, 5e-6, 4e-10]),
        0.4,
    ),
}
# The smallest eigenvalue of a float64 matrix is uncertain by the condition number times
# 1e-16, and so is every error that an algorithm in float64 reports.
ILL_ROUNDING = 1e-5

ALL = PROBLEMS | UNDERFLOWING | ILL_CONDITIONED


@functools.cache
def gaussians(name):
    return Gaussians.of(ALL[name])


@functools.cache
def optimum(name):
    return reference.optimum(gaussians(name))


@functools.cache
def fitted(name, solver="global"):
    return fit(ALL[name], solver)


@functools.cache
def attained(name, solver="global"):
    """Return the error of the returned coefficients, from the definition."""
    return error_of(gaussians(name), *rule_of(fitted(name, solver)))


def slack(name, error):
    """Return by how much the attained error may exceed the optimum."""
    if name in ILL_CONDITIONED:
        return min(mp.mpf("1e-8"), mp.mpf("1e-6") * error)
    return min(mp.mpf("1e-12"), mp.mpf("1e-9") * error)


TRIVIAL = {
    "d1 no stationary threshold",
    "d1 local minimum worse than trivial",
    "equal means, narrow rare class",
    "equal Gaussians",
}
SEVERAL_MINIMA = {
    "two minima, d2": 2,
    "three minima, d4": 3,
    "near tie of 4e-6": 2,
    "near tie of 4e-9": 2,
}


def check_name(name):
    """Check that a problem is what its name says."""
    if name in SEVERAL_MINIMA:
        assert optimum(name).minima == SEVERAL_MINIMA[name]
    if name in ("hard case", "hard case, other end", "hard case, double pole"):
        # The place on the arc is missing because the best rule does not lie on it.
        assert optimum(name).theta is None
        assert optimum(name).error < gaussians(name).trivial_error - mp.mpf("0.01")
    if name == "outside the unit interval":
        theta = optimum(name).theta
        assert theta < 0 or theta > mp.pi / 2
        # The grid of s in [0, 1] cannot reach it.
        assert attained(name, "c-hld") > attained(name) + mp.mpf("1e-7")


def check_optimum(name):
    """Check that no linear rule is better."""
    best, ours = optimum(name).error, attained(name)
    assert ours <= best + slack(name, best)
    # Nor can the rule of any solver beat the reference, whose golden section stops
    # short of fifty digits.
    for solver in ("global", *OTHER_SOLVERS):
        theirs = attained(name, solver)
        assert theirs >= ours - slack(name, ours), solver
        assert theirs >= best * (1 - mp.mpf("1e-20")), solver


def check_certificate(name):
    g, model = gaussians(name), fitted(name)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    # The reported error is that of the returned rule.
    reported, gap = float(model.bayes_error_[0]), float(model.gap_[0])
    if name in UNDERFLOWING:
        assert attained(name) < mp.mpf("1e-700")
        assert 0 <= reported < 1e-300
    else:
        tolerance = ILL_ROUNDING if name in ILL_CONDITIONED else 1e-9
        assert reported == pytest.approx(float(attained(name)), rel=tolerance, abs=0)
    # The certificate holds.
    assert 0 <= gap <= 1e-3
    proven = mp.mpf(reported) * (1 - mp.mpf(gap))
    rounding = ILL_ROUNDING if name in ILL_CONDITIONED else 1e-10
    assert optimum(name).error >= proven * (1 - mp.mpf(rounding))
    # The trivial rule is returned exactly where it is the best.
    assert model.trivial_[0] == (name in TRIVIAL)
    if name in TRIVIAL:
        assert optimum(name).hyperplane_error >= g.trivial_error * (1 - mp.eps * 100)
        assert not model.coef_.any()
        assert np.sign(model.intercept_[0]) == np.sign(float(g.p2 - g.p1))
    else:
        assert optimum(name).hyperplane_error < g.trivial_error * (1 - mp.mpf("1e-9"))
        assert model.coef_.any()


def check_threshold(name):
    """Check that no threshold of a scan is better."""
    g = gaussians(name)
    w, w0 = rule_of(fitted(name))
    exact, scale = best_threshold(g, w), threshold_scale(g, w)
    # The intercept is one number for the whole offset w.m2 + t, so that its last digit
    # is relative to the largest term of the sum.
    terms = sum(abs(x * y) for x, y in zip(w, g.m2, strict=True))
    relative = 1e-6 if name in ILL_CONDITIONED else 1e-10
    assert abs(w0 - exact) <= relative * scale + terms * mp.mpf("1e-15")
    # The quadratic equation behind it is checked by brute force: points around both
    # means, each in its own deviation, and between them.
    a, b = dot(w, g.m1), dot(w, g.m2)
    around = [mp.mpf(i) / 2 for i in range(-20, 21)]
    grid = [a + deviation(g.S1, w) * z for z in around]
    grid += [b + deviation(g.S2, w) * z for z in around]
    grid += [b + (a - b) * i / 40 for i in range(41)]
    error, place, _ = minimise(lambda x: error_of(g, w, x), sorted(set(grid)))
    assert attained(name) <= error + slack(name, error)
    relative = 1e-6 if name in ILL_CONDITIONED else 1e-8
    assert abs(place - w0) <= relative * scale


@pytest.mark.parametrize("name", ALL)
def test_optimum_certificate_error_and_threshold(name):
    check_name(name)
    check_optimum(name)
    check_certificate(name)
    if name not in TRIVIAL:
        check_threshold(name)
