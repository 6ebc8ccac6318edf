"""Rows held out by a column, or in a file of their own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

import heterolda
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import SmoothedLinearDiscriminant, evaluate

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)
FEATURES = names()
TARGET = "-t", "kind"


@pytest.fixture
def frame(rng):
    frame = make_frame(rng, 240).drop(columns="id")
    frame["site"] = [f"s{k % 12}" for k in range(240)]
    frame["day"] = pd.date_range("2026-01-01", periods=240).strftime("%Y-%m-%d")
    return frame


def fitted(frame, tmp_path, *options):
    path, data = tmp_path / "m.json", tmp_path / "d.csv"
    if isinstance(frame, pd.DataFrame):
        frame.to_csv(data, index=False)
    else:
        data = frame
    succeed("fit", data, *TARGET, *options, "-o", path)
    model = heterolda.load(path)
    assert model.feature_names_in_.tolist() == FEATURES
    return model.evaluation_


def test_times_are_numbers_or_dates_and_equal_ones_stay_together(frame, tmp_path):
    times = "--time", "day", "--exclude", "site"
    text = fitted(frame, tmp_path, *times)
    assert text.method == "5 tests of rows later than those of the fit"
    assert text.n_rows == 200
    dated = frame.assign(day=pd.to_datetime(frame["day"]))
    dated.to_parquet(tmp_path / "d.parquet")
    for other in (
        fitted(tmp_path / "d.parquet", tmp_path, *times),
        fitted(frame.assign(day=np.arange(240) / 7), tmp_path, *times),
        fitted(frame.assign(day=dated["day"] + pd.Timedelta("1h")), tmp_path, *times),
    ):
        assert other.error == text.error
    # Four days: the last three are tested.
    few = fitted(frame.assign(day=np.arange(240) // 60), tmp_path, *times)
    assert (few.method[:7], few.n_rows) == ("3 tests", 180)
    X, y = frame[FEATURES].to_numpy(), frame["kind"].to_numpy(str)
    splits = [(np.arange(60 * k), np.arange(60 * k, 60 * k + 60)) for k in (1, 2, 3)]
    again = evaluate(SmoothedLinearDiscriminant(), X, y, cv=splits)
    assert few.error == again.error


def test_rows_of_a_test_file_are_not_fitted(frame, tmp_path):
    first, second = frame[:160], frame[160:]
    second.to_csv(tmp_path / "test.csv", index=False)
    words = "--test", tmp_path / "test.csv", "--exclude", "day"
    result = fitted(first, tmp_path, *words, "--groups", "site")
    assert (result.n_rows, result.n_groups) == (80, 12)
    model = SmoothedLinearDiscriminant().fit(first[FEATURES], first["kind"])
    wrong = model.predict(second[FEATURES]) != second["kind"]
    assert result.error == pytest.approx(wrong.mean())
    assert not np.isnan(result.lda_error)
    shown = succeed("compare", tmp_path / "d.csv", *TARGET, *words, "--groups", "site")
    line = next(k for k in shown.splitlines() if k.startswith("smoothed "))
    assert f"{100 * result.accuracy:.2f} %" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--groups", "site", "--time", "day"], "--groups cannot be combined with --t"),
        (["--time", "day", "--test", "d.csv"], "--time cannot be combined with --test"),
        (["--cv", "3", "--test", "d.csv"], "--cv cannot be combined with --test"),
        (
            ["--groups", "site", "--no-accuracy"],
            "--groups cannot be combined with --no",
        ),
        (["--groups", "lone"], "--groups has too few values to hold any of them out"),
        (["--time", "lone"], "the column of times 'lone' is neither numbers nor dates"),
        (["--groups", "place"], "column 'place', row 4 is missing: fill it in"),
        (["--time", "never"], "column 'never', row 4 is missing: fill it in"),
        (["--groups", "absent"], "no column is named 'absent'; .* with --groups"),
        (["--time", "zero"], "--time has one value, 0, so that no rows are earlier"),
    ],
)
@pytest.mark.parametrize("method", ["gaussian", "smoothed"])
def test_wrong_columns(frame, tmp_path, options, said, method):
    data = tmp_path / "d.csv"
    frame["lone"], frame["zero"] = "x", 0
    frame["place"] = frame["site"].where(frame.index != 3)
    frame["never"] = frame["day"].where(frame.index != 3)
    frame.to_csv(data, index=False)
    columns = "--columns", ",".join(FEATURES), "--method", method
    options = [data if option == "d.csv" else option for option in options]
    result = invoke("fit", data, *TARGET, *columns, *options)
    assert result.exit_code in (1, 2)
    assert pd.Series([result.stderr]).str.contains(said).all(), result.stderr


def test_missing_groups_can_be_dropped(frame, tmp_path):
    frame.loc[3, "site"] = None
    options = "--groups", "site", "--exclude", "day", "--missing", "drop"
    result = fitted(frame, tmp_path, *options)
    assert (result.n_rows, result.n_groups) == (239, 12)


def test_new_speakers_of_the_vowels_are_harder_and_the_command_says_so(
    data_dir, tmp_path
):
    frame = pd.read_csv(data_dir / "vowels.csv.gz")
    X, y = frame.drop(columns="target").to_numpy(), frame["target"].to_numpy()
    speaker, model = np.arange(990) // 66, SmoothedLinearDiscriminant()
    answers = cross_val_predict(model, X, y, groups=speaker, cv=LeaveOneGroupOut())
    grouped = evaluate(model, X, y, groups=speaker)
    assert abs(grouped.error - np.mean(answers != y)) < 0.05
    assert evaluate(model, X, y).error < 0.25
    data = tmp_path / "vowels.csv"
    frame.assign(speaker=[f"s{k}" for k in speaker]).to_csv(data, index=False)
    arguments = "fit", data, "-t", "target"
    said = invoke(*arguments, "--exclude", "speaker").stderr
    assert "rows of one 'speaker' are alike" in said
    assert "add --groups speaker" in said
    shown = succeed(*arguments, "--groups", "speaker")
    assert f"{100 * grouped.accuracy:.2f} %" in shown
