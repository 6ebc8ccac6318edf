"""Rows held out of the fit: folds, refits, and the statistics of other folds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from heterolda import BoundedErrorClassifier, ClassStatistics
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda import LocalNeighborhoodSearch as LNS
from heterolda import SmoothedLinearDiscriminant as SLD
from heterolda.estimators.held_out import NoAccuracyError, held_out, held_out_parts
from heterolda.exceptions import SmallClassWarning
from heterolda.foundations.draws import RowDraws, folds_of
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.samples import RowSample


def naive_lda(X, y, new):
    """Labels of new rows by the formula of linear discriminant analysis."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    means = np.array([X[codes == k].mean(axis=0) for k in range(len(classes))])
    apart = X - means[codes]
    inverse = np.linalg.inv(apart.T @ apart / (len(X) - len(classes)))
    offsets = np.log(counts) - 0.5 * np.diag(means @ inverse @ means.T)
    return classes[(new @ inverse @ means.T + offsets).argmax(axis=1)]


@pytest.mark.parametrize("model", [GLD(), GLD(shrinkage="cv"), LNS(GLD())])
def test_models_are_refitted_without_each_fold(model, make_classes, rng):
    X, y = make_classes(3, n=100)
    labels, weight = np.array([*"abc"])[y], rng.integers(1, 3, len(y)).astype(float)
    actual, right = held_out(model.fit(X, labels, weight), X, labels, weight, 5)
    ours, lda = np.empty_like(labels), np.empty_like(labels)
    folds = folds_of(y, 5)
    for k in range(5):
        rest, out = folds != k, folds == k
        ours[out] = (
            clone(model).fit(X[rest], labels[rest], weight[rest]).predict(X[out])
        )
        copies = np.repeat(np.flatnonzero(rest), weight[rest].astype(int))
        lda[out] = naive_lda(X[copies], labels[copies], X[out])
    assert_array_equal(right, [ours == labels, lda == labels])
    assert actual.method == "5-fold cross-validation"
    assert actual.n_rows == weight.sum()
    assert actual.accuracy == pytest.approx(np.average(ours == labels, weights=weight))


def test_rows_with_missing_values_are_judged_by_em_for_both(make_classes, rng):
    X, y = make_classes(3, n=60)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = GLD(missing="em", choose_on="model").fit(X, y)
    actual, right = held_out(model, X, y, n_folds=4)
    assert actual.method == "4-fold cross-validation (EM for both)"
    folds = folds_of(y, 4)
    lda = GLD(missing="em", solver="fisher", shrinkage=1)
    for ours, expected in zip(right, (model, lda), strict=True):
        for k in range(4):
            again = clone(expected).fit(X[folds != k], y[folds != k])
            hits = again.predict(X[folds == k]) == y[folds == k]
            assert np.mean(hits != ours[folds == k]) < 0.03


def test_small_classes_count_as_wrong_or_cannot_be_judged(make_classes):
    X, y = make_classes(3, n=60)
    few = np.append(np.flatnonzero(y != 2), np.flatnonzero(y == 2)[0])
    for settings in ({}, {"priors": [1, 1e-30, 1e-30], "costs": 1 - np.eye(3)}):
        with pytest.warns(SmallClassWarning):
            model = GLD(**settings).fit(X[few], y[few])
        _, right = held_out(model, X[few], y[few])
        assert not right[:, -1].any()
        assert right[:, y[few] == 0].mean() > 0.5
        # The priors are those given in the fold without the third class, too.
        assert right[:, y[few] == 1].any() == (not settings)
    with pytest.warns(SmallClassWarning, match="fewer than 10 rows"):
        model = SLD(priors=[0.4, 0.4, 0.2]).fit(X[few], y[few])
    _, right = held_out(model, X[few], y[few])
    assert right[0].mean() > 0.5
    X, y = make_classes(2, n=60)
    few = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:2])
    model = GLD(shrinkage=0).fit(X[few], y[few])
    with pytest.raises(NoAccuracyError, match=r"fold \d+, classes .*; use fewer folds"):
        held_out(model, X[few], y[few])
    bounded = BoundedErrorClassifier(GLD(), max_error={1: 0.1}, random_state=0)
    bounded.set_params(confidence=0.9).fit(X, y)
    with pytest.raises(NoAccuracyError, match=r"max_error .*; use more folds"):
        held_out(bounded, X, y, n_folds=2)


def test_folds_of_files_are_those_of_their_statistics(make_classes, rng):
    X, y = make_classes(4, n=300)
    weight = rng.integers(1, 4, len(y)).astype(float)
    model = GLD().fit(X, y, weight)
    draws = RowDraws(0, 6)
    folds, keys = draws.folds(y), draws.keys(y)
    parts = [
        ClassStatistics.from_data(X[part], y[part], weight[part])
        for part in (folds == k for k in range(6))
    ]
    sample = RowSample.from_arrays(X, y, weight, keys, folds)
    actual = held_out_parts(model, parts, sample)
    right = np.zeros((2, len(y)), bool)
    for k in range(6):
        rest, out = folds != k, folds == k
        given = X[rest], y[rest], weight[rest]
        one = clone(model).fit(*given)
        lda = PooledLDA(ClassStatistics.from_data(*given))
        right[:, out] = [m.predict(X[out]) == y[out] for m in (one, lda)]
    accuracy, lda_accuracy = (np.average(one, weights=weight) for one in right)
    assert actual.accuracy == pytest.approx(accuracy)
    assert actual.lda_accuracy == pytest.approx(lda_accuracy)
    assert actual.n_rows == weight.sum()
