"""Sparse rows and nullable columns give the answers of the same numbers in arrays."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import heterolda.statistics.samples as samples
from heterolda import ClassStatistics
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda import HeteroscedasticProjection as HP


@pytest.fixture
def counts(rng):
    """Four classes of counts, mostly zeros, and a column far from zero."""
    y = rng.integers(4, size=600)
    X = rng.poisson(0.1 + 0.2 * y[:, None] * [0, 0, 1, 1, 2], (600, 5)).astype(float)
    X[:, 0] = 1e6 + y + rng.normal(size=600)
    X[:, 1] *= rng.normal(0, 1 + y)
    return X, np.array(["ash", "fir", "oak", "yew"])[y]


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning")
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
@pytest.mark.parametrize(
    "model", [GLD(), GLD(shrinkage="cv", multiclass="ovr"), HP(method="chernoff")]
)
def test_sparse_rows_are_fitted_and_predicted_as_dense(model, counts, rng, monkeypatch):
    # Few rows of each class for the guard, which must be the same ones.
    monkeypatch.setattr(samples, "MAX_ROWS", 100)
    X, y = counts
    weight = rng.integers(0, 3, len(X))
    plain, other = (clone(model).fit(rows, y, weight) for rows in (X, sp.csr_array(X)))
    chosen = "guarded_" if isinstance(model, HP) else "chosen_on_rows_"
    assert_array_equal(getattr(other, chosen), getattr(plain, chosen))
    assert_allclose(other.statistics_.scatters, plain.statistics_.scatters, atol=1e-8)
    names = ["decision_function", "predict_proba", "predict"]
    if isinstance(model, HP):
        names = ["transform"]
        assert_allclose(other.explained_.sum(), plain.explained_.sum(), rtol=1e-6)
    else:
        assert_array_equal(other.predict(X), plain.predict(X))
        assert_allclose(other.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    for form in (sp.csr_array(X), sp.coo_matrix(X), sp.csc_array(X)):
        for name in names:
            actual = getattr(plain, name)(form)
            assert_array_equal(actual, getattr(plain, name)(X))  # to the bit
    for place, number in (("indices", 10**6), ("indices", -7), ("indptr", 10**8)):
        damaged = sp.csr_array(X)
        getattr(damaged, place)[3] = number
        for act in (lambda X: clone(model).fit(X, y), getattr(plain, names[0])):
            with pytest.raises(ValueError, match="damaged sparse matrix"):
                act(damaged)


def test_frames_and_dask(counts):
    X, y = counts
    X[:, 0] -= 1e6
    model = GLD().fit(X, y)
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=list("abcde"))
    named = GLD().fit(frame, y)
    assert list(named.feature_names_in_) == list("abcde")
    assert_array_equal(named.predict(frame), model.predict(X))
    for chunks in ((170, 5), (300, 2)):
        lazy = da.from_array(X, chunks=chunks).map_blocks(sp.csr_matrix)
        actual = GLD().fit(lazy, y)
        assert_array_equal(actual.chosen_on_rows_, model.chosen_on_rows_)
        assert_array_equal(actual.predict(lazy).compute(), model.predict(X))
        assert actual.score(lazy, y) == model.score(X, y)
        projection = HP(method="chernoff").fit(lazy, y)
        assert projection.transform(lazy).compute().shape == (600, 3)
    later = GLD()
    for rows in (slice(300), slice(300, 600)):
        lazy = da.from_array(X[rows], chunks=(170, 5))
        later.partial_fit(lazy, y[rows], classes=model.classes_)
    assert_allclose(later.statistics_.means, model.statistics_.means)


@pytest.mark.parametrize("kind", ["mixed", "polars"])
def test_nullable_and_arrow_columns(kind, rng):
    def typed(X):
        """Return a frame of such columns; None becomes a missing value."""
        frame = pd.DataFrame(X, columns=list("abc"), dtype="Int64")
        if kind == "mixed":
            return frame.astype({"a": "Float64", "b": "double[pyarrow]", "c": "UInt8"})
        return pl.from_pandas(frame)

    y = np.arange(120) % 4
    X = rng.integers(0, 9, (120, 3)) + y[:, None]
    plain, weight = GLD().fit(X, y, 1 + y), pd.Series(1 + y, dtype="Int64")
    model = GLD().fit(typed(X), pd.Series(y, dtype="Int64"), weight)
    assert_array_equal(model.coef_, plain.coef_)
    assert_array_equal(model.predict(typed(X)), plain.predict(X))
    holes = X.astype(object)
    holes[7, 1] = None
    for call in (GLD().fit, HP().fit, ClassStatistics.from_data, model.score):
        with pytest.raises(ValueError, match="X contains NaN"):
            call(typed(holes), y)
    with pytest.raises(ValueError, match="sample_weight must be finite numbers, one"):
        GLD().fit(typed(X), y, weight.where(y > 0))
