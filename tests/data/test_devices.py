"""Batches from files and from arrays of the host: summed by NumPy, or on a device."""

import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    MissingRowsWarning,
    ParameterError,
)
from heterolda.data import fit_batches, sampling, statistics_from_batches
from heterolda.data.staging import PinnedCopy, chosen_device
from heterolda.data.table import Table
from heterolda.foundations.devices import device_of, to_host
from heterolda.statistics import row_sample
from heterolda.statistics.on_device import DeviceStatistics

KINDS = np.array(["north", "south", "east", "west"])
MOMENTS = "weights", "means", "scatters"


@pytest.fixture
def rows(rng):
    """Rows, labels and weights."""
    X, codes = gaussian_classes(Shape(900, 3, 4))
    return X + 10, KINDS[codes], rng.integers(0, 4, len(X)).astype(float)


@pytest.fixture
def files(rows, tmp_path):
    """The same in three files."""
    X, y, weight = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=y, times=weight)
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    return tmp_path


def assert_same(found, expected, rtol=1e-12):
    assert_array_equal(found.classes, expected.classes)
    for name in MOMENTS:
        mine, other = to_host(getattr(found, name)), getattr(expected, name)
        assert_allclose(mine, other, rtol=rtol, atol=rtol * np.abs(other).max())


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, ">f8"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_array_of_the_host_has_the_statistics_of_its_rows(rows, kind, weighted):
    X, y, weight = rows
    X, weight = (10 * X).astype(kind), weight if weighted else None
    seen = []
    settings = {"sample_weight": weight, "batch_size": 128, "progress": seen.append}
    found = statistics_from_batches(X, y, **settings)
    assert_same(found, ClassStatistics.from_data(X, y, weight))
    assert found.feature_names is None
    assert seen == [*range(128, 900, 128), 900]
    settings.pop("progress")
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
    for module in (row_sample, sampling):  # rows of all classes, and of one
        monkeypatch.setattr(module, "IN_ALL", room[0])
        monkeypatch.setattr(module, "most_rows", lambda d, k: room[1])
    X = rng.normal(size=(3000, 2)).round(1)  # with copies
    y = np.sort(rng.integers(4, size=3000)) + (rng.random(3000) < 0.3)  # new ones later
    weight = rng.integers(3, size=3000).astype(float) if weighted else None
    pool = sampling.SamplePool()
    for start in range(0, 3000, 70):
        rows = slice(start, start + 70)
        pool.add(X[rows], y[rows], None if weight is None else weight[rows])
    found, expected = pool.total(), row_sample.RowSample.from_arrays(X, y, weight)
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
        ({"device": "no such"}, "device 'no such' cannot be used"),
        ({"device": 3}, "device must be None, a PyTorch device .* got 3"),
        ({"device": np.zeros(1)}, "device must be None"),
    ],
)
@pytest.mark.xdist_group("devices")
def test_what_cannot_be_used_is_named(rows, change, words):
    X, y, _ = rows
    settings = {"source": X, "target": y} | change
    with pytest.raises(ParameterError, match=words):
        statistics_from_batches(**settings)


@pytest.mark.xdist_group("devices")
def test_a_device_that_is_not_there_is_named(rows, monkeypatch):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="device 'cuda' cannot be used: "):
            statistics_from_batches(*rows[:2], device="cuda")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ParameterError, match="not installed: pip install torch"):
        chosen_device("cuda")


@pytest.mark.parametrize("weight", [None, "times"])
def test_files_are_summed_on_a_device(rows, files, device, weight):
    settings = {"exclude": ["times"]} if weight is None else {"sample_weight": weight}
    example = device.put(np.zeros(1))
    expected = statistics_from_batches(files, "kind", **settings)
    settings |= {"device": example, "batch_size": 70}
    found = statistics_from_batches(files, "kind", **settings)
    assert isinstance(found, DeviceStatistics)
    assert device_of(found.scatters) == device
    assert_same(found, expected)
    assert_array_equal(found.feature_names, ["a", "b", "c"])
    model = fit_batches(GaussianLinearDiscriminant(), files, "kind", **settings)
    del settings["device"]
    plain = fit_batches(GaussianLinearDiscriminant(), files, "kind", **settings)
    assert device_of(model.coef_) == device
    assert_allclose(to_host(model.coef_), plain.coef_, rtol=1e-9)
    assert_array_equal(to_host(model.guarded_), plain.guarded_)
    assert device_of(model.statistics_.means) == device


def test_arrays_are_summed_on_a_device(rows, device):
    X, y, weight = rows
    example = device.put(np.zeros(1))
    for data, tolerance in ((X, 1e-12), (X.astype(np.float32), 1e-6)):
        found = statistics_from_batches(
            data, y, sample_weight=weight, device=example, batch_size=128
        )
        assert_same(found, ClassStatistics.from_data(data, y, weight), tolerance)
    plane = fit_batches(HeteroscedasticProjection(2), X, y, device=example)
    assert device_of(plane.scalings_) == device
    expected = HeteroscedasticProjection(2).fit(X, y)
    assert_allclose(to_host(plane.scalings_), expected.scalings_, rtol=1e-5)
    X[3, 0] = np.nan
    with pytest.warns(MissingRowsWarning, match="1 of 900"):
        found = statistics_from_batches(X, y, missing="drop", device=example)
    assert_same(found, ClassStatistics.from_data(np.delete(X, 3, 0), np.delete(y, 3)))
    found = statistics_from_batches(X, y, missing="em", device=example)
    assert_same(found, ClassStatistics.from_data(X, y, missing="em"), 1e-5)
    wide = np.tile(X[4:50], 50)
    found = statistics_from_batches(wide, y[4:50], device=example)
    assert_same(found, ClassStatistics.from_data(wide, y[4:50]))


def test_rows_of_the_guard_are_the_same(rows, device):
    X, y, _ = rows
    settings = None, (), None, "error", 100
    here, there = (
        Table.of(X, y, *settings, device=where).statistics_and_sample()[1]
        for where in (None, device)
    )
    for name in ("X", "y", "weight", "hashes", "n_rows"):
        assert_array_equal(getattr(there, name), getattr(here, name))


@pytest.mark.xdist_group("devices")
@pytest.mark.parametrize("name", ["cpu", "torch.device"])
def test_an_error_of_the_reader_ends_both_threads(rows, name):
    torch = pytest.importorskip("torch")
    X, y, _ = rows
    table = pa.table({"a": X[:, 0], "kind": y})

    def broken():
        yield from table.to_batches(100)
        raise OSError("the disk is gone")

    where = torch.device("cpu") if name == "torch.device" else name
    before = threading.active_count()
    with pytest.raises(OSError, match="the disk is gone"):
        statistics_from_batches(broken(), "kind", device=where)
    found = statistics_from_batches(table, "kind", device=where)
    assert threading.active_count() == before
    assert_same(found, statistics_from_batches(table, "kind"))


@pytest.mark.xdist_group("devices")
def test_only_a_gpu_asks_for_pinned_memory(rows, monkeypatch):
    torch = pytest.importorskip("torch")
    empty = torch.empty

    def refuse(*shape, pin_memory=False, **others):
        assert not pin_memory
        return empty(*shape, **others)

    monkeypatch.setattr(torch, "empty", refuse)
    statistics_from_batches(*rows[:2], device="cpu")


@pytest.mark.gpu
@pytest.mark.xdist_group("devices")
def test_pinned_copies_are_copies(rng):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    copy = PinnedCopy(device_of(torch.zeros(1, device="cuda"), always=True))
    for n in (10, 1000, 7):
        for kind in (np.float64, np.float32):
            X = rng.normal(size=(n, 5)).astype(kind)
            for data in (X, np.asfortranarray(X), X[::2]):
                there = copy(data)
                assert there.is_contiguous()
                assert_array_equal(there.cpu().numpy(), data)


def test_a_tensor_in_the_memory_of_the_host_is_a_source(rng):
    torch = pytest.importorskip("torch")
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2
    found = statistics_from_batches(torch.asarray(X), torch.asarray(y))
    assert_allclose(found.scatters, ClassStatistics.from_data(X, y).scatters)
