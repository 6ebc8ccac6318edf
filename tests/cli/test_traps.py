"""Traps in tables are named at the top of what commands say, and not refused."""

import numpy as np
import pandas as pd
import pytest

import heterolda
from helpers.cli import invoke, make_frame, succeed
from heterolda.cli.traps import giveaways, row_numbers
from heterolda.data.gathering import read_all
from heterolda.data.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.usefixtures("short_reports"),
]
FITS = [["fit", "--no-accuracy"], ["compare", "--cv", "2"], ["project"]]


@pytest.fixture
def frame(rng):
    return make_frame(rng).drop(columns="id").sort_values("kind")


@pytest.mark.parametrize("command", FITS)
def test_a_column_that_numbers_the_rows_is_named(frame, tmp_path, command):
    path = tmp_path / "d.csv"
    frame.insert(1, "patient", np.arange(1, len(frame) + 1))
    frame.to_csv(path, index=False)
    first = invoke(*command, path, "-t", "kind", "--exclude", "x2")
    assert first.exit_code == 0, first.stderr
    assert first.stderr.splitlines()[0] == (
        "note: 'patient' numbers the rows; if it is not a measurement, leave it out: "
        "--exclude x2,patient"
    )
    again = invoke(*command, path, "-t", "kind", "--exclude", "x2,patient")
    assert again.exit_code == 0
    assert "numbers the rows" not in again.stderr
    named = invoke(*command, path, "-t", "kind", "--columns", "x0,x1,patient")
    assert "leave it out: --columns x0,x1" in named.stderr


def test_columns_that_give_the_class_away_are_named(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame["code"] = frame["kind"].map({"north": 7, "south": 3, "east": 7, "west": 1})
    frame["arm"] = frame["kind"].str[0]
    frame.to_csv(path, index=False)
    said = invoke("fit", path, "-t", "kind", "--no-accuracy", "--categorical", "arm")
    assert "'code', 'arm' give the class away; if they are not a m" in said.stderr
    assert "leave them out: --exclude code,arm" in said.stderr


def test_a_measurement_is_no_target(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.round({"x0": 1}).to_csv(path, index=False)
    for column in ("x0", "x1"):
        said = invoke("fit", path, "-t", column, "--exclude", "kind")
        assert said.exit_code == 1
        assert (
            f"column {column!r} is a measurement and not a class: it h" in said.stderr
        )
        assert said.stderr.endswith("name another column with --target\n")
    # Whole numbers, and a few with decimals, may be classes.
    frame["kind"] = frame["kind"].map({"north": 1, "south": 1.5, "east": 2, "west": 3})
    frame.to_csv(path, index=False)
    succeed("fit", path, "-t", "kind", "--no-accuracy")


def test_an_evaluation_says_what_it_is_worth(frame, tmp_path, rng):
    path, model, other = (tmp_path / n for n in ("d.csv", "m.json", "other.csv"))
    frame.to_csv(path, index=False)
    succeed("fit", path, "-t", "kind", "--no-accuracy", "-o", model)
    frame.sample(frac=1, random_state=1).to_csv(other, index=False)
    for same in (path, other):  # whatever their name and order
        said = invoke("evaluate", model, same)
        assert "note: these rows are those that the model was fitted to" in said.stderr
    frame[1:].to_csv(other, index=False)
    assert "fitted to" not in invoke("evaluate", model, other).stderr
    frame[1:].to_csv(path, index=False)
    assert "rows have the name of those that" in invoke("evaluate", model, path).stderr
    frame.assign(kind=["north"] * 190 + ["west"] * 10).to_csv(other, index=False)
    said = invoke("evaluate", model, other).stderr
    assert "no better than always answering 'north', which is right in 95.0 %" in said


def test_few_rows_and_classes_of_few_rows_are_no_traps():
    numbers = np.arange(40.0)[:, None]
    assert row_numbers(numbers, "a") == ["a"]
    assert row_numbers(2 * numbers + 5, "a") == ["a"]  # rows were left out
    for other in (numbers[:10], numbers / 10, numbers[::-1], numbers // 2):
        assert row_numbers(other, "a") == []
    codes = np.repeat([0, 1], 20)
    X = np.column_stack([codes, np.ones(40), numbers, np.where(codes, np.nan, 1)])
    assert giveaways(X, codes, "abcd") == ["a"]
    assert giveaways(X[:5], np.arange(5), "abcd") == []


def test_no_public_set_is_a_trap(data_dir):
    files = [*data_dir.glob("*.csv.gz"), *data_dir.glob("more/*.csv.gz")]
    assert len(files) > 40
    for path in files:
        rows, done = read_all(Table(path, "target", missing="em"))
        features = done.file.table.features
        assert row_numbers(done.first, features) == [], path
        assert giveaways(rows.X, rows.codes, features) == [], path


def test_row_numbers_of_a_sorted_set_are_the_trap_that_they_seem(data_dir, tmp_path):
    """With them, rows held out look all but perfect."""
    frame = pd.read_csv(data_dir / "more" / "vertebral_3c.csv.gz")
    path = tmp_path / "d.csv"
    frame.insert(0, "patient", np.arange(len(frame)))
    frame.to_csv(path, index=False)
    found = [
        heterolda.load(_fitted(path, tmp_path / "m.json", *more)).fit_record_.judgement
        for more in ([], ["--exclude", "patient"])
    ]
    assert found[0].accuracy > 0.95 > 0.9 > found[1].accuracy


def _fitted(path, model, *more):
    succeed("fit", path, "-t", "target", "-o", model, *more)
    return model
