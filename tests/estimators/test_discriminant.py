"""The estimator as scikit-learn's users see it."""

import pickle

import numpy as np
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


@pytest.fixture
def four(make_classes):
    return make_classes(n_classes=4, n=80, d=3)


@pytest.fixture(params=SOLVERS)
def model(request):
    return GaussianLinearDiscriminant(solver=request.param, random_state=0)


def assert_same_model(a, b, rtol=1e-7):
    scale = np.linalg.norm(b.coef_, axis=1) + 1e-300
    assert_allclose(a.coef_ / scale[:, None], b.coef_ / scale[:, None], atol=rtol)
    assert_allclose(a.intercept_ / scale, b.intercept_ / scale, rtol=rtol, atol=rtol)
    assert_allclose(a.bayes_error_, b.bayes_error_, rtol=rtol, atol=1e-12)


def test_attributes_of_four_classes(model, four):
    X, y = four
    assert model.fit(X, y) is model
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert_array_equal(model.pairs_, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    assert model.coef_.shape == (6, 3)
    for name in ("intercept_", "bayes_error_", "gap_", "trivial_", "n_iter_"):
        assert getattr(model, name).shape == (6,)
    assert_allclose(model.priors_, 0.25)
    assert model.n_features_in_ == 3
    assert np.all(np.isnan(model.gap_)) == (model.solver != "global")
    assert np.all(model.n_iter_ >= 1)
    assert isinstance(model.statistics_, ClassStatistics)
    assert model.score(X, y) > 0.5


def nearly_equal(rng, size, signal, labels=(0, 1)):
    """Rows with features a and a + size * e, in which e tells the class."""
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
    merged = ClassStatistics.from_data(X[:99], y[:99])
    merged += ClassStatistics.from_data(X[99:], y[99:])
    assert clone(model).fit_statistics(merged).score(X, y) > alone - 0.02


@pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning")
def test_moments_of_correlation_1_less_1e_13():
    """The error was 0.458 with a gap of 3e-9, where a rule of 0.0094 exists."""
    little = 1e-13
    cov = np.array([[1.0, 1 - little], [1 - little, 1.0]])
    means = [[0.0, 0.0], [0.0, 4.7 * np.sqrt(2 * little)]]
    moments = ClassStatistics.from_moments([0, 1], [99, 99], means, [cov, cov])
    model = GaussianLinearDiscriminant().fit_statistics(moments)
    assert_allclose(model.bayes_error_, norm.cdf(-4.7 / 2), rtol=0.01)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
def test_a_difference_that_rounding_hides_is_told(rng):
    for size in (3e-8, 1e-9, 1e-12):
        X, y, _ = nearly_equal(rng, size, 5, ["a", "b", "c"])
        for settings in ({}, {"multiclass": "ova"}, {"solver": "fisher"}):
            with pytest.warns(PrecisionWarning, match=r"features \[0, 2\] .* subtract"):
                GaussianLinearDiscriminant(**settings).fit(X, y)
        same, y, _ = nearly_equal(rng, size, 0, ["a", "b", "c"])
        GaussianLinearDiscriminant().fit(same, y)  # and no warning, where none is due
        GaussianLinearDiscriminant().fit(X[:, [0, 1, 0]], y)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_statistics_tell_of_hidden_differences_and_raised_variances(rng):
    X, y, _ = nearly_equal(rng, 3e-8, 8)
    model = GaussianLinearDiscriminant()
    with pytest.warns(PrecisionWarning, match="features \\[0, 2\\]"):
        model.fit_statistics(ClassStatistics.from_data(X, y))
    X, y, _ = nearly_equal(rng, 1.0, 1, ["a", "b", "c"])
    X[y == "b", 1] = 0.5
    flat = pytest.warns(ModelMisfitWarning, match="'b' has almost no .* 'a' .* 1 more")
    with flat:
        clone(model).fit_statistics(ClassStatistics.from_data(X, y))
    with flat:
        clone(model).partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.warns(
        ModelMisfitWarning, match="'b' has almost no .* in which the rest"
    ):
        GaussianLinearDiscriminant(multiclass="ova").fit_statistics(
            ClassStatistics.from_data(X, y)
        )


# scikit-learn's habits.


def test_shrinkage_reaches_the_solver(four):
    """Full shrinkage makes all covariances equal: the rule is LDA's."""
    X, y = four
    full = GaussianLinearDiscriminant(shrinkage=1.0, guard=False).fit(X, y)
    pooled = full.statistics_.scatters.sum(axis=0) / (len(X) - 4)
    means = full.statistics_.means
    for (i, j), coef in zip(full.pairs_, full.coef_, strict=True):
        assert_allclose(coef, np.linalg.solve(pooled, means[j] - means[i]), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_one_vs_all_uses_the_mixture_of_the_others(four):
    """The moments of all other classes, by merging the data with prior weights."""
    X, y = four
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    model = GaussianLinearDiscriminant(multiclass="ova", priors=priors).fit(X, y)
    assert_array_equal(model.pairs_, [[-1, 0], [-1, 1], [-1, 2], [-1, 3]])
    cov, means = model.statistics_.covariances(), model.statistics_.means
    for k in range(4):
        others = [j for j in range(4) if j != k]
        share = priors[others] / priors[others].sum()
        centre = sum(s * means[j] for s, j in zip(share, others, strict=True))
        mixture = sum(
            s * (cov[j] + np.outer(means[j] - centre, means[j] - centre))
            for s, j in zip(share, others, strict=True)
        )
        pair = ClassStatistics.from_moments(
            [0, 1], [100, 100], [centre, means[k]], [mixture, cov[k]]
        )
        alone = GaussianLinearDiscriminant(priors=[1 - priors[k], priors[k]])
        alone.fit_statistics(pair)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-7, atol=1e-9)
        assert model.bayes_error_[k] == pytest.approx(alone.bayes_error_[0])


# Warnings and errors.


def test_a_small_class_draws_one_warning(four):
    X, y = four
    keep = np.ones(len(X), bool)
    keep[np.flatnonzero(y == 2)[3:]] = False
    with pytest.warns(SmallClassWarning, match=r"\[2\] .* borrow") as caught:
        GaussianLinearDiscriminant(priors=[0.25] * 4).fit(X[keep], y[keep])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    GaussianLinearDiscriminant(shrinkage="auto", priors=[0.25] * 4).fit(
        X[keep], y[keep]
    )


def test_a_trivial_pair_draws_one_warning(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), 4 * rng.normal(size=(3000, 2))])
    y = np.repeat(["rare", "usual"], [30, 3000])
    with pytest.warns(TrivialRuleWarning, match="'rare' and 'usual'") as caught:
        model = GaussianLinearDiscriminant().fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.trivial_.tolist() == [True]
    assert np.all(np.isfinite(model.coef_))
    assert set(model.predict(X)) == {"usual"}
    assert_allclose(model.predict_proba(X), np.tile(model.priors_, (len(X), 1)))


@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.parametrize("shrinkage", [(0, 0.5), "auto", None])
def test_rows_one_by_one_make_the_model_of_all(four, rng, shrinkage):
    """Chunks were lost as long as some class had too little weight to be solved."""
    some = rng.permutation(len(four[1]))[:60]
    X, y = (part[some] for part in four)
    y[:5] = 0, 1, 2, 3, 3
    model = GaussianLinearDiscriminant(shrinkage=shrinkage)
    for k in range(60):
        model.partial_fit(X[[k]], y[[k]], classes=[0, 1, 2, 3])
        if k == 4 and shrinkage == (0, 0.5):
            words = r"classes \[0, 1, 2\] still have a total weight of 1 or less"
            with pytest.raises(NotFittedError, match=words):
                model.predict(X)
    whole = clone(model).fit_statistics(ClassStatistics.from_data(X, y))
    assert_same_model(model, whole)


def test_a_model_that_has_decayed_too_far_is_forgotten(four):
    X, y = four
    model = GaussianLinearDiscriminant(shrinkage=0)
    model.partial_fit(X, y, classes=[0, 1, 2, 3])
    model.partial_fit(X[y < 3], y[y < 3], decay=1e-6)
    with pytest.raises(NotFittedError, match=r"classes \[3\] still"):
        model.predict(X)
    assert not hasattr(model, "bayes_error_")
    assert model.n_features_in_ == X.shape[1]
    with pytest.raises(NotFittedError, match=r"classes \[3\] still"):
        model.set_params(shrinkage=None).predict(X)


def test_a_refused_chunk_changes_nothing(four):
    X, y = four
    model = GaussianLinearDiscriminant().partial_fit(X, y, classes=[0, 1, 2, 3])
    before = pickle.dumps(model)
    for chunk, labels, weight in (
        (X, np.full(len(X), 9), None),
        (X * np.nan, y, None),
        (X[:, :2], y, None),
        (X, y, -np.ones(len(X))),
        (X * 1e200, y, None),
    ):
        with pytest.raises(ValueError, match=r"."):
            model.partial_fit(chunk, labels, sample_weight=weight)
    assert pickle.dumps(model) == before


# Defects that were found once, each by its name.


@pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning")
def test_extreme_units_and_dependent_columns(model, rng):
    """The pseudo-inverse depends on units, but it must exist in all of them."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] = (X[y == 1] + [1, 0.5, 0]) * [1, 2, 0.7]
    Z = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    for factor in (1e3, 1e15, 1e150):
        model.fit(Z * [1, factor, 1 / factor, 1 / factor, factor], y)
        assert np.all(np.isfinite(model.coef_))
        assert np.all(np.isfinite(model.intercept_))
    # A constant column gets no weight.
    constant = np.insert(X, 1, 1e100, axis=1)
    fitted = clone(model).fit(constant, y)
    assert not fitted.coef_[:, 1].any()
    assert_array_equal(fitted.predict(constant), clone(model).fit(X, y).predict(X))
    # Condition 1e12 in units of 1e-150.
    X[:, 1] = X[:, 0] + 1e-6 * rng.normal(size=60)
    X[y == 1] = 1.5 * (X[y == 1] + 0.5)
    plain, tiny = clone(model).fit(X, y), clone(model).fit(X * 1e-150, y)
    assert_allclose(tiny.bayes_error_, plain.bayes_error_, rtol=1e-3, atol=1e-6)


# A solver of one's own never saw the random state.
@pytest.mark.parametrize("attributes", [{"draws": True}, {}])
def test_a_solver_that_draws_follows_the_random_state(four, attributes):
    X, y = four
    solver = make_solver(**attributes)

    def first_draw(random_state):
        seen.clear()
        GaussianLinearDiscriminant(solver=solver, random_state=random_state).fit(X, y)
        return seen[0].uniform()

    seen = solver.seen
    assert first_draw(0) == first_draw(0) != first_draw(1)
    state = np.random.RandomState(0)
    assert first_draw(state) != first_draw(state)  # it moves on


def make_solver(**attributes):
    """Fisher's rules from a solver that keeps the generators it was given."""

    class Own:
        moore_penrose = False

        def __init__(self):
            self.seen = []

        def solve(self, pencil, rng):
            self.seen.append(rng)
            return Fisher().solve(pencil, rng)

    for name, value in attributes.items():
        setattr(Own, name, value)
    return Own()


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_means_that_only_rounding_sets_apart_are_equal(model, rng):
    """Rounding differs with the order of the rows, and the rule must not."""
    half = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    y = np.repeat([0, 1], 600)
    for offset in (0.0, 1e9, 1e9, 1e9):
        X = np.vstack([half, -half]) + offset
        model.fit(np.vstack([X, rng.permutation(X)]), y)
        assert model.trivial_ == [True]
        assert set(model.predict(X)) == {0}


def test_features_far_from_zero_draw_one_warning(four):
    X, y = four
    far = np.array([0.0, 3e15, -3e15])
    model = GaussianLinearDiscriminant()
    with pytest.warns(
        PrecisionWarning, match=r"features \[1, 2\] vary by little"
    ) as caught:
        model.fit(X + far, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    model.fit(X + 1e-4 * far, y)
    # A column that does not vary at all loses nothing.
    model.fit(np.insert(X, 1, 1e15, axis=1), y)
