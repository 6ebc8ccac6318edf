"""Evaluations: figures by definition, groups, splitters, and what follows from them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, t
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, precision_score, recall_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.truth.intervals import cell, violations
from helpers.naive_lda import NaiveLDA
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    evaluate,
)
from heterolda.exceptions import ParameterError
from heterolda.foundations.draws import folds_of, group_folds_of
from heterolda.foundations.intervals import share_intervals, wilson
from heterolda.inspection.held_out import RefitError
from heterolda.inspection.losses import Losses, conclusion

pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning")
GLD = GaussianLinearDiscriminant
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    "model", [GLD(), GLD(shrinkage="cv"), SmoothedLinearDiscriminant(), LOGISTIC]
)
def test_figures_are_those_of_scikit_learn_on_the_same_folds(four, model):
    X, y = four
    actual = evaluate(model, X, y, cv=4)
    split = PredefinedSplit(folds_of(np.unique(y, return_inverse=True)[1], 4))
    answers = cross_val_predict(model, X, y, cv=split)
    chances = cross_val_predict(model, X, y, cv=split, method="predict_proba")
    assert actual.method == "4-fold cross-validation"
    assert actual.error == pytest.approx(np.mean(answers != y))
    assert actual.log_loss == pytest.approx(log_loss(y, chances))
    brier = np.mean(np.sum((chances - pd.get_dummies(y).to_numpy()) ** 2, axis=1))
    assert actual.brier_score == pytest.approx(brier)
    assert_allclose(actual.recall, recall_score(y, answers, average=None))
    precision = precision_score(y, answers, average=None, zero_division=np.nan)
    assert_allclose(actual.precision, precision)
    lda = cross_val_predict(NaiveLDA(), X, y, cv=split)
    assert actual.lda_error == pytest.approx(np.mean(lda != y))
    more = (lda != y).astype(float) - (answers != y)
    assert actual.losses.difference[1, 0] == pytest.approx(more.mean())
    error = more.std(ddof=1) / np.sqrt(len(y))
    assert actual.losses.standard_error[1, 0] == pytest.approx(error)
    assert_allclose(actual.losses.error[2], np.mean(y != "east"))
    # Of four folds, three quarters of the rows count.
    n = np.array([len(y), np.sum(y == "south")])
    wrong = np.array([np.sum(answers != y), np.sum((answers != y) & (y == "south"))])
    ends = wilson(wrong / n, 0.75 * n)
    assert_allclose(actual.error_interval, ends[0])
    assert_allclose(actual.recall_interval[2], 1 - ends[1][::-1])


def test_intervals_are_those_of_wilson(rng):
    for wrong, n in ((0, 9), (3, 40), (200, 200)):
        ends = binomtest(wrong, n).proportion_ci(method="wilson")
        actual = wilson(np.array([wrong / n]), np.array([n]))[0]
        assert_allclose(actual, ends, rtol=1e-6, atol=1e-12)


def test_weights_are_frequencies_whether_a_classifier_takes_them_or_not(four, rng):
    X, y = four
    weight = rng.integers(0, 4, len(y)).astype(float)
    folds = folds_of(np.where(weight > 0, np.unique(y, return_inverse=True)[1], -1), 3)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    for model in (GLD(choose_on="model"), LOGISTIC):
        actual = evaluate(model, X, y, sample_weight=weight, cv=3)
        split = PredefinedSplit(folds[copies])
        answers = cross_val_predict(model, X[copies], y[copies], cv=split)
        assert actual.n_rows == weight.sum()
        assert actual.error == pytest.approx(np.mean(answers != y[copies]))
    with pytest.raises(ParameterError, match="Pipeline takes no weights"):
        evaluate(LOGISTIC, X, y, sample_weight=weight + 0.5)


def test_rows_that_are_not_numbers_and_classifiers_without_probabilities(rng):
    color, y = rng.choice([*"abc"], 90), np.arange(90) % 2
    frame = pd.DataFrame({"color": np.where(y == 1, "d", color)})
    actual = evaluate(make_pipeline(OneHotEncoder(), LinearSVC()), frame, y)
    assert actual.error == 0
    assert np.isnan([actual.log_loss, actual.brier_score, actual.lda_error]).all()
    assert "LDA was not compared" in str(actual)
    assert actual.conclusion.startswith("Use this model: its error is lower than that")
    assert actual.plot()[1].texts[0].get_text() == "no probabilities"
    # The priors and costs of a fit without a class are those of the others.
    X, y = np.append(rng.normal(size=60), 99)[:, None], np.append(np.arange(60) % 2, 2)
    X[:, 0] += 5 * y
    pairs = [(np.arange(0, 60, 2), np.arange(1, 61, 2))]
    pairs = [(np.arange(30), np.arange(30, 61)), (np.arange(30, 61), np.arange(30))]
    for settings in (
        {"priors": [0.4, 0.4, 0.2]},
        {"priors": {0: 0.4, 1: 0.4, 2: 0.2}, "costs": {0: {2: 3}, 2: {1: 9}}},
        {"costs": 1 - np.eye(3)},
    ):
        actual = evaluate(GLD(**settings), X, y, cv=pairs)
        assert actual.recall[2] == 0
        assert actual.recall[:2].min() > 0.9
        assert actual.notes == (
            "Class 2 is absent from the rows of 1 of 2 fits, so that its rows tested "
            "there count as wrong.",
        )


def test_missing_values_are_found_by_em_for_both(make_classes, rng):
    X, y = make_classes(3, n=60)
    X[rng.random(X.shape) < 0.1] = np.nan
    model, folds = GLD(missing="em", choose_on="model"), folds_of(y, 4)
    lda = GLD(missing="em", choose_on="model", solver="fisher", shrinkage=1)
    actual = evaluate(model, X, y, cv=4)
    for error, one in zip(actual.losses.error, (model, lda), strict=False):
        answers = cross_val_predict(one, X, y, cv=PredefinedSplit(folds))
        assert error == pytest.approx(np.mean(answers != y))


def naive_spread(codes, groups, folds):
    shares = [np.bincount(codes[folds == k], minlength=4) for k in np.unique(folds)]
    return (np.array(shares) / np.bincount(codes)).std(axis=0).mean()


def test_groups_stay_together_and_classes_stay_balanced(rng):
    groups = rng.integers(0, 25, 600)
    codes = (rng.random(600) * rng.integers(1, 5, 25)[groups]).astype(int)
    folds = group_folds_of(codes, groups, 5)
    assert all(len(np.unique(folds[groups == g])) == 1 for g in range(25))
    theirs = np.zeros(600, int)
    split = StratifiedGroupKFold(5).split(codes, codes, groups)
    for k, (_, test) in enumerate(split):
        theirs[test] = k
    ours = naive_spread(codes, groups, folds)
    assert ours <= 1.3 * naive_spread(codes, groups, theirs)
    # The names of groups and their type play no part.
    X = rng.normal(size=(600, 2)) + codes[:, None]
    for names in (groups, 7 - groups, groups.astype(str), groups.astype(object)):
        result = evaluate(GLD(), X, codes, groups=names)
        assert result.method == "5-fold cross-validation of whole groups"
        assert result.n_groups == 25
        order = np.argsort(np.unique(groups, return_index=True)[1])
        assert result.error == evaluate(GLD(), X, codes, groups=order[groups]).error
    weight = (groups > 3).astype(float)
    weighted = evaluate(GLD(), X, codes, groups=groups, sample_weight=weight)
    assert weighted.n_groups == len(np.unique(groups[groups > 3]))


def test_intervals_of_groups_of_equal_rows_are_those_of_groups(rng):
    right = rng.random(40) < 0.7
    groups = 6.0 * right[:, None], np.full((40, 1), 6.0)
    ends = share_intervals(groups[0].sum(axis=0), groups[1].sum(axis=0), groups)[0]
    z, n, p = t.ppf(0.975, 39), 39, right.mean()
    center, scale = p + z**2 / (2 * n), 1 + z**2 / n
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert_allclose(ends, [(center - half) / scale, (center + half) / scale])
    none = np.zeros((40, 1)), np.full((40, 1), 6.0)
    low, high = share_intervals(np.zeros(1), np.array([240.0]), none)[0]
    assert (low, high) == (0, pytest.approx(z**2 / (40 + z**2)))
    one = np.ones((1, 1)), np.full((1, 1), 9.0)
    assert share_intervals(*[part[0] for part in one], one).tolist() == [[0, 1]]


def test_any_splitter_says_how_rows_were_held_out(four):
    X, y = four
    groups = np.arange(len(y)) // 40
    later = evaluate(GLD(), X, y, cv=TimeSeriesSplit(3))
    assert later.method == "3 tests by TimeSeriesSplit"
    assert later.n_rows == 240
    twice = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    repeated = evaluate(GLD(), X, y, cv=twice)
    assert repeated.n_rows == pytest.approx(320)
    error = [
        np.mean(GLD().fit(X[a], y[a]).predict(X[b]) != y[b])
        for a, b in twice.split(X, y)
    ]
    assert repeated.error == pytest.approx(np.mean(error))
    whole = evaluate(GLD(), X, y, groups=groups, cv=GroupKFold(4))
    assert (whole.n_groups, whole.notes) == (8, ())
    split = evaluate(GLD(), X, y, groups=groups, cv=KFold(4, shuffle=True))
    assert split.notes == (
        "In 4 of 4 fits, rows of a tested group are fitted: the error of new groups "
        "may be larger.",
    )
    few = evaluate(GLD(), X, y, groups=groups % 3)
    assert few.method == "3-fold cross-validation of whole groups"
    assert few.notes == ("There are 3 groups, so there are as many folds.",)
    rare = np.where(np.arange(len(y)) < 2, "rare", y)
    small = evaluate(GLD(), X, rare)
    assert small.method == "5-fold cross-validation"
    assert "2 rows of the classes 'rare' were never held out" in small.notes[0]


def test_copies_of_rows_are_named(four):
    X, y = np.round(four[0]), four[1]
    for n, said in ((40, True), (10, False)):
        few = np.append(np.arange(300), np.arange(n))
        codes = np.unique(y, return_inverse=True)[1]
        naive = len(np.unique(np.column_stack([X, codes])[few], axis=0))
        notes = evaluate(GLD(), X[few], y[few]).notes
        share = f"{100 * (1 - naive / len(few)):.1f} % of the rows are exact copies"
        assert any(share in note for note in notes) == (1 - naive / len(few) > 0.05)
        assert said == (n == 40)
    assert not evaluate(GLD(), X[few], y[few], groups=few).notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": [1] * 320}, "groups has too few values to hold any"),
        ({"groups": [1, None] * 160}, r"groups has missing labels \(160 of 320\): dr"),
        ({"groups": [1, 2]}, "groups must have one value for each of the 320 rows"),
        ({"cv": 1}, "cv must be an integer from 2 to 1000"),
        ({"cv": []}, "cv has no splits"),
        ({"cv": [([0, 1], [1, 2])]}, "cv has rows in a test that are fitted"),
        ({"cv": [([0, 999], [1, 2])]}, "cv must be a number of folds"),
        ({"cv": [(np.arange(4) == 0, [1])]}, "cv must be a number of folds"),
        ({"model": LogisticRegression}, "model must be a classifier"),
        ({"X": np.full((320, 2), np.nan)}, "^X contains NaN.*leave their rows out$"),
        ({"y": ["a"] * 320}, "at least 2 classes"),
        ({"y": np.arange(320) // 2 % 160}, "y: no class has three rows"),
    ],
)
def test_wrong_arguments(four, change, message):
    X, y = four
    arguments = {"model": GLD(), "X": X, "y": y} | change
    with pytest.raises((ParameterError, ValueError), match=message):
        evaluate(**arguments)


def test_a_fit_that_fails_names_its_fold(make_classes):
    X, y = make_classes(2, n=60)
    with pytest.raises(ParameterError, match="fit 1 have 1 class, but two are needed"):
        evaluate(GLD(), X, y, cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))])
    bounded = BoundedErrorClassifier(GLD(), max_error={1: 0.1}, confidence=0.9)
    with pytest.raises(RefitError, match=r"fold 1, max_error .*; use more folds"):
        evaluate(bounded, X, y, cv=2)


def test_costs_and_bounds_decide(make_classes):
    X, y = make_classes(2, n=300, spread=0.5)
    costs = {0: {1: 8}}
    for model in (GLD(costs=costs), LocalNeighborhoodSearch(costs=costs)):
        actual = evaluate(model, X, y)
        matrix = np.array([[0, 8], [1, 0]])
        assert actual.expected_cost == pytest.approx(
            np.sum(actual.confusion * matrix) / 600
        )
        low, high = actual.expected_cost_interval
        assert low < actual.expected_cost < high
        assert actual.constant == 0
        assert "Expected cost: " in str(actual)
        assert "expected cost is lower" in actual.conclusion or (
            "Use no model" in actual.conclusion or "LDA" in actual.conclusion
        )
    bounded = BoundedErrorClassifier(max_error={1: 0.1})
    actual = evaluate(bounded, X, y)
    assert actual.bounded == actual.constant == 1
    assert actual.bounded_rate == pytest.approx(1 - actual.recall[1])
    assert "of 1, " in str(actual)
    assert "the bound of 10.0 %" in " ".join(str(actual).split())
    shown = evaluate(GLD(criterion="minimax"), X, y).conclusion
    assert shown.startswith("The largest error rate of a class")


def losses_of(values, errors=0.01, log_loss=None, **settings):
    """Losses of "this model", LDA and the constant rule, or of more models."""
    values, m = np.array(values), len(values)
    names = ["this model", "LDA", "constant"] if m == 3 else [*"abc"[: m - 2]]
    names = names if m == 3 else [*names, "LDA", "constant"]
    nothing = np.full(m, np.nan)
    fields = {
        "names": tuple(names),
        "error": values,
        "value": values,
        "value_error": np.full(m, errors),
        "class_rate": nothing,
        "class_low": nothing,
        "log_loss": np.full(m, np.nan) if log_loss is None else np.array(log_loss),
        "brier_score": nothing,
        "difference": values[:, None] - values,
        "standard_error": np.full((m, m), errors),
        "critical": 2.0,
    }
    return Losses(**fields | settings)


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (
            losses_of([0.1, 0.2, 0.5]),
            "Use this model: its error is lower than that of ",
        ),
        (
            losses_of([0.2, 0.1, 0.5]),
            "Use LDA: its error is lower than that of this mo",
        ),
        (
            losses_of([0.1, 0.115, 0.5]),
            "Use LDA, the simplest: .* .this model is ahead",
        ),
        (
            losses_of([0.49, 0.5, 0.5]),
            "Use no model: neither this model nor LDA is cle",
        ),
        (losses_of([0.1, 0.5, 0.5]), "Use this model: .* that of LDA by 40.0 points"),
        (losses_of([0.49, 0.4, 0.5]), "Use LDA: its error"),
        (
            losses_of([0.475, 0.485, 0.5]),
            "Use more rows to decide: this model is clear",
        ),
        (
            losses_of([0.1, 0.2, 0.5], decides_by="expected cost"),
            "Use this model: its expected cost is lower than that of LDA by 0.1, with",
        ),
        (
            losses_of([0.1, 0.11, 0.3, 0.5], log_loss=[0.3, 0.2, 0.1, 0.9]),
            "Use b: there is no clear difference from a, and of these it has the low",
        ),
        (losses_of([0.5, 0.5, 0.5, 0.5]), "Use no model: none of these is clearly bet"),
        (
            losses_of(
                [0.3, 0.1, 0.5],
                decides_by="bound",
                max_error=0.05,
                class_rate=np.array([0.04, 0.2, 0.0]),
                class_low=np.array([0.01, 0.1, 0.0]),
            ),
            r"Use this model: others break the bound \(LDA 20.0 % wrong\)",
        ),
        (
            losses_of(
                [0.3, 0.1, 0.5],
                decides_by="bound",
                max_error=0.05,
                class_rate=np.array([0.3, 0.2, 0.0]),
                class_low=np.array([0.1, 0.1, 0.0]),
            ),
            "Use no model: neither this model nor LDA keeps the bound of 5.0 %",
        ),
    ],
)
def test_the_conclusion_follows_from_the_losses(losses, said):
    import re

    assert re.match(said, conclusion(losses, "well"))


def test_what_is_shown(four):
    actual = evaluate(GLD(), *four)
    frame = actual.to_frame()
    assert frame.index.tolist() == ["east", "north", "south", "west"]
    assert_allclose(frame["recall"], actual.recall)
    assert_array_equal(frame["precision low"], actual.precision_interval[:, 0])
    assert f"Evaluation(error={actual.error:.4f}" in repr(actual)
    for said in ("5-fold cross-validation: 320 rows.", actual.conclusion[:40]):
        assert said in str(actual)
        assert said in actual._repr_html_()
    matrix, chances = actual.plot()
    assert len(matrix.texts) == 16
    weight, sums, right = actual.reliability
    dots = chances.collections[0].get_offsets()
    known = weight > 0
    expected = np.column_stack([sums[known], right[known]]) / weight[known, None]
    assert_allclose(np.asarray(dots), expected)
    naive = np.sum(np.abs(sums - right)) / 320
    assert actual.calibration_error == pytest.approx(naive)


@pytest.mark.parametrize("rows", ["200 independent rows", "20 groups of 10 rows"])
def test_intervals_hold_the_error_on_new_rows(rows, rng):
    assert not violations([cell(rows, "GaussianLinearDiscriminant", 20, rng)])
