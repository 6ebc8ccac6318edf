"""ClassStatistics against naive formulas, and under everything that must not matter."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics, GaussianLinearDiscriminant, ParameterError
from heterolda.kernels import class_moments as kernel
from heterolda.statistics.moments import available_memory, check_room

of = ClassStatistics.from_data


def naive(X, y, sample_weight=None):
    """Weights, means and covariances of classes, by the definitions."""
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    result = []
    for label in np.unique(y):
        w, Z = weight[y == label], X[y == label]
        mean = sum(wi * zi for wi, zi in zip(w, Z, strict=True)) / w.sum()
        scatter = sum(
            wi * np.outer(zi - mean, zi - mean) for wi, zi in zip(w, Z, strict=True)
        )
        result.append((w.sum(), mean, scatter / (w.sum() - 1)))
    weights, means, covariances = zip(*result, strict=True)
    return np.array(weights), np.array(means), np.array(covariances)


def assert_same(a, b, rtol=1e-10):
    """Equal statistics, entries compared on the scale of their variances."""
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.weights, b.weights, rtol=rtol)
    size = np.sqrt(np.einsum("kii->ki", b.scatters)) + 1e-300
    assert_allclose(a.means / size, b.means / size, rtol=rtol, atol=rtol)
    scale = size[:, :, None] * size[:, None, :]
    assert_allclose(a.scatters / scale, b.scatters / scale, rtol=0, atol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_naive_formulas(make_classes, rng, weighted):
    X, y = make_classes()
    weight = rng.uniform(0.5, 2, len(X)) if weighted else None
    stats = of(X, y, weight)
    weights, means, covariances = naive(X, y, weight)
    assert_allclose(stats.weights, weights, rtol=1e-13)
    assert_allclose(stats.means, means, rtol=1e-11, atol=1e-12)
    assert_allclose(stats.covariances(), covariances, rtol=1e-11, atol=1e-12)
    copies = rng.integers(0, 4, len(X))
    assert_same(of(X, y, copies), of(np.repeat(X, copies, 0), np.repeat(y, copies)))


def test_chunks_of_any_size_in_any_order_equal_the_whole(make_classes, rng):
    X, y = make_classes(n=100)
    w = rng.uniform(0, 2, len(y))
    whole = of(X, y, w)
    edges = np.sort(rng.integers(0, len(X), 30))  # some chunks are empty
    stats, parts = of(X[:0], y[:0]), []
    for a, b in itertools.pairwise([0, *edges, len(X)]):
        kept = stats.copy()
        assert stats.update(X[a:b], y[a:b], w[a:b]) is stats
        assert kept.weights.sum() == pytest.approx(w[:a].sum())
        parts.append(of(X[a:b], y[a:b], w[a:b]))
    assert_same(stats, whole)
    for _ in range(5):
        assert_same(sum(parts[i] for i in rng.permutation(len(parts))), whole)
    left, right = (parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2])
    assert_same(left, right)


def test_a_class_without_weight_adds_nothing(make_classes):
    X, y = make_classes()
    whole = of(X, y)
    part, rest = (of(X[own], y[own]) for own in (y != 2, y == 2))
    part, rest = (one.with_classes(np.arange(4)) for one in (part, rest))
    assert part.weights[2] == 0
    for merged in (part + rest, rest + part, sum([part, rest]), part + whole):
        assert_array_equal(merged.scatters[2], whole.scatters[2])
        assert_array_equal(merged.means[2], whole.means[2])
        assert merged.weights[2] == 60
    assert_same(part.without_empty_classes(), of(X[y != 2], y[y != 2]))
    model = GaussianLinearDiscriminant().partial_fit(X, y, range(4))
    with pytest.raises(ValueError, match=r"labels \[9\] that are not among the class"):
        model.partial_fit(X, np.where(y == 3, 9, y))


def test_merge_takes_the_union_of_classes():
    merged = of([[1.0], [2.0]], ["b", "b"]) + of([[5.0], [7.0], [8.0]], list("abc"))
    assert merged.classes.tolist() == ["a", "b", "c"]
    assert merged.weights.tolist() == [1, 3, 1]
    assert merged.means[:, 0].tolist() == pytest.approx([5, 10 / 3, 8])


@pytest.mark.parametrize("offset", [1e9])
def test_offsets_lose_nothing_visible(make_classes, offset):
    X, y = make_classes(n=500)
    X = np.round(X * 2**12) / 2**12  # so that adding the offset is exact
    plain, moved = of(X, y), of(X + offset, y)
    for a, b in zip(moved.covariances(), plain.covariances(), strict=True):
        assert_allclose(a, b, rtol=0, atol=1e-10 * np.max(b))
    # A mean near 1e9 is stored to 1e-7 at best: one unit in its last place.
    assert_allclose(moved.means, plain.means + offset, rtol=4e-16)


@pytest.mark.parametrize("first", [1e9])
def test_a_first_row_far_from_all_others_costs_no_digits(rng, first, monkeypatch):
    """An outlier first, in a buffer of its own: the others' scatter is not blurred."""
    X = rng.normal(size=(400, 2))
    X[0] = first
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    centered = X - X.mean(axis=0)
    for rows in (X, X[::-1]):  # the outlier last, when the mean is known already
        stats = of(rows, np.zeros(400, int))
        assert_allclose(stats.scatters[0], centered.T @ centered, rtol=1e-12)


def test_drifting_data_loses_no_digits(rng, monkeypatch):
    """Chunks whose means move away from what is known, by many deviations."""
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    X = rng.normal(size=(2000, 3)) + 1e4 * np.arange(2000)[:, None]
    X[:, 2] += 1e9
    centered = X - X.mean(axis=0)
    scatters = of(X, np.zeros(2000, int)).scatters
    assert_allclose(scatters[0], centered.T @ centered, rtol=1e-11)


def test_a_constant_column_has_exactly_no_variance(make_classes):
    X, y = make_classes(n=333)
    for value in (0.1, 1e9 + 0.1, -3e-5):
        X[:, 1] = value
        stats = of(X[:500], y[:500]).update(X[500:], y[500:])
        assert not stats.scatters[:, 1].any()
        assert_array_equal(stats.means[:, 1], value)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_no_full_copy_of_the_data_is_made(rng, layout):
    X = np.asarray(rng.normal(size=(100_000, 50)), order=layout)
    y = rng.integers(0, 5, len(X))
    tracemalloc.start()
    of(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * X.nbytes


def test_repr():
    stats = of(np.eye(4), [0, 0, 1, 1])
    assert repr(stats) == "ClassStatistics(n_classes=2, n_features=4, weights=[2. 2.])"
    text = of(np.eye(4), ["<b>", *"aaa"])._repr_html_()
    assert "Statistics of 2 classes and 4 features" in text
    assert '<th scope="row">&lt;b&gt;</th><td>1</td><td>25.0 %</td>' in text
    many = of(np.eye(14), np.arange(14), np.zeros(14))
    assert "and 4 more" in many._repr_html_()


# Moments of users


GOOD = {
    "classes": [0, 1],
    "counts": [10, 20],
    "means": [[0.0, 1], [2, 3]],
    "covariances": [np.eye(2), [[2.0, 0.5], [0.5, 1]]],
}


def test_from_moments_inverts_covariances(make_classes):
    stats = of(*make_classes())
    order = [2, 0, 3, 1]
    moments = stats.classes, stats.weights, stats.means, stats.covariances()
    again = ClassStatistics.from_moments(*(one[order] for one in moments))
    assert_same(again, stats, rtol=1e-14)
    # Rounding is forgiven.
    cov = np.array([[1.0, 1.0], [1.0 + 1e-12, 1.0 - 1e-12]])
    stats = ClassStatistics.from_moments([0, 1], [5, 5], np.zeros((2, 2)), [cov, cov])
    assert_array_equal(stats.scatters, stats.scatters.mT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [0, 0]}, "classes must be"),
        ({"classes": [[0], [1]]}, "classes must be"),
        ({"classes": [0.5, 1.7]}, "label"),
        ({"counts": [10, 1]}, "counts must exceed 1"),
        ({"counts": [10, np.nan]}, "counts contains NaN"),
        ({"counts": [10, 20, 30]}, r"must have shapes \(2,\), .* got \(\(3,\)"),
        ({"means": [[0.0, 1], [2, np.inf]]}, "means contains NaN"),
        ({"means": ["a", "b"]}, "means must be real numbers"),
        ({"means": [0.0, 1.0]}, "means must have 2 dimensions"),
        ({"means": np.zeros((2, 0))}, "covariances must have shapes"),
        ({"means": [[0.0, 1], [1e200, 3]]}, "means: the values of feature 0 .* overfl"),
        ({"covariances": np.ones((2, 3, 3))}, "covariances must have shapes"),
        ({"covariances": [np.eye(2), [[1, 0.5], [0.1, 1]]]}, "not symmetric"),
        ({"means": np.full((2, 2), 1e308)}, "sums overflow"),
        ({"covariances": [np.eye(2), [[1, 2], [2, 1]]]}, "indefinite"),
        ({"covariances": [np.eye(2), -np.eye(2)]}, "of class 1 has a negative"),
        ({"covariances": [np.eye(2), [[0, 1], [1, 0]]]}, "indefinite"),
        ({"covariances": [1e-310 * np.eye(2)] * 2}, "^covariances: .* underflow"),
        ({"covariances": [1e308 * np.eye(2)] * 2}, "^covariances: .* overflow"),
    ],
)
def test_from_moments_refuses_what_is_no_moment(change, message):
    ClassStatistics.from_moments(**GOOD)
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_moments(**(GOOD | change))


# What is refused


def test_refused_data_leaves_the_statistics_unchanged(make_classes):
    X, y = make_classes()
    stats = of(X, y)
    before = {k: np.copy(v) for k, v in vars(stats).items() if v is not None}
    for chunk, labels in (
        (X[:, :2], y),
        (np.where(X > 1, np.nan, X), y),
        (X * 1e200, y),
        (X, y.astype(str)),
        (X, y[:-1]),
    ):
        with pytest.raises((ValueError, TypeError)):
            stats.update(chunk, labels)
    for name, value in before.items():
        assert_array_equal(getattr(stats, name), value)


def test_bad_weights_are_refused():
    for weight, message in (
        ([1, -1, 1, 1], "sample_weight has negative values"),
        ([1, np.nan, 1, 1], "sample_weight must be finite numbers.*NaN"),
        ([1, np.inf, 1, 1], "sample_weight must be finite numbers.*infinity"),
        (["a", "b", "c", "d"], "sample_weight must be finite numbers"),
        ([1e300, 1, 1, 1], "sample_weight has values above"),
        ([1, 1, 1], "sample_weight must have one entry"),
        ([[1, 1, 1, 1]], "sample_weight must be finite numbers, one for"),
    ):
        for given in (weight, np.array(weight)):  # the latter may pass at once
            with pytest.raises(ValueError, match=message):
                of(np.eye(4), [0, 0, 1, 1], given)


def test_squares_that_leave_the_range_of_float64_are_refused(make_classes):
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"feature 1 .* overflow"):
        of(X * [1, 1e200, 1], y)
    with pytest.raises(ValueError, match=r"feature 2 .* underflow") as caught:
        of(X * [1, 1, 1e-200], y)
    again = pickle.loads(pickle.dumps(caught.value))  # as joblib and Dask do
    assert str(again) == str(caught.value)
    assert again.feature == 2
    for near, far in (([[0.0]] * 2, [[1e200]] * 2), ([[1e308]], [[-1e308]])):
        with pytest.raises(ValueError, match=r"^other: .* feature 0 .* overflow"):
            of(near, [0] * len(near)) + of(far, [0] * len(far))
    with pytest.raises(ValueError, match="underflow"):
        of([[0.0]], [0]).update([[1e-170]], [0])


def test_merges_that_mean_nothing_are_refused(make_classes):
    X, y = make_classes()
    a = of(X, y)
    with pytest.raises(ValueError, match=r"^statistics of 3 and of 2 .* same columns$"):
        a + of(X[:, :2], y)
    with pytest.raises(TypeError, match="do not mix"):
        a + of(X, y.astype(str))
    large = of(np.eye(2), np.array([2**60, 2**60 + 1]))
    with pytest.raises(TypeError, match="do not mix"):  # they would collapse
        large + of(np.eye(2), np.array([2**60 + 1, 2], dtype=np.uint64))
    for wrong in (lambda: a + 1, lambda: 1 + a, lambda: a - 1):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()
    named, other = (of(pd.DataFrame(X, columns=list(n)), y) for n in ("abc", "acb"))
    with pytest.raises(ValueError, match=r"^statistics of different features cannot"):
        named + other
    assert (a + named).feature_names.tolist() == ["a", "b", "c"]
    assert (named + a).feature_names.tolist() == ["a", "b", "c"]


def test_covariances_larger_than_memory_are_refused(monkeypatch):
    name = "heterolda.statistics.moments.available_memory"
    check_room(100, 100)
    monkeypatch.setattr(name, lambda: 1e9)
    with pytest.raises(ValueError, match=r"1.6 GB, and a fit needs 12.8 .* fewer feat"):
        check_room(2, 10**4)
    check_room(2, 5000, fit=False)  # the matrices alone would do
    with pytest.raises(ValueError, match=r"a fit needs 3.2 GB, but only 1.0 GB"):
        check_room(2, 5000)
    monkeypatch.setattr(name, lambda: None)  # nobody knows
    check_room(1000, 10**6)


# Covariances


def naive_shrinkage(X, y, rho):
    """Section by section as the documentation says."""
    weights, _, covariances = naive(X, y)
    d = X.shape[1]
    dof = weights.sum() - len(weights)
    pooled = sum((w - 1) * c for w, c in zip(weights, covariances, strict=True)) / dof
    gamma = d / (dof + d) if np.linalg.matrix_rank(pooled) < d else 0.0
    if isinstance(rho, tuple):
        rho, gamma = rho
    if gamma:
        pooled = (1 - gamma) * pooled + gamma * np.diag(np.diag(pooled))
    shrunk = []
    for w, c in zip(weights, covariances, strict=True):
        r = d / (w + d) if rho == "auto" else rho
        shrunk.append((1 - r) * c + r * pooled)
    return np.array(shrunk)


@pytest.mark.parametrize("n", [60, 3])  # with 3 rows the pooled one is singular
def test_shrinkage_equals_its_definition(make_classes, n):
    X, y = make_classes(n=n, d=9)
    for rho in (0.0, 0.3, 1.0, "auto", (0.3, 0.1), (0.3, 0.0), (1, 1), (0, 0.5)):
        cov = of(X, y).covariances(rho)
        assert_allclose(cov, naive_shrinkage(X, y, rho), rtol=1e-10, atol=1e-11)
        if rho not in (0.0, (0, 0.5)) and (n > 3 or rho != (0.3, 0.0)):
            assert all(np.linalg.eigvalsh(c)[0] > 0 for c in cov)


def test_a_class_of_weight_one_has_no_covariance():
    stats = of([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    assert_allclose(stats.covariances()[1], stats.scatters[0])  # the pooled one
    few = (
        r"^classes \['b'\] have a total weight .* of 1 or less, from which no "
        r"covariance can be estimated: add samples of these classes or leave them out$"
    )
    for none in (0, (0, 0.5)):
        with pytest.raises(ValueError, match=few):
            stats.covariances(none)
    assert_allclose(stats.covariances((0.2, 0.5))[1], stats.scatters[0])
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\] have a total weight"):
        of(np.eye(3), ["a", "b", "c"]).covariances()
    with pytest.raises(ValueError, match=r"less \(every sample_weight is zero\), "):
        of(np.eye(2), [0, 1], [0.0, 0.0]).covariances()
    for wrong in ("much", 1.5, np.array([0.5, 0.5]), (0.5, 1.5), [0.5], ("a", 0)):
        with pytest.raises(ParameterError, match="shrinkage must be"):
            of(np.eye(4), [0, 0, 1, 1]).covariances(wrong)


def test_given_moments_that_have_decayed_borrow():
    """Below a weight of one their variances were negative."""
    given = [0, 1], [2, 100], [[0.0], [1.0]], [[[1.0]], [[2.0]]]
    few = ClassStatistics.from_moments(*given).decayed(0.4)
    assert_allclose(few.covariances().ravel(), [79.6 / 39, 79.2 / 39])
    exact = ClassStatistics.from_moments(*given).decayed(0.6)
    assert_allclose(exact.covariances().ravel(), [0.6 / 0.2, 2 * 0.6 * 99 / 59])


def test_free_memory_is_known_with_and_without_proc(monkeypatch):
    free = available_memory()
    assert 1e6 < free < 1e15
    monkeypatch.setattr("heterolda.statistics.moments.open", _no_file, raising=False)
    assert available_memory() >= free


def _no_file(*args, **settings):
    raise OSError
