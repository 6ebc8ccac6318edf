"""Rules: thresholds, scores, and the record itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.solvers import Rules
from heterolda.solvers.rules import best_threshold


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
