"""Discriminants of fewer rows than features, against matrices of all features."""

import warnings
from tracemalloc import get_traced_memory, reset_peak, start, stop

import numpy as np
import pytest

import heterolda
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.statistics import moments

D = 120
SOLVERS = ["global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"]
SHRINKAGES = ["auto", "cv", 0.3, 1.0, (0.5, 0.2), (0.5, 0), None]
KINDS = ["plain", "low rank", "constant", "apart", "copies", "single row"]


def draw(rng, n=50, n_classes=2, kind="plain"):
    """Rows of odd kinds, in classes of unequal size and scale."""
    y = np.minimum(np.arange(n) % (2 * n_classes), n_classes - 1)
    shift = rng.choice([0.1, 0.5]) * rng.normal(size=(n_classes, D))
    X = rng.normal(size=(n, D)) * np.exp(0.5 * rng.normal(size=(n_classes, 1)))[y]
    X += shift[y]
    if kind == "low rank":
        X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, D)) + shift[y]
    elif kind == "constant":  # numbers of which the mean is another number
        X[:, :9] = rng.normal(size=9)
    elif kind == "apart":
        X[:, 3:8] = 5 * shift[y][:, 3:8]
        X[:, 8] = np.where(y == 0, 0.1, X[:, 8])
    elif kind == "copies":
        X[1::2] = X[: 2 * (n // 2) : 2]
        X[:, 20:40] = X[:, 40:60]
    elif kind == "single row":
        y[np.flatnonzero(y == n_classes - 1)[1:]] = 0
    return X, y


@pytest.fixture
def check(monkeypatch):
    """Fit a model, also by matrices of all features, and compare both."""

    def check(X, y, weight=None, rules=True, **parameters):
        settings = {"choose_on": "model", "random_state": 0} | parameters
        models = []
        for narrow in (100, 10**9):
            monkeypatch.setattr(moments, "NARROW", narrow)
            with warnings.catch_warnings(action="ignore"):
                model = GaussianLinearDiscriminant(**settings).fit(X, y, weight)
            models.append(model)
        wide, full = models
        assert full.statistics_.factors is None
        assert (wide.statistics_.factors is None) == (len(X) >= D)
        for name in ("model_error_", "error_rates_", "expected_cost_"):
            ours, theirs = getattr(wide, name), getattr(full, name)
            np.testing.assert_allclose(ours, theirs, atol=1e-8, err_msg=name)
        np.testing.assert_array_equal(wide.trivial_, full.trivial_)
        if parameters["shrinkage"] == "cv":
            chosen, expected = wide.shrinkage_, full.shrinkage_
            assert chosen.to_diagonal == expected.to_diagonal
            np.testing.assert_allclose(chosen.to_pooled, expected.to_pooled)
        if rules and parameters["shrinkage"] not in (None, (0.5, 0)):
            # Also far from all rows, where features have variance.
            units = np.sqrt(full.statistics_.squares.mean(axis=0))
            units += 1e-3 * np.ptp(full.statistics_.means, axis=0)
            for ours, theirs in zip(wide.coef_, full.coef_, strict=True):
                size = np.abs(theirs * units).max()
                np.testing.assert_allclose(
                    ours * units, theirs * units, atol=1e-6 * size
                )

    return check


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_matrices(rng, check, kind):
    """Two classes and four, in one vote and the other, by one solver or another."""
    for turn, shrinkage in enumerate(SHRINKAGES, KINDS.index(kind)):
        if kind == "single row" and shrinkage is None:
            continue  # rejected
        solver = "global" if turn % 2 else SOLVERS[turn // 2 % 6]
        X, y = draw(rng, 40, 2 + 2 * (turn % 2), kind)
        votes = "ovr" if turn % 3 == 0 else "ovo"
        settings = {"solver": solver, "shrinkage": shrinkage, "multiclass": votes}
        check(X, y, rules=kind not in ("low rank", "apart"), **settings)


def test_operating_points_and_weights(rng, check):
    """The same answers from d / 10 to 2 d rows; weights may exceed the features."""
    for parameters in (
        {"priors": [0.2, 0.5, 0.3]},
        {"costs": [[0, 1, 2], [3, 0, 1], [1, 4, 0]]},
        {"criterion": "minimax"},
        {"criterion": "neyman-pearson", "max_error": {0: 0.05}},
    ):
        X, y = draw(rng, 40, 2 if "max_error" in parameters else 3)
        for shrinkage in ("auto", (0.5, 0.2)):
            check(X, y, shrinkage=shrinkage, **parameters)
    for n in (D // 10, D - 1, D, 2 * D):
        X, y = draw(rng, n, 3)
        weight = rng.choice([0.0, 1.0, 2.5, 4.0], size=n)
        weight[:9] = 1.0
        for shrinkage, given in (("auto", weight), ("cv", None), ("cv", weight)):
            check(X, y, given, rules=False, shrinkage=shrinkage)


@pytest.mark.check
def test_memory_is_a_small_multiple_of_the_data(rng, tmp_path):
    """For a fit, predictions, and files of the model and of its statistics."""
    X = rng.normal(size=(100, 10_000))
    y = np.arange(100) % 2
    X[y == 1, :50] += 1.0
    path = tmp_path / "model.json"
    model = GaussianLinearDiscriminant(shrinkage="cv")
    for action in (
        lambda: model.fit(X, y),
        lambda: model.predict_proba(X),
        lambda: heterolda.save(model, path, include_statistics=False),
        lambda: heterolda.load(path),
        lambda: model.statistics_.save(tmp_path / "few.npz"),
        lambda: ClassStatistics.load(tmp_path / "few.npz"),
    ):
        start()
        try:
            reset_peak()
            before = get_traced_memory()[0]
            action()
            assert get_traced_memory()[1] - before < 4 * X.nbytes
        finally:
            stop()
