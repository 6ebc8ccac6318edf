"""Rows taken back from statistics, and rows that count less with time."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)

of = ClassStatistics.from_data


def assert_close(a, b, tolerance):
    """Equal statistics, up to a share of the squares in each class."""
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.weights, b.weights, rtol=1e-12)
    size = np.sqrt(np.einsum("kii->ki", b.scatters))
    assert_allclose(a.means / size, b.means / size, rtol=0, atol=tolerance)
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(a.scatters / scale, b.scatters / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("share", "offset"), [(0.01, 0), (0.5, 1e6), (0.99, 0)])
def test_what_was_added_can_be_taken_away(make_classes, rng, offset, share):
    X, y = make_classes(n=2500)
    X = X + offset
    weight = rng.uniform(0.5, 2, len(X))
    leaves = (rng.random(len(X)) < share) | (y == 2)
    a, b = (of(X[some], y[some], weight[some]) for some in (~leaves, leaves))
    # Rounding errors are those of the sums before, and of means far from zero.
    variances = np.einsum("kii->ki", a.covariances())
    far = np.max(1 + np.abs(a.means) / np.sqrt(variances))
    assert_close((a + b) - b, a, 1e-15 * far / (1 - share))
    assert_array_equal(a.classes, [0, 1, 3])


def test_rows_leave_one_by_one_until_none_is_left(rng):
    """A dummy, a large offset, two constants and plain features."""
    n = 240
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6))
    X[:, 0] = rng.random(n) < 0.1
    X[:, 1] += 1e6
    X[:, 2], X[:, 3] = 0.1, 0.0
    y, weight = rng.integers(0, 4, n), rng.uniform(0.1, 3, n)
    stats, order = of(X, y, weight), rng.permutation(n)
    for k, row in enumerate(order):
        if k == 150:
            rest = order[k:]
            naive = of(X[rest], y[rest], weight[rest])
            size = np.sqrt(np.einsum("kii->ki", naive.scatters))
            error = np.abs(stats.scatters - naive.scatters)
            assert np.all(error <= 1e-8 * size[:, :, None] * size[:, None])
            stats.save(file := io.BytesIO())
            file.seek(0)
            assert_array_equal(ClassStatistics.load(file).scatters, stats.scatters)
        stats = stats - of(X[[row]], y[[row]], weight[[row]])
    assert stats.n_classes == 0
    again = of(X, y)
    assert_array_equal((stats + again).scatters, again.scatters)


def test_rows_that_leave_a_class_constant_leave_no_variance(rng):
    X, y = rng.normal(size=(80, 3)), np.tile(np.arange(4), 20)
    X[:40, 1] = 0.1
    rest = of(X, y) - of(X[40:], y[40:])
    assert_array_equal(rest.scatters[:, 1], 0)
    assert np.all(np.einsum("kii->ki", rest.scatters)[:, [0, 2]] > 1)


def test_an_entry_without_rows_stays(make_classes):
    X, y = make_classes(3)
    a = of(X, y).with_classes(np.arange(4))
    b = of(X[:9], y[:9]).with_classes(np.arange(-1, 4))
    assert_array_equal((a - b).classes, np.arange(4))
    assert (a - b).weights[3] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y + 1), r"rows of classes \[4\] cannot be removed"),
        (lambda X, y: (np.tile(X, (2, 1)), np.tile(y, 2)), "class 0 with a negative w"),
        (lambda X, y: (9 * X[:99], y[:99]), "class 0 with a negative weight or varia"),
        (lambda X, y: (X[:1] + 99, y[:1]), "or variance: subtract only"),
        (lambda X, y: (X[:1] * 1e170, y[:1]), "negative weight or variance"),
    ],
)
def test_rows_that_cannot_have_been_there_are_refused(make_classes, change, message):
    X, y = make_classes()
    stats, part = of(X, y), of(*change(X, y))
    with pytest.raises(ValueError, match=message):
        stats - part


def test_what_is_not_sums_over_the_same_labels_is_refused(make_classes):
    X, y = make_classes()
    stats = of(X, y)
    with pytest.raises(TypeError, match="do not mix"):
        stats - of(X, y.astype(str))
    stats.estimated_by = "MinCovDet"
    for take in (lambda: stats - stats, lambda: stats.decayed(0.5)):
        with pytest.raises(ValueError, match="were estimated by MinCovDet"):
            take()


@pytest.fixture
def stream(make_classes):
    X, y = make_classes(n=100)
    return X, y, np.array_split(np.arange(len(X)), 5)


def test_decay_is_a_weight_by_age(stream):
    X, y, chunks = stream
    stats, age = of(X[:0], y[:0]), np.empty(len(X))
    for k, rows in enumerate(chunks):
        before, total = stats, stats.weights.sum()
        stats = stats.decayed(0.8) + of(X[rows], y[rows])
        assert before.weights.sum() == total
        age[rows] = 4 - k
    weighted = of(X, y, 0.8**age)
    assert_close(stats, weighted, 1e-12)
    assert_close(stats.decayed(1), stats, 0)
    assert_array_equal(stats.decayed(0.5).means, stats.means)
    for estimator in (
        GaussianLinearDiscriminant(guard=False),
        HeteroscedasticProjection(guard=False),
    ):
        streamed = clone(estimator)
        for rows in chunks:
            known = {"classes": range(4)} if hasattr(estimator, "predict") else {}
            streamed.partial_fit(X[rows], y[rows], **known, decay=0.8)
        assert_close(streamed.statistics_, weighted, 1e-12)
        assert hasattr(streamed, "priors_")


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_a_class_that_stays_away_is_not_forgotten_altogether(stream):
    X, y, _ = stream
    stats = of(X, y).with_classes(np.arange(5))
    for _ in range(800):
        stats = stats.decayed(0.1)
    assert np.all(stats.weights[:4] > 0)
    assert stats.weights[4] == 0
    model = GaussianLinearDiscriminant().fit(X, y)
    common = y != 3
    for _ in range(4):
        model.partial_fit(X[common], y[common], decay=1e-60)
    assert 0 < model.priors_[3] < 1e-90
    assert 3 not in model.predict(X[common])
    model.partial_fit(X[[0]] + 50, [3])
    assert model.predict(X[[0]] + 50) == [3]


def test_bad_factors_are_refused(stream):
    X, y, _ = stream
    stats, model = of(X, y), GaussianLinearDiscriminant().fit(X, y)
    for factor in (0, -0.1, 1.1, np.nan, "0.9", None):
        with pytest.raises(ValueError, match="factor must be a number above 0 and at"):
            stats.decayed(factor)
        if factor is not None:
            with pytest.raises(ValueError, match="decay must be a number above 0"):
                model.partial_fit(X, y, decay=factor)
    assert_array_equal(model.statistics_.weights, stats.weights)
