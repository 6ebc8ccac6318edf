"""The discriminant as scikit-learn's users see it."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import heterolda
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)
from heterolda.exceptions import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.solvers import Fisher

GLD = GaussianLinearDiscriminant
SOLVERS = ["global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"]
ignore_trivial = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.TrivialRuleWarning"
)
ignore_misfit = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)


@pytest.fixture
def four(make_classes):
    return make_classes(n_classes=4, n=80, d=3)


@pytest.mark.parametrize("shrinkage", ["auto", None, 1.0, (0.4, 0.3), "cv"])
def test_moments_are_those_of_the_shrunk_classes(four, shrinkage):
    X, y = four
    model = GLD(choose_on="model", shrinkage=shrinkage).fit(X, y)
    amounts = {"auto": (0, 0), None: (0, 0), 1.0: (1, 0)}
    to_pooled, to_diagonal = amounts.get(shrinkage, (0.4, 0.3))
    assert (model.shrinkage_ is None) == (shrinkage != "cv")
    if shrinkage == "cv":
        to_pooled = model.shrinkage_.to_pooled[:, None, None]
        to_diagonal = model.shrinkage_.to_diagonal
    own = np.array([np.cov(X[y == k].T) for k in range(4)])
    target = own.mean(axis=0)  # the classes have as many rows each
    target += to_diagonal * (np.diag(np.diag(target)) - target)
    expected = (1 - to_pooled) * own + to_pooled * target
    assert_allclose(model.covariance_, expected, rtol=1e-9)
    assert_allclose(model.means_, [X[y == k].mean(axis=0) for k in range(4)])
    if shrinkage == 1.0:  # the rule is LDA's
        for (i, j), coef in zip(model.pairs_, model.coef_, strict=True):
            apart = model.means_[j] - model.means_[i]
            assert_allclose(coef, np.linalg.solve(target, apart), rtol=1e-8)
    # Later parameters do not change what was fitted.
    before = model.covariance_
    assert_array_equal(model.set_params(shrinkage=0.9).covariance_, before)


@ignore_trivial
def test_one_vs_rest_uses_the_mixture_of_the_others(four):
    """The moments of all other classes, by merging the data with prior weights."""
    priors = np.array([0.1, 0.2, 0.3, 0.4])
    model = GLD(choose_on="model", multiclass="ovr", priors=priors).fit(*four)
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
        alone = GLD(priors=[1 - priors[k], priors[k]]).fit_statistics(pair)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-7, atol=1e-9)
        assert model.model_error_[k] == pytest.approx(alone.model_error_[0])


@ignore_misfit
@ignore_trivial
def test_the_table_of_coefficients(four):
    X, y = four[0] * [1e-3, 1, 1e3], np.array([*"abcd"])[four[1]]
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    for multiclass in ("ovo", "ovr"):
        model = GLD(multiclass=multiclass).fit(frame, y)
        rows = zip(*model.summary().values(), strict=True)
        for (i, j), coef in zip(model.pairs_, model.coef_, strict=True):
            first = "the rest" if i < 0 else model.classes_[i]
            own = [np.var(X[y == c], axis=0, ddof=1) for c in "abcd"]
            within = range(4) if i < 0 else (i, j)  # the classes have as many rows each
            weights = coef * np.sqrt(np.mean([own[k] for k in within], axis=0))
            for k in np.argsort(-np.abs(weights)):
                *words, plain, standardized = next(rows)
                assert words == [first, model.classes_[j], "pqr"[k]]
                assert_allclose([plain, standardized], [coef[k], weights[k]])
        assert not list(rows)
    # Nothing is known of the classes: all features in their order.
    other = LocalNeighborhoodSearch(LogisticRegression(), max_iter=3).fit(X, y)
    table = other.summary()
    assert np.isnan(table["standardized"]).all()
    assert_array_equal(table["coefficient"], other.coef_.ravel())


def test_models_without_statistics_have_no_moments(four, tmp_path):
    path = tmp_path / "model.json"
    heterolda.save(GLD().fit(*four), path, include_statistics=False)
    for model, words in (
        (GLD(), "not fitted yet"),
        (heterolda.load(path), "a file without class statistics"),
    ):
        for name in ("means_", "covariance_"):
            assert not hasattr(model, name)
            with pytest.raises(NotFittedError, match=words):
                getattr(model, name)


# Statistics and chunks.


@ignore_misfit
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.SmallClassWarning")
@pytest.mark.parametrize("shrinkage", [(0, 0.5), "auto"])
def test_rows_one_by_one_make_the_model_of_all(four, rng, shrinkage):
    """Chunks were lost as long as some class had too little weight to be solved."""
    chosen = rng.permutation(len(four[1]))[:60]
    X, y = (part[chosen] for part in four)
    y[:5] = 0, 1, 2, 3, 3
    model = GLD(shrinkage=shrinkage)
    model.partial_fit(X[:0], y[:0], classes=[0, 1, 2, 3])
    for k in range(60):
        model.partial_fit(X[[k]], y[[k]])
        if k == 4 and shrinkage == (0, 0.5):
            words = r"classes \[0, 1, 2\] still have a total weight of 1 or less"
            with pytest.raises(NotFittedError, match=words):
                model.predict(X)
    whole = clone(model).fit_statistics(ClassStatistics.from_data(X, y))
    assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.model_error_, whole.model_error_, rtol=1e-7, atol=1e-12)
    if shrinkage != "auto":  # a class that has decayed too far is forgotten
        model.partial_fit(X[y < 3], y[y < 3], decay=1e-6)
        with pytest.raises(NotFittedError, match=r"classes \[3\] still"):
            model.predict(X)
        assert not hasattr(model, "model_error_")
        assert not hasattr(model, "means_")


def test_a_rejected_chunk_changes_nothing(four):
    X, y = four
    model = GLD().partial_fit(X, y, classes=[0, 1, 2, 3])
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


def test_statistics_bring_their_names_and_are_copied(four):
    X, y = four
    frame = pd.DataFrame(X, columns=list("abc"))
    model = GLD().fit_statistics(ClassStatistics.from_data(frame, y))
    assert list(model.feature_names_in_) == list("abc")
    stats = ClassStatistics.from_data(X, y)
    weights = model.fit_statistics(stats).statistics_.weights.copy()
    assert not hasattr(model, "feature_names_in_")
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


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.PrecisionWarning")
def test_a_difference_of_1e_7_of_the_size_is_used(rng):
    """Two nearly equal columns gave 50 % and no warning, their difference 98 %."""
    X, y, e = nearly_equal(rng, 1e-7, 4)
    model = GLD(choose_on="model")
    alone = clone(model).fit(e, y).score(e, y)
    assert clone(model).fit(X, y).score(X, y) > alone - 0.02
    # Moments: the error was 0.458 with a gap of 3e-9, where a rule of 0.0094 exists.
    cov = np.array([[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    means = [[0.0, 0.0], [0.0, 4.7 * np.sqrt(2e-13)]]
    moments = ClassStatistics.from_moments([0, 1], [99, 99], means, [cov, cov])
    model.fit_statistics(moments)
    assert_allclose(model.model_error_, norm.cdf(-4.7 / 2), rtol=0.01)


@ignore_trivial
@ignore_misfit
@pytest.mark.parametrize("size", [3e-8, 1e-12])
def test_a_difference_that_rounding_hides_is_reported(rng, size):
    X, y, _ = nearly_equal(rng, size, 5, ["a", "b", "c"])
    for settings in ({}, {"multiclass": "ovr"}, {"solver": "fisher"}):
        with pytest.warns(PrecisionWarning, match=r"features \[0, 2\] .* subtract"):
            GLD(**settings).fit(X, y)
    same, y, _ = nearly_equal(rng, size, 0, ["a", "b", "c"])
    with warnings.catch_warnings(record=True, action="always") as caught:
        gap = GLD(choose_on="model").fit(same, y).gap_
    assert bool(caught) == np.isnan(gap).any()  # no warning where none is due
    GLD().fit(X[:, [0, 1, 0]], y)
    if size > 1e-8:
        X, y, _ = nearly_equal(rng, size, 8)
        with pytest.warns(PrecisionWarning, match="features \\[0, 2\\]"):
            GLD().fit_statistics(ClassStatistics.from_data(X, y))


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
            model = GLD(**settings).fit(*data)
        assert caught[0].filename == __file__
        if kind is TrivialRuleWarning:
            assert model.trivial_.tolist() == [True]
            assert set(model.predict(rare)) == {"usual"}
            p = model.predict_proba(rare)
            assert_allclose(p, np.tile(model.priors_, (len(rare), 1)))
    stats = ClassStatistics.from_data(flat, labels)
    for multiclass, words in (("ovo", "'a' .* 1 more"), ("ovr", "the rest")):
        with pytest.warns(ModelMisfitWarning, match=f"'b' has almost no .* {words}"):
            GLD(multiclass=multiclass).fit_statistics(stats)
    GLD(shrinkage=0.5, **equal).fit(X[few], y[few])


@ignore_trivial
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.PrecisionWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_extreme_units_and_equal_means(solver, rng):
    """The pseudo-inverse depends on units, but it must exist in all of them."""
    model = GLD(solver=solver, random_state=0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] = (X[y == 1] + [1, 0.5, 0]) * [1, 2, 0.7]
    Z = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    for factor in (1e3, 1e150):
        model.fit(Z * [1, factor, 1 / factor, 1 / factor, factor], y)
        assert np.all(np.isfinite(np.append(model.coef_, model.intercept_)))
    # Rounding differs with the order of the rows, and the rule must not.
    half = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    for offset in (0.0, 1e9):
        X = np.vstack([half, -half]) + offset
        model.fit(np.vstack([X, rng.permutation(X)]), np.repeat([0, 1], 600))
        assert model.trivial_ == [True]
        assert set(model.predict(X)) == {0}


def test_a_solver_of_ones_own_follows_the_random_state(four):
    class Own:
        moore_penrose = False

        def solve(self, pencil, rng):
            drawn.append(rng.uniform())
            return Fisher().solve(pencil, rng)

    drawn, state = [], np.random.RandomState(0)
    for random_state in (0, 0, 1, state, state):  # which moves on
        GLD(solver=Own(), random_state=random_state).fit(*four)
    assert drawn[0] == drawn[1] == drawn[3]
    assert len(set(drawn)) == 3


def test_rows_are_not_copied_whatever_their_layout(rng):
    """Fits copy samples, and one tile at a time, but never all rows of a class."""
    y = np.arange(100_000) % 4
    X = (rng.normal(size=(len(y), 50)) * (1 + y[:, None])).astype(np.float32)
    columns = X.astype(np.float64, order="F")
    frame = pd.DataFrame(columns, copy=False)
    expected = GLD().fit(X, y).coef_
    for rows in (
        X,
        columns,
        frame,
        columns.astype(np.float32),
        X.repeat(2, axis=0)[::2],
    ):
        tracemalloc.start()
        model = GLD().fit(rows, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * X.size / 2
        assert_allclose(model.coef_, expected, rtol=1e-9)
