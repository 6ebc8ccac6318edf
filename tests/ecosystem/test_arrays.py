"""Models whose arrays are on a device: what they predict, and all that reads them."""

import copy
import re
import unittest
from contextlib import suppress
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags

import heterolda
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    to_c,
)
from heterolda.estimators import base, gathering
from heterolda.estimators.base import host_of, put_on
from heterolda.estimators.power_transformer import ClassPowerTransformer
from heterolda.foundations.arrays import Device, device_of, is_numpy, to_host
from heterolda.inspection.model_facts import ModelFacts

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning",
    "ignore::heterolda.exceptions.TrivialRuleWarning",
    "ignore::heterolda.exceptions.SmallClassWarning",
)

RNG = np.random.default_rng(0)
LABELS = np.repeat([2, 3, 5, 7], 40)
ROWS = RNG.normal(size=(160, 3)) * (1 + LABELS[:, None] % 3) + LABELS[:, None]
WIDE = np.hstack([ROWS] * 40)[::4] + RNG.normal(size=(40, 120))
TEXT = np.array(["a", "b", "b", "c", "c", "d", "d", "d"])[LABELS]
METHODS = "predict_proba", "predict_log_proba", "decision_function"
MODELS = [
    GaussianLinearDiscriminant(),
    GaussianLinearDiscriminant(voting="majority", missing="em"),
    GaussianLinearDiscriminant(multiclass="ovr"),
    GaussianLinearDiscriminant(shrinkage="cv", criterion="minimax"),
    GaussianLinearDiscriminant(covariance_estimator=LedoitWolf()),
    LocalNeighborhoodSearch(max_iter=5),
    SmoothedLinearDiscriminant(0.5),
]


def place_of(model):
    """Return where the arrays of a model are; None for NumPy."""
    is_projection = isinstance(model, HeteroscedasticProjection)
    fitted = model.scalings_ if is_projection else model._rules[0]
    return device_of(fitted, always=True)


def test_tensors_go_in_and_come_out(dispatch):
    torch = pytest.importorskip("torch")
    plain = GaussianLinearDiscriminant().fit(ROWS, LABELS)
    rows, labels = torch.asarray(ROWS), torch.asarray(LABELS)
    moved = GaussianLinearDiscriminant().fit(rows, labels)
    for method in ("predict", "predict_proba"):
        result = getattr(moved, method)(rows).numpy()
        assert_allclose(result, getattr(plain, method)(ROWS), atol=1e-6)


def assert_same(model, moved, X, device, atol):
    """The methods of a model on a device agree with NumPy's, and with each other."""
    rows = device.put(X)
    labels = moved.predict(rows)
    assert is_numpy(labels) == (model.classes_.dtype.kind == "U")
    winner = np.searchsorted(model.classes_, to_host(labels))
    assert_array_equal(to_host(labels), model.predict(X))
    for name in filter(partial(hasattr, model), METHODS):
        result = getattr(moved, name)(rows)
        assert device_of(result) == device
        result, expected = to_host(result), getattr(model, name)(X)
        assert result.dtype == expected.dtype
        scale = np.abs(expected).max() if name == "decision_function" else 1.0
        assert_allclose(result, expected, rtol=10 * atol, atol=atol * max(1.0, scale))
        if result.ndim == 1:
            assert_array_equal(result > 0, winner)
        else:  # several may tie within rounding
            assert_array_equal(result[np.arange(len(X)), winner], result.max(axis=1))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_predictions_are_those_of_numpy(device, n_classes, model, monkeypatch):
    n = n_classes * 40
    X, y = np.exp(ROWS[:n] / 4), TEXT[:n] if n_classes == 4 else LABELS[:n]
    model = clone(model).fit(X, y)
    moved = put_on(copy.deepcopy(model), device)
    weight = np.arange(n) % 3
    assert moved.score(device.put(X), device.put(y), weight) == model.score(
        X, y, weight
    )
    for rows in (X, X[:1], np.rint(9 * X).astype(int)):
        assert_same(model, moved, rows, device, 1e-11)
    assert_same(model, moved, X.astype(np.float32), device, 1e-5)
    for size in (1e-300, 1e8, 1e307):  # products of these may all be infinite
        assert_same(model, moved, size * ROWS, device, 1e-10)
    monkeypatch.setattr(base, "_BLOCK_SIZE", 100)
    monkeypatch.setattr(base, "_GPU_BLOCK_SIZE", 100)
    assert_same(model, moved, X, device, 1e-11)
    monkeypatch.setattr(Device, "has_float64", False)  # which leaves it to NumPy
    assert_same(model, moved, X.astype(np.float32), device, 1e-5)


def test_ties_are_broken_as_in_numpy(device, rng):
    # Rules at random contradict each other: there are circles, and votes are tied.
    model = GaussianLinearDiscriminant(voting="majority").fit(ROWS, LABELS)
    model.coef_ = rng.integers(-2, 3, size=model.coef_.shape).astype(float)
    model.intercept_ = rng.integers(-1, 2, size=len(model.coef_)).astype(float)
    X = rng.integers(-2, 3, size=(500, 3)).astype(float)
    assert_same(model, put_on(copy.deepcopy(model), device), X, device, 1e-12)


@pytest.mark.parametrize("few", [0, 1 << 17])
@pytest.mark.parametrize("model", [*MODELS, HeteroscedasticProjection(2)], ids=repr)
def test_fits_are_those_of_numpy(device, model, few, monkeypatch):
    monkeypatch.setattr(gathering, "FEW_NUMBERS", few)
    weight = np.arange(160) % 3
    for X, y, w in (
        (ROWS, TEXT, None),
        (WIDE, LABELS[::4], None),
        (ROWS, TEXT, weight),
    ):
        plain = clone(model).fit(X, y, sample_weight=w)
        moved = clone(model).fit(device.put(X), device.put(y), sample_weight=w)
        assert place_of(moved) == device
        for name in ("predict_proba", "transform"):
            if hasattr(plain, name):
                result = getattr(moved, name)(device.put(X))
                assert_allclose(to_host(result), getattr(plain, name)(X), atol=1e-5)


def test_components_go_there_and_back(device):
    model = HeteroscedasticProjection(2).fit(ROWS, LABELS)
    moved = put_on(copy.deepcopy(model), device)
    for X, rtol in ((ROWS, 1e-10), (ROWS.astype(np.float32), 1e-5)):
        result, expected = to_host(moved.transform(device.put(X))), model.transform(X)
        assert result.dtype == expected.dtype
        assert_allclose(result, expected, rtol, rtol)
        back = to_host(moved.inverse_transform(device.put(expected)))
        assert_allclose(back, model.inverse_transform(expected), rtol)
    with pytest.raises(ValueError, match=r"contains NaN, .*: fill"):
        moved.transform(device.put(np.where(ROWS > 7, np.nan, ROWS)))
    with pytest.raises(ValueError, match="3 columns"):
        moved.inverse_transform(device.put(ROWS))


def test_powers_are_those_of_numpy(device, monkeypatch):
    model = ClassPowerTransformer().fit(np.exp(ROWS), LABELS)
    assert np.any(model.lambdas_ != 1)
    for has_float64 in (True, False):
        monkeypatch.setattr(Device, "has_float64", has_float64)
        for X, rtol in ((ROWS, 1e-12), (ROWS.astype(np.float32), 1e-6)):
            on_device = device.put(X)  # in single precision if there is no other
            result = model.transform(on_device)
            assert device_of(result) == device
            assert result.dtype == on_device.dtype
            rtol = max(rtol, 0 if has_float64 else 1e-5)
            assert_allclose(to_host(result), model.transform(X), rtol, 1e-7)
    with pytest.raises(ValueError, match="NaN"):
        model.transform(device.put(np.where(ROWS > 7, np.nan, ROWS)))


def test_bad_rows_are_rejected_as_in_numpy(device):
    wrong = [ROWS[:, :2], ROWS[0], ROWS[:0]]
    wrong += [np.where(ROWS > 7, bad, ROWS) for bad in (np.nan, np.inf)]
    for model in (MODELS[0], MODELS[2], MODELS[6]):
        model = clone(model).fit(ROWS, LABELS)
        moved = put_on(copy.deepcopy(model), device)
        for rows in wrong:
            with pytest.raises(ValueError, match=r"X|array") as expected:
                model.predict(rows)
            start = re.split(r"[:\n]| \(shape", str(expected.value))[0]
            with pytest.raises(type(expected.value), match=re.escape(start)):
                moved.predict(device.put(rows))
        with pytest.raises(ValueError, match="real numbers"):
            moved.predict(device.xp.astype(device.put(ROWS), device.xp.complex128))
        with pytest.raises(ValueError, match=r"same device.*numpy.asarray"):
            moved.predict(ROWS)
    gaps = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
    model = GaussianLinearDiscriminant(missing="em").fit(device.put(gaps), LABELS)
    with pytest.raises(ValueError, match=r"missing values.*numpy\.asarray"):
        model.predict(device.put(gaps))
    assert host_of(model).predict(gaps).shape == LABELS.shape
    with pytest.raises(ValueError, match="sample_weight"):
        moved.score(device.put(ROWS), LABELS, np.zeros(160))


def test_all_that_reads_models_reads_them_on_a_device(device, tmp_path):
    plain = GaussianLinearDiscriminant().fit(ROWS, LABELS)
    moved, path = put_on(copy.deepcopy(plain), device), tmp_path / "model.json"
    for ask in (
        lambda model: heterolda.save(model, path) or path.read_text(),
        lambda model: to_c(model, tmp_path / "model.h", "double").path.read_text(),
        lambda model: heterolda.save(make_pipeline(model), path) or path.read_text(),
        lambda model: str(ModelFacts(model).worst_first),
        lambda model: (
            heterolda.inspection.ClassMapDisplay.from_estimator(
                model, ROWS, LABELS
            ).means
        ),
        lambda model: model.covariance_,
        lambda model: model.frontier_[2].roc_curve(5)[0],
        lambda model: model.with_operating_point("minimax").coef_,
        lambda model: model.for_features([0, 2]).coef_,
        lambda model: model.summary()["coefficient"],
    ):
        assert_array_equal(to_host(ask(moved)), ask(plain))
    plt.close("all")
    X, y = device.put(ROWS), device.put(LABELS)
    report = heterolda.heteroscedasticity_report(X, y)
    assert str(report) == str(heterolda.heteroscedasticity_report(ROWS, LABELS))
    assert plain.score(ROWS, y) == plain.score(ROWS, LABELS)
    for ask in (
        lambda: heterolda.compare(X, LABELS),
        lambda: heterolda.inspection.ProjectionDisplay.from_estimator(plain, X, LABELS),
        lambda: heterolda.BoundedErrorClassifier(max_error=0.1).fit(X, LABELS),
    ):
        with pytest.raises((TypeError, ValueError), match=r"numpy\.asarray\(X"):
            ask()


@pytest.mark.check
@pytest.mark.parametrize(
    "kind", [type(one) for one in (MODELS[0], MODELS[5], HeteroscedasticProjection())]
)
def test_checks_of_scikit_learn(dispatch, kind):
    pytest.importorskip("array_api_strict")
    assert get_tags(kind()).array_api_support
    n_passed = 0
    for check in estimator_checks._yield_array_api_checks(kind()):
        if check.keywords.get("dtype_name") == "float64":  # types are those of float32
            check = partial(check, check_values=True)
        with (
            sklearn.config_context(array_api_dispatch=False),
            suppress(unittest.SkipTest),  # libraries that are not installed
        ):
            check(kind.__name__, kind())
            n_passed += 1
    assert n_passed >= 4  # of NumPy and array-api-strict


def test_scikit_learn_moves_models(device):
    array_api = pytest.importorskip("sklearn.utils._array_api")
    if not hasattr(array_api, "move_estimator_to"):
        pytest.skip("this scikit-learn does not move models")
    model = GaussianLinearDiscriminant(priors=[0.1, 0.2, 0.3, 0.4]).fit(ROWS, LABELS)
    moved = array_api.move_estimator_to(model, device.xp, device.device)
    back = array_api.move_estimator_to(moved, np, "cpu")
    assert (place_of(moved), place_of(model), place_of(back)) == (device, None, None)
    assert_array_equal(to_host(moved.predict(device.put(ROWS))), back.predict(ROWS))
