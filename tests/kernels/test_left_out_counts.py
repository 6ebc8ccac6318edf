"""Rules without a row: the compiled counts against the scores of each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heterolda.kernels as kernels_package
from heterolda import ClassStatistics, Global
from heterolda.kernels.left_out_counts import left_out_counts
from heterolda.kernels.rule_counts import RowsOfPairs
from heterolda.solvers import Moments, all_pairs, solve
from heterolda.solvers.left_out import arc_weights, left_out_scores
from heterolda.statistics.rows import Rows

pytestmark = pytest.mark.skipif(
    kernels_package.compiled is None, reason="no compiled kernels"
)


def counted(X, y, weight=None, frequencies=True, layout=np.ascontiguousarray):
    """Counts of all pairs by the kernel and by `left_out_scores`, and where by both."""
    statistics = ClassStatistics.from_data(X, y, weight)
    k = statistics.n_classes
    pairs, weights = all_pairs(k), statistics.weights
    priors = weights / weights.sum() if frequencies else np.arange(1, k + 1) / k
    shares = priors[pairs] / priors[pairs].sum(axis=1, keepdims=True)
    known = statistics.means, statistics.covariances(), weights
    moments = Moments(known[0], known[1], priors, weights, pairs)
    planes = solve(moments, Global())
    order, bounds = Rows(X, y, weight, np.arange(k)).by_class
    ones = np.ones(k, bool), np.ones(len(pairs), bool)
    rows = RowsOfPairs(layout(X), weight, order, bounds, ones[0], pairs, ones[1])
    arc = np.column_stack(arc_weights(planes))
    log_odds = np.log(shares[:, 0] / shares[:, 1])
    rules = arc, planes.deviations, planes.trivial, planes.coef
    counts, handed = left_out_counts(
        rows, known, log_odds, rules, planes.fisher_coef, frequencies=frequencies
    )
    expected = np.zeros_like(counts)
    for pair, place in np.ndindex(handed.shape):
        mine = np.flatnonzero(y == pairs[pair, place])
        w = np.ones(len(mine)) if weight is None else weight[mine]
        one = np.array([pair])
        scores = left_out_scores(
            moments.take(one),
            planes.take(one),
            np.array([place]),
            X[mine].astype(float),
            None if weight is None else w,
            frequencies=frequencies,
        )
        if np.isnan(scores).any():
            assert handed[pair, place]
            continue
        ours, fisher = ((score[0] > 0) != place for score in scores)
        expected[pair, place] = w @ np.transpose([ours, fisher, ours != fisher])
    return counts, expected, ~handed


def draw(rng, sizes, d, spread=1.0):
    X = [
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + spread * rng.normal(size=d)
        for n in sizes
    ]
    return np.vstack(X), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 17])
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_signs_are_those_of_the_scores(rng, d, spread):
    """Weights on the arc may be negative, and classes next to too small."""
    n_compared = 0
    for _ in range(6):
        sizes = rng.integers(d + 3, 5 * d + 6, size=4)
        X, y = draw(rng, sizes, d, spread)
        X[:, 0] *= 1e6
        X += 1e3 * rng.normal(size=d)
        counts, expected, where = counted(X, y)
        assert_allclose(counts[where], expected[where], atol=1e-12)
        n_compared += np.count_nonzero(where)
    assert n_compared > 40


@pytest.mark.parametrize("frequencies", [False, True])
def test_weights_priors_and_layouts(rng, frequencies):
    X, y = draw(rng, (30, 20, 25), 4)
    weight = rng.integers(1, 4, len(y)).astype(float)
    for layout in (np.ascontiguousarray, np.asfortranarray):
        found = counted(X, y, weight, frequencies, layout)
        assert found[2].all()
        assert_allclose(*found[:2])
    single = X.astype(np.float32)
    found = counted(single, y, layout=np.asarray)
    assert found[2].all()
    assert_allclose(*found[:2])
    # A row of which less than one copy is there is left to the scores.
    weight[3] = 0.5
    assert counted(X, y, weight)[2].sum() == 4


def test_a_trivial_rule(rng):
    X, y = draw(rng, (60, 12), 1, 0.0)
    X[y == 1] = 1e-3 * X[y == 1] / X[y == 1].std() + X[y == 0].mean()
    counts, expected, where = counted(X, y)
    assert_allclose(counts[where], expected[where])


def test_next_to_singular_pairs_are_handed_over(rng):
    X, y = draw(rng, (30, 25, 20), 3)
    X[:, 2] = X[:, 0] + 1e-7 * X[:, 1]
    assert not counted(X, y)[2].any()
    # A feature that is constant in both classes does no harm.
    X[:, 2] = 1.0
    counts, expected, where = counted(X, y)
    assert where.sum() >= 4
    assert_allclose(counts[where], expected[where])
