"""Files with missing values: the moments of the same rows in memory."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    MissingRowsWarning,
)
from heterolda.data import fit_batches, gathering, statistics_from_batches
from heterolda.statistics import missing as em

FEATURES = ["a", "b", "c"]


@pytest.fixture
def frame(rng):
    n = 400
    y = np.arange(n) % 4
    X = rng.normal(size=(n, 3)) @ (np.eye(3) + rng.normal(size=(3, 3)) / 3)
    X += 1000 + y[:, None] * rng.normal(size=3)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[5] = np.nan  # tells no more than that there is a row
    found = pd.DataFrame(X, columns=FEATURES)
    found["kind"] = np.array(["south", "north", "east", "west"])[y]
    found["times"] = rng.integers(0, 4, n).astype(float)
    return found


@pytest.fixture
def to_the_limit(monkeypatch):
    """Steps until nothing but rounding is left, which is what may differ."""
    monkeypatch.setattr(em, "_DISTANCE", 1e-11)


def in_memory(frame, weight=None):
    labels = frame["kind"].to_numpy(dtype=str)
    X = frame[FEATURES].to_numpy()
    weight = None if weight is None else frame[weight].to_numpy()
    return ClassStatistics.from_data(X, labels, weight, missing="em")


def assert_same(found, expected):
    """Equal in deviations of the features."""
    assert_array_equal(found.classes, expected.classes)
    assert_allclose(found.weights, expected.weights, rtol=1e-12)
    covariances = expected.scatters / expected.weights[:, None, None]
    sd = np.sqrt(np.einsum("kjj->kj", covariances))
    assert np.abs((found.means - expected.means) / sd).max() < 1e-9
    difference = found.scatters / found.weights[:, None, None] - covariances
    assert np.abs(difference / (sd[:, :, None] * sd[:, None])).max() < 1e-9
    assert found.estimated_by == expected.estimated_by


@pytest.mark.parametrize("weight", [None, "times"])
@pytest.mark.parametrize("memory", [2**29, 1], ids=["one pass", "passes"])
def test_files_have_the_moments_of_rows_in_memory(
    frame, tmp_path, monkeypatch, to_the_limit, weight, memory
):
    monkeypatch.setattr(gathering, "MEMORY", memory)
    for k, (low, high) in enumerate(pairwise([0, 1, 90, 90, 400])):
        frame[low:high].to_csv(tmp_path / f"{k}.csv", index=False)
    asked = {"columns": FEATURES, "sample_weight": weight, "missing": "em"}
    whole = in_memory(frame, weight)
    assert whole.estimated_by == "EM"
    said = []
    found = statistics_from_batches(
        tmp_path, "kind", **asked, progress=lambda text, share: said.append(text)
    )
    assert_same(found, whole)
    assert found.feature_names.tolist() == FEATURES
    assert said[-1] == "400 rows"  # of the first pass only
    table = pa.Table.from_pandas(frame)
    for size in (1, 7, 1000) if memory > 1 else (60, 1000):
        some = statistics_from_batches(table, "kind", **asked, batch_size=size)
        assert_same(some, whole)
    complete = pa.Table.from_pandas(frame.dropna())
    plain = in_memory(frame.dropna(), weight)
    same = statistics_from_batches(complete, "kind", **asked)
    assert same.estimated_by is None
    assert_same(same, plain)
    if weight is not None:
        copies = frame.loc[frame.index.repeat(frame[weight].astype(int))]
        del asked["sample_weight"]
        again = statistics_from_batches(pa.Table.from_pandas(copies), "kind", **asked)
        assert_same(again, whole)


def test_rows_without_label_or_weight_are_left_out(frame, to_the_limit):
    frame.loc[[3, 8], "kind"] = None
    frame.loc[[8, 9], "times"] = np.nan
    kept = in_memory(frame.drop([3, 8, 9]), "times")
    asked = {"columns": FEATURES, "sample_weight": "times", "missing": "em"}
    for source in (frame, pa.Table.from_pandas(frame)):
        with pytest.warns(MissingRowsWarning, match="3 of 400 rows have no label or"):
            assert_same(statistics_from_batches(source, "kind", **asked), kept)


def test_fitting_files_is_fitting_rows(frame, tmp_path, to_the_limit):
    path = tmp_path / "data.parquet"
    frame["share"] = frame["times"] / 100  # frequencies in another unit
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    X, y = frame[FEATURES].to_numpy(), frame["kind"].to_numpy(dtype=str)
    model = GaussianLinearDiscriminant(missing="em")
    with pytest.raises(ValueError, match="is missing: fill it in, keep such rows with"):
        fit_batches(model, path, "kind", columns=FEATURES, missing="error")
    for weight, missing, memory in (
        (None, None, 2**29),
        ("times", "em", 2**29),
        ("share", "em", 1),
    ):
        known = None if weight is None else frame[weight].to_numpy()
        whole = GaussianLinearDiscriminant(missing="em").fit(X, y, known)
        asked = {"columns": FEATURES, "sample_weight": weight, "memory": memory}
        asked |= {"missing": missing, "batch_size": 50}
        assert fit_batches(model, path, "kind", **asked) is model
        assert_same(model.statistics_, whole.statistics_)
        assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-7)
        rows = frame[FEATURES]
        assert_allclose(model.predict_proba(rows), whole.predict_proba(X), atol=1e-7)


def test_few_rows_are_judged_as_in_memory(rng, to_the_limit):
    X = rng.normal(size=(14, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(["a", "b"] * 7)
    rows = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    frame = rows.assign(kind=y)
    model = fit_batches(GaussianLinearDiscriminant(missing="em"), frame, "kind")
    whole = GaussianLinearDiscriminant(missing="em").fit(X, y)
    scores = model.decision_function(rows)
    assert_allclose(scores, whole.decision_function(X), rtol=1e-5, atol=1e-7)


def test_what_cannot_be_is_refused(frame, tmp_path, monkeypatch):
    table = pa.Table.from_pandas(frame.copy())
    asked = {"columns": FEATURES, "missing": "em"}
    for other in (GaussianLinearDiscriminant(), HeteroscedasticProjection()):
        message = rf"needs Gaussian.*em'\), .*got {type(other).__name__}"
        with pytest.raises(ValueError, match=message):
            fit_batches(other, table, "kind", **asked)
    with pytest.raises(ValueError, match="is missing: fill it in, or leave such"):
        fit_batches(HeteroscedasticProjection(), table, "kind", columns=FEATURES)
    path = tmp_path / "empty.csv"
    frame.assign(b=np.nan).to_csv(path)
    east = frame["c"].where(frame["kind"] != "east")
    infinite = frame.assign(c=frame["c"].where(frame.index != 0, np.inf))
    for source, message in (
        (path, r"empty\.csv: the values of column 'b' are all missing"),
        (infinite, "'c', row 1 is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            statistics_from_batches(source, "kind", **asked)
    with pytest.warns(UserWarning, match=r"\['c'\] have no value in .* \['east'\]"):
        statistics_from_batches(frame.assign(c=east), "kind", **asked)
    # Rows that are gone when they are needed again.
    monkeypatch.setattr(gathering, "MEMORY", 1)
    message = "only once.*too many rows with missing values.*: pass files"
    for once in (table.to_reader(), iter(table.to_batches())):
        with pytest.raises(TypeError, match=message):
            statistics_from_batches(once, "kind", **asked)
    # Chunks and Dask collections name the way out.
    X, y = frame[FEATURES].to_numpy(), frame["kind"].to_numpy(dtype=str)
    model = GaussianLinearDiscriminant(missing="em")
    with pytest.raises(ValueError, match=r"depend on all rows.*to fit at once"):
        model.partial_fit(X, y, classes=np.unique(y))
    assert not hasattr(model, "statistics_")
    lazy = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
    with pytest.raises(ValueError, match=r"contains NaN.*in memory.*fit_batches"):
        model.fit(*lazy)
