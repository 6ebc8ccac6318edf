"""The arc of admissible rules: formulas, monotonicity, bounds and ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.problems import random_pairs
from heterolda.solvers.arc import Arc
from heterolda.solvers.pencil import Pencil


def test_errors_and_ratio_are_monotone_along_the_arc(rng):
    """Theorem: y1 falls, y2 grows and sigma1 / sigma2 grows with theta."""
    for d in (1, 2, 6, 20):
        pencil = Pencil.from_moments(*random_pairs(rng, 5, d, condition=1e4))
        arc = Arc.from_pencil(pencil)
        x = np.linspace(-60, 60, 2001)
        for k in range(5):
            points = arc.evaluate(np.full(len(x), k), x)
            assert np.all(np.diff(points.y1) <= 1e-9 * np.abs(points.y1[1:]))
            assert np.all(np.diff(points.y2) >= -1e-9 * np.abs(points.y2[1:]))
            assert np.all(np.diff(points.log_ratio) >= -1e-9)


@pytest.mark.parametrize("apart", [1.0, 0.01])  # only deviations, with means alike
def test_slopes_and_their_bounds(rng, apart):
    means, *others = random_pairs(rng, 5, 4)
    arc = Arc.from_pencil(Pencil.from_moments(apart * means, *others))
    pair = np.repeat(np.arange(5), 40)
    x, h = np.tile(np.linspace(-5, 5, 40), 5), 1e-5
    near = [arc.evaluate(pair, x + sign * h) for sign in (1, -1)]
    rise = np.exp(near[0].log_error) - np.exp(near[1].log_error)
    clear = np.abs(rise) > 1e-10
    slope = arc.evaluate(pair, x).slope
    assert clear.sum() > 100
    assert np.all(np.sign(slope[clear]) == np.sign(rise[clear]))
    y1, y2, speed = arc.speeds(pair, x)
    assert_allclose([y1, y2], [arc.evaluate(pair, x).y1, arc.evaluate(pair, x).y2])
    assert_allclose(-speed, (near[0].y1 - near[1].y1) / (2 * h), rtol=1e-4, atol=1e-6)
    a, b = np.sort(rng.uniform(-8, 8, (2, len(pair))), axis=0)
    lower, upper = arc.slope_bounds(pair, arc.evaluate(pair, a), arc.evaluate(pair, b))
    for share in np.linspace(0, 1, 21):
        slope = arc.evaluate(pair, a + share * (b - a)).slope
        size = 1e-9 * (1 + np.abs(slope))
        assert np.all(lower <= slope + size)
        assert np.all(slope <= upper + size)


def test_ends_are_the_trivial_rules(rng):
    pencil = Pencil.from_moments(*random_pairs(rng, 3, 4))
    arc, pair = Arc.from_pencil(pencil), np.arange(3)
    for end, x, prior in zip(
        arc.ends(pair), (-100, 100), pencil.priors.T[::-1], strict=True
    ):
        near = arc.evaluate(pair, np.full(3, float(x)))
        assert_allclose(near.log_error, end.log_error, atol=1e-9)
        assert_allclose(np.exp(end.log_error), prior)
