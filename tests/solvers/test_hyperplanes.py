"""Scores of rows: finite, of the right sign, and with sums in a fixed order."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.solvers.rules import linear_scores


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
