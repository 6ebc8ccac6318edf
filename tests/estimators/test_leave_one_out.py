"""Leave-one-out in closed form against as many fits, each without one row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    Global,
    ParameterError,
)
from heterolda.estimators import _left_out_pairs
from heterolda.estimators import leave_one_out as module

pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning"),
]


def rows_of_classes(rng, sizes, d, apart=1.0):
    """Overlapping Gaussian rows with covariances of their own, and their labels."""
    X = [
        rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + apart * rng.normal(size=d)
        for n in sizes
    ]
    order = rng.permutation(sum(sizes))
    labels = np.repeat([f"class {k}" for k in range(len(sizes))], sizes)
    return np.vstack(X)[order], labels[order]


def refits(model, X, y, weight=None):
    """Predictions of rows by fits without one copy of them."""
    weight = np.ones(len(y)) if weight is None else weight
    predictions = []
    for row in np.flatnonzero(weight):
        rest = weight.copy()
        rest[row] -= min(rest[row], 1)
        predictions += list(clone(model).fit(X, y, rest).predict(X[[row]]))
    return predictions


FOUR = (7, 9, 12, 8)
CASES = {
    "two classes": ((20, 15), {}),
    "four classes": (FOUR, {}),
    "majority": (FOUR, {"voting": "majority"}),
    "given priors": (FOUR, {"priors": [0.1, 0.2, 0.3, 0.4]}),
    "costs": ((9, 10, 12), {"costs": [[0, 1, 5], [2, 0, 1], [1, 0, 0]]}),
    "rare": ((30, 5), {}),
    "fisher": (FOUR, {"solver": "fisher"}),
    "shrunk": ((8, 12), {"shrinkage": 0.3}),
    "shrunk to one": ((8, 12), {"shrinkage": 1.0}),
    "two numbers": ((8, 12), {"shrinkage": (0.3, 0.6)}),
    "two numbers, none": (FOUR, {"shrinkage": (0, 0.6)}),
    "auto": ((8, 12), {"shrinkage": "auto"}),
    "nearly singular": ((4, 5), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_predictions_are_those_of_as_many_fits(rng, case):
    sizes, settings = CASES[case]
    X, y = rows_of_classes(rng, sizes, 2)
    settings = {"solver": Global(gap=1e-8), **settings}
    model = GaussianLinearDiscriminant(guard=False, **settings)
    found = model.fit(X, y).leave_one_out(X, y)
    assert_array_equal(found.rows, np.arange(len(y)))
    assert_array_equal(found.predictions, refits(model, X, y))
    assert found.error == pytest.approx(np.mean(found.predictions != y))
    assert found.standard_error == pytest.approx(
        np.sqrt(found.error * (1 - found.error) / len(y))
    )


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("settings", [{}, {"shrinkage": "auto"}])
def test_one_copy_of_a_row_is_left_out(rng, whole, settings):
    """A row of weight 3 loses one of three copies, one of weight 1/2 all of it."""
    X, y = rows_of_classes(rng, (15, 12), 2)
    weight = rng.choice([0.0, 1.0, 3.0] if whole else [0.5, 0.7, 2.5], len(y))
    model = GaussianLinearDiscriminant(guard=False, **settings)
    found = model.fit(X, y, weight).leave_one_out(X, y, weight)
    assert_array_equal(found.predictions, refits(model, X, y, weight))
    wrong = found.predictions != y[found.rows]
    assert found.error == pytest.approx(np.average(wrong, weights=weight[found.rows]))


def test_collinear_and_constant_features_change_nothing(rng):
    X, y = rows_of_classes(rng, (25, 30, 20), 3)
    more = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(len(y), 7.0)])
    plain = GaussianLinearDiscriminant(guard=False).fit(X, y).leave_one_out(X, y)
    found = GaussianLinearDiscriminant(guard=False).fit(more, y).leave_one_out(more, y)
    assert_array_equal(found.predictions, plain.predictions)
    assert_array_equal(found.lda_predictions, plain.lda_predictions)


def test_a_row_that_alone_spans_a_direction_is_solved_anew(rng):
    """Without it the feature is constant."""
    X, y = rows_of_classes(rng, (15, 12), 2)
    X = np.column_stack([X, np.zeros(len(y))])
    X[3, 2] = 1.0
    model = GaussianLinearDiscriminant(guard=False)
    found = model.fit(X, y).leave_one_out(X, y)
    assert found.n_solved_anew > 0
    assert_array_equal(found.predictions, refits(model, X, y))


def test_rows_that_span_all_directions_of_lda_draw_no_warning(rng):
    """Some products are exactly one; such rows are decided by hand."""
    for _ in range(5):
        X, y = rng.normal(size=(30, 60)), np.arange(30) % 4
        model = GaussianLinearDiscriminant(shrinkage="auto", guard=False).fit(X, y)
        assert 0 <= model.leave_one_out(X, y).lda_error <= 1


@pytest.mark.parametrize(("n", "shrinkage"), [(1, None), (2, 0)])
def test_class_without_a_covariance_loses_the_vote(rng, n, shrinkage):
    """A single row leaves nothing, two rows no covariance unless the class borrows."""
    X, y = rows_of_classes(rng, (25, n, 30), 1)
    model = GaussianLinearDiscriminant(guard=False, shrinkage=shrinkage).fit(X, y)
    found = model.leave_one_out(X, y)
    rest = y != "class 1"
    without = model.fit(X[rest], y[rest])
    assert_array_equal(found.predictions[~rest], without.predict(X[~rest]))


def test_small_classes_borrow_without_a_row_too(rng):
    """Of two classes as in as many fits, also where borrowing begins."""
    X, y = rows_of_classes(rng, (30, 6), 4)
    model = GaussianLinearDiscriminant(guard=False)
    found = model.fit(X, y).leave_one_out(X, y)
    assert_array_equal(found.predictions, refits(model, X, y))
    X, y = rows_of_classes(rng, (30, 2), 4)
    found = model.fit(X, y).leave_one_out(X, y)
    assert_array_equal(found.predictions, refits(model, X, y))


def test_class_that_begins_to_borrow_among_more(rng):
    """Without a row the class borrows from the pooled covariance with all rows."""
    X, y = rows_of_classes(rng, (20, 5, 15), 3)
    model = GaussianLinearDiscriminant(guard=False).fit(X, y)
    found, pooled = model.leave_one_out(X, y), model.statistics_.scatters.sum(0) / 37
    assert found.n_solved_anew >= 10
    for row in np.flatnonzero(y == "class 1"):
        rest = np.arange(len(y)) != row
        statistics = ClassStatistics.from_data(X[rest], y[rest])
        cov = statistics.covariances(0)
        cov[1] += 3 / 7 * (pooled - cov[1])
        exact = ClassStatistics.from_moments(
            model.classes_, statistics.weights, statistics.means, cov
        )
        again = GaussianLinearDiscriminant().fit_statistics(exact)
        assert found.predictions[row] == again.predict(X[[row]])[0]


@pytest.mark.parametrize("to_diagonal", [None, 0.7])
def test_shrinkage_of_more_classes_keeps_its_target(rng, to_diagonal):
    """The rows that the pooled covariance counts for, and itself, are kept."""
    X, y = rows_of_classes(rng, FOUR, 2)
    shrinkage = 0.4 if to_diagonal is None else (0.4, to_diagonal)
    model = GaussianLinearDiscriminant(guard=False, shrinkage=shrinkage).fit(X, y)
    found = model.leave_one_out(X, y)
    weights = model.statistics_.weights
    pooled = model.statistics_.scatters.sum(axis=0) / (weights.sum() - 4)
    pooled += (to_diagonal or 0) * (np.diag(np.diag(pooled)) - pooled)
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        statistics = ClassStatistics.from_data(X[rest], y[rest])
        cov = np.array(model.statistics_.covariances(shrinkage))
        k = model.classes_.tolist().index(y[row])
        nu = 0.4 / 0.6 * (weights[k] - 1)
        own = statistics.scatters[k] + nu * pooled
        cov[k] = own / (weights[k] - 2 + nu)
        again = GaussianLinearDiscriminant(guard=False).fit_statistics(
            ClassStatistics.from_moments(
                model.classes_, statistics.weights, statistics.means, cov
            )
        )
        assert found.predictions[row] == again.predict(X[[row]])[0]


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.1, 0.2]])
def test_lda_is_that_of_scikit_learn(rng, priors):
    X, y = rows_of_classes(rng, (10, 20, 15, 12), 3)
    found = (
        GaussianLinearDiscriminant(guard=False, priors=priors)
        .fit(X, y)
        .leave_one_out(X, y)
    )
    lda = LinearDiscriminantAnalysis(solver="lsqr", priors=priors)
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        expected = lda.fit(X[rest], y[rest]).predict(X[[row]])[0]
        assert found.lda_predictions[row] == expected
    assert found.lda_error == pytest.approx(np.mean(found.lda_predictions != y))


def test_of_many_rows_an_even_sample_is_judged(rng, monkeypatch):
    """The same rows in any order; each as if all were judged."""
    X, y = rows_of_classes(rng, (60, 80), 2)
    model = GaussianLinearDiscriminant(guard=False).fit(X, y)
    every = model.leave_one_out(X, y)
    monkeypatch.setattr(module, "MOST_ROWS", 50)
    found = model.leave_one_out(X, y)
    assert len(found.rows) == 50
    assert_array_equal(found.predictions, every.predictions[found.rows])
    order = rng.permutation(len(y))
    again = model.leave_one_out(X[order], y[order])
    assert set(order[again.rows]) == set(found.rows)


def test_memory_is_bounded_by_blocks(rng, monkeypatch):
    X, y = rows_of_classes(rng, (30, 40, 20), 2)
    model = GaussianLinearDiscriminant(guard=False).fit(X, y)
    every = model.leave_one_out(X, y)
    monkeypatch.setattr(module, "_BLOCK_SIZE", 30)
    monkeypatch.setattr(_left_out_pairs, "_BATCH_SIZE", 1)
    assert_array_equal(model.leave_one_out(X, y).predictions, every.predictions)


@pytest.mark.parametrize(
    "settings",
    [{"solver": "c-hld"}, {"criterion": "minimax"}, {"multiclass": "ova"}],
)
def test_what_has_no_closed_form_is_refused(rng, settings):
    X, y = rows_of_classes(rng, (30, 40, 20), 2)
    model = GaussianLinearDiscriminant(guard=False, **settings).fit(X, y)
    with pytest.raises(ParameterError, match="cross_val_predict") as caught:
        model.leave_one_out(X, y)
    assert caught.value.parameter == next(iter(settings))


def test_guarded_pairs_keep_fishers_rule(rng):
    X, y = rows_of_classes(rng, FOUR, 2)
    model = GaussianLinearDiscriminant(guard=False).fit(X, y)
    fisher = GaussianLinearDiscriminant(solver="fisher").fit(X, y)
    model.guarded_ = np.ones(6, bool)
    for name in ("coef_", "intercept_", "bayes_error_"):
        setattr(model, name, getattr(fisher, name))
    found = model.leave_one_out(X, y)
    assert_array_equal(found.predictions, refits(fisher, X, y))
    assert_allclose(found.error, fisher.leave_one_out(X, y).error)


def test_guarded_pairs_of_a_shrunk_model_are_not_shrunk(rng):
    X, y = rows_of_classes(rng, (15, 20), 2)
    expected = refits(GaussianLinearDiscriminant(solver="fisher"), X, y)
    for shrinkage in (0.9, (0.9, 0.5)):
        model = GaussianLinearDiscriminant(guard=False, shrinkage=shrinkage).fit(X, y)
        model.guarded_ = np.ones(1, bool)
        assert_array_equal(model.leave_one_out(X, y).predictions, expected)


def test_other_rows_than_those_of_the_fit_are_refused(rng):
    """The same classes and totals do not make them the same rows."""
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = GaussianLinearDiscriminant().fit(X, y)
    with pytest.raises(ValueError, match="X must have the rows that the model was"):
        model.leave_one_out(X + 0.1, y)
    with pytest.raises(ValueError, match="must be those that the model was fitted to"):
        model.leave_one_out(X, y, np.full(60, 2.0))
    with pytest.raises(ParameterError, match="those that the model was fitted to"):
        model.leave_one_out(X, y + 1)
    far = GaussianLinearDiscriminant().fit(X + 1e6, y)
    order = rng.permutation(60)
    assert far.leave_one_out(X[order] + 1e6, y[order]).error <= 1


def test_a_model_and_rows_on_a_device_are_copied_to_numpy(device, rng):
    X, y = rows_of_classes(rng, (40, 60, 50, 30), 3)
    y, weight = np.unique(y, return_inverse=True)[1] - 1, rng.integers(0, 4, len(X))
    rows, there = (X, y, weight), [device.put(one) for one in (X, y, weight)]
    expected = GaussianLinearDiscriminant().fit(*rows).leave_one_out(*rows)
    model = GaussianLinearDiscriminant().fit(*there)
    for given in (rows, there):
        found = vars(model.leave_one_out(*given))
        for name, value in vars(expected).items():
            assert type(found[name]) is type(value)
            assert_allclose(found[name], value, rtol=1e-12)
