"""Weights of any scale: frequencies, or whatever has a mean below one."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    heteroscedasticity_report,
)
from heterolda.data import fit_batches
from heterolda.statistics.rows import check_frequencies

MODELS = {
    "default": GaussianLinearDiscriminant(),
    "auto": GaussianLinearDiscriminant(shrinkage="auto"),
    "cv": GaussianLinearDiscriminant(shrinkage="cv"),
    "projection": HeteroscedasticProjection(),
    "paper": LocalNeighborhoodSearch(max_iter=20),
    "smoothed": SmoothedLinearDiscriminant(),
}
OUT_OF_MEMORY = ["default", "projection"]


@pytest.fixture
def rows(rng):
    """Four classes of unequal spread, with weights of mean one; some are zero."""
    y = rng.permutation(np.arange(160) % 4)
    X = rng.normal(size=(160, 3)) * (1 + y[:, None]) + 2 * y[:, None]
    weight = rng.uniform(0.2, 2, size=160)
    weight[:5] = 0
    return X, y, weight / weight[weight > 0].mean()


def found(model):
    """The numbers that a fit depends on."""
    names = "coef_", "intercept_", "bayes_error_", "scalings_", "n_errors_"
    return [getattr(model, name) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("factor", [0.3, 1e-6])
def test_below_a_mean_of_one_a_common_factor_changes_nothing(rows, name, factor):
    X, y, weight = rows
    expected = found(MODELS[name].fit(X, y, weight))
    scaled = found(MODELS[name].fit(X, y, factor * weight))
    for a, b in zip(scaled, expected, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", OUT_OF_MEMORY)
@pytest.mark.parametrize("factor", [0.01, 1e-170])  # squares of weights underflow
def test_nor_where_rows_are_not_in_memory(rows, name, factor, tmp_path):
    X, y, weight = rows
    model, small = MODELS[name], factor * weight
    expected = found(model.fit(X, y, weight))
    # The first chunk alone has another mean than all of them.
    order = np.argsort(weight, kind="stable")
    X, y, small = X[order], y[order], small[order]
    arrays = [da.from_array(one, chunks=40) for one in (X, y, small)]
    lazily = model.fit(arrays[0].rechunk((40, 3)), *arrays[1:])
    for a, b in zip(found(lazily), expected, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    frame = pd.DataFrame(X).add_prefix("x").assign(kind=y, share=small)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = tmp_path / "rows.csv", "kind"
    from_file = fit_batches(model, *source, sample_weight="share")
    for a, b in zip(found(from_file), expected, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::heterolda.SmallClassWarning")
@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.parametrize("name", [*OUT_OF_MEMORY, "paper"])
def test_a_class_without_weight_is_left_out(rows, name):
    X, y, weight = rows
    y = np.where(y == 3, 9, y)
    weight = np.where(y == 1, 0, weight)
    model, left = MODELS[name], y != 1
    expected = found(model.fit(X[left], y[left], weight[left]))
    for a, b in zip(found(model.fit(X, y, weight)), expected, strict=True):
        assert_array_equal(a, b)
    if name in OUT_OF_MEMORY:
        arrays = [da.from_array(one, chunks=40) for one in (X, y, weight)]
        arrays[0] = arrays[0].rechunk((40, 3))
        for a, b in zip(found(model.fit(*arrays)), expected, strict=True):
            assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    if name == "default":
        model = model.fit(X, y, weight)
        few = BaggingClassifier(model, n_estimators=20, max_samples=8)
        assert few.set_params(random_state=0).fit(X, y).score(X, y) > 0.5


def test_frequencies_stay_frequencies(rows):
    X, y, _ = rows
    copies = np.arange(len(y)) % 3
    weighted = GaussianLinearDiscriminant().fit(X, y, copies)
    repeated = GaussianLinearDiscriminant().fit(X.repeat(copies, 0), y.repeat(copies))
    assert_allclose(weighted.statistics_.weights, repeated.statistics_.weights)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    assert check_frequencies(None, 3) is None
    assert_array_equal(check_frequencies([0, 1, 3], 3), [0, 1, 3])
    assert_array_equal(check_frequencies([0, 0, 0], 3), [0, 0, 0])
    assert_allclose(check_frequencies([0, 5e-324, 5e-324], 3), [0, 1, 1])
    assert_allclose(check_frequencies([1e-300, 3e-300], 2), [0.5, 1.5])
    chunk = 0.1 * np.ones(len(y))  # may be one of many
    assert_allclose(ClassStatistics.from_data(X, y, chunk).weights.sum(), 16)
    model = GaussianLinearDiscriminant().partial_fit(X, y, np.arange(4), chunk)
    assert_allclose(model.statistics_.weights.sum(), 16)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
def test_reports_and_boosting_take_weights_of_sum_one(rows):
    X, y, weight = rows
    share = weight / weight.sum()
    reports = (
        heteroscedasticity_report(X, y, sample_weight=w) for w in (share, weight)
    )
    one, other = (report.judgement.standard_error for report in reports)
    assert_allclose(one, other)
    boosted = AdaBoostClassifier(GaussianLinearDiscriminant(), n_estimators=5)
    boosted.fit(X, y)
    assert boosted.score(X, y) > 0.6
    assert boosted.predict_proba(X).shape == (160, 4)
