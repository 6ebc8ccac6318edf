"""Threads and processes at once: the same results, and nothing left behind."""

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)

# Slow when traced; quicker tests take the same branches.
pytestmark = pytest.mark.no_cover

N_THREADS = 16
METHODS = ("predict", "predict_proba", "decision_function")


@pytest.fixture(autouse=True)
def _switch_often():
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work, n_threads=N_THREADS):
    """Results of a function in threads that start together."""
    together = Barrier(n_threads)

    def task(k):
        together.wait()
        return work(k)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, range(n_threads)))


def draw(rng, k, d=3, each=12):
    """Classes of unequal covariance."""
    y = np.arange(k * each) % k
    shapes, centres = rng.normal(size=(k, d, d)), 2 * rng.normal(size=(k, d))
    return (rng.normal(size=(len(y), 1, d)) @ shapes[y])[:, 0] + centres[y], y


def search(**settings):
    return LocalNeighborhoodSearch(max_iter=30, patience=5, **settings)


MODELS = {
    "ten classes": (GaussianLinearDiscriminant(voting="majority"), 10),
    "random search": (GaussianLinearDiscriminant(solver="r-hld-2", random_state=0), 4),
    "paper": (search(), 4),
    "smoothed": (SmoothedLinearDiscriminant(), 4),
}
models = pytest.mark.parametrize(
    ("model", "k"), [pytest.param(*value, id=key) for key, value in MODELS.items()]
)


@models
def test_many_threads_predict_with_one_model(rng, model, k):
    X, y = draw(rng, k)
    model.fit(X, y)
    serial = [getattr(pickle.loads(pickle.dumps(model)), name)(X) for name in METHODS]
    for _ in range(2):
        fresh = pickle.loads(pickle.dumps(model))  # without what is computed lazily

        def work(number, model=fresh):
            order = np.roll(METHODS, number)
            found = {name: getattr(model, name)(X) for name in order}
            pickle.dumps(model)
            return [found[name] for name in METHODS]

        for found in at_once(work):
            for value, wanted in zip(found, serial, strict=True):
                assert_array_equal(value, wanted)


def test_fits_at_once_leave_the_process_as_it_was(rng):
    X, y = draw(rng, 4, d=60, each=80)  # large enough for threads of BLAS
    few = draw(rng, 4)

    def work(number):
        for _ in range(2):
            GaussianLinearDiscriminant().fit(X, y)
        SmoothedLinearDiscriminant().fit(*few)

    # Checks of scikit-learn, too, set a filter for a moment, and threads may leave it.
    with two_blas_threads(), warnings.catch_warnings():
        at_once(work, 4)
        assert blas_threads() == {2}
        assert ("ignore", None, Warning, None, 0) not in warnings.filters


def blas_threads():
    """Of NumPy and SciPy: PyTorch, which other tests may have loaded, has its own."""
    ours = [p for p in threadpool_info() if "torch" not in p["filepath"]]
    return {p["num_threads"] for p in ours if p["user_api"] == "blas"}


@contextmanager
def two_blas_threads():
    """Set by a thread that has ended: as long as one lives, only it can set them."""
    before = max(blas_threads())
    at_once(lambda _: threadpool_limits(2, user_api="blas"), 1)
    yield
    at_once(lambda _: threadpool_limits(before, user_api="blas"), 1)
