"""Comparisons on the same folds: figures, the fair choice, failures and pictures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from heterolda import compare
from heterolda.exceptions import ParameterError
from heterolda.foundations.draws import folds_of
from heterolda.inspection import Comparison

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
CHEAP = {"LDA": None, "naive Bayes": GaussianNB(), "logistic": LOGISTIC}


class InColumn(GaussianNB):
    """Answers in a column, as some do."""

    def predict(self, X):
        return super().predict(X)[:, None]


def naive_figures(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


def test_figures_are_those_of_scikit_learn_on_the_same_folds(four):
    X, y = four
    models = CHEAP | {"SVM": LinearSVC()}
    actual = compare(X, y, models=models, cv=5)
    assert_array_equal(actual.rows, np.arange(len(y)))
    assert np.bincount(actual.folds).tolist() == [64] * 5  # stratified
    right = []
    split = PredefinedSplit(actual.folds)
    for k, given in enumerate(models.values()):
        model = given or LinearDiscriminantAnalysis()
        answers = cross_val_predict(model, X, y, cv=split)
        assert_array_equal(actual.classes[actual.predictions[k]], answers)
        right.append((answers == y).astype(float))
        if hasattr(model, "predict_proba"):
            chances = cross_val_predict(model, X, y, cv=split, method="predict_proba")
            assert actual.log_loss[k] == pytest.approx(log_loss(y, chances))
    assert np.isnan(actual.log_loss).tolist() == [False, False, False, True]
    assert np.all(actual.fit_seconds > 0)
    best = int(np.argmax(actual.accuracy))
    assert actual.best == [*models][best]
    for k in range(4):
        figures = actual.accuracy[k], actual.standard_error[k]
        assert_allclose(figures, naive_figures(right[k]))
        mean, error = naive_figures(right[k] - right[best])
        assert_allclose(actual.difference[k], mean, atol=1e-15)
        assert_allclose(actual.difference_error[k], error, atol=1e-15)
    # The second bars of the picture are those of all but the best.
    segments = np.array(actual.plot().containers[1][2][0].get_segments())
    errors = np.delete(actual.difference_error, best)
    assert_allclose(np.ptp(segments[..., 0], axis=1), 200 * errors)


def drawn(wrong, losses, names="abc"):
    """A comparison of models that get so many of 100 rows wrong."""
    rows = np.arange(100)
    truth = rows % 2
    return Comparison(
        names=tuple(names[: len(wrong)]),
        classes=np.array(["no", "yes"]),
        rows=rows,
        folds=rows % 10,
        truth=truth,
        predictions=np.array([np.where(rows < n, 1 - truth, truth) for n in wrong]),
        log_loss=np.array(losses),
        fit_seconds=np.ones(len(wrong)),
        failures={},
        notes=(),
    )


@pytest.mark.parametrize(
    ("wrong", "losses", "as_good", "choice"),
    [
        # One row is just one standard error of the difference; two are 1.4.
        ([1, 0, 2], [0.1, 0.2, 0.0], "ab", "a"),
        ([0, 0, 9], [0.1, 0.2, 0.0], "ab", "a"),
        ([9, 0, 9], [0.1, 0.9, 0.0], "b", "b"),
        # No probabilities: by log loss the others win, and without any the best.
        ([0, 1, 9], [np.nan, 0.3, 0.1], "ab", "b"),
        ([0, 1, 9], [np.nan, np.nan, 0.1], "ab", "a"),
    ],
)
def test_of_models_as_good_as_the_best_the_lowest_log_loss_is_recommended(
    wrong, losses, as_good, choice
):
    actual = drawn(wrong, losses)
    assert actual.as_good == tuple(as_good)
    assert actual.choice == choice
    assert f"Use {choice}" in actual.recommendation
    assert actual.best == "abc"[int(np.argmin(wrong))]
    assert actual.best_by_log_loss == "abc"[int(np.nanargmin(losses))]
    # The order of the models does not matter.
    back = drawn(wrong[::-1], losses[::-1], "cba")
    assert (set(back.as_good), back.choice) == (set(as_good), choice)


def test_a_constant_answer_is_named_where_no_model_is_clearly_better():
    said = drawn([48, 50], [0.7, 0.7]).recommendation
    assert "no model is clearly better than always answering 'no'" in said
    assert "always" not in drawn([9, 50], [0.7, 0.7]).recommendation


def test_weights_are_copies_whatever_the_model(four, rng):
    X, y = four
    weight = rng.integers(0, 4, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    models = CHEAP | {"GLD": None}
    once = compare(X, y, sample_weight=weight, models=models, cv=4)
    assert not once.failures
    assert_array_equal(once.rows, copies)
    # They are held out together, in the fold of the row.
    folds = folds_of(np.unique(y, return_inverse=True)[1], 4)
    assert_array_equal(once.folds, folds[copies])
    for fold in range(4):
        held = once.folds == fold
        naive = LinearDiscriminantAnalysis().fit(X[copies[~held]], y[copies[~held]])
        hits = naive.predict(X[copies[held]]) == y[copies[held]]
        first = once.predictions[once.names.index("LDA"), held] == once.truth[held]
        assert_array_equal(first, hits)


def test_a_model_that_fails_is_shown_and_stops_no_other(four):
    X, y = four
    inverse = FunctionTransformer(lambda X: np.linalg.inv(0 * X.T @ X))
    bad = make_pipeline(inverse, GaussianNB())
    models = {"bad": bad, "LDA": None, "numbers": LinearRegression()}
    actual = compare(X, np.unique(y, return_inverse=True)[1], models=models, cv=3)
    assert actual.choice == actual.best == "LDA"
    assert_array_equal(np.isnan(actual.accuracy), [True, False, True])
    assert "is it a classifier?" in actual.failures["numbers"]
    assert "bad failed: LinAlgError" in actual._repr_html_()
    assert actual.to_frame().loc["bad", "failure"] == "LinAlgError: Singular matrix"
    assert [text.get_text() for text in actual.plot().texts] == ["failed", "failed"]
    alone = compare(X, y, models={"bad": bad}, cv=3)
    assert alone.best is alone.choice is None
    assert "No model could be fitted" in str(alone)


def test_qda_of_singular_covariances_is_regularized_and_that_is_said(four):
    X, y = four
    twin = np.column_stack([X, X[:, 0]])
    actual = compare(twin, y, models={"QDA": None}, cv=3)
    assert actual.accuracy[0] > 0.4
    assert "QDA: the covariance of a class is singular" in actual.notes[0]
    assert compare(X, y, models={"QDA": None}, cv=3).notes == ()


def test_classes_that_are_too_small_are_in_every_training_set(four):
    X, y = four
    y = np.where(np.arange(len(y)) < 2, "rare", y)
    models = {"LDA": None, "of five classes": InColumn(priors=[0.2] * 5)}
    actual = compare(X, y, models=models, cv=4)
    assert actual.rows.tolist() == list(range(2, len(y)))
    assert not actual.failures
    assert "No model was evaluated on 2 rows of the classes 'rare'" in str(actual)
    with pytest.raises(ParameterError, match="no class has three rows"):
        compare([[0.0], [1], [2], [3]], [0, 0, 1, 1])


def test_progress_ends_with_all_and_its_errors_are_not_those_of_models(four):
    seen = []
    compare(*four, models=CHEAP, cv=3, progress=lambda *news: seen.append(news))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, pytest.approx(1))
    assert list(dict.fromkeys(name for name, _ in seen)) == list(CHEAP)
    with pytest.raises(ZeroDivisionError):
        compare(*four, models=CHEAP, cv=3, progress=lambda name, share: 1 / 0)


def test_wrong_arguments(four):
    for settings, message in [
        ({"models": {"mine": None}}, "allowed only for .*mine"),
        ({"models": {"a": LogisticRegression}}, "'a' must be a classifier"),
        ({"sample_weight": 0.5}, "sample_weight must be whole numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            compare(*four, **settings)
