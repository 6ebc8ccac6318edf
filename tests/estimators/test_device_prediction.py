"""Predictions on devices against those of the same model in NumPy."""

import re
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
)
from heterolda.estimators import base, gathering, projection
from heterolda.estimators.placement import settle
from heterolda.estimators.votes import logarithms, rounded
from heterolda.foundations.arrays import Device, is_numpy, to_host
from heterolda.statistics.power import PowerTransformation

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.ModelMisfitWarning", "ignore::heterolda.TrivialRuleWarning"
)

METHODS = "predict_proba", "predict_log_proba", "decision_function"
BENT = LocalNeighborhoodSearch(transformation="auto", max_iter=5)
MODELS = [
    (2, GaussianLinearDiscriminant()),
    (7, GaussianLinearDiscriminant()),
    (4, GaussianLinearDiscriminant(voting="majority")),
    (4, GaussianLinearDiscriminant(multiclass="ova")),
    (2, clone(BENT).set_params(strategy="smooth")),
    (4, clone(BENT).set_params(strategy="smooth", voting="coupled")),
]


def make_rows(n_classes, seed=0, n=60, d=4):
    """Rows of classes whose covariances differ."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n)
    X = rng.normal(size=(len(y), d)) * (1 + y[:, None] % 3)
    return X + 1.5 * rng.normal(size=(n_classes, d))[y], y


def there(model, device):
    """The same model on a device."""
    return settle(deepcopy(model), device)


def assert_same(model, moved, X, device, atol):
    """The methods of a model on a device agree with NumPy's, and with each other."""
    rows = device.put(X)
    labels = moved.predict(rows)
    assert is_numpy(labels) == (model.classes_.dtype.kind == "U")
    winner = np.searchsorted(model.classes_, to_host(labels))
    assert_array_equal(to_host(labels), model.predict(X))
    for name in METHODS:
        found = getattr(moved, name)(rows)
        assert not is_numpy(found)
        found, known = to_host(found), getattr(model, name)(X)
        assert found.dtype == known.dtype
        scale = np.abs(known).max() if name == "decision_function" else 1.0
        assert_allclose(found, known, rtol=10 * atol, atol=atol * max(1.0, scale))
        chosen = found.argmax(axis=1) if found.ndim == 2 else found > 0
        assert_array_equal(chosen, winner)


def few_at_a_time(monkeypatch, size):
    """Let blocks have so many numbers."""
    sizes = dict.fromkeys((True, False), size)
    monkeypatch.setattr(projection, "_BLOCK_SIZE", sizes)
    monkeypatch.setattr(base, "_BLOCK_SIZE", size)
    monkeypatch.setattr(base, "_GPU_BLOCK_SIZE", size)


@pytest.mark.parametrize(("n_classes", "model"), MODELS)
def test_predictions_are_those_of_numpy(device, n_classes, model, monkeypatch):
    X, y = make_rows(n_classes)
    bent = getattr(model, "transformation", None) is not None
    X = np.exp(X) if bent else X
    labels = np.array(list("abcdefg"))[y] if n_classes == 7 else 10 * y
    model = model.fit(X, labels)
    assert (getattr(model, "transformation_", None) is not None) == bent
    moved = there(model, device)
    assert_same(model, moved, X, device, 1e-12)
    assert_same(model, moved, X[:1], device, 1e-12)
    assert_same(model, moved, np.round(10 * X).astype(np.int64), device, 1e-12)
    assert_same(model, moved, X.astype(np.float32), device, 1e-5)
    score = moved.score(device.put(X), device.put(labels), np.arange(len(y)) % 3)
    assert_allclose(score, model.score(X, labels, np.arange(len(y)) % 3))
    few_at_a_time(monkeypatch, 1000)
    assert_same(model, moved, X, device, 1e-12)


@pytest.mark.parametrize("n_classes", [2, 7])
def test_rows_of_any_size_are_predicted(device, n_classes):
    rows, y = make_rows(n_classes)
    for size in (1e-300, 1e8, 1e307):
        model = GaussianLinearDiscriminant().fit(rows, y)
        with np.errstate(all="ignore"):  # in scikit-learn's sums
            assert_same(model, there(model, device), size * rows, device, 1e-11)
            single = (size * rows).astype(np.float32)
        if np.isfinite(single).all():
            assert_same(model, there(model, device), single, device, 1e-5)
        # Rules of other units: neither they nor scores are fit for single precision.
        X = np.clip(size, 1e-100, 1e100) * rows
        model = GaussianLinearDiscriminant().fit(X, y)
        some = np.append(X, np.zeros((1, X.shape[1])), axis=0)
        assert_same(model, there(model, device), some, device, 1e-11)
        far = X / np.abs(X).max() * 1e300  # products of these may all be infinite
        with np.errstate(all="ignore"):
            assert_same(model, there(model, device), far, device, 1e-11)


def test_offsets_cost_single_precision_no_digits(device):
    X, y = make_rows(2)
    for offset in (1e3, 1e5):
        single = (X + offset).astype(np.float32)
        model = GaussianLinearDiscriminant().fit(single, y)
        assert_same(model, there(model, device), single, device, 1e-5)


def test_ties_are_broken_as_in_numpy(device):
    # Rules at random contradict each other: there are circles, and votes are tied.
    rng = np.random.default_rng(0)
    X, y = make_rows(5)
    for voting in ("weighted", "majority"):
        model = GaussianLinearDiscriminant(voting=voting).fit(X, y)
        model.coef_ = rng.integers(-2, 3, size=model.coef_.shape).astype(float)
        model.intercept_ = rng.integers(-1, 2, size=len(model.coef_)).astype(float)
        model._committee.__dict__.pop("_weights", None)
        whole = rng.integers(-2, 3, size=(500, X.shape[1])).astype(float)
        votes = model._committee.votes(whole @ model.coef_.T + model.intercept_)
        tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
        assert (tied.sum() > 20) == (voting == "majority")
        assert_same(model, there(model, device), whole, device, 1e-12)


def test_a_class_may_win_all_pairs_and_lose_the_votes(device):
    # Its rules are poor, so that their votes weigh less than those of another class.
    X, y = make_rows(7)
    model = GaussianLinearDiscriminant().fit(X, y)
    planes = model._committee.planes
    planes.error[:] = np.where(
        (planes.error >= 0) & (model.pairs_[:, 0] == 0), 0.5, 0.0
    )
    first = (model.predict(X) == 0).sum()
    assert first < (X @ model.coef_.T + model.intercept_ <= 0)[:, :6].all(axis=1).sum()
    assert_same(model, there(model, device), X, device, 1e-12)


def test_bad_rows_are_refused_as_in_numpy(device):
    X, y = make_rows(4)
    wrong = [X[:, :3], X[0], X[:0], *(X.copy() for _ in range(3))]
    for rows, bad in zip(wrong[3:], (np.nan, np.inf, -np.inf), strict=True):
        rows[7, 2] = bad
    for model in (
        GaussianLinearDiscriminant().fit(X, y),
        GaussianLinearDiscriminant().fit(X[y < 2], y[y < 2]),
        GaussianLinearDiscriminant(multiclass="ova").fit(X, y),
        clone(BENT).fit(np.exp(X), y),
    ):
        moved = there(model, device)
        for rows in wrong:
            for name in ("predict", *METHODS):
                with pytest.raises(ValueError, match=r"X|array") as known:
                    getattr(model, name)(rows)
                start = re.split(r"[:\n]| \(shape", str(known.value))[0]
                with pytest.raises(type(known.value), match=re.escape(start)):
                    getattr(moved, name)(device.put(rows))
        imaginary = device.xp.astype(device.put(X), device.xp.complex128)
        with pytest.raises(ValueError, match="real numbers"):
            moved.predict(imaginary)
        with pytest.raises(ValueError, match=r"same device.*numpy.asarray"):
            moved.predict(X)
        with pytest.raises(ValueError, match="same namespace"):
            model.predict_proba(device.put(X))


def test_rounding_keeps_signs_and_the_largest(device):
    rng = np.random.default_rng(0)
    some = np.array([1e-60, -1e-60, 1e60, -1e60, 0.0, 1.0])
    close = np.repeat(rng.uniform(size=(50, 1)), 3, axis=1)
    close *= 1 + 1e-15 * rng.integers(0, 4, size=close.shape)
    close[0] = [1e-60, 1e-50, 1.0]
    for values in (some, close):
        known = rounded(values, np.zeros(1, np.float32))
        found = rounded(device.put(values), device.put(np.zeros(1, np.float32)))
        assert_array_equal(to_host(found), known)
    close *= 1e-30  # whose logarithms are more often equal
    found = to_host(logarithms(device.put(close)))
    assert_array_equal(found.argmax(axis=1), close.argmax(axis=1))
    assert (np.log(close).argmax(axis=1) != close.argmax(axis=1)).any()
    assert_allclose(found, np.log(close), rtol=1e-15, atol=1e-15)


def test_devices_without_double_precision(device, monkeypatch):
    # The scores are computed there, and what follows from them in NumPy.
    monkeypatch.setattr(Device, "has_float64", False)
    X, y = make_rows(4)
    X = X.astype(np.float32)
    for classes, settings in ((2, {}), (4, {}), (4, {"multiclass": "ova"})):
        some = y < classes
        model = GaussianLinearDiscriminant(**settings).fit(X[some], y[some])
        assert_same(model, there(model, device), X, device, 1e-5)


def test_components_are_those_of_numpy(device, monkeypatch):
    few_at_a_time(monkeypatch, 100)
    X, y = make_rows(4)
    with pytest.raises(NotFittedError):
        HeteroscedasticProjection().transform(device.put(X))
    model = HeteroscedasticProjection(n_components=2).fit(X, y)
    moved = there(model, device)
    for kind, rtol in ((np.float64, 1e-10), (np.float32, 1e-5), (np.int32, 1e-10)):
        rows = (3 * X).astype(kind)
        found, known = to_host(moved.transform(device.put(rows))), model.transform(rows)
        assert found.dtype == known.dtype
        assert_allclose(found, known, rtol, rtol)
    back = moved.inverse_transform(device.put(known))
    assert_allclose(to_host(back), model.inverse_transform(known))
    for bad, match in ((np.nan, "contains NaN, .*: fill"), (np.inf, "infin")):
        with pytest.raises(ValueError, match=match):
            moved.transform(device.put(np.where(np.arange(4) == 1, bad, X)))
    with pytest.raises(ValueError, match="same namespace"):
        moved.transform(X)
    with pytest.raises(ValueError, match="3 columns"):
        moved.inverse_transform(device.put(X[:, :3]))


@pytest.mark.parametrize("few", [0, 1 << 17])
def test_components_are_found_on_a_device(device, monkeypatch, few):
    # Of few rows all go to NumPy, of many those that the guard looks at.
    monkeypatch.setattr(gathering, "FEW_NUMBERS", few)
    X, y = make_rows(4)
    rows, labels = device.put(X), device.put(y)
    guarded = HeteroscedasticProjection(2).fit(X, y)
    assert guarded.guarded_ > 0
    found = HeteroscedasticProjection(2).fit(rows, labels)
    free = HeteroscedasticProjection(2).fit_statistics(guarded.statistics_)
    parts = HeteroscedasticProjection(2).partial_fit(rows[:100, :], labels[:100])
    parts.partial_fit(rows[100:, :], labels[100:])
    for known, one in ((guarded, found), (free, parts)):
        assert not is_numpy(one.scalings_)
        assert_allclose(to_host(one.scalings_), known.scalings_, rtol=1e-5, atol=1e-7)
        components = to_host(one.transform(rows))
        assert_allclose(components, known.transform(X), rtol=1e-5, atol=1e-6)
    parts.partial_fit(X, y)  # goes on in NumPy
    assert parts.transform(X).shape == (len(X), 2)


def test_powers_are_those_of_numpy(device):
    z = np.concatenate([np.linspace(-4, 4, 41), [-1e9, 1e9, 1e-300, -0.0]])
    lambdas = np.array([-2.0, 0.0, 0.37, 1.0, 2.0, 4.0])
    X = np.repeat(z[:, None], len(lambdas), axis=1)
    centre, scale = np.arange(6.0), np.arange(1.0, 7.0)
    known = PowerTransformation(centre, scale, lambdas)
    found = known.apply(device.put(X))
    assert_allclose(to_host(found), known.apply(X), rtol=1e-13, atol=1e-14)


def test_score_is_that_of_numpy_or_refused(device):
    X, y = make_rows(3)
    here = GaussianLinearDiscriminant().fit(X, y)
    there, rows = settle(GaussianLinearDiscriminant().fit(X, y), device), device.put(X)
    weight = np.arange(len(y)) % 3 + 0.5
    for labels in (y, device.put(y), y.tolist()):
        assert_allclose(there.score(rows, labels), here.score(X, y))
        found = there.score(rows, labels, device.put(weight))
        assert_allclose(found, here.score(X, y, weight))
    with pytest.warns(Warning, match="column-vector"):
        assert_allclose(there.score(rows, y[:, None]), here.score(X, y))
    for wrong in (weight[:, None], weight[:-1], weight * np.nan, weight * 0):
        with pytest.raises(ValueError, match="sample_weight"):
            there.score(rows, y, wrong)
    with pytest.raises(ValueError, match="inconsistent"):
        there.score(rows, y[:-1])


@pytest.mark.check
@pytest.mark.parametrize("n", [300, 60_000])
def test_labels_of_any_type_and_rows_with_derivatives(dispatch, rng, n):
    torch = pytest.importorskip("torch")
    y = np.arange(n) % 3
    X = torch.asarray(rng.normal(size=(n, 3)) + y[:, None], requires_grad=True)
    for kind in (torch.uint16, torch.int16):
        model = GaussianLinearDiscriminant().fit(X, torch.asarray(y, dtype=kind))
        assert model.predict(X).dtype == kind
    for method in ("predict_proba", "decision_function"):
        assert not getattr(model, method)(X).requires_grad
    with pytest.raises(ValueError, match="y"):
        GaussianLinearDiscriminant().fit(X, None)
