"""Searches among transformed features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.estimators import smooth_search
from heterolda.foundations.wording import STRATEGIES
from heterolda.search.training_data import TrainingData
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import validated

pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")


def search(strategy="smooth", start=None, **settings):
    settings = {"transformation": "auto", "max_iter": 20, **settings}
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
    # "smooth" holds out rows, so only one candidate leads to the same rules.
    settings = {"loss": "error", "anchor": 0.3, "voting": "weighted"}
    start = GaussianLinearDiscriminant(shrinkage=0.1)
    model = search(strategy, start, **settings).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    T = PowerTransformation.fit(X, codes).apply(X)
    plain = search(strategy, start, transformation=None, **settings).fit(T, y)
    assert plain.transformation_ is None
    assert_array_equal(model.coef_, plain.coef_)
    assert_array_equal(model.n_errors_, plain.n_errors_)
    methods = ["predict", "predict_proba", "decision_function"]
    # Probabilities and scores of "smooth" are calibrated by the rows held out.
    for method in methods if strategy != "smooth" else methods[:1]:
        assert_array_equal(getattr(model, method)(X), getattr(plain, method)(T))
    assert_array_equal(model.estimator_.predict(T), plain.estimator_.predict(T))
    single = model.predict_proba(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, model.predict_proba(X), atol=1e-4)


def naive_lda_errors(X, codes, fold, transforms):
    """Rows that LDA gets wrong, fitted and transformed without their fold."""
    wrong = np.zeros(len(X), dtype=bool)
    for f in range(fold.max() + 1):
        rest, out, T = fold != f, fold == f, X
        if transforms:
            T = PowerTransformation.fit(X[rest], codes[rest]).apply(X)
        lda = LinearDiscriminantAnalysis().fit(T[rest], codes[rest])
        wrong[out] = lda.predict(T[out]) != codes[out]
    return wrong


def test_features_are_transformed_unless_lda_clearly_prefers_them_as_they_are(rng):
    stays = []
    for n in (40, 120, 360):
        y = np.arange(n) % 2
        skewed = np.exp(rng.normal(size=(n, 2)) + 0.8 * y[:, None])
        # Long tails that features share, so that their difference is the class.
        tail, noise = rng.exponential(size=(2, n))
        shared = np.column_stack([tail - y, tail + 0.2 * noise])
        for X in (skewed, shared):
            data = TrainingData.from_rows(validated(X, y))
            fold = smooth_search._assign_folds(data, check_random_state(0))
            plain, bent = (naive_lda_errors(X, y, fold, t) for t in (False, True))
            gain = bent.sum() - plain.sum()
            stays.append(gain > 0.5 * np.sqrt(np.sum(bent != plain)))
            model = search(loss="none").fit(X, y)
            powers = PowerTransformation.fit(X, y).lambdas
            transforms = not stays[-1] and bool(np.any(powers != 1))
            assert model.selection_["transformed"] is transforms
            assert (model.transformation_ is not None) == transforms
            if transforms:
                assert_array_equal(model.transformation_.lambdas, powers)
                assert model.selection_["reason"].startswith("Features were trans")
    assert set(stays) == {False, True}


def test_features_that_ask_for_no_power_stay_as_they_are(rng):
    codes = np.arange(200) % 2
    X = rng.integers(0, 2, (200, 5)) + 0.0  # of two values
    for strategy in STRATEGIES:
        model = search(strategy).fit(X, codes)
        assert model.transformation_ is None
    assert model.selection_["transformed"] is False
    skewed = rng.exponential(size=(200, 2))
    assert search("paper").fit(skewed, codes).transformation_ is not None
    wide = rng.exponential(size=(8, 9))
    assert search("paper").fit(wide, codes[:8]).transformation_ is None
    twice = search("paper").fit(wide, codes[:8], sample_weight=np.full(8, 2))
    copies = search("paper").fit(np.repeat(wide, 2, axis=0), np.repeat(codes[:8], 2))
    one, two = twice.transformation_, copies.transformation_
    assert_array_equal(one.lambdas, two.lambdas)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_units_and_offsets_do_not_matter_to_any_strategy(rng, four, strategy):
    # Without a transformation, "paper" depends on the origin.
    X, y = four
    moved = (X + rng.normal(size=3)) * 10 ** rng.uniform(-3, 3, 3)
    one, two = search(strategy).fit(X, y), search(strategy).fit(moved, y)
    agree = one.predict(X) == two.predict(moved)
    assert agree.mean() > 0.99


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_weights_are_copies(rng, four, strategy):
    X, y = four
    copies = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), copies))
    one = search(strategy, voting="weighted").fit(X, y, sample_weight=copies)
    two = search(strategy, voting="weighted").fit(X[rows], y[rows])
    assert_array_equal(one.transformation_.lambdas, two.transformation_.lambdas)
    assert_allclose(one.coef_, two.coef_, rtol=1e-4, atol=1e-6)
    if strategy == "smooth":
        assert_allclose(one.selection_["error"], two.selection_["error"])


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
        ({"transformation": "power"}, "'transformation' parameter"),
        ({"start": "frozen"}, "already fitted"),
    ],
)
def test_what_cannot_be_transformed_is_refused(four, settings, message):
    start = GaussianLinearDiscriminant().fit(*four)
    if settings.get("start"):
        settings, start = {}, FrozenEstimator(start)
    with pytest.raises(ValueError, match=message):
        search(start=start, **settings).fit(*four)
