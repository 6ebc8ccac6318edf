"""heterolda project: the rows of files in the components that the library finds."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from helpers.cli import invoke, make_frame, names, rows_of, succeed
from heterolda import HeteroscedasticProjection
from heterolda.data import fit_batches

# Few rows of drawn classes: sometimes LDA's components are better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FEATURES = names(4)
CHERNOFF = "--method", "chernoff"


@pytest.fixture
def frame(rng):
    return make_frame(rng, d=4)


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def assert_projected(table, projection, rows):
    """The components are those of the rows, in their order."""
    expected = projection.transform(rows[FEATURES])
    columns = [name for name in table.columns if name.startswith("component_")]
    assert columns == [f"component_{k + 1}" for k in range(expected.shape[1])]
    assert_allclose(table[columns], expected, rtol=1e-7, atol=1e-9)


def fitted(rows, weight=None, **settings):
    """The reference: the closed form of rows in memory, which no rounding changes."""
    projection = HeteroscedasticProjection(method="chernoff", **settings)
    return projection.fit(rows[FEATURES], rows["kind"], weight)


def test_features_become_components(frame, data, tmp_path):
    out = tmp_path / "out.tsv"
    # Columns that are not features are passed on as they are.
    said = succeed("project", data, "-t", "kind", "--exclude", "id", "-o", out)
    assert f"Wrote 200 rows to {out}." in said
    table = pd.read_csv(out, sep="\t", dtype={"id": str})
    assert list(table)[:2] == ["id", "kind"]
    assert table["id"].tolist() == frame["id"].tolist()
    assert table["kind"].tolist() == frame["kind"].tolist()
    projection = HeteroscedasticProjection()
    fit_batches(projection, data, "kind", exclude=["id"])
    assert projection.scalings_.shape == (4, 3)
    assert_projected(table, projection, frame)


def test_the_summary_has_shares_and_the_heaviest_features(frame):
    frame["x1"] *= 1000
    options = ["-t", "kind", "--exclude", "id", "--components", "2"]
    said = succeed("project", "-", *options, *CHERNOFF, stdin=frame.to_csv(index=False))
    assert "standard input: 200 rows, 4 features, 4 classes in 'kind'" in said
    projection = fitted(frame, n_components=2)
    for k, column in enumerate(projection.scalings_.T):
        share = f"{100 * projection.explained_[k]:.1f}"
        assert re.search(rf"^  {k + 1} +{share} %", said, re.MULTILINE)
        sizes = np.abs(column) * frame[FEATURES].std()
        order = sizes.sort_values(ascending=False)
        _, _, below = said.partition(f"Component {k + 1}\n")
        rows = [line.split() for line in below.splitlines()[1:5]]
        assert [name for name, *_ in rows] == order.index.tolist()
        shares = [float(row[1]) for row in rows]
        assert_allclose(shares, 100 * order / order.sum(), atol=0.06)


def test_weights_missing_rows_and_other_settings(frame, tmp_path, rng):
    frame["times"] = rng.integers(0, 4, len(frame))
    holes = frame.astype(dict.fromkeys([*FEATURES, "times"], object))
    holes.loc[3, "x1"], holes.loc[150, "kind"], holes.loc[151, "times"] = "", "NA", ""
    data, out = tmp_path / "holes.csv", tmp_path / "out.parquet"
    holes.to_csv(data, index=False)
    weighted = ["-t", "kind", "--exclude", "id", "--sample-weight", "times"]
    settings = [*CHERNOFF, "--shrinkage", "0", "--priors", "equal"]
    settings += ["--components", "2", "--missing", "drop", "-o", out]
    result = invoke("project", data, *weighted, *settings)
    assert result.exit_code == 0, result.stderr
    assert "note: 3 of 200 rows have missing values and were left out" in result.stderr
    table, kept = pd.read_parquet(out), frame.drop(index=[3, 150, 151])
    assert table["id"].tolist() == kept["id"].tolist()
    assert table["times"].astype(int).tolist() == kept["times"].tolist()
    equal = {"shrinkage": None, "priors": [0.25] * 4}
    projection = fitted(kept, kept["times"], n_components=2, **equal)
    assert_projected(table, projection, kept)


def test_several_files_standard_input_and_chosen_columns(frame, data, tmp_path):
    frame[:70].to_csv(tmp_path / "part-1.csv", index=False)
    shuffled = [*reversed(frame.columns)]
    frame[70:][shuffled].to_csv(tmp_path / "part-2.tsv", index=False, sep="\t")
    options = "-t", "kind", "--components", "1", *CHERNOFF, "--exclude", "id", "-o", "-"
    shown = succeed("project", tmp_path / "part-*", *options)
    table = pd.read_csv(io.StringIO(shown), dtype={"id": str})
    assert list(table)[:2] == ["id", "kind"]
    assert table["id"].tolist() == frame["id"].tolist()
    assert_projected(table, fitted(frame, n_components=1), frame)
    piped = succeed("project", "-", *options, stdin=data.read_text())
    assert piped == succeed("project", data, *options)


def test_the_page_shows_the_map(frame, data, tmp_path):
    page, options = tmp_path / "map.html", ["-t", "kind", "--exclude", "id"]
    both = invoke("project", data, *options, "--html", page, "-o", "-")
    assert both.exit_code == 0
    assert len(rows_of(both.stdout)) == 201
    assert both.stderr.endswith(f"the page is in {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "<title>data.csv" in text
    assert "data:image/" in text
    # What fails in the second pass leaves neither file.
    page.unlink()
    late = frame.assign(more=1.0)
    late[:9].drop(columns="id").to_csv(tmp_path / "late.csv", index=False)
    named = ["-t", "kind", "--columns", "x0,x1", "-o", tmp_path / "o.csv"]
    result = invoke("project", data, tmp_path / "late.csv", *named, "--html", page)
    assert result.exit_code == 1
    assert "late.csv" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "late.csv"}
