"""The estimator as scikit-learn's users see it."""

import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError

from heterolda import (
    ClassStatistics,
    Fisher,
    FixedPoint,
    GaussianLinearDiscriminant,
    ModelMisfitWarning,
    ParameterError,
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


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.parametrize("multiclass", ["ovo", "ova"])
@pytest.mark.parametrize("k", [2, 3, 4, 9])
def test_predictions_scores_and_probabilities_agree(model, make_classes, multiclass, k):
    X, y = make_classes(n_classes=k)
    model.set_params(multiclass=multiclass, priors=np.full(k, 1 / k)).fit(X, y)
    far = np.concatenate([X, 1e3 * X, 1e150 * X, -1e150 * X, 0 * X])
    labels = model.predict(far)
    p = model.predict_proba(far)
    assert np.all((p >= 0) & (p <= 1))
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.all(np.isfinite(model.predict_log_proba(far)))
    assert_array_equal(labels, model.classes_[p.argmax(axis=1)])
    score = model.decision_function(far)
    if k == 2:
        assert score.shape == (len(far),)
        assert_array_equal(labels, model.classes_[(score > 0).astype(int)])
    else:
        assert score.shape == (len(far), k)
        assert_array_equal(labels, model.classes_[score.argmax(axis=1)])


@pytest.mark.parametrize("solver", ["global", "fisher"])
def test_equal_covariances_give_sklearn_lda(rng, solver):
    noise = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    X = np.concatenate([noise, noise + rng.normal(size=4)])
    y = np.repeat(["a", "b"], 200)
    ours = GaussianLinearDiscriminant(solver=solver, priors=[0.4, 0.6]).fit(X, y)
    pooled = np.cov(noise, rowvar=False)
    means = np.array([X[:200].mean(axis=0), X[200:].mean(axis=0)])
    coef = np.linalg.solve(pooled, means[1] - means[0])
    intercept = np.log(0.6 / 0.4) - 0.5 * coef @ means.sum(axis=0)
    assert_allclose(ours.coef_[0], coef, rtol=1e-8)
    assert_allclose(ours.intercept_[0], intercept, rtol=1e-8)
    lda = LinearDiscriminantAnalysis(priors=[0.4, 0.6]).fit(X, y)
    # The divisor of the pooled scatter, n or n - 2, depends on scikit-learn's version.
    ratio = lda.coef_[0] / coef
    assert_allclose(ratio, ratio[0], rtol=1e-8)
    assert_allclose(ratio[0], 1, rtol=0.01)
    clear = np.abs(ours.decision_function(X)) > 0.05
    assert_array_equal(ours.predict(X)[clear], lda.predict(X)[clear])


# What must not matter. The problems have four classes; two are covered by pairs.


@pytest.mark.parametrize("offset", [1.0, 1e3, 1e9])
def test_translation(model, four, offset):
    X, y = four
    X = np.round(X * 2**12) / 2**12
    plain, moved = clone(model).fit(X, y), clone(model).fit(X + offset, y)
    assert_allclose(moved.coef_, plain.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(moved.bayes_error_, plain.bayes_error_, rtol=1e-6, atol=1e-12)
    clear = np.abs(np.diff(np.sort(plain.predict_proba(X))[:, -2:]))[:, 0] > 1e-3
    assert_array_equal(moved.predict(X + offset)[clear], plain.predict(X)[clear])


@pytest.mark.parametrize("power", [-150, -9, 9, 150])
def test_feature_scaling(model, four, power):
    X, y = four
    units = 10.0 ** np.array([power, 0, -power / 3])
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * units, y)
    assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-6, atol=1e-8)
    assert_allclose(scaled.bayes_error_, plain.bayes_error_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
def test_chunks_equal_the_whole(model, four):
    X, y = four
    whole = clone(model).fit(X, y)
    chunks = np.array_split(np.arange(len(X)), 9)
    streamed = clone(model)
    for rows in chunks:
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1, 2, 3])
    assert_same_model(streamed, whole)
    backwards = clone(model)
    for rows in chunks[::-1]:
        backwards.partial_fit(X[rows], y[rows], classes=[0, 1, 2, 3])
    assert_allclose(
        backwards.statistics_.scatters,
        streamed.statistics_.scatters,
        rtol=1e-10,
        atol=1e-10 * np.abs(streamed.statistics_.scatters).max(),
    )
    merged = sum(ClassStatistics.from_data(X[rows], y[rows]) for rows in chunks[::-1])
    assert_same_model(clone(model).fit_statistics(merged), whole)


@pytest.mark.parametrize("case", ["constant in one class", "few rows", "duplicate"])
def test_invariances_hold_for_singular_covariances(four, rng, case):
    X, y = four
    if case == "constant in one class":
        X[y == 2, 1] = 0.7
    elif case == "few rows":
        keep = np.ones(len(X), bool)
        keep[np.flatnonzero(y == 1)[3:]] = False
        X, y = X[keep], y[keep]
    else:
        X = np.column_stack([X, X[:, 0]])
    d = X.shape[1]
    R = np.linalg.qr(rng.normal(size=(d, d)))[0]
    order = rng.permutation(len(X))
    model = GaussianLinearDiscriminant(priors=[0.25] * 4)
    with pytest.warns(SmallClassWarning) if case == "few rows" else nullcontext():
        plain = clone(model).fit(X, y)
    with pytest.warns(SmallClassWarning) if case == "few rows" else nullcontext():
        turned = clone(model).fit((X @ R.T + 5)[order], y[order])
    assert_allclose(turned.bayes_error_, plain.bayes_error_, rtol=1e-5, atol=1e-9)
    assert np.mean(turned.predict(X @ R.T + 5) == plain.predict(X)) > 0.99


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
@pytest.mark.parametrize("size", [3e-8, 1e-9, 1e-12])
def test_a_difference_that_rounding_hides_is_told(rng, size):
    X, y, _ = nearly_equal(rng, size, 5, ["a", "b", "c"])
    for model in (
        GaussianLinearDiscriminant(),
        GaussianLinearDiscriminant(multiclass="ova"),
        GaussianLinearDiscriminant(solver="fisher"),
    ):
        with pytest.warns(PrecisionWarning, match=r"features \[0, 2\] .* subtract"):
            model.fit(X, y)
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


def test_labels_of_any_kind(four):
    X, y = four
    for labels in (
        np.array(["d", "b", "c", "a"]),
        np.array(["d", "b", "c", "a"], dtype=object),
        np.array([10.0, -1.0, 7.0, 3.0]),
    ):
        model = GaussianLinearDiscriminant().fit(X, labels[y])
        assert_array_equal(model.classes_, np.unique(labels))
        assert set(model.predict(X)) <= set(labels)
        assert model.score(X, labels[y]) > 0.5
    binary = GaussianLinearDiscriminant().fit(X, y > 1)
    assert binary.predict(X).dtype == bool


def test_pandas_and_polars(four):
    X, y = four
    plain = GaussianLinearDiscriminant().fit(X, y)
    for frame in (
        pd.DataFrame(X, columns=list("abc")),
        pl.DataFrame(X, schema=list("abc")),
    ):
        model = GaussianLinearDiscriminant().fit(frame, y)
        assert list(model.feature_names_in_) == list("abc")
        assert list(model.statistics_.feature_names) == list("abc")
        assert_allclose(model.coef_, plain.coef_, rtol=1e-10)
        assert_array_equal(model.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("acb")))
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(pd.DataFrame(X, columns=list("acb")), y)


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


def test_partial_fit_passes_through_states_without_a_model():
    model = GaussianLinearDiscriminant()
    model.partial_fit([[1.0], [2.0], [4.0]], ["a", "a", "b"], classes=["a", "b", "c"])
    with pytest.raises(NotFittedError, match=r"\['c'\] still have a total weight of 0"):
        model.predict([[1.0]])
    with pytest.warns(SmallClassWarning):
        model.partial_fit([[5.0], [9.0], [10.0]], ["b", "c", "c"])
    assert model.predict([[9.5]]) == ["c"]
    with pytest.raises(NotFittedError, match="total weight of 1 or less"):
        clone(model).partial_fit([[1.0]], ["a"], classes=["a", "b"]).predict([[1.0]])


@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.parametrize("shrinkage", [0, (0, 0.5), 0.3, "auto", None])
def test_rows_one_by_one_make_the_model_of_all(four, rng, shrinkage):
    """Chunks were lost as long as some class had too little weight to be solved."""
    some = rng.permutation(len(four[1]))[:60]
    X, y = (part[some] for part in four)
    y[:5] = 0, 1, 2, 3, 3
    model = GaussianLinearDiscriminant(shrinkage=shrinkage)
    for k in range(60):
        model.partial_fit(X[[k]], y[[k]], classes=[0, 1, 2, 3])
        if k == 4 and shrinkage in (0, (0, 0.5)):
            words = r"classes \[0, 1, 2\] still have a total weight of 1 or less"
            with pytest.raises(NotFittedError, match=words):
                model.predict(X)
    whole = clone(model).fit_statistics(ClassStatistics.from_data(X, y))
    assert_same_model(model, whole)


@pytest.mark.parametrize(
    "parameters",
    [
        {"priors": [1, 0]},
        {"priors": {"a": 1}},
        {"costs": [[0, 1], [-1, 0]]},
        {"costs": [[0, 1e-300], [1, 0]]},
        {"criterion": "neyman-pearson"},
        {"criterion": "minimax", "solver": "fisher"},
        {"solver": "newton"},
        {"shrinkage": (0, 2)},
    ],
)
def test_wrong_parameters_are_refused_with_the_first_chunk(parameters):
    model = GaussianLinearDiscriminant(**parameters)
    with pytest.raises(ParameterError):
        model.partial_fit([[1.0]], ["a"], classes=["a", "b"])
    assert not hasattr(model, "statistics_")
    with pytest.raises(ValueError, match="at least 2 classes"):
        GaussianLinearDiscriminant().partial_fit([[1.0]], ["a"], classes=["a"])


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


GOOD_X = np.array([[0.0, 1], [1, 0], [2, 2], [5, 4], [6, 7], [7, 5]])
GOOD_Y = np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "message"),
    [
        (
            {"y": np.zeros(6)},
            {},
            ValueError,
            "at least 2 classes are needed, got 1 class",
        ),
        (
            {"y": [0, 0, 0, 0, 0, 1]},
            {"shrinkage": 0},
            ValueError,
            r"classes \[1\] have a total",
        ),
        (
            {"sample_weight": [1, 0, 0, 0, 0, 1]},
            {},
            ValueError,
            r"classes \[0, 1\] have a total weight .* of 1 or less",
        ),
        (
            {"sample_weight": [1, 1, 1, 0, 0, 0]},
            {},
            ValueError,
            "at least 2 classes are needed, got 1 class",
        ),
        ({"sample_weight": np.zeros(6)}, {}, ValueError, "every sample_weight is zero"),
        ({}, {"priors": [1.0]}, ValueError, "priors must have one entry"),
        ({}, {"priors": [1e-320, 1e300]}, ValueError, "differ too much for float64"),
        ({}, {"priors": [-1, -1]}, ValueError, "priors must be positive"),
        ({}, {"priors": {0: 1}}, ValueError, "priors lack the classes 1: give each"),
        ({}, {"priors": {0: 1, 1: 2, 7: 3}}, ValueError, "priors have labels 7 that"),
        ({}, {"shrinkage": (0.5, 1.5)}, ValueError, "shrinkage must be two numbers"),
        ({}, {"shrinkage": np.ones(2)}, ValueError, "'shrinkage' parameter"),
        ({}, {"priors": "even"}, ValueError, "'priors' parameter .* {'equal'}"),
        ({}, {"priors": [np.nan, 1.0]}, ValueError, "priors contains NaN"),
        ({}, {"priors": ["a", "b"]}, ValueError, "priors must be real numbers"),
        ({"X": np.full((6, 2), np.nan)}, {}, ValueError, "X contains NaN"),
        ({}, {"solver": "newton"}, ValueError, "solver must be one of"),
        ({}, {"solver": FixedPoint}, ValueError, "a settings object such as"),
        ({}, {"priors": [[0.5], [0.5, 0.1]]}, ValueError, "priors must be an array"),
        ({}, {"shrinkage": 1.5}, ValueError, "'shrinkage' parameter"),
        ({}, {"multiclass": "all"}, ValueError, "'multiclass' parameter"),
        ({}, {"voting": "secret"}, ValueError, "'voting' parameter"),
    ],
)
def test_bad_input(arguments, parameters, error, message):
    call = {"X": GOOD_X, "y": GOOD_Y} | arguments
    with pytest.raises(error, match=message):
        GaussianLinearDiscriminant(**parameters).fit(**call)


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
def test_bad_partial_fit():
    model = GaussianLinearDiscriminant()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(GOOD_X, GOOD_Y)
    with pytest.raises(ValueError, match=r"labels \[1\] that are not among"):
        model.partial_fit(GOOD_X, GOOD_Y, classes=[0, 2])
    with pytest.raises((TypeError, ValueError), match="label"):
        model.partial_fit(GOOD_X, GOOD_Y, classes=[0, None])
    model.partial_fit(GOOD_X, GOOD_Y, classes=[0, 1])
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        model.partial_fit(GOOD_X, GOOD_Y, classes=[0, 1, 2])


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
def test_bad_statistics():
    model = GaussianLinearDiscriminant()
    with pytest.raises(TypeError, match="statistics must be a ClassStatistics"):
        model.fit_statistics(GOOD_X)
    with pytest.raises(ValueError, match="at least 2 classes are needed, got 1 class"):
        model.fit_statistics(ClassStatistics.from_data(GOOD_X, np.zeros(6)))
    with pytest.raises(ValueError, match="must describe the same classes and features"):
        ClassStatistics(np.arange(2), np.ones(2), np.ones((2, 3)), np.ones((2, 2, 2)))
    model.fit_statistics(ClassStatistics.from_data(GOOD_X, GOOD_Y))
    with pytest.raises(ValueError, match=r"3 features, but .* is expecting 2"):
        model.predict(np.ones((2, 3)))


def test_fit_statistics_knows_the_feature_names(four):
    X, y = four
    frame = pd.DataFrame(X, columns=list("abc"))
    named = ClassStatistics.from_data(frame, y)
    model = GaussianLinearDiscriminant().fit_statistics(named)
    plain = GaussianLinearDiscriminant().fit(X, y)
    assert_array_equal(model.predict(frame), plain.predict(X))
    assert list(model.feature_names_in_) == list("abc")
    model.fit_statistics(ClassStatistics.from_data(X, y))
    assert not hasattr(model, "feature_names_in_")
    assert len(model.predict(X)) == len(X)


# Defects that were found once, each by its name.


@pytest.mark.parametrize("solver", ["global", "c-hld", "fixed-point", "fisher"])
def test_feature_order_with_a_column_constant_in_one_class(rng, solver):
    """Whether a variance is zero must not hang on the rounding of eigenvectors."""
    for _ in range(20):
        X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
        X[y == 1] = X[y == 1] * [1, 2, 0.5] + [0.5, 0.3, 1]
        X[y == 0, 1] = 0.3
        model = GaussianLinearDiscriminant(solver=solver)
        plain, mirrored = clone(model).fit(X, y), clone(model).fit(X[:, ::-1], y)
        assert_allclose(mirrored.bayes_error_, plain.bayes_error_, rtol=1e-7)
        assert_array_equal(mirrored.predict(X[:, ::-1]), plain.predict(X))


@pytest.mark.parametrize("factor", [1e3, 1e8, 1e15, 1e40])
def test_units_with_a_constant_column(model, rng, factor):
    """Dropping a constant column is the pseudo-inverse in any units."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] = (X[y == 1] + [1, 0.5, 0]) * [1, 2, 0.7]
    Z = np.insert(X, 1, 0.7, axis=1)
    units = np.array([1 / factor, 1, factor, 1])
    plain, scaled = clone(model).fit(Z, y), clone(model).fit(Z * units, y)
    assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(scaled.bayes_error_, plain.bayes_error_, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e3, 1e8, 1e15, 1e40, 1e150])
def test_extreme_units_with_dependent_columns(model, rng, factor):
    """The pseudo-inverse depends on units, but it must exist in all of them."""
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] = (X[y == 1] + [1, 0.5, 0]) * [1, 2, 0.7]
    Z = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    model.fit(Z * [1, factor, 1 / factor, 1 / factor, factor], y)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intercept_))


@pytest.mark.parametrize("value", [0.7, 1e100])
def test_a_constant_column_gets_no_weight(model, four, value):
    X, y = four
    constant = np.insert(X, 1, value, axis=1)
    fitted = clone(model).fit(constant, y)
    assert not fitted.coef_[:, 1].any()
    assert_array_equal(fitted.predict(constant), clone(model).fit(X, y).predict(X))


@pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning")
@pytest.mark.parametrize("gap", [1e-5, 1e-6])
def test_tiny_units_of_nearly_dependent_columns(model, rng, gap):
    """Condition 1e10 to 1e12 in units of 1e-150."""
    u = rng.normal(size=(200, 1))
    X = np.hstack([u, u + gap * rng.normal(size=(200, 1))])
    y = np.repeat([0, 1], 100)
    X[y == 1] = 1.5 * (X[y == 1] + 0.5)
    plain, tiny = clone(model).fit(X, y), clone(model).fit(X * 1e-150, y)
    assert_allclose(tiny.bayes_error_, plain.bayes_error_, rtol=1e-3, atol=1e-6)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_one_vs_all_with_almost_all_weight_on_one_class(model, four):
    X, y = four
    model.set_params(multiclass="ova", guard=False)
    model.fit(X, y, sample_weight=np.where(y == 0, 1e18, 1.0))
    assert np.all(np.isfinite(model.predict_proba(X)))
    model.set_params(priors=[1 - 3e-17, 1e-17, 1e-17, 1e-17]).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_long_iterations_do_not_overflow(make_classes):
    for _ in range(20):
        X, y = make_classes(n_classes=2, d=4, spread=0.3)
        for solver in (
            FixedPoint(max_iter=1000, tol=None),
            FixedPoint(max_iter=300, tol=0, keep="last"),
        ):
            model = GaussianLinearDiscriminant(solver=solver, priors=[0.05, 0.95])
            assert np.all(np.isfinite(model.fit(X, y).coef_))


def test_scores_of_huge_rows_keep_their_sign(make_classes):
    """Products beyond 1e308 have the sign that exact arithmetic gives."""
    from fractions import Fraction

    for k in (2, 4):
        X, y = make_classes(n_classes=k)
        model = GaussianLinearDiscriminant(priors=np.full(k, 1 / k)).fit(X, y)
        huge = np.sign(X) * 1e307 * (1 + np.abs(X) / 10)
        score = model.decision_function(huge)
        assert np.all(np.isfinite(score))
        assert_array_equal(
            model.classes_[model.predict_proba(huge).argmax(1)], model.predict(huge)
        )
        if k == 2:
            coef = list(map(Fraction, model.coef_[0].tolist()))
            for row, label in zip(huge.tolist(), model.predict(huge), strict=True):
                exact = Fraction(float(model.intercept_[0]))
                exact += sum(c * Fraction(x) for c, x in zip(coef, row, strict=True))
                assert label == (exact > 0)


def test_a_refused_fit_statistics_changes_nothing(four):
    X, y = four
    model = GaussianLinearDiscriminant().fit(X, y)
    with pytest.raises(ValueError, match="1 class"):
        model.fit_statistics(ClassStatistics.from_data(X[:, :2], 0 * y))
    assert model.n_features_in_ == 3
    assert len(model.predict(X)) == len(X)


def test_statistics_are_not_shared(four):
    X, y = four
    stats = ClassStatistics.from_data(X, y)
    model = GaussianLinearDiscriminant().fit_statistics(stats)
    total = sum([stats])
    stats.update(X, y)
    assert_allclose(model.statistics_.weights * 2, stats.weights)
    assert_allclose(total.weights * 2, stats.weights)


def test_labels_of_mixed_types_are_refused():
    for labels, types in (([1, "a"], "int and str"), ([1, 2], "int")):
        y = np.array(labels * 3, dtype=object)
        with pytest.raises(TypeError, match=f"objects of type {types}: convert"):
            GaussianLinearDiscriminant().fit(GOOD_X, y)


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


def test_deterministic_solvers_leave_the_random_state_alone(four):
    X, y = four
    for solver in ("global", make_solver(draws=False)):
        state = np.random.RandomState(5)
        GaussianLinearDiscriminant(solver=solver, random_state=state).fit(X, y)
        assert state.randint(10**9) == np.random.RandomState(5).randint(10**9)


@pytest.mark.parametrize("equal_means", [False, True])
def test_error_of_jointly_singular_pairs_with_one_class_singular_too(rng, equal_means):
    """Columns beyond the rank once passed for a direction of their own."""
    for _ in range(100):
        X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
        X[y == 1] *= [1, 2, 0.5]
        X[y == 0] = X[y == 0] @ np.diag([1, 1, 0]) @ rng.normal(size=(3, 3))
        X = np.column_stack([X, X[:, 0]]) @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
        for k in (0, 1):
            X[y == k] -= X[y == k].mean(axis=0)
        if not equal_means:
            X[y == 1] += X[y == 1][0]
        model = GaussianLinearDiscriminant(priors=[0.5, 0.5]).fit(X, y)
        if model.bayes_error_[0] == 0:
            continue  # a direction without variance separates the classes
        cov, means = model.statistics_.covariances(), model.statistics_.means
        w = model.coef_[0]
        centre = means @ w + model.intercept_[0]
        total = w @ cov.sum(axis=0) @ w
        # Up to the floor of 1e-7 under vanishing variances, this is the error.
        low, high = np.inf, -np.inf
        for floor in (0.0, 1.0, 2.0):
            sd = np.sqrt([max(w @ c @ w, 0) + floor * 1e-7 * total for c in cov])
            with np.errstate(divide="ignore"):
                error = 0.5 * (
                    norm.cdf(centre[0] / sd[0]) + norm.cdf(-centre[1] / sd[1])
                )
            low, high = min(low, error), max(high, error)
        assert low - 1e-4 <= model.bayes_error_[0] <= high + 1e-4


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.parametrize("kind", [int, float, str, object])
def test_many_classes_in_a_chunk_draw_no_warning(rng, kind):
    """scikit-learn warns of a class for every row or so; a chunk may well have that."""
    X = rng.normal(size=(120, 1)) + np.arange(120)[:, None] % 30
    y = (np.arange(120) % 30).astype(str if kind is object else kind).astype(kind)
    chunked = GaussianLinearDiscriminant()
    for rows in np.split(np.arange(120), 4):
        chunked.partial_fit(X[rows], y[rows], classes=np.unique(y))
    whole = GaussianLinearDiscriminant(guard=False).fit(X, y)
    assert_same_model(chunked, whole)
    s = whole.statistics_
    given = s.classes, s.weights, s.means, s.covariances()
    ClassStatistics.from_moments(*given)


def test_chunks_without_rows_add_nothing(four):
    X, y = four
    model = GaussianLinearDiscriminant()
    model.partial_fit(X[:0], y[:0], classes=[0, 1, 2, 3])
    with pytest.raises(NotFittedError, match="total weight of 1 or less"):
        model.predict(X)
    model.partial_fit(X, y)
    model.partial_fit(X[:0], y[:0].astype(float))
    assert_same_model(model, GaussianLinearDiscriminant().fit(X, y), rtol=0)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.fit(X[:0], y[:0])


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_means_that_only_rounding_sets_apart_are_equal(model, rng, offset):
    """Rounding differs with the order of the rows, and the rule must not."""
    half = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    X = np.vstack([half, -half]) + offset
    for order in range(5):
        other = X[np.random.default_rng(order).permutation(len(X))]
        y = np.repeat([0, 1], len(X))
        model.fit(np.vstack([X, other]), y)
        assert model.trivial_ == [True]
        assert set(model.predict(X)) == {0}


def test_a_small_difference_of_the_means_still_counts():
    for distance in (1e-3, 1e-6, 1e-9, 1e-11):
        moments = [0, 1], [9, 9], [[5.0], [5.0 + distance]], [[[1.0]], [[1.0]]]
        stats = ClassStatistics.from_moments(*moments)
        model = GaussianLinearDiscriminant().fit_statistics(stats)
        assert_array_equal(model.predict([[4.0], [6.0]]), [0, 1])


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


@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
def test_constant_classes_beside_ill_conditioned_ones(rng):
    """One-hot columns: a pair without any variance once failed in the eigenvalues."""
    y = np.repeat([0, 1, 2], 30)
    X = np.eye(3)[y]
    X[60:] = np.eye(3)[rng.integers(3, size=30)]
    for settings in ({}, {"guard": False}, {"shrinkage": "auto"}, {"shrinkage": 0}):
        model = GaussianLinearDiscriminant(**settings).fit(X, y)
        assert model.bayes_error_[0] < 1e-9
        assert (model.predict(X[:60]) == y[:60]).all()


def test_few_samples_per_feature_draw_one_warning(rng):
    X, y = rng.normal(size=(60, 4)), np.repeat([0, 1], [19, 41])
    with pytest.warns(SmallClassWarning, match=r"\[0\] have fewer than 5 samples per"):
        GaussianLinearDiscriminant().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallClassWarning)
        GaussianLinearDiscriminant(shrinkage="cv").fit(X, y)
        GaussianLinearDiscriminant().fit(X[:, :3], y)
