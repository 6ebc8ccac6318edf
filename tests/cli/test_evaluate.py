"""heterolda evaluate: the figures are those of scikit-learn and of definitions."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
)

import heterolda
from helpers.cli import KINDS, make_frame, names, succeed
from heterolda import GaussianLinearDiscriminant
from heterolda.inspection.evaluation import Aim, Evaluation
from heterolda.inspection.evaluation_text import as_record, evaluation_lines
from heterolda.inspection.held_out import Answers
from heterolda.inspection.losses import Sums

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FEATURES = names()
TARGET = "-t", "kind"


@pytest.fixture
def frame(rng):
    return make_frame(rng, 400)


@pytest.fixture
def model(frame):
    half = frame[::2]
    return GaussianLinearDiscriminant().fit(half[FEATURES], half["kind"])


@pytest.fixture
def path(model, tmp_path):
    heterolda.save(model, tmp_path / "model.json")
    return tmp_path / "model.json"


def calibration_error(truth, chances, weight):
    """Expected calibration error by its definition, row by row."""
    best = chances.max(axis=1)
    bins = np.array([min(int(10 * p), 9) for p in best])
    right = chances.argmax(axis=1) == truth
    parts = [(weight[bins == k], (best - right)[bins == k]) for k in range(10)]
    return sum(abs(w @ difference) for w, difference in parts) / weight.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_scikit_learn(frame, model, path, tmp_path, rng, weighted):
    test = frame[1::2].assign(times=rng.integers(1, 4, 200) if weighted else 1)
    data = tmp_path / "test.parquet"
    test.to_parquet(data, row_group_size=37)
    options = ["--sample-weight", "times"] if weighted else []
    actual = json.loads(succeed("evaluate", path, data, *TARGET, "--json", *options))
    y, w = test["kind"], test["times"].to_numpy(dtype=float)
    chances = model.predict_proba(test[FEATURES])
    answer = model.predict(test[FEATURES])
    truth = np.searchsorted(model.classes_, y.to_numpy(dtype=str))
    assert actual["classes"] == sorted(KINDS)
    assert actual["n_rows"] == w.sum()
    for name, value in {
        "accuracy": accuracy_score(y, answer, sample_weight=w),
        "balanced_accuracy": balanced_accuracy_score(y, answer, sample_weight=w),
        "log_loss": log_loss(y, chances, sample_weight=w),
        "confusion": confusion_matrix(y, answer, sample_weight=w),
        "recall": recall_score(y, answer, average=None, sample_weight=w),
        "precision": precision_score(y, answer, average=None, sample_weight=w),
        "calibration_error": calibration_error(truth, chances, w),
    }.items():
        assert_allclose(actual[name], value, rtol=1e-9, err_msg=name)
    means = [row["weight"] * row["share_right"] for row in actual["reliability"]]
    assert sum(means) == pytest.approx(actual["accuracy"] * w.sum())
    for row in actual["reliability"]:
        assert row["low"] <= row["mean_probability"] <= row["high"]


def test_the_text_says_the_same(frame, path, tmp_path):
    data = tmp_path / "test.csv"
    frame[1::2][["kind", *reversed(FEATURES)]].to_csv(data, index=False)
    actual = json.loads(succeed("evaluate", path, data, *TARGET, "--json"))
    shown = succeed("evaluate", path, data, *TARGET)
    wrong = round(200 * actual["error"])
    low, high = binomtest(wrong, 200).proportion_ci(method="wilson")
    interval = f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
    assert f"Error: {100 * actual['error']:.2f} % {interval}." in shown
    assert actual["conclusion"] in shown
    for kind, row in zip(actual["classes"], actual["confusion"], strict=True):
        counts = r" +".join(f"{int(n)}" for n in row)
        assert re.search(rf"^{kind} +{counts}$", shown, re.MULTILINE)


def test_groups_widen_intervals(frame, path, tmp_path):
    test = frame[1::2].assign(group=np.arange(200) // 20)
    data = tmp_path / "test.csv"
    test.to_csv(data, index=False)
    plain, grouped = (
        json.loads(succeed("evaluate", path, data, *TARGET, *options, "--json"))
        for options in ((), ("--groups", "group"))
    )
    assert plain["error"] == grouped["error"]
    assert (plain["n_groups"], grouped["n_groups"]) == (0, 10)
    assert plain["error_interval"] != grouped["error_interval"]


def sums_of(classes, truth, chances, parts=1, **settings):
    sums = Sums(classes, ["this model", "constant"])
    for rows in np.array_split(np.arange(len(truth)), parts):
        one = Answers.of(truth[rows], chances[rows])
        sums.add(truth[rows], [one, one], **settings)
    return sums


def test_of_many_classes_the_most_frequent_confusions_are_shown():
    n = [9, 1, 4, 2]
    truth, winners = np.repeat([3, 7, 3, 5], n), np.repeat([3, 3, 1, 3], n)
    sums = sums_of(np.arange(100, 113), truth, np.eye(13)[winners])
    lines = evaluation_lines(Evaluation.of(sums, Aim(), "rows"), "m")
    lines = [" ".join(line.split()) for line in lines]
    start = lines.index("class predicted rows") + 1
    assert lines[start : start + 4] == ["103 101 4", "105 103 2", "107 103 1", ""]


def test_classes_that_are_absent_and_missing_values(frame, path, tmp_path):
    part = frame[frame["kind"] != "west"][["kind", *FEATURES]].copy()
    part.iloc[0, 1] = np.nan
    data = tmp_path / "part.csv"
    part.to_csv(data, index=False)
    options = *TARGET, "--missing", "drop", "--json"
    actual = json.loads(succeed("evaluate", path, data, *options))
    assert actual["n_rows"] == len(part) - 1
    assert actual["recall"][3] is None
    assert actual["balanced_accuracy"] == pytest.approx(np.mean(actual["recall"][:3]))


def test_sums_do_not_depend_on_batches(rng):
    truth, chances = rng.integers(0, 4, 300), rng.dirichlet(np.ones(4), 300)
    chances[0] = [1, 0, 0, 0]  # in the last bin, and the loss of class 1 stays finite
    truth[0] = 1
    whole, parts = (sums_of(np.arange(4), truth, chances, n) for n in (1, 7))
    nothing = Answers.of(truth, chances)
    parts.add(truth, [nothing, nothing], np.zeros(300))  # rows of weight zero
    expected, actual = (
        as_record(Evaluation.of(sums, Aim(), "rows")) for sums in (whole, parts)
    )
    assert np.isfinite(expected["log_loss"])
    for name in ("accuracy", "log_loss", "calibration_error", "recall"):
        assert actual[name] == pytest.approx(expected[name], rel=1e-12)
    assert actual["error_interval"] == pytest.approx(expected["error_interval"])
    # Weights below one on average are not frequencies, and rows count as one each.
    small = sums_of(np.arange(4), truth, chances, weight=np.full(300, 1e-3))
    small = as_record(Evaluation.of(small, Aim(), "rows"))
    assert small["error_interval"] == pytest.approx(expected["error_interval"])
