"""Arrays that are read in batches as files are, such as memory maps."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    MissingRowsWarning,
    ParameterError,
)
from heterolda.data import fit_batches, statistics_from_batches
from heterolda.statistics import samples

KINDS = np.array(["north", "south", "east", "west"])
MOMENTS = "weights", "means", "scatters"


@pytest.fixture
def rows(rng):
    """Rows, labels and weights."""
    X, codes = gaussian_classes(Shape(900, 3, 4))
    return X + 10, KINDS[codes], rng.integers(0, 4, len(X)).astype(float)


def assert_same(found, expected, rtol=1e-12):
    assert_array_equal(found.classes, expected.classes)
    for name in MOMENTS:
        mine, other = getattr(found, name), getattr(expected, name)
        assert_allclose(mine, other, rtol=rtol, atol=rtol * np.abs(other).max())


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, ">f8"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_array_of_the_host_has_the_statistics_of_its_rows(rows, kind, weighted):
    X, y, weight = rows
    X, weight = (10 * X).astype(kind), weight if weighted else None
    settings = {"sample_weight": weight, "batch_size": 128}
    found = statistics_from_batches(X, y, **settings)
    assert_same(found, ClassStatistics.from_data(X, y, weight))
    assert found.feature_names is None
    model = fit_batches(GaussianLinearDiscriminant(), X, y, **settings)
    expected = GaussianLinearDiscriminant().fit(X, y, weight)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert not hasattr(model, "feature_names_in_")


def test_gaps_of_an_array_are_treated_as_those_of_files(rows):
    X, y, _ = rows
    X[5, 1] = X[700, 2] = np.nan
    before = X.copy()
    with pytest.raises(ValueError, match="column '1', row 6 is missing"):
        statistics_from_batches(X, y)
    with pytest.warns(MissingRowsWarning, match="2 of 900"):
        found = statistics_from_batches(X, y, missing="drop", batch_size=100)
    whole = ~np.isnan(X).any(axis=1)
    assert_same(found, ClassStatistics.from_data(X[whole], y[whole]))
    found = statistics_from_batches(X, y, missing="em", batch_size=100)
    assert_same(found, ClassStatistics.from_data(X, y, missing="em"), 1e-5)
    assert_array_equal(X, before)
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match="column '1', row 6 is infinite"):
        statistics_from_batches(X, y)


@pytest.mark.parametrize("room", [(500, 40), (500, 2000), (5, 7), (30, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sample_of_batches_is_that_of_all_rows(rng, monkeypatch, room, weighted):
    monkeypatch.setattr(samples, "IN_ALL", room[0])  # rows of all classes
    monkeypatch.setattr(samples, "most_rows", lambda d, k: room[1])
    X = rng.normal(size=(3000, 2)).round(1)  # with copies
    y = np.sort(rng.integers(4, size=3000)) + (rng.random(3000) < 0.3)  # new ones later
    weight = rng.integers(3, size=3000).astype(float) if weighted else None
    parts = [
        samples.RowSample.from_arrays(X[k], y[k], None if weight is None else weight[k])
        for k in np.split(np.arange(3000), range(70, 3000, 70))
    ]
    found = reduce(add, parts)
    expected = samples.RowSample.from_arrays(X, y, weight)
    for name in ("X", "y", "weight", "hashes", "n_rows"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": np.zeros((900, 0))}, "at least one column, got shape"),
        ({"source": np.zeros((900, 2), complex)}, "array of numbers .* complex128"),
        ({"source": np.zeros(900)}, "two-dimensional"),
        ({"source": np.zeros((0, 2)), "target": []}, "the data have no rows"),
        ({"target": "kind"}, "target must be an array of labels"),
        ({"target": [1, 2]}, "target must be an array of labels"),
        ({"target": [None] * 900}, "target has missing labels"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"columns": ["a"]}, "columns is for tables"),
        ({"exclude": ["a"]}, "exclude is for tables"),
    ],
)
def test_what_cannot_be_used_is_named(rows, change, words):
    X, y, _ = rows
    settings = {"source": X, "target": y} | change
    with pytest.raises(ParameterError, match=words):
        statistics_from_batches(**settings)


@pytest.mark.check
def test_a_tensor_in_the_memory_of_the_host_is_a_source(rng):
    torch = pytest.importorskip("torch")
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2
    found = statistics_from_batches(torch.asarray(X), torch.asarray(y))
    assert_allclose(found.scatters, ClassStatistics.from_data(X, y).scatters)
