"""heterolda predict: input columns are written unchanged, followed by predictions."""

import codecs
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from pyarrow import csv
from sklearn.pipeline import make_pipeline

import heterolda
from helpers.cli import invoke, make_frame, names, rows_of, succeed
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.data.decoding import NotNumbersError, parsed_numbers
from heterolda.data.formats import Format
from heterolda.data.writer import text_of

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FEATURES = names()
# What a table of text may hold: nothing of it may change.
ODD = ["007", "2024-01-02", 'a "b", c', "two\nlines", "", " é ", "NA", "1.50", "x\ty"]


@pytest.fixture
def frame(rng):
    return make_frame(rng)


@pytest.fixture
def model(frame):
    return GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"])


@pytest.fixture
def path(model, tmp_path):
    heterolda.save(model, tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def data(frame, tmp_path):
    """A table with odd text, whose columns are in another order than the model's."""
    table = frame[["x2", "id", "kind", "x0", "x1"]].copy()
    table["note"] = [ODD[k % len(ODD)] for k in range(len(table))]
    table["x1"] = [f"{x:+.4e} " for x in table["x1"]]
    table.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def expected(model, data):
    return model.predict(pd.read_csv(data)[FEATURES])


def test_columns_and_order_are_kept_and_text_is_unchanged(model, path, data, tmp_path):
    out = tmp_path / "out.csv"
    result = invoke("predict", path, data, "--out", out)
    assert result.exit_code == 0, result.stderr
    before = rows_of(data.read_text(encoding="utf-8"))
    after = rows_of(out.read_text(encoding="utf-8"))
    assert [row[:-1] for row in after] == before
    assert after[0][-1] == "prediction"
    assert [row[-1] for row in after[1:]] == expected(model, data).tolist()
    assert "does not use id, kind, note" in result.stderr
    assert "wrote 200 rows" in result.stderr
    text = data.read_text(encoding="utf-8")
    for source, stdin in ((data, None), ("-", text)):
        actual = succeed("predict", path, source, stdin=stdin)
        assert actual == out.read_text(encoding="utf-8")


def test_only_identifiers_and_probabilities(model, path, data):
    shown = succeed("predict", path, data, "--id", "id,note", "--proba")
    table = pd.read_csv(io.StringIO(shown), dtype=str, keep_default_na=False)
    before = pd.read_csv(data, dtype=str, keep_default_na=False)
    chances = [f"probability_{kind}" for kind in model.classes_]
    assert list(table) == ["id", "note", "prediction", *chances]
    assert table[["id", "note"]].equals(before[["id", "note"]])
    assert table["prediction"].tolist() == expected(model, data).tolist()
    given = table[chances].astype(float)
    assert_allclose(given, model.predict_proba(pd.read_csv(data)[FEATURES]), rtol=1e-12)


def test_votes_predict_but_have_no_probabilities(frame, data, tmp_path):
    model = GaussianLinearDiscriminant(voting="majority")
    model.fit(frame[FEATURES], frame["kind"])
    path = tmp_path / "votes.json"
    heterolda.save(model, path)
    result = invoke("predict", path, data)
    assert [row[-1] for row in rows_of(result.stdout)][1:] == [*expected(model, data)]
    for command in (
        ("predict", path, data, "--proba"),
        ("evaluate", path, data, "--target", "kind"),
    ):
        result = invoke(*command)
        assert result.exit_code != 0
        assert "decides by votes, which have no probabilities" in result.stderr


def test_pipelines_of_projections_predict_too(frame, data, tmp_path):
    steps = HeteroscedasticProjection(2), GaussianLinearDiscriminant()
    for output in ("default", "pandas"):
        pipeline = make_pipeline(*steps).set_output(transform=output)
        pipeline.fit(frame[FEATURES], frame["kind"])
        heterolda.save(pipeline, tmp_path / "pipeline.json")
        shown = rows_of(succeed("predict", tmp_path / "pipeline.json", data))
        assert [row[-1] for row in shown[1:]] == expected(pipeline, data).tolist()


@pytest.mark.parametrize("end", ["tsv", "csv.gz", "parquet"])
def test_every_kind_of_file_has_the_same_rows(model, path, data, tmp_path, end):
    out = tmp_path / f"out.{end}"
    succeed("predict", path, data, "-o", out)
    before = rows_of(data.read_text(encoding="utf-8"))
    if end == "parquet":
        table = pq.read_table(out)
        assert table.schema.field("note").type == pa.string()
        for name in FEATURES:
            assert table.schema.field(name).type == pa.float64()
        assert table["id"].to_pylist() == [row[1] for row in before[1:]]
        assert table["note"].to_pylist() == [row[5] for row in before[1:]]
        assert_allclose(table["x1"], [float(row[4]) for row in before[1:]])
        actual = table["prediction"].to_pylist()
    else:
        raw = out.read_bytes()
        text = (gzip.decompress(raw) if end == "csv.gz" else raw).decode()
        rows = rows_of(text, "\t" if end == "tsv" else ",")
        assert [row[:-1] for row in rows] == before
        actual = [row[-1] for row in rows[1:]]
    assert actual == expected(model, data).tolist()


def test_parquet_columns_keep_their_types(path, frame, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False).append_column(
        "when", pa.array(np.arange(200), pa.timestamp("s"))
    )
    table = table.append_column("lists", pa.array([[1], None] * 100))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=17)
    succeed("predict", path, tmp_path / "in.parquet", "-o", tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert pq.read_metadata(tmp_path / "out.parquet").num_row_groups == 1
    assert out.drop_columns("prediction").equals(pq.read_table(tmp_path / "in.parquet"))
    result = invoke("predict", path, tmp_path / "in.parquet", "-o", tmp_path / "o.csv")
    assert result.exit_code == 1
    assert "column 'lists' of type list" in result.stderr
    shown = succeed("predict", path, tmp_path / "in.parquet", "--id", "when,id")
    assert rows_of(shown)[3][:2] == ["1970-01-01 00:00:02.000", frame["id"][2]]


@pytest.mark.parametrize(
    ("encoding", "mark", "end"),
    [
        ("cp1252", b"", "\r\n"),
        ("utf-8", codecs.BOM_UTF8, "\r"),
        ("utf-16-le", codecs.BOM_UTF16_LE, "\r\n"),
    ],
)
def test_predictions_come_back_in_the_format_of_the_data(tmp_path, encoding, mark, end):
    """Taking the last column away gives the bytes of the data."""
    X = np.arange(40.0)[:, None]
    model = GaussianLinearDiscriminant().fit(X, np.where(X[:, 0] < 20, "süß", "herb"))
    model.feature_names_in_ = np.array(["Öl"], dtype=object)
    heterolda.save(model, tmp_path / "m.json")
    lines = ["Öl;Qualität", *(f"{k},25;{'€ é'[k % 3 :]}" for k in range(30))]
    data = mark + "".join(line + end for line in lines).encode(encoding)
    source, out = tmp_path / "d.csv", tmp_path / "p.csv"
    source.write_bytes(data)
    succeed("predict", tmp_path / "m.json", source, "-o", out)
    written = out.read_bytes()
    assert written.startswith(mark)
    rows = written[len(mark) :].decode(encoding).split(end)[:-1]
    assert [row.rpartition(";")[0] for row in rows] == lines
    answers = [row.rpartition(";")[2] for row in rows[1:]]
    assert answers == ["süß"] * 20 + ["herb"] * 10


def test_missing_values_are_an_error_or_kept_or_dropped(model, path, frame, tmp_path):
    holes = frame.astype(dict.fromkeys(FEATURES, object))
    holes.loc[3, "x1"], holes.loc[150, "x0"], holes.loc[151, "x2"] = "", "NaN", "null"
    data, incomplete = tmp_path / "holes.csv", [3, 150, 151]
    holes.to_csv(data, index=False)
    result = invoke("predict", path, data)
    assert result.exit_code == 1
    assert "holes.csv: column 'x1', row 4 is missing: fill it in" in result.stderr
    truth = model.predict(frame[FEATURES]).astype(object)
    truth[incomplete] = ""
    shown = rows_of(succeed("predict", path, data, "--missing", "keep", "--proba"))
    assert [row[5] for row in shown[1:]] == truth.tolist()
    assert [shown[k + 1][5:] for k in incomplete] == [[""] * 5] * 3
    assert [row[2] for row in shown[1:]] == holes["x1"].astype(str).tolist()
    result = invoke("predict", path, data, "--missing", "drop")
    kept = [row[0] for row in rows_of(result.stdout)[1:]]
    assert kept == frame["id"].drop(incomplete).tolist()
    assert "note: dropped 3 rows with missing values" in result.stderr


def test_a_table_without_rows_stays_one(path, frame, tmp_path):
    head, out = tmp_path / "head.parquet", tmp_path / "out.csv"
    frame[:0].to_parquet(head, index=False)
    succeed("predict", path, head, "-o", out)
    assert out.read_text() == "id,x0,x1,x2,kind,prediction\n"


SPELLINGS = (
    *("1", "+2", " 1", "1 ", "\t4", "nan", "-nan", "NA", "N/A", "null", "", "1E-5"),
    *(".5", "5.", "-0", "1e-400", "007", "1.#QNAN", "#N/A", "inf", "-Infinity"),
    *("1e400", "x", "1_0", "0x10", "1e", "1,5", "é", "--1", "1d5"),
)


def test_numbers_in_text_are_read_as_fit_reads_them():
    """Arrow's own reader is the reference; predict reads the text first."""
    convert = csv.ConvertOptions(column_types={"a": pa.float64()})
    read = csv.ReadOptions(column_names=["a", "b"])
    for text in SPELLINGS:
        quoted = text_of(pa.record_batch({"a": [text, "1"], "b": ["1", "1"]}), ",")
        cells = pa.array([text, "1"])
        try:
            table = csv.read_csv(io.BytesIO(quoted), read, None, convert)
        except pa.ArrowInvalid:
            with pytest.raises(NotNumbersError):
                parsed_numbers(cells, Format(decimal="."))
        else:
            numbers = parsed_numbers(cells, Format(decimal=".")).to_pylist()
            assert repr(numbers) == repr(table["a"].to_pylist()), text


def test_text_is_quoted_where_it_must_be(rng):
    letters = np.array(list('ab,"\n\r\té 0'))
    for _ in range(50):
        sizes = rng.integers(0, 4, size=18)
        cells = ["".join(rng.choice(letters, size)) for size in sizes]
        batch = pa.record_batch([cells[:6], cells[6:12], cells[12:]], list("abc"))
        table = [[*cells[k::6]] for k in range(6)]
        for delimiter in ",\t":
            assert rows_of(text_of(batch, delimiter).decode(), delimiter) == table
            part = text_of(batch.slice(2, 3), delimiter).decode()
            assert rows_of(part, delimiter) == table[2:5]


def test_unlike_rows_are_counted_with_their_columns(frame, tmp_path):
    train, new = frame.iloc[::2], frame.iloc[1::2].copy()
    new.to_csv(tmp_path / "new.csv", index=False)
    path, out = tmp_path / "model.json", tmp_path / "out.csv"
    model = GaussianLinearDiscriminant().fit(train[FEATURES], train["kind"])
    heterolda.save(model, path)
    result = invoke("predict", path, tmp_path / "new.csv", "--out", out)
    assert "rows of the fit" not in result.stderr
    damaged = new.assign(x1=new["x1"] * 1000)
    damaged.to_csv(tmp_path / "bad.csv", index=False)
    arguments = "predict", path, tmp_path / "bad.csv", "--out", out, "--typicality"
    result = invoke(*arguments, "--explain", "1", "--fail-unlike", "0.5")
    assert result.exit_code == 3
    n = len(damaged)
    assert "of the fit, mostly by x1" in result.stderr
    after = pd.read_csv(out)
    assert_allclose(after["typicality"], model.typicality(damaged[FEATURES]))
    assert list(after["explanation"]) == model.explain(damaged[FEATURES]).text(1)
    assert len(after) == n
    heterolda.save(model, path, include_statistics=False)
    assert invoke(*arguments).exit_code == 1
    assert invoke("predict", path, tmp_path / "bad.csv", "--out", out).exit_code == 0


def test_rows_between_two_bounds_are_undecided(frame, tmp_path):
    rows = frame[frame["kind"].isin(sorted(set(frame["kind"]))[:2])]
    rows = pd.concat([rows] * (400 // len(rows) + 1))
    rows = rows.assign(x0=np.random.default_rng(0).normal(size=len(rows)))
    first, second = sorted(set(rows["kind"]))
    model = BoundedErrorClassifier(max_error={first: 0.05, second: 0.05})
    model.fit(rows[["x0"]], rows["kind"])
    heterolda.save(model, tmp_path / "model.json")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "out.csv"
    succeed("predict", tmp_path / "model.json", tmp_path / "rows.csv", "--out", out)
    possible = model.predict_set(rows[["x0"]])
    labels = np.where(possible.all(axis=1), "undecided", model.predict(rows[["x0"]]))
    assert list(pd.read_csv(out)["prediction"].astype(str)) == list(labels.astype(str))
    assert "undecided" in labels
