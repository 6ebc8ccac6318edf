"""The report on unequal covariances, and the rows held out for it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.stats import chi2
from sklearn.datasets import load_iris

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    evaluate,
    heteroscedasticity_report,
)
from heterolda.inspection.evaluation_text import as_record
from heterolda.inspection.model_facts import ModelFacts

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)


def naive_box(groups):
    """Box's M from the data, written out as in Rencher's textbook."""
    v = [len(X) - 1 for X in groups]
    p, k = groups[0].shape[1], len(groups)
    S = [np.cov(X, rowvar=False).reshape(p, p) for X in groups]
    pooled = sum(vi * Si for vi, Si in zip(v, S, strict=True)) / sum(v)
    M = sum(v) * np.log(np.linalg.det(pooled))
    M -= sum(vi * np.log(np.linalg.det(Si)) for vi, Si in zip(v, S, strict=True))
    c1 = sum(1 / vi for vi in v) - 1 / sum(v)
    c1 *= (2 * p**2 + 3 * p - 1) / (6 * (p + 1) * (k - 1))
    df = (k - 1) * p * (p + 1) / 2
    return M, (1 - c1) * M, df, chi2.sf((1 - c1) * M, df)


def test_box_of_iris():
    """The packages biotools and heplots of R print 140.94 with 20 degrees."""
    X, y = load_iris(return_X_y=True)
    report = heteroscedasticity_report(ClassStatistics.from_data(X, y))
    assert round(report.box.chi2, 2) == 140.94
    boxes, parts = [report.box, *report.pair_box], [range(3), *report.pairs]
    for box, part in zip(boxes, parts, strict=True):
        ours = box.m, box.chi2, box.df, box.p_value
        assert_allclose(ours, naive_box([X[y == k] for k in part]), rtol=1e-8)


def test_figures_of_four_classes(make_classes):
    X, y = make_classes(n_classes=4, d=3)
    stats = ClassStatistics.from_data(X, y)
    priors = [0.1, 0.2, 0.3, 0.4]
    report = heteroscedasticity_report(stats, priors=priors)
    for solver, error in ("global", report.best_error), ("fisher", report.lda_error):
        model = GaussianLinearDiscriminant(solver=solver, priors=priors)
        model.fit_statistics(stats)
        assert_allclose(error, model.model_error_, rtol=1e-9)
    i, j = report.pairs[report.excess.argmax()]
    assert f"fewer\n{i}, {j} " in str(report)  # the largest gain comes first
    cov = stats.covariances()
    for k, (i, j) in enumerate(report.pairs):
        ratios = eigh(cov[i], cov[j], eigvals_only=True)
        assert_allclose(report.ratio[k], ratios[[0, -1]], rtol=1e-6)
    units = np.array([1e-5, 1.0, 1e7])
    moved = ClassStatistics.from_data(X * units + 3 * units, y)
    scaled = heteroscedasticity_report(moved, priors=priors)
    assert_allclose(scaled.box.chi2, report.box.chi2, rtol=1e-6)
    assert_allclose(scaled.ratio, report.ratio, rtol=1e-6)


def words_of(report):
    return " ".join(str(report).split())


def test_equal_covariances_and_the_frame():
    moments = [[0, 0], [2, 0]], [np.eye(2)] * 2
    equal = ClassStatistics.from_moments(["a", "b"], [50, 50], *moments)
    report = heteroscedasticity_report(equal)
    assert "would make 0.0 points fewer errors than LDA's" in words_of(report)
    assert report.box.p_value == pytest.approx(1)
    assert_allclose(report.ratio, 1)
    frame = report.to_frame()
    assert_allclose(frame["excess"], report.excess)
    assert_allclose(frame["largest ratio"], report.ratio[:, 1])
    assert frame["class 1"].tolist() == ["a"]
    few = ClassStatistics.from_moments(["a", "b"], [5, 50], *moments)
    assert "Classes 'a' have fewer than" in words_of(heteroscedasticity_report(few))


def test_rows_are_held_out(four, rng):
    X, y = four
    weight, groups = np.arange(len(y)) % 3, np.arange(len(y)) // 7
    for settings in ({}, {"groups": groups}, {"cv": 7, "random_state": 3}):
        report = heteroscedasticity_report(X, y, sample_weight=weight, **settings)
        model = GaussianLinearDiscriminant()
        again = evaluate(model, X, y, sample_weight=weight, **settings)
        assert as_record(report.evaluation) == as_record(again)
        share = f"{100 * (1 - again.lda_error):.2f} %."
        words = " ".join(report.conclusion.split())
        assert f"LDA on the same rows: {share}" in words
        name = "GaussianLinearDiscriminant"
        assert again.conclusion.replace("this model", name) in words
    # Rows too few to hold out leave the figures of the model, without a warning.
    few = heteroscedasticity_report(rng.normal(size=(3, 1)), [0, 0, 1])
    assert few.evaluation is None


def test_singular_covariances_are_named(rng):
    """No test then, but the errors are known, with shrinkage or without."""
    y, X = np.repeat([0, 1], 30), rng.normal(size=(60, 3))
    constant, twin = np.insert(X, 1, 0.1, axis=1), np.column_stack([X, X[:, 0]])
    half = np.column_stack([X, np.where(y == 0, 0.3, X[:, 1] ** 2)])
    few = rng.normal(size=(60, 40))
    both = "0, 1"
    for rows, classes in [(constant, both), (twin, both), (half, "0"), (few, both)]:
        report = heteroscedasticity_report(ClassStatistics.from_data(rows, y))
        assert np.isnan(report.box.p_value)
        assert f"covariances of classes {classes} are singular" in words_of(report)
        assert np.all(report.excess >= -1e-9)
        assert np.all(np.isfinite(report.lda_error))
    report = heteroscedasticity_report(ClassStatistics.from_data(X, y))
    assert "singular" not in words_of(report)
    apart = ClassStatistics.from_data([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert_allclose(heteroscedasticity_report(apart).best_error, 0)


def test_the_errors_of_lda_are_those_of_the_model_whatever_rows_chose(rng):
    X, y = np.exp(rng.normal(size=(400, 2))), np.repeat([0, 1], 200)
    X[y == 1] = 3 * X[y == 1] + 1
    model = GaussianLinearDiscriminant().fit(X, y)
    assert model.chosen_on_rows_.all()
    lda = GaussianLinearDiscriminant(solver="fisher").fit(X, y)
    assert_allclose(ModelFacts(model).lda_values, lda.model_error_)
