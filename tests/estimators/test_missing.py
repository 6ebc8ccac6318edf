"""Fitting to rows with missing values, and predicting them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.utils import get_tags

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
)
from heterolda.estimators import missing


def removed(X, share, seed=0):
    """Rows with values missing at random."""
    X = np.array(X, float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def block(model, mask):
    """The model of some features, fitted to the block of the statistics."""
    known = model.statistics_
    some = ClassStatistics(
        known.classes,
        known.weights,
        known.means[:, mask],
        known.scatters[:, mask][:, :, mask],
        given=known.given,
    )
    return GaussianLinearDiscriminant(**model.get_params()).fit_statistics(some)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"shrinkage": "auto", "voting": "majority", "priors": [0.2, 0.3, 0.5]},
        {"multiclass": "ova", "solver": "fisher"},
        {"costs": [[0, 5, 1], [1, 0, 1], [0, 1, 0]]},
        {"criterion": "minimax"},
        {"criterion": "neyman-pearson", "max_error": {0: 0.1}},
    ],
)
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_an_incomplete_row_gets_the_rule_of_its_features(parameters):
    X, y = load_wine(return_X_y=True)
    X = X[:, :6]
    if "max_error" in parameters:
        X, y = X[y < 2], y[y < 2]
    known = {"missing": "em", "guard": False} | parameters
    model = GaussianLinearDiscriminant(**known).fit(removed(X, 0.2), y)
    for gap in ([0], [1, 4], [0, 2, 3, 5]):
        there = np.isin(np.arange(6), gap, invert=True)
        rows = np.where(there, X, np.nan)
        small = block(model, there)
        assert_array_equal(model.predict(rows), small.predict(X[:, there]))
        for method in ("predict_proba", "decision_function"):
            found = getattr(model, method)(rows)
            expected = getattr(small, method)(X[:, there])
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        again = model.for_features(there)
        assert_array_equal(again.coef_, small.coef_)
        assert_array_equal(again.gap_, small.gap_)


def test_rows_do_not_depend_on_each_other():
    X, y = load_iris(return_X_y=True)
    rows = removed(X, 0.3, seed=1)
    rows[0], rows[1] = np.nan, X[1]
    model = GaussianLinearDiscriminant(missing="em").fit(removed(X, 0.2), y)
    whole = ~np.isnan(rows).any(axis=1)
    assert 0 < whole.sum() < len(rows)
    plain = GaussianLinearDiscriminant().fit_statistics(model.statistics_)
    for method in ("predict", "predict_proba", "decision_function"):
        call = getattr(model, method)
        found = call(rows)
        assert_array_equal(found[whole], call(rows[whole]))
        if method == "predict" and not model.guarded_.any():
            assert_array_equal(found[whole], plain.predict(X[whole]))
        assert_array_equal(found, np.concatenate([call([r]) for r in rows]))
        assert_array_equal(found[::-1], call(rows[::-1]))
    p = model.predict_proba(rows)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows))
    assert_allclose(np.exp(model.predict_log_proba(rows)), p)
    assert model.predict_proba(rows.astype(np.float32)).dtype == np.float32


def test_a_row_without_values_gets_the_priors():
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]
    for n_classes in (2, 3):
        some = y < n_classes
        model = GaussianLinearDiscriminant(missing="em").fit(X[some], y[some])
        found = model.predict_proba([[np.nan] * 4])[0]
        assert_allclose(found, model.priors_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
def test_guarded_pairs_stay_guarded():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    X = rng.normal(size=(900, 4))
    X[:, :3] += 0.5 * y[:, None]
    X[:, 3] = (rng.random(900) < 0.01) & (y == 0)
    model = GaussianLinearDiscriminant(missing="em").fit(removed(X, 0.05), y)
    assert 0 < model.guarded_.sum() < 3
    small = model.for_features([0, 1, 3])
    assert_array_equal(small.guarded_, model.guarded_)
    there, guarded = np.array([True, True, False, True]), model.guarded_
    model.set_params(guard=False)
    pure = block(model, there)
    fisher = block(model.set_params(solver="fisher"), there)
    assert_allclose(small.coef_[guarded], fisher.coef_[guarded], rtol=1e-6)
    assert_array_equal(small.coef_[~guarded], pure.coef_[~guarded])


def test_conditional_means_where_patterns_are_too_many(monkeypatch):
    X, y = load_wine(return_X_y=True)
    rows = removed(X, 0.3, seed=5)
    # With equal covariances both rules are the same.
    for parameters in (
        {"shrinkage": 1.0},
        {
            "shrinkage": 1.0,
            "multiclass": "ovo",
            "costs": [[0, 2, 1], [1, 0, 1], [1, 1, 0]],
        },
    ):
        model = GaussianLinearDiscriminant(missing="em", guard=False, **parameters)
        model.fit(removed(X, 0.1), y)
        own = model.predict_proba(rows)
        with monkeypatch.context() as patched:
            patched.setattr(missing, "_LEAST", 3)
            patched.setattr(missing, "_MOST", 3)
            model._by_pattern.clear()
            assert_allclose(model.predict_proba(rows), own, atol=1e-6)
            assert len(model._by_pattern) <= 3
    # With unequal ones, nearly.
    model = GaussianLinearDiscriminant(missing="em").fit(removed(X, 0.1), y)
    own = model.predict(rows)
    monkeypatch.setattr(missing, "_LEAST", 3)
    monkeypatch.setattr(missing, "_MOST", 3)
    model._by_pattern.clear()
    other = model.predict(rows)
    assert np.mean(own != other) < 0.02


def test_rules_of_conditional_means_are_nearly_optimal(rng):
    X, y = rng.normal(size=(600, 4)), np.arange(600) % 2
    X = np.where(y[:, None], X @ (0.2 + np.eye(4)), X @ np.diag([0.2, 3, 0.3, 2]))
    X += 0.8 * y[:, None]
    model = GaussianLinearDiscriminant(missing="em", guard=False).fit(X, y)
    patterns = ~np.eye(4, dtype=bool)
    errors = [
        rules(model, patterns).error
        for rules in (missing._by_conditional_means, missing._own_rules)
    ]
    assert np.all(errors[0] < 1.03 * errors[1])


def test_the_rule_of_conditional_means_by_brute_force():
    rng = np.random.default_rng(0)
    root, c, mean = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=5)
    cov = root @ root.T
    patterns = rng.random((30, 5)) < 0.6
    patterns[0] = True
    for o, u in zip(patterns, missing._conditional(c, cov, patterns), strict=True):
        assert not u[~o].any()
        x = rng.normal(size=5)
        slopes = np.linalg.solve(cov[np.ix_(o, o)], cov[o])
        complete = mean + (x - mean)[o] @ slopes
        assert_allclose(u @ (x - mean), c @ (complete - mean), rtol=1e-6, atol=1e-8)


def test_what_is_refused():
    X, y = load_iris(return_X_y=True)
    bad, plain = removed(X, 0.1), GaussianLinearDiscriminant().fit(X, y)
    model = GaussianLinearDiscriminant(missing="em").fit(bad, y)
    for one in (plain, model):
        assert get_tags(one).input_tags.allow_nan == (one is model)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match=r"X contains NaN.*missing='em'"):
            getattr(plain, method)(bad)
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(bad)
    for wrong in ([], [True] * 3, ["a"], [7], [[0, 1]], [-1]):
        with pytest.raises(ValueError, match="features must be a mask of 4 features"):
            GaussianLinearDiscriminant().fit(X, y).for_features(wrong)


def test_some_features_by_their_names_and_of_wide_data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = np.arange(60) % 2
    frame.loc[y == 1, "b"] += 2
    model = GaussianLinearDiscriminant(missing="em").fit(frame, y)
    some = model.for_features(["b", "c"])
    assert some.feature_names_in_.tolist() == ["b", "c"]
    assert_array_equal(
        some.predict(frame[["b", "c"]]),
        block(model, [1, 2]).predict(frame[["b", "c"]].to_numpy()),
    )
    gone = frame.assign(b=frame["b"].where(y == 0))
    with pytest.warns(UserWarning, match=r"features \['b'\] have no value"):
        GaussianLinearDiscriminant(missing="em").fit(gone, y)
    X = rng.normal(size=(20, 150))
    X[y[:20] == 1] += 0.5
    wide = GaussianLinearDiscriminant(missing="em").fit(X, y[:20])
    rows = np.where(np.arange(150) < 30, np.nan, X)
    small = wide.for_features(np.arange(150) >= 30)
    assert_allclose(wide.predict_proba(rows), small.predict_proba(X[:, 30:]))
