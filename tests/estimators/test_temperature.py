"""One temperature for a model: probabilities that rows agree with."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from heterolda import ClassStatistics, GaussianLinearDiscriminant, load, save

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.ModelMisfitWarning", "ignore::heterolda.SmallClassWarning"
)


def mislabeled(rng, n=200, d=3, k=3):
    """Classes far apart, of which some rows have a wrong label: nothing is sure."""
    y = np.repeat(np.arange(k), n)
    X = 4.0 * np.eye(k, d)[y] + rng.normal(size=(len(y), d))
    wrong = rng.random(len(y)) < 0.05
    return X, np.where(wrong, rng.integers(k, size=len(y)), y)


def tempered_loss(model, X, y, temperature, weight=None):
    """Log loss at another temperature than the model's."""
    log_p = model.predict_log_proba(X) * (model.temperature_ / temperature)
    log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return -np.average(log_p[np.arange(len(y)), y], weights=weight)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"multiclass": "ova"},
        {"voting": "majority", "priors": [0.6, 0.3, 0.1]},
        {"costs": [[0, 4, 4], [1, 0, 1], [2, 2, 0]]},
    ],
)
def test_it_maximizes_the_likelihood_of_rows(rng, given):
    X, y = mislabeled(rng)
    model = GaussianLinearDiscriminant(**given).fit(X, y)
    priors = np.bincount(y)
    if "costs" in given:  # they multiply the priors
        priors = priors * [4, 1, 2]
    weight = (given.get("priors", priors) / np.bincount(y))[y]
    best = minimize_scalar(
        lambda log_t: tempered_loss(model, X, y, np.exp(log_t), weight),
        bounds=(0, 5),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert model.temperature_ > 1.05
    assert_allclose(model.temperature_, np.exp(best.x), rtol=1e-5)


def test_few_rows_are_left_out(rng):
    """Rows of their own would say that the model may be as sure as it is."""
    X, y = rng.normal(size=(90, 20)), np.repeat([0, 1, 2], 30)
    X[:, :3] += 0.8 * y[:, None]
    Z, z = rng.normal(size=(3000, 20)), np.repeat([0, 1, 2], 1000)
    Z[:, :3] += 0.8 * z[:, None]
    for given in ({"shrinkage": 0}, {}):
        model = GaussianLinearDiscriminant(**given).fit(X, y)
        own = tempered_loss(model, Z, z, 1.0)
        assert model.temperature_ > 1.1
        assert tempered_loss(model, Z, z, model.temperature_) < own - 0.02


def test_without_rows_or_guard_it_is_one(rng):
    X, y = mislabeled(rng)
    stats = ClassStatistics.from_data(X, y)
    for model in (
        GaussianLinearDiscriminant(guard=False).fit(X, y),
        GaussianLinearDiscriminant(solver="fisher").fit(X, y),
        GaussianLinearDiscriminant().fit_statistics(stats),
        GaussianLinearDiscriminant().partial_fit(X, y, classes=[0, 1, 2]),
    ):
        assert model.temperature_ == 1.0


def test_it_stays_with_copies_and_files(rng, tmp_path):
    X, y = mislabeled(rng)
    incomplete = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    assert GaussianLinearDiscriminant(missing="em").fit(incomplete, y).temperature_ == 1
    for given in ({}, {"criterion": "minimax"}, {"multiclass": "ova"}):
        model = GaussianLinearDiscriminant(missing="em", **given).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        assert isinstance(copy._committee.evidence, float)
        save(model, tmp_path / "model.json")
        point = {} if "multiclass" in given else {"criterion": "minimax"}
        others = copy, load(tmp_path / "model.json"), model.for_features([0, 1, 2])
        for other in (*others, model.with_operating_point(**point)):
            assert other.temperature_ == model.temperature_ > 1.05
        for other in others:
            for rows in (X, incomplete):
                p = model.predict_proba(rows)
                assert_allclose(other.predict_proba(rows), p, rtol=1e-9)


def test_many_rows_in_single_precision_are_not_copied():
    rng = np.random.default_rng(0)
    y = np.arange(200_000) % 5
    X = (rng.normal(size=(len(y), 50)) * (1 + y[:, None])).astype(np.float32)
    tracemalloc.start()
    GaussianLinearDiscriminant().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes
