"""Comparisons on the same folds: figures, the fair choice, failures and pictures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from helpers.naive_lda import NaiveLDA
from heterolda import GaussianLinearDiscriminant, compare, evaluate
from heterolda.exceptions import ParameterError
from heterolda.foundations.draws import folds_of
from heterolda.inspection.losses import conclusion

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
    folds = folds_of(actual.truth, 5)
    assert np.bincount(folds).tolist() == [64] * 5  # stratified
    right = []
    split = PredefinedSplit(folds)
    for k, given in enumerate(models.values()):
        model = given or NaiveLDA()
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
    assert_allclose(np.ptp(segments[..., 0], axis=1), 400 * errors)


def test_a_choice_is_one_that_an_evaluation_supports(four):
    X, y = four
    for groups in (None, np.arange(len(y)) // 8):
        models = {"LDA": None, "GLD": None, "QDA": None}
        actual = compare(X, y, models=models, groups=groups)
        again = evaluate(GaussianLinearDiscriminant(), X, y, groups=groups)
        assert actual.method == again.method
        assert_allclose(actual.accuracy[:2], 1 - again.losses.error[1::-1])
        assert_allclose(actual.log_loss[1], again.log_loss)
        assert_allclose(
            actual.losses.standard_error[:2, :2][::-1, ::-1],
            again.losses.standard_error[:2, :2],
        )
        assert actual.conclusion.startswith(conclusion(actual.losses, actual.constant))
        assert f"In Python, {actual.choice} is " in actual.conclusion
        assert actual.choice in actual.as_good
    noise = np.random.default_rng(0).normal(size=X.shape)
    none = compare(noise, y, models={"LDA": None, "GLD": None})
    assert none.choice is None
    assert none.conclusion.startswith("Use no model: ")
    assert none.as_good == ()


def test_weights_are_copies_whatever_the_model(four, rng):
    X, y = four
    weight = rng.integers(0, 4, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    models = CHEAP | {"GLD": None}
    once = compare(X, y, sample_weight=weight, models=models, cv=4)
    assert not once.failures
    assert_array_equal(once.rows, np.flatnonzero(weight))
    # They are held out together, in the fold of the row.
    codes = np.unique(y, return_inverse=True)[1]
    folds = folds_of(np.where(weight > 0, codes, -1), 4)[copies]
    naive = np.empty_like(y[copies])
    for fold in range(4):
        rest = copies[folds != fold]
        lda = NaiveLDA().fit(X[rest], y[rest])
        naive[folds == fold] = lda.predict(X[copies[folds == fold]])
    first = once.accuracy[once.names.index("LDA")]
    assert first == pytest.approx(np.mean(naive == y[copies]))


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
    assert "2 rows of the classes 'rare' were never held out" in str(actual)
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
        (
            {"sample_weight": np.arange(320) + 0.5},
            "sample_weight must be whole numbers",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            compare(*four, **settings)
