"""More features than rows in files, streams and sparse matrices."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.data import fit_batches, statistics_from_batches
from heterolda.data.gathering import gather
from heterolda.data.table import Table

N, D = 60, 150


@pytest.fixture
def wide(rng):
    """Rows, labels, and a data frame of both."""
    y = np.array(["kiwi", "apple", "pear"])[np.arange(N) % 3]
    X = 10 + rng.normal(size=(N, D)) * rng.uniform(0.1, 10, D)
    X[:, :5] += (np.arange(N) % 3)[:, None] * 8
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(D)]).assign(kind=y)
    return X, y, frame


def assert_same_statistics(mine, other):
    """Equal to 1e-13 of the deviations of the features."""
    assert mine.factors is not None
    assert_array_equal(mine.weights, other.weights)
    deviations = np.sqrt(other.squares.sum(axis=0))
    assert np.all(np.abs(mine.means - other.means) <= 1e-13 * deviations)
    differ = np.abs(mine.scatters - other.scatters)
    assert np.all(differ <= 1e-13 * np.outer(deviations, deviations))


def assert_same_model(model, expected):
    assert_array_equal(model.classes_, expected.classes_)
    assert model.statistics_.factors is not None
    size = np.abs(expected.coef_).max()
    assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-8 * size)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-6)
    assert_allclose(model.bayes_error_, expected.bayes_error_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet", "halves", "table"])
def test_files_give_the_model_of_rows_in_memory(wide, tmp_path, kind):
    X, y, frame = wide
    source = tmp_path / f"a.{kind}"
    if kind == "table":
        source = pa.Table.from_pandas(frame)
    elif kind == "parquet":
        frame.to_parquet(source)
    else:
        cut = 17 if kind == "halves" else 0
        source = [tmp_path / f"{k}.csv" for k in range(2)][: 1 + bool(cut)]
        for path, part in zip(source, (frame[cut:], frame[:cut]), strict=False):
            part.to_csv(path, index=False, float_format="%.17g")
    whole = GaussianLinearDiscriminant().fit(X, y)
    for size in (None, 7):
        stats = statistics_from_batches(source, "kind", batch_size=size)
        assert_same_statistics(stats, ClassStatistics.from_data(X, y))
        model = GaussianLinearDiscriminant()
        assert_same_model(fit_batches(model, source, "kind", batch_size=size), whole)
        assert_array_equal(model.predict(frame.iloc[:, :-1]), whole.predict(X))


def test_the_sample_has_all_rows_as_long_as_these_are_few(wide):
    X, y, frame = wide
    weight = np.where(np.arange(N) % 4, 1.0, 3.0)
    more = np.repeat([1.0, 0.0], [9, 1])
    frame = pd.concat([frame, frame[:10]]).assign(w=np.append(weight, more))
    table = Table(pa.Table.from_pandas(frame), "kind", None, (), "w", "error", 7)
    found = gather(table)
    statistics, sample = found.statistics, found.sample
    weight[:9] += 1
    assert sample.weight.sum() == statistics.weights.sum() == weight.sum()
    order = np.lexsort(sample.X.T), np.lexsort(X.T)
    assert_array_equal(sample.X[order[0]], X[order[1]])
    assert_array_equal(sample.weight[order[0]], weight[order[1]])
    whole = GaussianLinearDiscriminant().fit(X, y, weight)
    assert_same_model(
        GaussianLinearDiscriminant()._fit_sampled(statistics, sample), whole
    )


def test_streams_take_a_small_multiple_of_the_data(rng):
    n, d = 60, 1500
    names = [f"g{k}" for k in range(d)]
    table = pa.Table.from_pandas(pd.DataFrame(rng.normal(size=(n, d)), columns=names))
    table = table.append_column("kind", pa.array(list("ab") * (n // 2)))
    batches = table.to_batches(max_chunksize=20)
    fit_batches(GaussianLinearDiscriminant(), batches[:2], "kind")  # imports
    tracemalloc.start()
    fit_batches(GaussianLinearDiscriminant(), batches, "kind")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 8 * n * d  # two matrices of all features are 50 times


def test_sparse_rows_are_made_dense_for_fits_but_not_for_predictions(rng):
    n, d = 40, 40_000
    X = sparse.random_array((10 * n, d), density=1e-3, rng=rng, format="csr")
    y = np.arange(n) % 2
    tracemalloc.start()
    model = GaussianLinearDiscriminant().fit(X[:n], y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    model.predict(X)
    more = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 10 * 8 * n * d
    assert more < 8 * (10 * n) * d / 3
