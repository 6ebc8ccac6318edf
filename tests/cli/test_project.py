"""heterolda project: the rows of files in the components that the library finds."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.cli import invoke, make_frame, names, rows_of, succeed
from heterolda import HeteroscedasticProjection
from heterolda.data import fit_batches

# Few rows of drawn classes: sometimes LDA's components are better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")

FEATURES = names(4)


@pytest.fixture
def frame(rng):
    return make_frame(rng, d=4)


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def components(table):
    """The columns of components of a table."""
    return [name for name in table.columns if name.startswith("component_")]


def assert_projected(table, projection, rows):
    """The components are those of the rows, in their order."""
    expected = projection.transform(rows[FEATURES])
    assert components(table) == [f"component_{k + 1}" for k in range(expected.shape[1])]
    assert_allclose(table[components(table)], expected, rtol=1e-7, atol=1e-9)


CHERNOFF = "--method", "chernoff"


def fitted(rows, weight=None, **settings):
    """The reference: the closed form of rows in memory, which no rounding changes."""
    projection = HeteroscedasticProjection(method="chernoff", **settings)
    return projection.fit(rows[FEATURES], rows["kind"], weight)


@pytest.mark.parametrize("end", ["csv", "tsv", "csv.gz", "parquet"])
def test_features_become_components(frame, data, tmp_path, end):
    out = tmp_path / f"out.{end}"
    # Columns that are not features are passed on as they are.
    said = succeed("project", data, "-t", "kind", "--exclude", "id", "-o", out)
    assert f"200 rows are in {out}." in said
    if end == "parquet":
        table = pd.read_parquet(out)
    else:
        separator = "\t" if end == "tsv" else ","
        table = pd.read_csv(out, sep=separator, dtype={"id": str})
    assert list(table)[:2] == ["id", "kind"]
    assert table["id"].tolist() == frame["id"].tolist()
    assert table["kind"].tolist() == frame["kind"].tolist()
    projection = HeteroscedasticProjection()
    fit_batches(projection, data, "kind", exclude=["id"])
    assert projection.scalings_.shape == (4, 3)
    assert_projected(table, projection, frame)


def test_the_summary_has_shares_and_the_heaviest_features(frame, data):
    frame["x1"] *= 1000
    options = ["-t", "kind", "--exclude", "id", "--components", "2"]
    said = succeed("project", "-", *options, *CHERNOFF, stdin=frame.to_csv(index=False))
    assert "standard input: 200 rows, 4 features, 4 classes in 'kind'" in said
    assert "if the classes were exactly normal (not counted on rows)" in said
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
    result = invoke("project", data, *weighted)
    assert result.exit_code == 1
    assert "with --missing drop" in result.stderr
    settings = [*CHERNOFF, "--shrinkage", "none", "--priors", "equal"]
    settings += ["--components", "2", "--missing", "drop", "-o", out]
    result = invoke("project", data, *weighted, *settings)
    assert result.exit_code == 0, result.stderr
    assert "note: 3 of 200 rows have missing values and were left out" in result.stderr
    table, kept = pd.read_parquet(out), frame.drop(index=[3, 150, 151])
    assert table["id"].tolist() == kept["id"].tolist()
    assert_array_equal(table["times"], kept["times"])  # numbers, though from text
    equal = {"shrinkage": None, "priors": [0.25] * 4}
    projection = fitted(kept, kept["times"], n_components=2, **equal)
    assert_projected(table, projection, kept)


def test_several_files_standard_input_and_chosen_columns(frame, data, tmp_path):
    frame["kind"] = frame["kind"].map({"north": 0, "south": 1, "east": -2, "west": 10})
    frame[:70].to_csv(tmp_path / "part-1.csv", index=False)
    shuffled = [*reversed(frame.columns)]
    frame[70:][shuffled].to_csv(tmp_path / "part-2.tsv", index=False, sep="\t")
    # Identifiers are not features, and --id says what is written.
    parts = tmp_path / "part-*", "-t", "kind", "--components", "1", *CHERNOFF
    shown = rows_of(succeed("project", *parts, "--id", "id", "-o", "-"))
    assert shown[0] == ["id", "kind", "component_1"]
    assert [row[:2] for row in shown[1:]] == [
        [one, str(label)] for one, label in zip(frame["id"], frame["kind"], strict=True)
    ]
    found = np.array([float(row[2]) for row in shown[1:]])
    expected = fitted(frame, n_components=1).transform(frame[FEATURES])
    assert_allclose(found, expected[:, 0], rtol=1e-7, atol=1e-9)
    options = "-t", "kind", "--components", "1", "--id", "id", "-o", "-"
    piped = succeed("project", "-", *options, stdin=data.read_text())
    assert piped == succeed("project", data, *options)
    # Labels that are numbers in text files are numbers in Parquet files.
    out = tmp_path / "out.parquet"
    succeed("project", *parts, "--columns", "x0,x1", "--id", "x1", "-o", out)
    table = pq.read_table(out)
    assert table.schema.names == ["x1", "kind", "component_1"]
    assert table.schema.field("kind").type == pa.int64()
    assert_array_equal(table["x1"], frame["x1"])
    # Parquet columns keep their types.
    typed = frame.assign(kind=frame["kind"].astype("int8"), id=range(200))
    typed.to_parquet(tmp_path / "in.parquet", index=False)
    options = "-t", "kind", "--id", "id", *CHERNOFF, "-o", out
    succeed("project", tmp_path / "in.parquet", *options)
    table = pq.read_table(out)
    assert table.schema.field("kind").type == pa.int8()
    assert table["id"].to_pylist() == [*range(200)]
    assert_projected(table.to_pandas(), fitted(frame), frame)


def test_the_page_shows_the_map(frame, data, tmp_path):
    page, options = tmp_path / "map.html", ["-t", "kind", "--exclude", "id"]
    said = succeed("project", data, *options, "--components", "2", "--html", page)
    assert f"The page is in {page}." in said
    text = page.read_text(encoding="utf-8")
    assert "<title>data.csv" in text
    assert "data:image/" in text
    # With the table on standard output, nothing else is there.
    both = invoke("project", data, *options, "--html", page, "-o", "-")
    assert both.exit_code == 0
    assert len(rows_of(both.stdout)) == 201
    assert both.stderr.endswith(f"the page is in {page}\n")
    # What fails in the second pass leaves neither file.
    page.unlink()
    late = frame.assign(more=1.0)
    late[:9].drop(columns="id").to_csv(tmp_path / "late.csv", index=False)
    named = ["-t", "kind", "--columns", "x0,x1", "-o", tmp_path / "o.csv"]
    result = invoke("project", data, tmp_path / "late.csv", *named, "--html", page)
    assert result.exit_code == 1
    assert "late.csv" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "late.csv"}


def test_columns_with_names_of_components(frame, tmp_path):
    data = tmp_path / "data.csv"
    options = "project", data, "--components", "2", "-o", "-"
    frame.rename(columns={"id": "component_3"}).to_csv(data, index=False)
    shown = rows_of(succeed(*options, "-t", "kind", "--exclude", "component_3"))
    assert shown[0] == ["component_3", "kind", "component_1", "component_2"]
    # By default there are three, of four classes.
    more = "-t", "kind", "--exclude", "component_3", "-o", tmp_path / "o.csv"
    result = invoke("project", data, *more)
    assert result.exit_code == 1
    assert "already a column 'component_3': choose the columns" in result.stderr
    assert succeed("project", data, *more, "--id", "x0")
