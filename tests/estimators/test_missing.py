"""Rows with missing values: fits by EM, and rules of the features observed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.utils import get_tags

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.estimators import again, missing

GLD = GaussianLinearDiscriminant
WINE, WINES = load_wine(return_X_y=True)
IRIS, SPECIES = load_iris(return_X_y=True)


def removed(X, share, seed=0):
    """Remove values at random."""
    present = np.random.default_rng(seed).random(X.shape) >= share
    return np.where(present, X, np.nan)


def block(model, mask):
    """Fit the block of the statistics for some features."""
    stats = model.statistics_
    part = ClassStatistics(
        stats.classes,
        stats.weights,
        stats.means[:, mask],
        stats.scatters[:, mask][:, :, mask],
        given=stats.given,
    )
    return GLD(**model.get_params()).fit_statistics(part)


@pytest.mark.parametrize(
    "parameters",
    [
        {"shrinkage": "auto", "priors": [0.2, 0.3, 0.5]},
        {"voting": "weighted"},
        {"multiclass": "ovr", "solver": "fisher"},
        {"costs": [[0, 5, 1], [1, 0, 1], [0, 1, 0]]},
        {"criterion": "neyman-pearson", "max_error": {0: 0.1}},
    ],
)
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_an_incomplete_row_gets_the_rule_of_its_features(parameters):
    X, y = WINE[:, :6], WINES
    if "max_error" in parameters:
        X, y = X[y < 2], y[y < 2]
    model = GLD(missing="em", choose_on="model", **parameters).fit(removed(X, 0.2), y)
    for gap in ([0], [1, 4], [0, 2, 3, 5]):
        mask = np.isin(np.arange(6), gap, invert=True)
        rows = np.where(mask, X, np.nan)
        small = block(model, mask)
        assert_array_equal(model.predict(rows), small.predict(X[:, mask]))
        for method in ("predict_proba", "decision_function"):
            if not hasattr(model, method):
                continue
            actual = getattr(model, method)(rows)
            expected = getattr(small, method)(X[:, mask])
            assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
        again = model.for_features(mask)
        assert_array_equal(again.coef_, small.coef_)
        assert_array_equal(again.gap_, small.gap_)


def test_rows_do_not_depend_on_each_other():
    rows = removed(IRIS, 0.3, seed=1)
    rows[0], rows[1] = np.nan, IRIS[1]
    model = GLD(missing="em").fit(removed(IRIS, 0.2), SPECIES)
    assert get_tags(model).input_tags.allow_nan
    for method in ("predict", "predict_proba", "decision_function"):
        call = getattr(model, method)
        assert_array_equal(call(rows), np.concatenate([call([r]) for r in rows]))
    p = model.predict_proba(rows)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows))
    assert model.predict_proba(rows.astype(np.float32)).dtype == np.float32
    # A row without values has the priors.
    for n_classes in (2, 3):
        part = SPECIES[:120] < n_classes
        model = GLD(missing="em").fit(IRIS[:120][part], SPECIES[:120][part])
        actual = model.predict_proba([[np.nan] * 4])[0]
        assert_allclose(actual, model.priors_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning")
def test_pairs_that_rows_chose_keep_their_position_and_priors(rng):
    y = np.arange(900) % 4
    X = rng.gamma(0.4, size=(900, 4)) * np.exp(rng.normal(size=(4, 4)))[y]
    model = GLD(missing="em").fit(removed(X, 0.05), y)
    chosen = model.chosen_on_rows_
    assert chosen.any()
    mask = np.array([True, True, False, True])
    small = model.for_features(mask)
    assert_array_equal(small.chosen_on_rows_, chosen & ~small.trivial_)
    pure = GLD(missing="em", choose_on="model").fit(removed(X, 0.05), y)
    others = pure.for_features(mask).coef_[~chosen]
    assert_allclose(small.coef_[~chosen], others, rtol=1e-6)

    def position(model, p):
        """Weights of both covariances, and the priors of the threshold."""
        pair = model.pairs_[p]
        S, w, m = model.covariance_[pair], model.coef_[p], model.means_[pair]
        M = np.tensordot(model_weights[p], S, 1)
        cosine = np.linalg.solve(M, m[1] - m[0])
        t = m @ w + model.intercept_[p]
        v = np.einsum("i,kij,j->k", w, S, w)
        return cosine, w, np.diff(0.5 * t**2 / v + 0.5 * np.log(v))[0], t

    model_weights = model._position.weights
    for p in np.flatnonzero(small.chosen_on_rows_):
        before = position(model, p)[2]
        expected, w, after, means = position(small, p)
        assert_allclose(
            w / np.linalg.norm(w), expected / np.linalg.norm(expected), atol=1e-5
        )
        if abs(means.sum()) > 1e-6 * np.ptp(means):  # some threshold is best
            assert_allclose(after, before, atol=1e-4)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_conditional_means_where_patterns_are_too_many(monkeypatch):
    rows = removed(WINE, 0.3, seed=5)
    for parameters, least in (
        # With equal covariances both rules are the same.
        ({"shrinkage": 1.0, "costs": [[0, 2, 1], [1, 0, 1], [1, 1, 0]]}, 1),
        ({"shrinkage": 1.0}, 1),
        # With unequal ones, nearly.
        ({"shrinkage": 0}, 0.98),
        ({"shrinkage": 0, "multiclass": "ovr"}, 0.95),
    ):
        model = GLD(missing="em", choose_on="model", **parameters).fit(
            removed(WINE, 0.1), WINES
        )
        p = model.predict_proba(rows)
        with monkeypatch.context() as patched:
            patched.setattr(missing, "_MIN_SOLVED", 3)
            patched.setattr(missing, "_MAX_SOLVED", 3)
            model._by_pattern = dict.fromkeys(range(31))  # too many are forgotten
            other = model.predict_proba(rows)
            assert len(model._by_pattern) <= 3
        if least == 1:
            assert_allclose(other, p, atol=1e-6)
            masks = ~np.isnan(rows[:9])
            rules, own = (
                rules_of(model, masks)
                for rules_of in (missing._by_conditional_means, missing._solved_rules)
            )
            assert_allclose(rules.error, own.error, rtol=1e-6)
        assert np.mean(other.argmax(axis=1) == p.argmax(axis=1)) >= least


def test_features_by_their_names_and_of_wide_data(rng, monkeypatch):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = np.arange(60) % 2
    frame.loc[y == 1, "b"] += 2
    model = GLD(missing="em").fit(frame, y)
    part = model.for_features(["b", "c"])
    assert part.feature_names_in_.tolist() == ["b", "c"]
    assert_array_equal(part.coef_, block(model, [1, 2]).coef_)
    model = GLD(priors=[0.3, 0.7]).fit(frame[["a"]], y).set_params(priors="equal")
    assert_allclose(model.for_features([0]).priors_, [0.3, 0.7])  # those of the fit
    gone = frame.assign(b=frame["b"].where(y == 0))
    with pytest.warns(UserWarning, match=r"features \['b'\] have no value"):
        GLD(missing="em").fit(gone, y)
    X = rng.normal(size=(20, 150)) + 0.5 * y[:20, None]
    wide = GLD(missing="em").fit(X, y[:20])
    rows = np.where(np.arange(150) < 30, np.nan, X)
    small = wide.for_features(np.arange(150) >= 30)
    assert_allclose(wide.predict_proba(rows), small.predict_proba(X[:, 30:]))
    assert wide.covariance_.shape == (2, 150, 150)
    monkeypatch.setattr(again, "_MAX_VALUES", 40_000)
    with pytest.raises(AttributeError, match="use statistics_"):
        _ = wide.covariance_
