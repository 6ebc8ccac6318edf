"""Threads at once: the same results, and nothing left behind."""

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_info

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.estimators.missing import _solved_rules

# Slow when traced; quicker tests take the same branches.
pytestmark = pytest.mark.no_cover
METHODS = ("predict", "predict_proba", "decision_function")
# Each with the number of classes, and of rows in a class.
MODELS = {
    "ten classes": (GaussianLinearDiscriminant(), 10, 12),
    "paper": (LocalNeighborhoodSearch(max_iter=30, patience=5), 4, 12),
    "smoothed": (SmoothedLinearDiscriminant(), 3, 60),
}


@pytest.fixture(autouse=True)
def _switch_often():
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work, n_threads=8):
    """Results of a function in threads that start together."""
    together = Barrier(n_threads)

    def task(k):
        together.wait()
        return work(k)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, range(n_threads)))


@pytest.mark.parametrize("name", MODELS)
def test_many_threads_predict_with_one_model(make_classes, name):
    model, n_classes, n = MODELS[name]
    X, y = make_classes(n_classes, n)
    model.fit(X, y)
    expected = [getattr(pickle.loads(pickle.dumps(model)), name)(X) for name in METHODS]
    fresh = pickle.loads(pickle.dumps(model))  # without what is computed lazily

    def work(number):
        order = np.roll(METHODS, number)
        actual = {name: getattr(fresh, name)(X) for name in order}
        pickle.dumps(fresh)
        return [actual[name] for name in METHODS]

    for actual in at_once(work):
        for value, wanted in zip(actual, expected, strict=True):
            assert_array_equal(value, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_many_threads_fit_models_of_their_own(make_classes, name):
    model, n_classes, n = MODELS[name]
    data = [make_classes(n_classes, n) for _ in range(8)]

    def work(number):
        X, y = data[number]
        fitted = clone(model).fit(X, y)
        return [getattr(fitted, name)(X) for name in METHODS]

    expected = [work(number) for number in range(8)]
    for actual, wanted in zip(at_once(work), expected, strict=True):
        for value, serial in zip(actual, wanted, strict=True):
            assert_array_equal(value, serial)


def blas_threads():
    """Return the threads of NumPy and SciPy; PyTorch, if loaded, has its own."""
    ours = [p for p in threadpool_info() if "torch" not in p["filepath"]]
    return {p["num_threads"] for p in ours if p["user_api"] == "blas"}


def test_fits_at_once_leave_the_process_as_it_was(make_classes):
    large, few = make_classes(n=80, d=60), make_classes(n=12)
    incomplete = GaussianLinearDiscriminant(missing="em").fit(*few)
    before = blas_threads()

    def work(number):
        for _ in range(2):
            GaussianLinearDiscriminant().fit(*large)
        SmoothedLinearDiscriminant().fit(*few)

    # Without checks of scikit-learn, whose filters threads may leave behind.
    def search(number):
        _solved_rules(pickle.loads(pickle.dumps(incomplete)), ~np.eye(3, dtype=bool))
        LocalNeighborhoodSearch(max_iter=30, patience=5).fit(*few)

    with warnings.catch_warnings():
        filters = list(warnings.filters)
        for _ in range(5):
            at_once(search)
        assert set(filters) <= set(warnings.filters)
        at_once(work, 4)
        assert blas_threads() == before
        assert ("ignore", None, Warning, None, 0) not in warnings.filters
