"""Votes of pairs of classes, against sums in exact arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers.problems import votes_of, winners_of
from heterolda.kernels.votes import count_votes, winners_of_votes


@pytest.mark.parametrize("kind", ["weighted", "coarse", "majority"])
def test_votes_and_winners_equal_those_in_fractions(rng, kind):
    for k in (2, 3, 4, 5, 9, 60):
        n_pairs = k * (k - 1) // 2
        weight = {
            "weighted": np.round(2**26 * rng.uniform(0.5, 1, n_pairs)) / 2**26,
            "coarse": rng.integers(4, 9, n_pairs) / 8,  # exact ties of unequal weights
            "majority": np.ones(n_pairs),
        }[kind]
        scores = rng.normal(size=(60, n_pairs))
        scores[:30] = np.sign(scores[:30])
        votes = count_votes(scores, weight)
        exact = [row for row, _ in votes_of(scores, weight, k)]
        assert_array_equal(votes, np.array(exact, float))
        assert_array_equal(
            winners_of_votes(votes, scores), winners_of(scores, weight, k)
        )
        weights = np.tile(weight, (60, 1))
        assert_array_equal(count_votes(scores, weights), votes)
