"""ClassStatistics against naive formulas, and under everything that must not matter."""

import io
import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics, ParameterError
from heterolda.kernels import class_moments as kernel
from heterolda.statistics.moments import check_room


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
    stats = ClassStatistics.from_data(X, y, weight)
    weights, means, covariances = naive(X, y, weight)
    assert_allclose(stats.weights, weights, rtol=1e-13)
    assert_allclose(stats.means, means, rtol=1e-11, atol=1e-12)
    assert_allclose(stats.covariances(), covariances, rtol=1e-11, atol=1e-12)


def test_weight_is_repetition(make_classes, rng):
    X, y = make_classes()
    weight = rng.integers(0, 4, len(X))
    repeated = ClassStatistics.from_data(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert_same(ClassStatistics.from_data(X, y, weight), repeated)


def test_chunks_of_any_size_equal_the_whole(make_classes, rng):
    X, y = make_classes(n=100)
    w = rng.uniform(0, 2, len(y))
    whole = ClassStatistics.from_data(X, y, w)
    edges = np.sort(rng.integers(0, len(X), 30))  # some chunks are empty
    stats = ClassStatistics.from_data(X[: edges[0]], y[: edges[0]], w[: edges[0]])
    for a, b in itertools.pairwise([*edges, len(X)]):
        assert stats.update(X[a:b], y[a:b], w[a:b]) is stats
    assert_same(stats, whole)


def test_merge_in_any_order_gives_the_same(make_classes, rng):
    X, y = make_classes(n=50)
    parts = [
        ClassStatistics.from_data(X[rows], y[rows])
        for rows in np.array_split(rng.permutation(len(X)), 7)
    ]
    whole = ClassStatistics.from_data(X, y)
    for _ in range(5):
        order = rng.permutation(7)
        assert_same(sum(parts[i] for i in order), whole)
    left = (parts[0] + parts[1]) + parts[2]
    right = parts[0] + (parts[1] + parts[2])
    assert_same(left, right)


def test_a_class_without_weight_adds_nothing(make_classes):
    X, y = make_classes()
    whole = ClassStatistics.from_data(X, y)
    some = y != 2
    part = ClassStatistics.from_data(X[some], y[some]).with_classes(np.arange(4))
    rest = ClassStatistics.from_data(X[~some], y[~some]).with_classes(np.arange(4))
    assert part.weights[2] == 0
    for merged in (part + rest, rest + part, sum([part, rest]), part + whole):
        np.testing.assert_array_equal(merged.scatters[2], whole.scatters[2])
        np.testing.assert_array_equal(merged.means[2], whole.means[2])
        assert merged.weights[2] == 60


def test_merge_takes_the_union_of_classes():
    a = ClassStatistics.from_data([[1.0], [2.0]], ["b", "b"])
    b = ClassStatistics.from_data([[5.0], [7.0], [8.0]], ["a", "b", "c"])
    merged = a + b
    assert merged.classes.tolist() == ["a", "b", "c"]
    assert merged.weights.tolist() == [1, 3, 1]
    assert merged.means[:, 0].tolist() == pytest.approx([5, 10 / 3, 8])


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_offsets_lose_nothing_visible(make_classes, offset):
    X, y = make_classes(n=500)
    X = np.round(X * 2**12) / 2**12  # so that adding the offset is exact
    plain = ClassStatistics.from_data(X, y)
    moved = ClassStatistics.from_data(X + offset, y)
    for a, b in zip(moved.covariances(), plain.covariances(), strict=True):
        assert_allclose(a, b, rtol=0, atol=1e-10 * np.max(b))
    # A mean near 1e9 is stored to 1e-7 at best: one unit in its last place.
    assert_allclose(moved.means, plain.means + offset, rtol=4e-16)


def test_blocks_and_buffers_do_not_matter(make_classes, rng, monkeypatch):
    X, y = make_classes(n=200)
    weight = rng.uniform(0, 2, len(X))
    whole = ClassStatistics.from_data(X, y, weight)
    monkeypatch.setattr(kernel, "_SORTED_ROWS", 37)
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    assert_same(ClassStatistics.from_data(X, y, weight), whole)


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, -3e-5])
def test_a_constant_column_has_exactly_no_variance(make_classes, value):
    X, y = make_classes(n=333)
    X[:, 1] = value
    stats = ClassStatistics.from_data(X[:500], y[:500]).update(X[500:], y[500:])
    assert not stats.scatters[:, 1].any()
    assert_array_equal(stats.means[:, 1], value)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u2", "i8", "?", ">f8", object])
def test_other_types_are_summed_in_float64(rng, dtype):
    X = rng.integers(0, 2 if dtype == "?" else 100, size=(300, 3)).astype(dtype)
    y = np.arange(300) % 4
    assert_same(
        ClassStatistics.from_data(X, y),
        ClassStatistics.from_data(X.astype(float), y),
        rtol=1e-14,
    )


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("layout", ["fortran", "negative strides", "read-only memmap"])
def test_memory_layout_does_not_matter(
    make_classes, tmp_path, layout, dtype, monkeypatch
):
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1000)  # several chunks
    X, y = make_classes()
    X = X.astype(dtype)
    expected = ClassStatistics.from_data(X, y)
    before = X.copy()
    if layout == "fortran":
        given = np.asfortranarray(X)
    elif layout == "negative strides":
        given = X[::-1].copy()[::-1]
    else:
        np.save(tmp_path / "X.npy", X)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same(ClassStatistics.from_data(given, y), expected, rtol=1e-13)
    assert_array_equal(given, before)  # the data is not written to


@pytest.mark.parametrize("layout", ["C", "F"])
def test_no_full_copy_of_the_data_is_made(rng, layout):
    X = np.asarray(rng.normal(size=(200_000, 50)), order=layout)
    y = rng.integers(0, 5, len(X))
    tracemalloc.start()
    ClassStatistics.from_data(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * X.nbytes


def test_from_moments_inverts_covariances(make_classes):
    X, y = make_classes()
    stats = ClassStatistics.from_data(X, y)
    shuffled = [2, 0, 3, 1]
    again = ClassStatistics.from_moments(
        stats.classes[shuffled],
        stats.weights[shuffled],
        stats.means[shuffled],
        stats.covariances()[shuffled],
    )
    assert_same(again, stats, rtol=1e-14)


@pytest.mark.parametrize(
    "labels", [[3, 1], ["no", "yes"], [False, True], [1.0, 2.0], ["é", "日本"]]
)
def test_save_and_load(make_classes, tmp_path, labels):
    X, y = make_classes(n_classes=2)
    stats = ClassStatistics.from_data(X, np.array(labels)[y])
    stats.save(tmp_path / "stats.npz")
    again = ClassStatistics.load(tmp_path / "stats.npz")
    assert again.classes.dtype == stats.classes.dtype
    for name in ("classes", "weights", "means", "scatters"):
        assert_array_equal(getattr(again, name), getattr(stats, name))
    assert again.feature_names is None
    assert [p.name for p in tmp_path.iterdir()] == ["stats.npz"]
    file = io.BytesIO()
    stats.save(file)
    again = ClassStatistics.load(io.BytesIO(file.getvalue()))
    assert_array_equal(again.scatters, stats.scatters)
    assert again.classes.tolist() == stats.classes.tolist()
    with pytest.raises(ValueError, match=r"\(an open file\) is not a readable file"):
        ClassStatistics.load(io.BytesIO(file.getvalue()[:-40]))


def test_save_keeps_object_labels_and_feature_names(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3, 5], "b": [2.0, 1, 7, 3]})
    y = np.array(["x", "x", "y", "y"], dtype=object)
    stats = ClassStatistics.from_data(frame, y)
    stats.save(tmp_path / "s.npz")
    again = ClassStatistics.load(tmp_path / "s.npz")
    assert again.classes.dtype == object
    assert list(again.feature_names) == ["a", "b"]
    assert list((stats + again).feature_names) == ["a", "b"]


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    stats = ClassStatistics.from_data([[1.0], [2.0]], [0, 0])
    path = tmp_path / "s.npz"
    stats.save(path)
    content = path.read_bytes()

    def interrupted(file, **arguments):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stats.save(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["s.npz"]


def test_load_refuses_what_is_no_statistics(tmp_path):
    stats = ClassStatistics.from_data([[1.0], [2.0]], [0, 0])
    stats.save(tmp_path / "good.npz")
    good = dict(np.load(tmp_path / "good.npz"))
    bad = {
        "missing": {k: v for k, v in good.items() if k != "means"},
        "shape": good | {"weights": np.ones(3)},
        "text": good | {"means": np.array([["a"]])},
        "pickle": good | {"classes": np.array([{"a": 1}], dtype=object)},
    }
    for name, content in bad.items():
        np.savez(tmp_path / f"{name}.npz", **content)
        with pytest.raises(ValueError, match="not a readable file of class statistics"):
            ClassStatistics.load(tmp_path / f"{name}.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    for name, data in {"cut": whole[:-40], "empty": b"", "junk": b"\x80junk"}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match="not a readable file of class statistics"):
            ClassStatistics.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        ClassStatistics.load(tmp_path / "absent.npz")
    with pytest.raises(FileNotFoundError, match="absent"):
        stats.save(tmp_path / "absent" / "s.npz")


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


TWO = (0.3, 0.1), (0.3, 0.0), (1, 1), (0, 0.5)


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0, "auto", *TWO])
@pytest.mark.parametrize("n", [60, 3])  # with 3 rows the pooled one is singular
def test_shrinkage_equals_its_definition(make_classes, rho, n):
    X, y = make_classes(n=n, d=9)
    cov = ClassStatistics.from_data(X, y).covariances(rho)
    assert_allclose(cov, naive_shrinkage(X, y, rho), rtol=1e-10, atol=1e-11)
    if rho not in (0.0, (0, 0.5)) and (n > 3 or rho != (0.3, 0.0)):
        assert all(np.linalg.eigvalsh(c)[0] > 0 for c in cov)


GOOD = {
    "classes": [0, 1],
    "counts": [10, 20],
    "means": [[0.0, 1], [2, 3]],
    "covariances": [np.eye(2), [[2.0, 0.5], [0.5, 1]]],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [0, 0]}, "classes must be"),
        ({"classes": [[0], [1]]}, "classes must be"),
        ({"counts": [10, 1]}, "counts must exceed 1"),
        ({"counts": [10, np.nan]}, "counts contains NaN"),
        ({"counts": [10, 20, 30]}, "one entry per class"),
        ({"means": [[0.0, 1], [2, np.inf]]}, "means contains NaN"),
        ({"means": ["a", "b"]}, "means must be real numbers"),
        ({"means": [0.0, 1.0]}, "means must have 2 dimensions"),
        ({"covariances": np.ones((2, 3, 3))}, "covariances must have shape"),
        ({"covariances": [np.eye(2), [[1, 0.5], [0.1, 1]]]}, "not symmetric"),
        ({"covariances": [np.eye(2), [[1, 2], [2, 1]]]}, "indefinite"),
        ({"covariances": [np.eye(2), [[-1, 0], [0, 1]]]}, "negative variance"),
        ({"covariances": [np.eye(2), [[0, 1], [1, 0]]]}, "indefinite"),
    ],
)
def test_from_moments_refuses_what_is_no_moment(change, message):
    ClassStatistics.from_moments(**GOOD)
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_moments(**(GOOD | change))


def test_from_moments_forgives_rounding():
    cov = np.array([[1.0, 1.0], [1.0 + 1e-12, 1.0 - 1e-12]])
    stats = ClassStatistics.from_moments([0, 1], [5, 5], np.zeros((2, 2)), [cov, cov])
    assert_array_equal(stats.scatters, stats.scatters.mT)


def test_refused_data_leaves_the_statistics_unchanged(make_classes):
    X, y = make_classes()
    stats = ClassStatistics.from_data(X, y)
    before = {k: np.copy(v) for k, v in vars(stats).items() if v is not None}
    bad = [
        (X[:, :2], y),
        (np.where(X > 1, np.nan, X), y),
        (X * 1e200, y),
        (X, y.astype(str)),
        (X, y[:-1]),
    ]
    for chunk, labels in bad:
        with pytest.raises((ValueError, TypeError)):
            stats.update(chunk, labels)
    for name, value in before.items():
        assert_array_equal(getattr(stats, name), value)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1, 1], "sample_weight has negative values"),
        ([1, np.nan, 1, 1], "sample_weight must be finite numbers.*NaN"),
        ([1, np.inf, 1, 1], "sample_weight must be finite numbers.*infinity"),
        ([1, 1, 1], "sample_weight must have one entry"),
        ([[1, 1, 1, 1]], "sample_weight must have one entry"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_data(np.eye(4), [0, 0, 1, 1], weight)


def test_squares_that_leave_the_range_of_float64_are_refused(make_classes):
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"feature 1 .* overflow"):
        ClassStatistics.from_data(X * [1, 1e200, 1], y)
    with pytest.raises(ValueError, match=r"feature 2 .* underflow"):
        ClassStatistics.from_data(X * [1, 1, 1e-200], y)


def test_merges_that_mean_nothing_are_refused(make_classes):
    X, y = make_classes()
    a = ClassStatistics.from_data(X, y)
    with pytest.raises(ValueError, match=r"^statistics of 3 and of 2 .* same columns$"):
        a + ClassStatistics.from_data(X[:, :2], y)
    with pytest.raises(TypeError, match="do not mix"):
        a + ClassStatistics.from_data(X, y.astype(str))
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError):
        1 + a
    named = ClassStatistics.from_data(pd.DataFrame(X, columns=list("abc")), y)
    other = ClassStatistics.from_data(pd.DataFrame(X, columns=list("acb")), y)
    with pytest.raises(ValueError, match=r"^statistics of different features cannot"):
        named + other
    assert (a + named).feature_names.tolist() == ["a", "b", "c"]
    assert (named + a).feature_names.tolist() == ["a", "b", "c"]


def test_merged_squares_that_leave_the_range_of_float64_are_refused():
    near, far = (ClassStatistics.from_data([[x], [x]], [0, 0]) for x in (0, 1e200))
    with pytest.raises(ValueError, match=r"^other: .* feature 0 .* overflow"):
        near + far
    far = ClassStatistics.from_data([[-1e308]], [0])
    with pytest.raises(ValueError, match=r"^other: .* feature 0 .* overflow"):
        ClassStatistics.from_data([[1e308]], [0]) + far
    with pytest.raises(ValueError, match="underflow"):
        ClassStatistics.from_data([[0.0]], [0]).update([[1e-170]], [0])


def test_a_class_of_weight_one_has_no_covariance():
    stats = ClassStatistics.from_data([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    assert_allclose(stats.covariances()[1], stats.scatters[0])  # the pooled one
    few = (
        r"^classes \['b'\] have a total weight .* of 1 or less, from which no "
        r"covariance can be estimated: add samples of these classes or leave them out$"
    )
    for none in (0, (0, 0.5)):
        with pytest.raises(ValueError, match=few):
            stats.covariances(none)
    assert_allclose(stats.covariances((0.2, 0.5))[1], stats.scatters[0])
    alone = ClassStatistics.from_data(np.eye(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\] have a total weight"):
        alone.covariances()
    none = ClassStatistics.from_data(np.eye(2), [0, 1], [0.0, 0.0])
    with pytest.raises(
        ValueError, match=r"1 or less \(every sample_weight is zero\), "
    ):
        none.covariances()
    for wrong in ("much", 1.5, np.array([0.5, 0.5]), (0.5, 1.5), [0.5], ("a", 0)):
        with pytest.raises(ParameterError, match="shrinkage must be"):
            ClassStatistics.from_data(np.eye(4), [0, 0, 1, 1]).covariances(wrong)


def test_given_moments_that_have_decayed_borrow():
    """Below a weight of one their variances were negative."""
    given = [0, 1], [2, 100], [[0.0], [1.0]], [[[1.0]], [[2.0]]]
    few = ClassStatistics.from_moments(*given).decayed(0.4)
    assert_allclose(few.covariances().ravel(), [79.6 / 39, 79.2 / 39])
    exact = ClassStatistics.from_moments(*given).decayed(0.6)
    assert_allclose(exact.covariances().ravel(), [0.6 / 0.2, 2 * 0.6 * 99 / 59])


def test_repr():
    stats = ClassStatistics.from_data(np.eye(4), [0, 0, 1, 1])
    assert repr(stats) == "ClassStatistics(n_classes=2, n_features=4, weights=[2. 2.])"
    text = ClassStatistics.from_data(np.eye(4), ["<b>", *"aaa"])._repr_html_()
    assert "Statistics of 2 classes and 4 features" in text
    assert '<th scope="row">&lt;b&gt;</th><td>1</td><td>25.0 %</td>' in text
    many = ClassStatistics.from_data(np.eye(14), np.arange(14), np.zeros(14))
    assert "and 4 more" in many._repr_html_()


def test_labels_that_are_not_text_cannot_be_saved(tmp_path):
    stats = ClassStatistics.from_data(np.eye(4), [0, 0, 1, 1])
    stats.classes = np.array([(1, 2), "b"], dtype=object)
    with pytest.raises(ValueError, match=r"^classes must be .* got \[\(1, 2\), 'b'\]$"):
        stats.save(tmp_path / "s.npz")
    assert not list(tmp_path.iterdir())


# Defects that were found once, each by its name.


def test_load_refuses_damaged_content(tmp_path, make_classes, rng):
    X, y = make_classes(n_classes=3)
    ClassStatistics.from_data(X, y).save(tmp_path / "good.npz")
    good = dict(np.load(tmp_path / "good.npz"))
    skew = good["scatters"].copy()
    skew[0, 0, 1] += 1e3
    unfit = "its arrays do not fit together"
    bad = [
        ({"classes": good["classes"][::-1]}, unfit),
        ({"weights": -good["weights"]}, unfit),
        ({"feature_names": np.array(["a", "b"])}, unfit),
        ({"classes_are_objects": np.array([], bool)}, unfit),
        ({"format": np.array([1, 2])}, "its format is not an integer"),
        ({"format": np.array("1")}, "its format is not an integer"),
        ({"scatters": skew}, "covariances: the matrix of class 0 is not symmetric"),
        ({"scatters": -good["scatters"]}, "covariances: the matrix of class 0 has"),
        ({"scatters": good["scatters"][:2]}, ""),
        ({"weights": good["weights"] * np.nan}, "weights contains NaN"),
        ({"means": good["means"] * np.nan}, "means contains NaN"),
        ({"scatters": good["scatters"] * np.nan}, "scatters contains NaN"),
    ]
    path = tmp_path / "bad.npz"
    for change, reason in bad:
        np.savez(path, **(good | change))
        with pytest.raises(ValueError, match="is not a readable file") as caught:
            ClassStatistics.load(path)
        message = f"path '{path}' is not a readable file of class statistics: {reason}"
        assert str(caught.value).startswith(message)
        assert reason != unfit or str(caught.value) == message
    whole = bytearray((tmp_path / "good.npz").read_bytes())
    for _ in range(300):  # one changed byte: refused, or harmless
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        (tmp_path / "damaged.npz").write_bytes(damaged)
        try:
            loaded = ClassStatistics.load(tmp_path / "damaged.npz")
        except ValueError:  # and nothing else
            continue
        assert_array_equal(loaded.scatters, good["scatters"])


def test_from_moments_outside_the_range_of_float64():
    eye = np.array([np.eye(2), np.eye(2)])
    with pytest.raises(ValueError, match="the matrix of class 1 has a negative"):
        ClassStatistics.from_moments(
            [0, 1], [9, 9], np.zeros((2, 2)), [np.eye(2), -np.eye(2)]
        )
    for factor, message in ((1e-310, "underflow"), (1e308, "overflow")):
        with pytest.raises(ValueError, match=f"^covariances: the values .*{message}"):
            ClassStatistics.from_moments([0, 1], [9, 9], np.zeros((2, 2)), eye * factor)
    with pytest.raises(ValueError, match="at least one feature"):
        ClassStatistics.from_moments(
            [0, 1], [9, 9], np.zeros((2, 0)), np.zeros((2, 0, 0))
        )
    with pytest.raises(ValueError, match="label"):
        ClassStatistics.from_moments([0.5, 1.7], [9, 9], np.zeros((2, 2)), eye)


def test_large_integer_labels_do_not_collapse():
    a = ClassStatistics.from_data(np.eye(2), np.array([2**60, 2**60 + 1]))
    b = ClassStatistics.from_data(np.eye(2), np.array([2**60 + 1, 2], dtype=np.uint64))
    with pytest.raises(TypeError, match="do not mix"):
        a + b


def test_copies_are_independent(make_classes):
    X, y = make_classes()
    stats = ClassStatistics.from_data(X, y)
    kept = stats.copy()
    stats.update(X, y)
    assert_allclose(2 * kept.weights, stats.weights)


def test_enormous_weights_are_refused_by_name():
    with pytest.raises(ValueError, match="sample_weight has values above"):
        ClassStatistics.from_data(np.eye(2), [0, 0], [1e300, 1])
    with pytest.raises(ValueError, match="sample_weight must be finite numbers"):
        ClassStatistics.from_data(np.eye(2), [0, 0], ["a", "b"])


@pytest.mark.parametrize("first", [1e6, 1e9])
def test_a_first_row_far_from_all_others_costs_no_digits(rng, first, monkeypatch):
    """An outlier first, in a buffer of its own: the others' scatter is not blurred."""
    X = rng.normal(size=(400, 2))
    X[0] = first
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    with_outlier = ClassStatistics.from_data(X, np.zeros(400, int))
    mean = X.mean(axis=0)
    expected = (X - mean).T @ (X - mean)
    assert_allclose(with_outlier.scatters[0], expected, rtol=1e-12)
    # The outlier last, when the mean is known already.
    turned = ClassStatistics.from_data(X[::-1], np.zeros(400, int))
    assert_allclose(turned.scatters[0], expected, rtol=1e-12)


def test_drifting_data_loses_no_digits(rng, monkeypatch):
    """Chunks whose means move away from what is known, by many deviations."""
    monkeypatch.setattr(kernel, "_BUFFER_BYTES", 1)
    X = rng.normal(size=(2000, 3)) + 1e4 * np.arange(2000)[:, None]
    X[:, 2] += 1e9
    stats = ClassStatistics.from_data(X, np.zeros(2000, int))
    centred = X - X.mean(axis=0)
    assert_allclose(stats.scatters[0], centred.T @ centred, rtol=1e-11)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-128, 127, 3], np.int8),
        np.array([0, 255], np.uint8),
        np.array([2**63, 2**63 + 5, 2**63 + 9], np.uint64),
        np.array([-(2**63), -(2**63) + 70, 2**63 - 1], np.int64),
        np.array([-5, 10**6], np.int32),
        np.array([7, 7 + 2**16 - 1, 7 + 2**16], np.int64),
        np.arange(300, dtype=np.int16) * 200 - 30000,
        np.array([False, True]),
        np.array(["b", "a"]),
    ],
)
def test_integer_labels_of_any_range(rng, labels):
    y = rng.permutation(np.repeat(labels, 4))
    X = rng.normal(size=(len(y), 2))
    stats = ClassStatistics.from_data(X, y)
    assert stats.classes.dtype == labels.dtype
    assert_array_equal(stats.classes, np.unique(labels))
    for k, label in enumerate(stats.classes):
        assert_allclose(stats.means[k], X[y == label].mean(axis=0), rtol=1e-12)


def test_statistics_of_few_rows_are_not_saved(tmp_path):
    stats = ClassStatistics.from_data(np.arange(9.0)[:, None], [0] * 4 + [1] * 5)
    with pytest.raises(ValueError, match=r"\[0\] have fewer rows than min_count=5"):
        stats.save(tmp_path / "a.npz", min_count=5)
    with pytest.raises(ValueError, match=r"^min_count must be a number"):
        stats.save(tmp_path / "a.npz", min_count="many")
    assert not list(tmp_path.iterdir())
    stats.save(tmp_path / "a.npz", min_count=4)
    assert ClassStatistics.load(tmp_path / "a.npz").weights.tolist() == [4, 5]


def test_small_weights_are_kept_and_counted(tmp_path):
    """A class of weight 0 has no row to protect; one of weight 0.5 has."""
    stats = ClassStatistics.from_data(np.eye(3), [0, 1, 2], [0.0, 0.5, 1.0])
    stats.save(tmp_path / "a.npz")
    assert ClassStatistics.load(tmp_path / "a.npz").weights.tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match=r"^classes \[1, 2\] have fewer rows than"):
        stats.save(tmp_path / "b.npz", min_count=2)


def test_chunks_get_an_entry_for_every_class(make_classes):
    X, y = make_classes()
    stats = ClassStatistics.from_data(X, y)
    chunks = (ClassStatistics.from_data(X[y == k], y[y == k]) for k in range(4))
    expanded = [chunk.with_classes(np.arange(4)) for chunk in chunks]
    assert [one.n_classes for one in expanded] == [4] * 4
    assert_same(sum(expanded), stats)
    with pytest.raises(ValueError, match=r"labels \[3\] that are not among"):
        stats.with_classes(np.arange(3))


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
