"""The discriminant as scikit-learn's users see it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from heterolda import (
    ClassStatistics,
    Fisher,
    GaussianLinearDiscriminant,
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)

SOLVERS = ["global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"]
ignore_trivial = pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")


@pytest.fixture
def four(make_classes):
    return make_classes(n_classes=4, n=80, d=3)


@pytest.fixture(params=SOLVERS)
def model(request):
    return GaussianLinearDiscriminant(solver=request.param, random_state=0)


def test_attributes_of_four_classes(model, four):
    X, y = four
    assert model.fit(X, y) is model
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert_array_equal(model.pairs_, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    assert model.coef_.shape == (6, 3)
    for name in ("intercept_", "bayes_error_", "gap_", "trivial_", "n_iter_"):
        assert getattr(model, name).shape == (6,)
    assert_allclose(model.priors_, 0.25)
    assert np.all(np.isnan(model.gap_)) == (model.solver != "global")
    assert np.all(model.n_iter_ >= 1)
    assert model.score(X, y) > 0.5


def test_shrinkage_reaches_the_solver(four):
    """Full shrinkage makes all covariances equal: the rule is LDA's."""
    full = GaussianLinearDiscriminant(shrinkage=1.0, guard=False).fit(*four)
    pooled = full.statistics_.scatters.sum(axis=0) / (len(four[0]) - 4)
    means = full.statistics_.means
    for (i, j), coef in zip(full.pairs_, full.coef_, strict=True):
        assert_allclose(coef, np.linalg.solve(pooled, means[j] - means[i]), rtol=1e-8)


@ignore_trivial
def test_one_vs_all_uses_the_mixture_of_the_others(four):
    """The moments of all other classes, by merging the data with prior weights."""
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    model = GaussianLinearDiscriminant(multiclass="ova", priors=priors).fit(*four)
    assert_array_equal(model.pairs_, [[-1, 0], [-1, 1], [-1, 2], [-1, 3]])
    cov, means = model.statistics_.covariances(), model.statistics_.means
    for k in range(4):
        others = [j for j in range(4) if j != k]
        share = priors[others] / priors[others].sum()
        center = share @ means[others]
        shifts = means[others] - center
        mixture = np.tensordot(share, cov[others], 1) + (shifts.T * share) @ shifts
        pair = ClassStatistics.from_moments(
            [0, 1], [100, 100], [center, means[k]], [mixture, cov[k]]
        )
        alone = GaussianLinearDiscriminant(priors=[1 - priors[k], priors[k]])
        alone.fit_statistics(pair)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-7, atol=1e-9)
        assert model.bayes_error_[k] == pytest.approx(alone.bayes_error_[0])


# Statistics and chunks.


@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.parametrize("shrinkage", [(0, 0.5), None])
def test_rows_one_by_one_make_the_model_of_all(four, rng, shrinkage):
    """Chunks were lost as long as some class had too little weight to be solved."""
    chosen = rng.permutation(len(four[1]))[:60]
    X, y = (part[chosen] for part in four)
    y[:5] = 0, 1, 2, 3, 3
    model = GaussianLinearDiscriminant(shrinkage=shrinkage)
    model.partial_fit(X[:0], y[:0], classes=[0, 1, 2, 3])
    for k in range(60):
        model.partial_fit(X[[k]], y[[k]])
        if k == 4 and shrinkage == (0, 0.5):
            words = r"classes \[0, 1, 2\] still have a total weight of 1 or less"
            with pytest.raises(NotFittedError, match=words):
                model.predict(X)
    whole = clone(model).fit_statistics(ClassStatistics.from_data(X, y))
    assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.bayes_error_, whole.bayes_error_, rtol=1e-7, atol=1e-12)


def test_a_model_that_has_decayed_too_far_is_forgotten(four):
    X, y = four
    model = GaussianLinearDiscriminant(shrinkage=0)
    model.partial_fit(X, y, classes=[0, 1, 2, 3])
    model.partial_fit(X[y < 3], y[y < 3], decay=1e-6)
    for shrinkage in (0, None):
        with pytest.raises(NotFittedError, match=r"classes \[3\] still"):
            model.set_params(shrinkage=shrinkage).predict(X)
    assert not hasattr(model, "bayes_error_")


def test_a_refused_chunk_changes_nothing(four):
    X, y = four
    model = GaussianLinearDiscriminant().partial_fit(X, y, classes=[0, 1, 2, 3])
    before = pickle.dumps(model)
    for chunk, labels, weight in (
        (X, np.full(len(X), 9), None),
        (X * np.nan, y, None),
        (X[:, :2], y, None),
        (X, y, -np.ones(len(X))),
    ):
        with pytest.raises(ValueError, match=r"."):
            model.partial_fit(chunk, labels, sample_weight=weight)
    assert pickle.dumps(model) == before


def test_fit_statistics_knows_the_feature_names(four):
    X, y = four
    frame = pd.DataFrame(X, columns=list("abc"))
    model = GaussianLinearDiscriminant()
    model.fit_statistics(ClassStatistics.from_data(frame, y))
    assert list(model.feature_names_in_) == list("abc")
    model.fit_statistics(ClassStatistics.from_data(X, y))
    assert not hasattr(model, "feature_names_in_")
    # Later updates of the statistics do not reach the model.
    stats = ClassStatistics.from_data(X, y)
    weights = model.fit_statistics(stats).statistics_.weights.copy()
    stats.update(X, y)
    assert_array_equal(model.statistics_.weights, weights)


# Directions that float64 hardly resolves, and warnings.


def nearly_equal(rng, size, signal, labels=(0, 1)):
    """Rows with features a and a + size * e, in which e depends on the class."""
    y = np.arange(600) % len(labels)
    e = rng.normal(size=len(y)) + signal * y
    a = rng.normal(size=len(y))
    X = np.column_stack([a, rng.normal(size=len(y)), a + size * e])
    return X, np.asarray(labels)[y], e[:, None]


@pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning")
def test_a_difference_of_1e_7_of_the_size_is_used(rng):
    """Two nearly equal columns gave 50 % and no warning, their difference 98 %."""
    X, y, e = nearly_equal(rng, 1e-7, 4)
    model = GaussianLinearDiscriminant(guard=False)
    alone = clone(model).fit(e, y).score(e, y)
    assert clone(model).fit(X, y).score(X, y) > alone - 0.02
    # Moments: the error was 0.458 with a gap of 3e-9, where a rule of 0.0094 exists.
    cov = np.array([[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    means = [[0.0, 0.0], [0.0, 4.7 * np.sqrt(2e-13)]]
    moments = ClassStatistics.from_moments([0, 1], [99, 99], means, [cov, cov])
    model.fit_statistics(moments)
    assert_allclose(model.bayes_error_, norm.cdf(-4.7 / 2), rtol=0.01)


@ignore_trivial
@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
@pytest.mark.parametrize("size", [3e-8, 1e-12])
def test_a_difference_that_rounding_hides_is_reported(rng, size):
    X, y, _ = nearly_equal(rng, size, 5, ["a", "b", "c"])
    for settings in ({}, {"multiclass": "ova"}, {"solver": "fisher"}):
        with pytest.warns(PrecisionWarning, match=r"features \[0, 2\] .* subtract"):
            GaussianLinearDiscriminant(**settings).fit(X, y)
    same, y, _ = nearly_equal(rng, size, 0, ["a", "b", "c"])
    GaussianLinearDiscriminant().fit(same, y)  # and no warning, where none is due
    GaussianLinearDiscriminant().fit(X[:, [0, 1, 0]], y)
    if size > 1e-8:
        X, y, _ = nearly_equal(rng, size, 8)
        with pytest.warns(PrecisionWarning, match="features \\[0, 2\\]"):
            GaussianLinearDiscriminant().fit_statistics(ClassStatistics.from_data(X, y))


def test_warnings_name_classes_and_features_at_the_users_line(four, rng):
    X, y = four
    few = np.ones(len(X), bool)
    few[np.flatnonzero(y == 2)[3:]] = False
    flat = rng.normal(size=(90, 2)) + np.arange(90)[:, None] % 3
    labels = np.array([*"abc"])[np.arange(90) % 3]
    flat[labels == "b", 1] = 0.5
    rare = np.concatenate([rng.normal(size=(30, 2)), 4 * rng.normal(size=(3000, 2))])
    equal, far = {"priors": [0.25] * 4}, X + np.array([0.0, 3e15, -3e15])
    kinds = np.repeat(["rare", "usual"], [30, 3000])
    for settings, data, kind, words in (
        (equal, (X[few], y[few]), SmallClassWarning, r"\[2\] .* borrow"),
        ({}, (X[:90, :1] * [1] * 9 + rng.normal(size=(90, 9)), np.arange(90) % 4),
         SmallClassWarning, "have fewer than 5 samples"),
        ({}, (rare, kinds), TrivialRuleWarning, "'rare' and 'usual'"),
        ({}, (far, y), PrecisionWarning, r"features \[1, 2\] vary"),
    ):  # fmt: skip
        with pytest.warns(kind, match=words) as caught:
            model = GaussianLinearDiscriminant(**settings).fit(*data)
        assert caught[0].filename == __file__
        if kind is TrivialRuleWarning:
            assert model.trivial_.tolist() == [True]
            assert set(model.predict(rare)) == {"usual"}
            p = model.predict_proba(rare)
            assert_allclose(p, np.tile(model.priors_, (len(rare), 1)))
    stats = ClassStatistics.from_data(flat, labels)
    for multiclass, words in (("ovo", "'a' .* 1 more"), ("ova", "the rest")):
        model = GaussianLinearDiscriminant(multiclass=multiclass)
        with pytest.warns(ModelMisfitWarning, match=f"'b' has almost no .* {words}"):
            model.fit_statistics(stats)
    GaussianLinearDiscriminant(shrinkage="auto", **equal).fit(X[few], y[few])


@pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning")
def test_extreme_units_and_dependent_columns(model, rng):
    """The pseudo-inverse depends on units, but it must exist in all of them."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] = (X[y == 1] + [1, 0.5, 0]) * [1, 2, 0.7]
    Z = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    for factor in (1e3, 1e150):
        model.fit(Z * [1, factor, 1 / factor, 1 / factor, factor], y)
        assert np.all(np.isfinite(np.append(model.coef_, model.intercept_)))
    constant = np.insert(X, 1, 1e100, axis=1)
    fitted = clone(model).fit(constant, y)
    assert not fitted.coef_[:, 1].any()
    assert_array_equal(fitted.predict(constant), clone(model).fit(X, y).predict(X))


@ignore_trivial
def test_means_that_only_rounding_separates_are_equal(model, rng):
    """Rounding differs with the order of the rows, and the rule must not."""
    half = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    y = np.repeat([0, 1], 600)
    for offset in (0.0, 1e9):
        X = np.vstack([half, -half]) + offset
        model.fit(np.vstack([X, rng.permutation(X)]), y)
        assert model.trivial_ == [True]
        assert set(model.predict(X)) == {0}


# A solver of one's own never saw the random state.
@pytest.mark.parametrize("attributes", [{"draws": True}, {}, {"draws": False}])
def test_a_solver_that_draws_follows_the_random_state(four, attributes):
    generators = []

    class Own:
        moore_penrose = False

        def solve(self, pencil, rng):
            generators.append(rng)
            return Fisher().solve(pencil, rng)

    def first_draw(random_state):
        generators.clear()
        own = Own()
        vars(own).update(attributes)
        GaussianLinearDiscriminant(solver=own, random_state=random_state).fit(*four)
        return generators[0].uniform()

    draws = attributes.get("draws", True)
    assert first_draw(0) == first_draw(0)
    assert (first_draw(0) != first_draw(1)) == draws
    state = np.random.RandomState(0)
    assert (first_draw(state) != first_draw(state)) == draws  # it moves on
