"""Traps in tables are named at the top of what commands say, and not rejected."""

import shlex

import numpy as np
import pandas as pd
import pytest

from helpers.cli import invoke, make_frame, names, succeed
from heterolda.cli.traps import (
    alike,
    giveaways,
    group_advice,
    is_measurement,
    placeholders,
    row_numbers,
    training_traps,
)
from heterolda.data.gathering import read_all
from heterolda.data.table import Table

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)
FITS = [
    *(
        ["fit", "--no-accuracy"],
        ["fit", "--no-accuracy", "--method", "search"],
    ),
    *(["compare", "--cv", "2"], ["project"]),
]


@pytest.fixture
def frame(rng):
    return make_frame(rng).drop(columns="id").sort_values("kind")


@pytest.mark.parametrize("command", FITS)
def test_columns_that_are_traps_are_named(frame, tmp_path, command):
    path = tmp_path / "d.csv"
    frame.insert(1, "patient", np.arange(1, len(frame) + 1))
    frame["code"] = frame["kind"].map({"north": 7, "south": 3, "east": 7, "west": 1})
    frame.to_csv(path, index=False)
    result = invoke(*command, path, "-t", "kind", "--exclude", "x2")
    assert result.exit_code == 0, result.stderr
    said = result.stderr
    assert "columns that number the rows: 'patient'; unless they are meas" in said
    assert "leave them out: --exclude x2,patient" in said
    assert "columns that give the class away: 'code'; unless they are meas" in said
    assert "leave them out: --exclude x2,code" in said
    named = invoke(*command, path, "-t", "kind", "--columns", "x0,x1,patient")
    assert "leave them out: --columns x0,x1" in named.stderr
    frame.assign(word=frame["kind"]).to_csv(path, index=False)
    options = "-t", "kind", "--columns", "x0,word", "--categorical", "word"
    advice = invoke(*command, path, *options).stderr.split("leave them out: ")[1]
    succeed(*command, path, *options, *shlex.split(advice.split("\n")[0]))


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".parquet"])
def test_column_names_in_a_later_row_are_no_class(frame, tmp_path, ending):
    path, model, out = (tmp_path / n for n in ("d" + ending, "m.json", "out.csv"))
    frame["city"] = np.resize(["Rome", "Oslo", "Bonn"], len(frame))
    features = ["city"] if ending == ".parquet" else [*frame.columns.drop("kind")]
    frame = frame[[*features, "kind"]]
    good = tmp_path / "good.csv"
    frame.to_csv(good, index=False)
    fit = [*FITS[0], "-t", "kind", "--categorical", "city"]
    succeed(*fit, good, "-o", model)
    names = frame.iloc[:1].astype(object)
    names.iloc[0] = frame.columns
    for at, line in (120, 122), (len(frame), len(frame) + 2):
        rows = pd.concat([frame[:at], names, frame[at:]])
        where = f"line {line}"
        if ending == ".csv":
            rows.to_csv(path, index=False)
        elif ending == ".xlsx":
            rows.to_excel(path, index=False)
        else:
            rows.to_parquet(path)
            where = f"row {line - 1}"
        commands = [
            *(fit, ["compare", *fit[2:], "--cv", "2"], ["project", *fit[2:]]),
            *(["predict", model, "-o", out], ["evaluate", model]),
        ]
        for command in commands[: 5 if ending != ".parquet" else 3]:
            result = invoke(*command, path)
            assert result.exit_code == 1
            said = f"{path}: {where} repeats the column names"
            assert said in result.stderr, result.stderr
            if ending != ".parquet":
                result = invoke(*command, path, "--skip-repeated-header")
                assert result.exit_code == 0, result.stderr
                assert "left out 1 line with the column names" in result.stderr
        if ending == ".csv":
            assert out.read_text("utf-8").count("\n") == len(frame) + 1


def test_an_evaluation_says_what_it_is_worth(frame, tmp_path, rng):
    path, model, other = (tmp_path / n for n in ("d.csv", "m.json", "other.csv"))
    frame.to_csv(path, index=False)
    succeed("fit", path, "-t", "kind", "--no-accuracy", "-o", model)
    frame.sample(frac=1, random_state=1).to_csv(other, index=False)
    for same in (path, other):  # whatever their name and order
        said = invoke("evaluate", model, same)
        assert "note: the model was fitted to these rows" in said.stderr
    weighted = frame.assign(x1=rng.integers(1, 4, len(frame)))
    weighted.to_csv(other, index=False)
    weights = "-t", "kind", "--sample-weight", "x1"
    heavy = tmp_path / "weighted.json"
    succeed("fit", other, *weights, "--no-accuracy", "-o", heavy)
    said = invoke("evaluate", heavy, other, "--sample-weight", "x1").stderr
    assert "the model was fitted to these rows" in said
    frame[1:].to_csv(other, index=False)
    assert "fitted to" not in invoke("evaluate", model, other).stderr


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


def test_whole_numbers_some_of_them_rare_are_a_measurement(frame, tmp_path, rng):
    path = tmp_path / "d.csv"
    frame["age"] = rng.binomial(400, 0.5, len(frame))
    frame.to_csv(path, index=False)
    said = invoke("fit", path, "-t", "age", "--exclude", "kind", "--no-accuracy").stderr
    assert "column 'age' has" in said
    assert "if it is a measurement, name another column with --target" in said
    classes, codes = np.arange(100), np.repeat(np.arange(100), 4)
    assert not is_measurement(classes, codes)  # numbered plants, as many of each
    codes[1:4] = 1
    assert is_measurement(classes, codes)
    assert not is_measurement(classes.astype(str), codes)
    assert not is_measurement(classes[:20], np.append(codes[codes > 0] % 20, 0))


def naive_placeholders(X):
    actual = []
    for j, values in enumerate(X.T):
        for value in (values.min(), values.max()):
            others = values[values != value]
            n = len(values) - len(others)
            many = n >= max(6, 0.01 * len(values)) and len(set(others)) >= 10
            if many and min(abs(others - value)) > others.std(ddof=1):
                actual.append((j, value, n / len(values)))
    return actual


def test_numbers_that_make_up_an_odd_share(rng):
    n = 600
    X = rng.normal(60, 10, size=(n, 9))
    X[::20, 0], X[::20, 1] = -999, 0
    X[::20, 2] = 60  # within
    X[:4, 3] = 9999  # a handful
    X[:, 4] = np.maximum(X[:, 4] - 65, 0)  # counts from zero on
    X[:, 5] = X[:, 5] > 60  # zeros and ones
    X[:, 6] = rng.poisson(0.5, n)
    X[::30, 7], X[1::30, 7] = -1e6, 1e6  # at both ends
    actual = placeholders(X)
    assert [j for j, _, _ in actual] == [0, 1, 7, 7]
    assert actual == naive_placeholders(X)
    assert placeholders(X[:0]) == []
    X[1, 8] = np.nan  # in a column with missing values
    X[::20, 8] = -999
    assert placeholders(X)[-1] == (8, -999, 0.05)


def test_a_note_on_placeholders_can_be_followed(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.loc[::20, ["x0", "x1"]] = -999
    frame.to_csv(path, index=False)
    for command in FITS:
        result = invoke(*command, path, "-t", "kind")
        assert result.exit_code == 0, result.stderr
        (note,) = [k for k in result.stderr.splitlines() if "-999" in k]
        assert "-999 makes up 5.0 % of column 'x0', -999 makes up" in note
        missing = "em" if command == FITS[0] else "drop"
        advised = shlex.split(note.partition(", add ")[2])
        assert advised == ["--na", "-999", "--missing", missing]
        result = invoke(*command, path, "-t", "kind", *advised)
        assert result.exit_code == 0, result.stderr
        assert "-999" not in result.stderr
        assert "10 of 200 rows " in result.stderr
    # A mark goes for all columns, so that none is advised that others have.
    frame["x2"] = np.arange(len(frame)) - 1000.0
    frame.to_csv(path, index=False)
    assert "makes up" not in invoke(*FITS[0], path, "-t", "kind").stderr


def test_groups_of_rows_that_are_alike_are_advised(tmp_path, rng):
    path, groups = tmp_path / "d.csv", np.array([f"s{k}" for k in range(30)])
    cases = (200, 1.0, True), (90, 0, False), (300, 0, False), (900, 0, False)
    for n, shift, advised in cases:
        frame = make_frame(rng, n)
        numbers = rng.integers(0, 30, n)
        frame["subject"] = groups[numbers]
        frame["noise"] = rng.permutation(frame["subject"])
        frame[names(3)] += 3 * shift * rng.normal(size=(30, 3))[numbers]
        frame.to_csv(path, index=False)
        words = path, "-t", "kind", "--exclude", "id,subject,noise"
        said = invoke("fit", *words).stderr
        assert ("rows of one 'subject' are alike" in said) == advised
        assert ("add --groups subject" in said) == advised
        assert "noise" not in said
    # What gives the class away, or names each row, does not count as a group.
    frame["kinds"], frame["lone"] = frame["kind"], [f"r{k}" for k in range(900)]
    frame.to_csv(path, index=False)
    said = invoke("fit", path, "-t", "kind", "--columns", "x0,x1,x2").stderr
    assert "alike" not in said


def naive_share(X, groups):
    """The intraclass correlation of groups of equal size, by mean squares."""
    parts = np.array([X[groups == g] for g in np.unique(groups)])
    m = parts.shape[1]
    between = m * parts.mean(axis=1).var(axis=0, ddof=1)
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    return np.mean((between - within) / (between + (m - 1) * within))


def test_the_share_between_groups_is_the_intraclass_correlation(rng):
    groups = np.repeat(np.arange(20), 6)
    X = rng.normal(size=(120, 3)) + rng.normal(size=(20, 3))[groups]
    one = np.zeros(120, int)
    assert alike(X, one, groups) == pytest.approx(naive_share(X, groups))
    assert alike(X, one, groups // 5) == 0  # too few
    copies = np.repeat(X[:20], 6, axis=0)
    assert alike(copies, one, groups) == pytest.approx(1)


def test_no_public_set_is_a_trap(data_dir):
    files = [*data_dir.glob("*.csv.gz"), *data_dir.glob("more/*.csv.gz")]
    assert len(files) > 40
    for path in files:
        rows, reading = read_all(Table(path, "target", missing="em"))
        assert training_traps(reading, rows) == [], path
        assert group_advice(Table(path, "target", missing="em")) == [], path
