"""What estimators reject, and the words that say so: one table for all of them."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import OAS, GraphicalLassoCV, LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.exceptions import ParameterError

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.SmallClassWarning"
)

RNG = np.random.default_rng(0)
TWO = np.arange(80) % 2
FOUR = np.array([*"abcd"])[np.arange(80) % 4]
X = RNG.normal(size=(80, 3)) * (1 + TWO[:, None]) + 0.7 * TWO[:, None]
FEW = np.where(np.arange(80) < 79, 0, 1)
NP = {"criterion": "neyman-pearson"}


def gld(**settings):
    return GaussianLinearDiscriminant(**settings)


# Parameters of the discriminant.
OF_SETTINGS = [
    ({"priors": [1.0]}, "priors must have one entry"),
    ({"priors": {0: 1}}, "priors must have each of the classes 0, 1 once, got 0"),
    ({"priors": "even"}, "'priors' parameter .* {'equal'}"),
    ({"class_weight": {2: 1.0}}, "class_weight must have .* 0, 1 once, got 0, 1, 2"),
    ({"class_weight": {0: 0}}, "class_weight must be positive"),
    ({"class_weight": "even"}, "'class_weight' parameter .* {'balanced'}"),
    ({"shrinkage": 1.5}, "'shrinkage' parameter"),
    ({"shrinkage": (0.5, 1.5)}, "shrinkage must be two numbers"),
    ({"solver": "newton"}, "solver must be one of"),
    (NP, "needs max_error"),
    (NP | {"max_error": {7: 0.1}}, "label 7, which is not among"),
    (NP | {"max_error": {0: 0.1}, "costs": {}}, "costs: only for criterion='bay"),
    ({"criterion": "minimax", "solver": "fisher"}, "needs solver='global'"),
    ({"costs": [[0, -1], [1, 0]]}, "must not be negative"),
    ({"costs": {0: {1: 0}, 1: {0: 0}}}, "zero both ways"),
    ({"costs": [[0, 1, 1], [1, 0, 1]]}, "one row and one column"),
    ({"covariance_estimator": OAS(assume_centered=True)}, "assume_centered=False$"),
    ({"covariance_estimator": OAS(), "shrinkage": 0.5}, "covariance_estimator and shr"),
    ({"covariance_estimator": LedoitWolf}, "cannot estimate the covariance"),
    ({"covariance_estimator": GraphicalLassoCV(cv=1)}, r"of the 40 rows of class 0 \("),
]


@pytest.mark.parametrize(("settings", "message"), OF_SETTINGS)
def test_settings_of_the_discriminant(settings, message):
    model = gld(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, TWO)
    assert not hasattr(model, "statistics_")
    by_point = settings.keys() <= {"criterion", "costs", "max_error"}
    if by_point:
        with pytest.raises(ValueError, match=message):
            gld().fit(X, TWO).with_operating_point(**settings)
    # The first chunk rejects the same, before it is lost.
    if by_point or settings.keys() <= {"priors", "solver"}:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[:1], TWO[:1], classes=[0, 1])
        assert not hasattr(model, "statistics_")


LNS, SLD = LocalNeighborhoodSearch, SmoothedLinearDiscriminant
HP, BEC = HeteroscedasticProjection, BoundedErrorClassifier
HOLES = np.where(X > 2, np.nan, X)
ZEROS = np.zeros(80)
FRAME = pd.DataFrame(X, columns=[*"abc"])
NAMED = LogisticRegression().fit(FRAME, FOUR)


def frozen(start):
    return LNS(FrozenEstimator(start))


# Estimators of four classes by default, with other data for some.
OF_ESTIMATORS = [
    (gld(**NP, max_error={"a": 0.1}), {}, "is for two classes: with 4"),
    (gld(criterion="minimax", multiclass="ovr"), {}, "use multiclass='ovo'"),
    (gld(voting="majority", multiclass="ovr"), {}, "voting is for pairs of classes"),
    (gld(), {"y": ZEROS}, "at least 2 classes are needed, got 1 class"),
    (gld(shrinkage=0), {"y": FEW}, r"classes \[1\] have a total"),
    (gld(), {"sample_weight": ZEROS}, "every sample_weight is zero"),
    (gld(), {"X": HOLES}, r"X contains NaN.*missing='em'"),
    (gld(missing="em"), {"X": np.where(X > 2, np.inf, X)}, "infinity"),
    (
        gld(missing="em", covariance_estimator=OAS()),
        {"X": HOLES},
        r"covariance_estimator needs rows without",
    ),
    (gld(covariance_estimator=OAS()), {"y": FEW}, r"classes \[1\] have a total"),
    (gld(covariance_estimator=OAS()), {"sample_weight": 1 + TWO / 2}, "Round the w"),
    (gld(covariance_estimator=OAS()), {"X": da.from_array(X)}, "is fitted to"),
    (gld(), {"y": np.array([1, "a"] * 40, object)}, "of type int and str", TypeError),
    (LNS(step=0), {}, "'step'"),
    (LNS(costs={"e": 2.0}), {}, r"labels 'e' that are not among"),
    (LNS(costs={"a": {"b": 0}}), {}, "costs must be positive"),
    (LNS(DecisionTreeClassifier()), {}, "has no coef_ or intercept_", TypeError),
    (LNS(SLD(0.5)), {"X": np.exp(3 * X)}, r"transforms.*\(transformation=None\)"),
    (frozen(SLD(0.5).fit(np.exp(3 * X), FOUR)), {}, "transforms features, but"),
    (LNS(LinearRegression()), {}, "must be a linear classifier, got Lin", TypeError),
    (frozen(LinearSVC()), {}, "not fitted"),
    (frozen(LogisticRegression().fit(X[:, :2], FOUR)), {}, "2 features, but X has 3"),
    (frozen(NAMED), {"X": FRAME[["b", "a", "c"]]}, "same columns in the same order"),
    (
        frozen(NAMED),
        {"X": FRAME, "y": TWO},
        r"fitted to classes \['a', 'b', 'c', 'd'\]",
    ),
    (
        frozen(gld(multiclass="ovr", solver="fisher").fit(X, FOUR)),
        {},
        "4 rules for 4 classes",
    ),
    (LNS(), {"X": HOLES}, r"use Gaussian.*\(missing='em'\)"),
    (LNS(), {"sample_weight": 0}, "is zero for all rows: give"),
    (LNS(), {"X": da.from_array(X)}, r"needs rows in memory\. Draw", TypeError),
    (
        LNS(LinearDiscriminantAnalysis()),
        {"sample_weight": np.ones(80)},
        "cannot be fitted with sample_weight",
    ),
    (SLD(width=0), {}, "'width' parameter"),
    (SLD(**NP, max_error={"a": 0.1}), {}, "is for two classes: with 4"),
    (HP(4), {}, "number of features, 3"),
    (HP(2, method="fisher"), {"y": TWO}, "at most 1 direction"),
    (HP(3), {"X": X * [1, 1, 0]}, "2 directions in which rows vary"),
    (HP(), {"y": None}, "requires y"),
    (BEC(max_error=0.1), {}, "y has 4 classes: merge all but the"),
    (BEC(max_error={0: 0.1, 1: 0.1}), {"y": TWO}, "must bound one of the two classes"),
    (
        BEC(FrozenEstimator(LogisticRegression()), max_error=0.1),
        {"y": TWO},
        "not fitted",
    ),
]


def label(value):
    return type(value).__name__ if hasattr(value, "fit") else None


@pytest.mark.parametrize("case", OF_ESTIMATORS, ids=lambda case: label(case[0]))
def test_estimators(case):
    model, change, message, *kind = case
    data = {"X": X, "y": FOUR} | change
    with pytest.raises(*(kind or [ValueError]), match=message):
        model.fit(data.pop("X"), data.pop("y"), **data)


def test_partial_fit_and_statistics():
    model, stats = gld(), ClassStatistics.from_data(X, TWO)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, TWO)
    for classes, words in (
        ([0, 2], r"labels \[1\] that are not among"),
        ([0, None], "label"),
        ([0], "at least 2 classes"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            model.partial_fit(X, TWO, classes=classes)
    with pytest.raises(ParameterError, match="depend on all rows, not only on a chunk"):
        gld(missing="em").partial_fit(HOLES, TWO, classes=[0, 1])
    model.partial_fit(X, TWO, classes=[0, 1])
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        model.partial_fit(X, TWO, classes=[0, 1, 2])
    for one in (gld(), HeteroscedasticProjection()):
        with pytest.raises(TypeError, match="statistics must be a ClassStatistics"):
            one.fit_statistics(X)
    for settings, message in (
        ({"shrinkage": "cv"}, "^shrinkage='cv' cross-validates"),
        ({"covariance_estimator": OAS()}, "^covariance_estimator is fitted to"),
    ):
        with pytest.raises(ParameterError, match=message):
            gld(**settings).fit_statistics(stats)
    assert gld(shrinkage="auto").fit_statistics(stats).n_features_in_ == 3
    assert not hasattr(gld(covariance_estimator=OAS()), "partial_fit")
    model.fit_statistics(stats)
    with pytest.raises(ValueError, match="1 class"):
        model.fit_statistics(ClassStatistics.from_data(X[:, :2], ZEROS))
    assert len(model.predict(X)) == len(X)  # what was rejected has changed nothing


OF_ROWS = [
    (np.ones((2, 4)), r"4 features, but .* is expecting 3"),
    (np.where(X > 2, np.inf, X), "infinity"),
    (HOLES, r"X contains NaN.*missing='em'"),
]


def test_rows_to_predict():
    plain, model = (gld(missing=one).fit(X, TWO) for one in ("error", "em"))
    projection = HP().fit(X, TWO)
    for rows, message in OF_ROWS:
        for method in ("predict", "predict_proba", "decision_function"):
            with pytest.raises(ValueError, match=message):
                getattr(plain, method)(rows)
        if rows is HOLES:
            assert model.predict(rows).shape == (80,)
            with pytest.raises(ValueError, match=r"X contains NaN, .*: fill such"):
                projection.transform(rows)
            continue
        with pytest.raises(ValueError, match=message):
            model.predict(rows)
    with pytest.raises(ValueError, match="X has 2 columns, but there are 3 comp"):
        HP(3).fit(X, FOUR).inverse_transform(X[:, :2])
    for wrong in ([], [True] * 2, ["a"], [7], [[0, 1]], [-1]):
        with pytest.raises(ValueError, match="features must be a mask of 3 features"):
            plain.for_features(wrong)
