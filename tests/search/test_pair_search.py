"""What is kept of the search for the rule of a pair."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from heterolda.search.pair_search import score_moments


def test_moments_of_scores_are_those_of_copies_of_rows(rng):
    first, copies = np.arange(60) % 3 == 0, rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), copies)
    scores = rng.normal(size=60)
    expected = [
        (s.mean(), s.std(ddof=1))
        for s in (scores[rows][c[rows]] for c in (first, ~first))
    ]
    for scale in (1e-200, 1.0, 1e200):  # squares stay in the range
        found = score_moments(scale * scores, first, copies.astype(float))
        assert_allclose(found / scale, expected, 1e-12)
        assert_allclose(score_moments(scale * scores[rows], first[rows], None), found)
    alone = score_moments(np.array([3.0, 4.0]), np.array([True, False]), None)
    assert_array_equal(alone, [[3.0, 0.0], [4.0, 0.0]])
