"""Rules: thresholds, scores, and the record itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.kernels.ordered_scores import linear_scores
from heterolda.solvers import Rules
from heterolda.solvers.rules import best_threshold


def test_scores_that_overflow_keep_their_sign(rng):
    coef, intercept = rng.normal(size=(3, 4)), rng.normal(size=3)
    rows = rng.normal(size=(20, 4))
    plain = linear_scores(rows, coef.T, intercept)
    assert_allclose(plain, rows @ coef.T + intercept)
    huge = rows.copy()
    huge[::2] *= 1e305  # times coefficients of 1e10 that is beyond float64
    scores = linear_scores(huge, 1e10 * coef.T, 1e10 * intercept)
    assert np.isfinite(scores).all()
    assert_allclose(scores[1::2], 1e10 * plain[1::2])
    assert_array_equal(np.sign(scores[::2]), np.sign(rows[::2] @ coef.T))


def test_rules_that_no_solver_found_have_no_rival():
    rules = Rules.from_projections(
        np.ones((2, 1)),
        np.zeros(2),
        np.full(2, 0.1),
        n_iter=np.ones(2, int),
        means=np.array([[-1.0, 1.0], [0.0, 0.0]]),
        deviations=np.zeros((2, 2)),
    )
    assert_array_equal(rules.trivial, [False, True])
    assert (rules.deviations[0] > 0).all()  # "none" is next to nothing
    with pytest.raises(ValueError, match="without Fisher's"):
        rules.fisher  # noqa: B018
    first = rules.take(np.array([0]))
    assert_array_equal(rules.replaced(np.array([1]), first).trivial, [False, False])
    assert_array_equal(rules.trivial, [False, True])


@pytest.mark.parametrize("factor", [1e-140, 1.0, 1e140])
def test_best_threshold_as_printed(rng, factor):
    """Equation (39) itself, for both signs of D, and at any length of w."""
    for _ in range(100):
        mu1, mu2 = rng.normal(size=2)
        s1, s2 = np.exp(rng.normal(size=2))
        tau = rng.uniform(0.2, 5)
        inside = (mu1 - mu2) ** 2 + 2 * (s1**2 - s2**2) * np.log(tau * s1 / s2)
        scaled = factor * np.array([[mu1 - mu2], [s1], [s2]])
        t = best_threshold(*scaled, np.log([tau]))[0] / factor
        if inside < 0:
            assert np.isnan(t)
            continue
        w0 = mu2 * s1**2 - mu1 * s2**2 + s1 * s2 * np.sqrt(inside)
        w0 /= s1**2 - s2**2
        assert_allclose(t, w0 - mu2, rtol=1e-6, atol=1e-8)
