"""Searches among transformed features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.foundations.choices import STRATEGIES
from heterolda.search.training_data import TrainingData
from heterolda.statistics.power import PowerTransformation

pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")


def search(strategy="smooth", start=None, **settings):
    settings = {"transformation": "auto", "max_iter": 20, "n_restarts": 1, **settings}
    return LocalNeighborhoodSearch(start, strategy=strategy, **settings)


@pytest.fixture
def four(make_classes):
    """Four classes of log-normal features."""
    X, y = make_classes(n_classes=4, n=60, d=3)
    return np.exp(X), np.array(["a", "b", "c", "dd"])[y]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_transformed_search_is_a_search_of_transformed_features(
    four, strategy, n_classes
):
    X, y = four
    X, y = (X, y) if n_classes == 4 else (X[y <= "b"], y[y <= "b"])
    model = search(strategy, GaussianLinearDiscriminant(shrinkage=0.1)).fit(X, y)
    T = PowerTransformation.fit(X).apply(X)
    plain = search(
        strategy, GaussianLinearDiscriminant(shrinkage=0.1), transformation=None
    )
    plain.fit(T, y)
    assert plain.transformation_ is None
    assert_array_equal(model.coef_, plain.coef_)
    assert_array_equal(model.n_errors_, plain.n_errors_)
    for method in ("predict", "predict_proba", "decision_function"):
        assert_array_equal(getattr(model, method)(X), getattr(plain, method)(T))
    assert_array_equal(model.estimator_.predict(T), plain.estimator_.predict(T))
    single = model.predict_proba(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_units_and_offsets_do_not_matter_to_any_strategy(rng, four, strategy):
    # Without a transformation, "paper" and "exact" depend on the origin.
    X, y = four
    moved = (X + rng.normal(size=3)) * 10 ** rng.uniform(-3, 3, 3)
    one, two = search(strategy).fit(X, y), search(strategy).fit(moved, y)
    agree = one.predict(X) == two.predict(moved)
    assert agree.mean() > 0.99


def test_weights_are_copies(rng, four):
    X, y = four
    copies = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), copies))
    one = search("paper").fit(X, y, sample_weight=copies)
    two = search("paper").fit(X[rows], y[rows])
    assert_array_equal(one.transformation_.lambdas, two.transformation_.lambdas)
    assert_allclose(one.coef_, two.coef_, rtol=1e-8)


def test_rows_held_out_play_no_part_in_the_transformation(four):
    X, y = four
    model = search("paper", early_stopping=True, validation_fraction=0.3).fit(X, y)
    data = TrainingData.from_arrays(X, y, None, None, None)
    rest, _ = data.hold_out(0.3, check_random_state(0))
    assert_allclose(model.transformation_.centre, rest.X.mean(axis=0))


def test_far_rows_have_finite_scores(four):
    X, y = four
    model = search().fit(X, y)
    far = np.outer([-1e300, -1e9, 0, 1e9, 1e300], np.ones(3))
    for method in ("decision_function", "predict_proba"):
        assert np.isfinite(getattr(model, method)(far)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transformation": "log"}, "'transformation' parameter"),
        (
            {"transformation": "auto", "strategy": "paper"},
            "which only strategy='smooth'",
        ),
        ({"prefit": True}, "fitted already"),
        ({"start": "frozen"}, "fitted already"),
    ],
)
def test_what_cannot_be_transformed_is_refused(four, settings, message):
    start = GaussianLinearDiscriminant().fit(*four)
    if settings.get("start"):
        settings, start = {}, FrozenEstimator(start)
    with pytest.raises(ValueError, match=message):
        search(start=start, **settings).fit(*four)


def test_rows_out_of_memory_are_not_transformed(four):
    dask = pytest.importorskip("dask.array")
    X, y = (dask.from_array(part, chunks=(100, -1)[: part.ndim]) for part in four)
    with pytest.raises(
        ValueError, match="transformation='auto' needs all rows in memory"
    ):
        search("paper").fit(X, y)
