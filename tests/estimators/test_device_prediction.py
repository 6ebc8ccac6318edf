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
from heterolda.estimators import device_prediction, gathering
from heterolda.estimators.placement import settle
from heterolda.estimators.votes import rounded
from heterolda.foundations.devices import Device, is_numpy, to_host
from heterolda.kernels.device import coupling
from heterolda.kernels.device.power import bent_rows
from heterolda.statistics.power import FARTHEST, PowerTransformation

pytestmark = [
    pytest.mark.xdist_group("devices"),
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning"),
]

METHODS = "predict_proba", "predict_log_proba", "decision_function"


def search(**settings):
    start = GaussianLinearDiscriminant()
    return LocalNeighborhoodSearch(start, max_iter=5, n_restarts=1, **settings)


MODELS = [
    (2, GaussianLinearDiscriminant()),
    (2, search(strategy="smooth", transformation="auto")),
    (3, GaussianLinearDiscriminant()),
    (7, GaussianLinearDiscriminant()),
    (7, GaussianLinearDiscriminant(voting="majority")),
    (4, GaussianLinearDiscriminant(multiclass="ova")),
    (4, search(strategy="smooth", voting="coupled", transformation="auto")),
    (4, search(voting="majority")),
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


@pytest.mark.parametrize(("n_classes", "model"), MODELS)
def test_predictions_are_those_of_numpy(device, n_classes, model, monkeypatch):
    X, y = make_rows(n_classes)
    bent = getattr(model, "transformation", None) is not None
    X = np.exp(X) if bent else X
    labels = np.array(list("abcdefg"))[y] if n_classes == 3 else 10 * y
    model = model.fit(X, labels)
    assert (getattr(model, "transformation_", None) is not None) == bent
    moved = there(model, device)
    assert_same(model, moved, X, device, 1e-12)
    assert_same(model, moved, X[:1], device, 1e-12)
    assert_same(model, moved, np.round(10 * X).astype(np.int64), device, 1e-12)
    assert_same(model, moved, X.astype(np.float32), device, 1e-5)
    weight = np.arange(len(y)) % 3
    rows = device.put(X)
    assert_allclose(moved.score(rows, labels), model.score(X, labels))
    score = moved.score(rows, device.put(labels), device.put(weight))
    assert_allclose(score, model.score(X, labels, weight))
    # In blocks of a few rows.
    monkeypatch.setattr(
        device_prediction, "_BLOCK_SIZE", dict.fromkeys((True, False), 1000)
    )
    assert_same(model, moved, X, device, 1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e8, 1e150, 1e307])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_rows_of_any_size_are_predicted(device, n_classes, size):
    X, y = make_rows(n_classes)
    model = GaussianLinearDiscriminant().fit(X, y)
    with np.errstate(all="ignore"):  # in scikit-learn's sums
        assert_same(model, there(model, device), size * X, device, 1e-11)
        single = (size * X).astype(np.float32)
    if np.isfinite(single).all():
        assert_same(model, there(model, device), single, device, 1e-5)
    # Rules of other units: neither they nor scores are fit for single precision.
    X = np.clip(size, 1e-100, 1e100) * X
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


@pytest.mark.parametrize("voting", ["weighted", "majority"])
def test_ties_are_broken_as_in_numpy(device, voting):
    # Rules at random contradict each other: there are circles, and votes are tied.
    rng = np.random.default_rng(0)
    X, y = make_rows(5)
    model = GaussianLinearDiscriminant(voting=voting).fit(X, y)
    model.coef_ = rng.integers(-2, 3, size=model.coef_.shape).astype(float)
    model.intercept_ = rng.integers(-1, 2, size=len(model.coef_)).astype(float)
    model._committee.__dict__.pop("_weights", None)
    whole = rng.integers(-2, 3, size=(500, X.shape[1])).astype(float)
    scores = whole @ model.coef_.T + model.intercept_
    votes = model._committee.votes(scores)
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
    host = [
        GaussianLinearDiscriminant().fit(X, y),
        GaussianLinearDiscriminant().fit(X[y < 2], y[y < 2]),
        GaussianLinearDiscriminant(multiclass="ova").fit(X, y),
        search(transformation="auto").fit(np.exp(X), y),
    ]
    assert host[-1].transformation_ is not None
    wrong = [X[:, :3], X[0], X[:0]]
    for bad in (np.nan, np.inf, -np.inf):
        wrong.append(X.copy())
        wrong[-1][7, 2] = bad
    for model in host:
        moved = there(model, device)
        for rows in wrong:
            for name in ("predict", *METHODS):
                with pytest.raises(ValueError, match=r"X|array") as known:
                    getattr(model, name)(rows)
                start = re.split(r"[:\n]| \(shape", str(known.value))[0]
                with pytest.raises(type(known.value)) as found:
                    getattr(moved, name)(device.put(rows))
                assert str(found.value).startswith(start)
        imaginary = device.xp.astype(device.put(X), device.xp.complex128)
        with pytest.raises(ValueError, match="real numbers"):
            moved.predict(imaginary)
        with pytest.raises(ValueError, match=r"same device.*numpy.asarray"):
            moved.predict(X)
        with pytest.raises(ValueError, match="same namespace"):
            model.predict_proba(device.put(X))
    gaps = GaussianLinearDiscriminant(missing="em").fit(X, y)
    with pytest.raises(ValueError, match=r"missing values.*numpy.asarray"):
        there(gaps, device).predict(device.put(wrong[3]))


def test_rounding_keeps_signs_and_the_largest(device):
    rng = np.random.default_rng(0)
    some = np.array([1e-60, -1e-60, 1e60, -1e60, 0.0, 1.0])
    close = np.repeat(rng.uniform(size=(50, 1)), 3, axis=1)
    close *= 1 + 1e-15 * rng.integers(0, 4, size=close.shape)
    close[0] = [1e-60, 1e-50, 1.0]
    for values in (some, close):
        known = rounded(values, np.zeros(1, np.float32))
        there = device_prediction._rounded_here
        found = there(device.put(values), device.xp.float32, device)
        assert_array_equal(to_host(found), known)
    close *= 1e-30  # whose logarithms are more often equal
    found = to_host(coupling.logarithms(device, device.put(close)))
    assert_array_equal(found.argmax(axis=1), close.argmax(axis=1))
    assert (np.log(close).argmax(axis=1) != close.argmax(axis=1)).any()
    assert_allclose(found, np.log(close), rtol=1e-15, atol=1e-15)


def test_devices_without_double_precision(device, monkeypatch):
    # The scores are computed there, and what follows from them in NumPy.
    monkeypatch.setattr(Device, "floats", property(lambda self: self.xp.float32))
    X, y = make_rows(4)
    X = X.astype(np.float32)
    for classes, settings in ((2, {}), (4, {}), (4, {"multiclass": "ova"})):
        some = y < classes
        model = GaussianLinearDiscriminant(**settings).fit(X[some], y[some])
        assert_same(model, there(model, device), X, device, 1e-5)


def test_components_are_those_of_numpy(device, monkeypatch):
    X, y = make_rows(4)
    with pytest.raises(NotFittedError):
        HeteroscedasticProjection().transform(device.put(X))
    projection = HeteroscedasticProjection(n_components=2).fit(X, y)
    monkeypatch.setattr(
        device_prediction, "_BLOCK_SIZE", dict.fromkeys((True, False), 100)
    )
    moved = there(projection, device)
    for kind, rtol in ((np.float64, 1e-10), (np.float32, 1e-5), (np.int32, 1e-10)):
        rows = (3 * X).astype(kind)
        found = to_host(moved.transform(device.put(rows)))
        known = projection.transform(rows)
        assert found.dtype == known.dtype
        assert_allclose(found, known, rtol, rtol)
    for bad, match in ((np.nan, "contains NaN, .*: fill"), (np.inf, "infin")):
        rows = X.copy()
        rows[3, 1] = bad
        with pytest.raises(ValueError, match=match):
            moved.transform(device.put(rows))
    with pytest.raises(ValueError, match="same namespace"):
        moved.transform(X)
    components = projection.transform(X)
    back = moved.inverse_transform(device.put(components))
    assert_allclose(to_host(back), projection.inverse_transform(components))
    with pytest.raises(ValueError, match="3 columns"):
        moved.inverse_transform(device.put(X[:, :3]))


@pytest.mark.parametrize("few", [0, 1 << 17])
def test_components_are_found_on_a_device(device, monkeypatch, few):
    # Of few rows all go to NumPy, of many those that the guard looks at.
    monkeypatch.setattr(gathering, "FEW_NUMBERS", few)
    X, y = make_rows(4)
    rows, labels = device.put(X), device.put(y)
    projection = HeteroscedasticProjection(n_components=2)
    guarded = clone(projection).fit(X, y)
    assert guarded.guarded_ > 0
    found = clone(projection).fit(rows, labels)
    free = clone(projection).fit_statistics(guarded.statistics_)
    again = clone(projection).fit_statistics(found.statistics_)
    parts = clone(projection)
    for some in (slice(0, 100), slice(100, None)):
        parts.partial_fit(rows[some, :], labels[some])
    for known, one in ((guarded, found), (free, again), (free, parts)):
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
    found = bent_rows(device, device.put(X), centre, scale, lambdas, FARTHEST)
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


def test_labels_of_any_type_and_rows_with_derivatives(dispatch, rng):
    torch = pytest.importorskip("torch")
    for n in (300, 60_000):
        y = np.arange(n) % 3
        X = torch.asarray(rng.normal(size=(n, 3)) + y[:, None], requires_grad=True)
        for kind in (torch.uint16, torch.uint32, torch.int16, torch.uint8):
            model = GaussianLinearDiscriminant().fit(X, torch.asarray(y, dtype=kind))
            assert model.predict(X).dtype == kind
        for method in ("predict_proba", "decision_function"):
            assert not getattr(model, method)(X).requires_grad
        with pytest.raises(ValueError, match="y"):
            GaussianLinearDiscriminant().fit(X, None)
