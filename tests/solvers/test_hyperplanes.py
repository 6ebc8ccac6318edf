"""Scores of rows: finite, of the right sign, and with sums in a fixed order."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.solvers.hyperplanes import linear_scores, settle_ties


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


def test_ties_are_settled_by_the_sum_from_left_to_right(rng):
    """Thresholds on the rows themselves: the order of the sum decides their sides."""
    rows = rng.normal(size=(50, 5))
    coef = rng.normal(size=(50, 5))
    sums = np.array(
        [
            sum((w * x for w, x in zip(-w, row, strict=True)), start=0.0)
            for w, row in zip(coef, rows, strict=True)
        ]
    )
    exact = np.nextafter(sums, rng.choice([-np.inf, np.inf], 50))
    scores = linear_scores(rows, coef.T, exact)
    settled = settle_ties(scores.copy(), rows, coef, exact)
    assert_array_equal(np.diag(settled), exact - sums)
    assert np.all(np.diag(settled) != 0)
    others = ~np.eye(50, dtype=bool)
    assert_allclose(settled[others], scores[others], atol=1e-13)
