"""The report on unequal covariances."""

import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.stats import chi2
from sklearn.datasets import load_iris

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    SmallClassWarning,
    heteroscedasticity_report,
)
from heterolda.estimators.held_out import held_out


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
    assert report.box.df == 20
    assert report.box.p_value < 2.2e-16
    groups = [X[y == k] for k in range(3)]
    ours = report.box.m, report.box.chi2, report.box.df, report.box.p_value
    assert_allclose(ours, naive_box(groups), rtol=1e-9)
    for box, (i, j) in zip(report.pair_box, report.pairs, strict=True):
        ours = box.m, box.chi2, box.df, box.p_value
        assert_allclose(ours, naive_box([groups[i], groups[j]]), rtol=1e-8)


def test_the_test_keeps_its_level_and_has_power(rng):
    def p_value(factor):
        X = rng.normal(size=(400, 3))
        X[200:] *= factor
        stats = ClassStatistics.from_data(X, np.repeat([0, 1], 200))
        return heteroscedasticity_report(stats).box.p_value

    levels = np.array([p_value(1.0) for _ in range(200)])
    assert np.mean(levels < 0.05) < 0.15
    assert p_value(1.5) < 1e-6


def test_figures_of_four_classes(make_classes):
    X, y = make_classes(n_classes=4, d=3)
    stats = ClassStatistics.from_data(X, y)
    priors = [0.1, 0.2, 0.3, 0.4]
    report = heteroscedasticity_report(stats, priors=priors)
    best = GaussianLinearDiscriminant(priors=priors).fit_statistics(stats)
    lda = GaussianLinearDiscriminant(solver="fisher", priors=priors)
    lda.fit_statistics(stats)
    assert_allclose(report.best_error, best.bayes_error_, rtol=1e-9)
    assert_allclose(report.lda_error, lda.bayes_error_, rtol=1e-9)
    assert np.all(report.excess >= -1e-12)
    cov = stats.covariances()
    for k, (i, j) in enumerate(report.pairs):
        ratios = eigh(cov[i], cov[j], eigvals_only=True)
        assert_allclose(report.ratio[k], ratios[[0, -1]], rtol=1e-6)
        scale = np.sqrt(np.diag(cov[i] + cov[j]))
        condition = np.linalg.cond(cov[i] / np.outer(scale, scale))
        assert report.condition[k, 0] == pytest.approx(condition, rel=1e-6)
    units = np.array([1e-5, 1.0, 1e7])
    scaled = heteroscedasticity_report(
        ClassStatistics.from_data(X * units + 3 * units, y), priors=priors
    )
    assert_allclose(scaled.box.chi2, report.box.chi2, rtol=1e-6)
    assert_allclose(scaled.condition, report.condition, rtol=1e-6)
    assert_allclose(scaled.ratio, report.ratio, rtol=1e-6)


def test_text_and_frame(make_classes):
    X, y = make_classes(n_classes=4, d=3)
    names = np.array(["north", "east", "south", "west"])
    report = heteroscedasticity_report(ClassStatistics.from_data(X, names[y]))
    text = str(report)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert "Box's M: chi2 = " in text
    assert "normal" in text
    worst = report.pairs[report.excess.argmax()]
    first = lines[lines.index("") + 4]  # below the heading of the table
    assert first.startswith(", ".join(report.classes[worst]))
    assert report.verdict in text
    frame = report.to_frame()
    assert len(frame) == 6
    assert_allclose(frame["excess"], report.excess)
    assert list(frame["class 1"][:2]) == ["east", "east"]


def test_verdicts():
    equal = ClassStatistics.from_moments(
        [0, 1], [50, 50], [[0, 0], [2, 0]], [np.eye(2)] * 2
    )
    report = heteroscedasticity_report(equal)
    assert "makes at most 0.0 points fewer errors\nthan LDA's" in report.verdict
    assert report.box.p_value == pytest.approx(1)
    assert_allclose(report.ratio, 1)
    unequal = ClassStatistics.from_moments(
        ["narrow", "wide"],
        [500, 500],
        [[0, 0], [1, 0.5]],
        [[[0.3, 0], [0, 1.5]], [[6, 1.4], [1.4, 0.5]]],
    )
    verdict = heteroscedasticity_report(unequal).verdict
    assert verdict.replace("\n", " ") == (
        "Plug-in: under the Gaussian model the best line makes 9.2 points fewer errors "
        "than LDA's between 'narrow' and 'wide' (26.5 % against 35.7 %)."
    )


def test_rows_are_held_out(make_classes):
    X, y = make_classes(4)
    weight = np.arange(len(y)) % 3
    labels = np.array(["a", "b", "c", "d"])[y]
    report = heteroscedasticity_report(X, labels, sample_weight=weight)
    model = GaussianLinearDiscriminant().fit(X, labels, weight)
    assert report.judgement == held_out(model, X, labels, weight)[0]
    accuracy = (
        f"Held-out accuracy (10-fold cross-validation, {weight.sum()} rows): "
        f"{100 * report.judgement.accuracy:.2f} %; LDA on the same rows: "
        f"{100 * report.judgement.lda_accuracy:.2f} %."
    )
    said = " ".join(report.verdict.split())
    assert said.startswith(accuracy)
    advice = said.removeprefix(accuracy).lstrip()
    assert advice.startswith(("Use GaussianLinearDiscriminant: ", "Use LDA", "These"))
    text = str(report)
    assert text.index(report.verdict) < text.index("Box's M") < text.index("Plug-in:")
    same = heteroscedasticity_report(ClassStatistics.from_data(X, labels, weight))
    assert_allclose(same.excess, report.excess)
    assert same.judgement is None


def test_rows_too_few_to_hold_out_leave_the_figures_of_the_model(rng):
    X = rng.normal(size=(9, 2))
    labels = np.array([*"aaaaaaaab"])
    with pytest.warns(SmallClassWarning):
        GaussianLinearDiscriminant().fit(X, labels)
    report = heteroscedasticity_report(X, labels)
    assert report.judgement is None
    assert report.verdict.startswith("Plug-in")
    few = heteroscedasticity_report(X, np.array([*"aaaabbbba"]))
    assert few.judgement.method == "9-fold cross-validation"


def test_in_a_notebook(make_classes):
    """Short, with what hostile labels say made harmless, and all that print shows."""
    X, y = make_classes(6, n=30)
    labels = np.array(["<script>x</script>", "&", '"', "d", "e", "f"])[y]
    for given in ([X, labels], [ClassStatistics.from_data(X, labels)]):
        report = heteroscedasticity_report(*given)
        assert len(repr(report)) < 120
        assert repr(report).startswith("HeteroscedasticityReport(n_classes=6, n_feat")
        page = report._repr_html_()
        assert "<script" not in page
        assert "&lt;script&gt;x&lt;/script&gt;, " in page
        assert page.count("<tr>") == 11
        assert "and 5 more" in page
        words = re.sub("<[^>]*>", " ", page)
        for sentence in ("are they equal?", "Plug-in: ", "matters is how many"):
            assert sentence in words
        assert ("Held-out accuracy (10-fold" in words) == (len(given) == 2)


def test_singular_covariances(rng):
    """No test then, but the errors are known, with shrinkage or without."""
    X, y = rng.normal(size=(20, 15)), np.repeat([0, 1], 10)
    X[y == 1] += 1
    stats = ClassStatistics.from_data(X, y)
    report = heteroscedasticity_report(stats, shrinkage="auto")
    assert np.isnan(report.box.p_value)
    assert "needs nonsingular covariances" in str(report)
    assert np.all(np.isfinite(report.condition))
    assert np.all(np.isfinite(heteroscedasticity_report(stats).condition))
    moments = stats.classes, stats.weights, stats.means, np.cov(X[:10].T)[None]
    given = ClassStatistics.from_moments(*moments[:3], np.repeat(moments[3], 2, axis=0))
    assert np.all(np.isinf(heteroscedasticity_report(given).condition))
    constant = ClassStatistics.from_data(np.insert(X[:, :2], 1, 0.5, axis=1), y)
    assert np.isnan(heteroscedasticity_report(constant).box.p_value)
    apart = ClassStatistics.from_data([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert_allclose(heteroscedasticity_report(apart).best_error, 0)


def test_refusals(monkeypatch):
    with pytest.raises(TypeError, match="must be a ClassStatistics"):
        heteroscedasticity_report(np.eye(3))
    two = ClassStatistics.from_data([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    for extra in ({"y": [0, 1]}, {"sample_weight": [1]}):
        with pytest.raises(TypeError, match="are for rows"):
            heteroscedasticity_report(two, **extra)
    one = ClassStatistics.from_data([[0.0], [1.0]], [0, 0])
    with pytest.raises(ValueError, match="at least 2 classes"):
        heteroscedasticity_report(one)
    two = ClassStatistics.from_data([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    report = heteroscedasticity_report(two)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        report.to_frame()


def text_of(X, y, **parameters):
    stats = ClassStatistics.from_data(X, y)
    return str(heteroscedasticity_report(stats, **parameters))


def test_classes_that_are_small_for_the_features(rng):
    """The chi-squared approximation is too liberal there, and the text says so."""
    y = np.repeat(["a", "b", "c", "d"], [12, 40, 40, 12])
    X = rng.normal(size=(len(y), 10))
    assert "classes 'a', 'd' have fewer than 3 samples per feature" in text_of(X, y)
    assert "samples per feature" not in text_of(X[:, :4], y)


def test_the_two_causes_of_singular_covariances_are_told_apart(rng):
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 3))
    constant, twin = np.insert(X, 1, 0.1, axis=1), np.column_stack([X, X[:, 0]])
    half = np.column_stack([X, np.where(y == 0, 0.3, X[:, 1] ** 2)])
    for data, classes in ((constant, "0, 1"), (twin, "0, 1"), (half, "0")):
        text = text_of(data, y)
        assert f"combination of others in classes {classes}: leave it out." in text
        assert "too few samples" not in text
        assert "Do not trust" not in text
    few = text_of(rng.normal(size=(60, 40)), y)
    assert "classes 0, 1 have too few samples for 40 features" in few
    assert "combination" not in few
    both = text_of(np.insert(rng.normal(size=(60, 40)), 0, 1.0, axis=1), y)
    assert "too few samples" in both
    assert "combination" in both


def test_verdicts_of_tiny_classes_are_not_to_be_trusted(rng):
    y = np.repeat([0, 1], [6, 60])
    X = rng.normal(size=(66, 8))
    stats = ClassStatistics.from_data(X, y)
    verdict = heteroscedasticity_report(stats).verdict
    assert "Do not trust it: classes 0 have fewer samples than features" in verdict
    assert "shrinkage='auto'" in verdict
    shrunk = heteroscedasticity_report(stats, shrinkage="auto").verdict
    assert "Do not trust" not in shrunk
