"""Files with missing values: the moments of the same rows in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.data import fit_batches, gathering, statistics_from_batches
from heterolda.data.gathering import gather
from heterolda.data.table import Table
from heterolda.statistics import missing as em

FEATURES = ["a", "b", "c"]
EM = {"columns": FEATURES, "missing": "em"}


@pytest.fixture
def frame(rng, monkeypatch):
    # Steps until nothing but rounding is left, which is what may differ.
    monkeypatch.setattr(em, "_DISTANCE", 1e-11)
    n = 400
    y = np.arange(n) % 4
    X = rng.normal(size=(n, 3)) @ (np.eye(3) + rng.normal(size=(3, 3)) / 3)
    X += 1000 + y[:, None] * rng.normal(size=3)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[5] = np.nan  # a row without any value
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["kind"] = np.array(["south", "north", "east", "west"])[y]
    frame["times"] = rng.integers(0, 4, n).astype(float)
    return frame


def in_memory(frame, weight=None):
    labels = frame["kind"].to_numpy(dtype=str)
    weight = None if weight is None else frame[weight].to_numpy()
    X = frame[FEATURES].to_numpy()
    return ClassStatistics.from_data(X, labels, weight, missing="em")


def assert_same(actual, expected):
    """Equal in deviations of the features."""
    assert_array_equal(actual.classes, expected.classes)
    assert_allclose(actual.weights, expected.weights, rtol=1e-12)
    covariances = expected.scatters / expected.weights[:, None, None]
    sd = np.sqrt(np.einsum("kjj->kj", covariances))
    assert np.abs((actual.means - expected.means) / sd).max() < 1e-9
    difference = actual.scatters / actual.weights[:, None, None] - covariances
    assert np.abs(difference / (sd[:, :, None] * sd[:, None])).max() < 1e-9
    assert actual.estimated_by == expected.estimated_by


@pytest.mark.parametrize(("memory", "weight"), [(2**29, "times"), (1, None)])
def test_files_have_the_moments_and_the_model_of_rows_in_memory(
    frame, tmp_path, monkeypatch, weight, memory
):
    monkeypatch.setattr(gathering, "MEMORY", memory)
    for k, (low, high) in enumerate(pairwise([0, 1, 90, 90, 400])):
        frame[low:high].to_csv(tmp_path / f"{k}.csv", index=False)
    settings = EM | {"sample_weight": weight}
    whole = in_memory(frame, weight)
    assert whole.estimated_by == "EM"
    assert_same(statistics_from_batches(tmp_path, "kind", **settings), whole)
    table = pa.Table.from_pandas(frame)
    stats = statistics_from_batches(table.to_batches(60), "kind", **settings)
    assert_same(stats, whole)
    model = GaussianLinearDiscriminant(missing="em")
    fit_batches(model, table, "kind", columns=FEATURES, sample_weight=weight)
    fitted = GaussianLinearDiscriminant(missing="em").fit(
        frame[FEATURES],
        frame["kind"].to_numpy(str),
        None if weight is None else frame[weight],
    )
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-6, atol=1e-7)
    proba = model.predict_proba(frame[FEATURES])
    assert_allclose(proba, fitted.predict_proba(frame[FEATURES]), atol=1e-7)


def test_weights_are_repetitions(frame, monkeypatch):
    copies = frame.loc[frame.index.repeat(frame["times"].astype(int))]
    expected = statistics_from_batches(pa.Table.from_pandas(copies), "kind", **EM)
    stats = statistics_from_batches(frame, "kind", **EM, sample_weight="times")
    assert_same(stats, expected)
    frame["share"] = frame["times"] / 100
    whole = GaussianLinearDiscriminant(missing="em")
    whole.fit(frame[FEATURES], frame["kind"].to_numpy(str), frame["share"])
    for memory in (gathering.MEMORY, 1):
        monkeypatch.setattr(gathering, "MEMORY", memory)
        model = GaussianLinearDiscriminant(missing="em")
        fit_batches(model, frame, "kind", columns=FEATURES, sample_weight="share")
        assert_same(model.statistics_, whole.statistics_)
    gathered = gather(Table(frame, "kind", FEATURES, (), "share", "em"))
    total = gathered.statistics.weights.sum()
    assert gathered.sample.weight.sum() == pytest.approx(total)


def test_requests_that_cannot_be_met(frame, tmp_path, monkeypatch):
    table = pa.Table.from_pandas(frame)
    projection, discriminant = HeteroscedasticProjection(), GaussianLinearDiscriminant()
    for model, missing, message in (
        (discriminant, "em", "got GaussianLinearDiscriminant"),
        (projection, "error", "is missing: fill it in, or leave such"),
        (discriminant, "error", "fill it in, keep such rows with"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_batches(model, table, "kind", columns=FEATURES, missing=missing)
    path = tmp_path / "empty.csv"
    frame.assign(b=np.nan).to_csv(path)
    infinite = frame.assign(c=frame["c"].where(frame.index != 0, np.inf))
    for source, message in (
        (path, r"empty\.csv: the values of column 'b' are all missing"),
        (infinite, "'c', row 1 is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            statistics_from_batches(source, "kind", **EM)
    # Rows that are gone when they are needed again.
    monkeypatch.setattr(gathering, "MEMORY", 1)
    for once in (table.to_reader(), iter(table.to_batches())):
        with pytest.raises(TypeError, match=r"too many have missing.*: pass files"):
            statistics_from_batches(once, "kind", **EM)
