"""The accuracy benchmark: it resumes, and its page says what the rows say."""

import json
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy import methods as table
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.methods import METHODS, InnerFolds, resolve
from benchmarks.accuracy.picture import draw
from benchmarks.accuracy.report import Comparisons, joined, page
from benchmarks.accuracy.study import (
    BINS,
    DATASETS,
    SET_ASIDE,
    AccuracyStudy,
    Score,
    calibration_error,
    measured,
)
from heterolda.experiments.folder import RunFolder
from heterolda.experiments.protocol import Parts
from heterolda.experiments.results import read_results

TINY = ["--folds", "3", "--trials", "2", "--datasets", "iris,wine"]


def score(dataset, method, trial, fold, n_correct, **changes):
    """A row of 100 test points."""
    values = {"bayes_error": math.nan, "iterations": math.nan, "log_loss": 0.25}
    values |= {"fit_seconds": 2.0, "predict_seconds": 0.1, "n_warnings": 0}
    values |= {"excess": " ".join(["0"] * (BINS - 1) + ["5"])}
    sizes = {"n_train": 200, "n_test": 100, "n_correct": n_correct}
    return Score(dataset, method, trial, fold, **sizes, **(values | changes))


@pytest.fixture
def made_up(tmp_path):
    """Three sets, one set aside; the recommended recipe is best on all but one."""
    methods = ["recommended", "GLD", "ridge", "SVC", "OvO-LinearSVC-tuned"]
    correct = {"D1": [95, 80, 85, 90, 92], "wine": [80, 70, 75, 81, 60]}
    correct["shuttle"] = [97, 90, 91, 92, 93]
    study = AccuracyStudy(list(correct), methods, 2, 2, limits={"SVC:shuttle": 1})
    with RunFolder(tmp_path, study.description(1), Score) as folder:
        for task in study.tasks():
            (method,) = task.methods
            place = methods.index(method)
            changes = {}
            if method == "recommended":
                changes["fit_seconds"] = 1.0
            if method == "ridge":
                changes = {"excess": "", "log_loss": math.nan, "n_warnings": 3}
            row = task.dataset, method, task.trial, task.fold
            folder.append([score(*row, correct[task.dataset][place], **changes)])
    return tmp_path


def test_the_command_resumes_and_writes_its_page(tmp_path, capsys):
    out, docs = tmp_path / "out", tmp_path / "docs"
    arguments = [*TINY, "--out", str(out), "--page", str(docs)]
    assert main([*arguments, "--methods", "ridge"]) == 0
    results = out / "results.csv"
    whole = results.read_text()
    results.write_text(whole[:-30])  # as a crash in the middle of a line leaves it
    assert main([*arguments, "--methods", "ridge,GLD"]) == 0
    messages = capsys.readouterr().err
    assert "was cut in the middle" in messages
    assert "13 folds to compute" in messages  # 12 of GLD and the one that was cut
    rows = read_results(out, Score).rows
    assert len({row.key for row in rows}) == len(rows) == 2 * 2 * 2 * 3
    kept = {row.key: row for row in rows}
    for line in whole.splitlines()[1:-1]:
        row = Score.parse(line.split(","))
        assert kept[row.key].n_correct == row.n_correct
    text = (docs / "accuracy.md").read_text(encoding="utf-8")
    assert "| wine |" in text
    assert "of 2; equal accuracies" in text
    assert (docs / "images" / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "--limit" not in json.loads((out / "run.json").read_text())["command"]


def test_the_report_alone_computes_nothing(made_up, tmp_path):
    before = (made_up / "results.csv").read_bytes()
    docs = tmp_path / "docs"
    assert main(["--report", "--out", str(made_up), "--page", str(docs)]) == 0
    assert (made_up / "results.csv").read_bytes() == before
    assert "## Ranks" in (docs / "accuracy.md").read_text(encoding="utf-8")


def test_the_page_says_what_holds(made_up):
    text = page(Comparisons(read_results(made_up, Score)))
    assert "has the best mean rank (1.33; the best is recommended, 1.33): met" in text
    assert "(at worst -1.00, on wine): met" in text
    assert "(at worst 0.5 times as long, on" in text
    assert "| D1 | +5.00 | SVC | +3.00 | OvO-LinearSVC-tuned |" in text
    assert "| shuttle † | 90.00 ± 0.00 | **97.00** ± 0.00 |" in text
    assert "| shuttle † | 92.00 | 91.00 ± 0.00 |" in text  # SVC has one shuffle
    assert "| ridge | RidgeClassifier | 36 |" in text
    assert "Convergence warnings: 36" in text
    assert "| D1 | 0.050 | 0.050 | 0.050 |" in text


def test_what_is_set_aside_can_stay_hidden(made_up):
    comparisons = Comparisons(read_results(made_up, Score), development=True)
    assert comparisons.datasets == ["D1", "wine"]
    assert "| shuttle" not in page(comparisons)
    assert draw(comparisons).startswith(b"\x89PNG")


def test_incomplete_cells_are_not_ranked(made_up):
    path = made_up / "results.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(x for x in lines if not x.startswith("wine,GLD,1,1,")))
    comparisons = Comparisons(read_results(made_up, Score))
    assert "GLD" not in comparisons.ranked
    text = page(comparisons)
    assert "(70.00)" in text
    assert "Not complete, so not ranked: GLD." in text


def test_folders_can_be_joined(made_up, tmp_path):
    """Ours beside peers that were computed elsewhere, the first shuffle only."""
    other = AccuracyStudy(["wine"], ["LNS"], 1, 2)
    with RunFolder(tmp_path / "ours", other.description(1), Score) as folder:
        folder.append([score("wine", "LNS", 0, fold, 99) for fold in range(2)])
    parts = [read_results(f, Score) for f in (tmp_path / "ours", made_up)]
    both = joined(parts, 1)
    assert {row.trial for row in both.rows} == {0}
    comparisons = Comparisons(both)
    assert comparisons.accuracy("wine", "LNS") == 99
    assert comparisons.accuracy("wine", "SVC") == 81
    parts[0].run["seed"] = 1
    with pytest.raises(ValueError, match="do not compare"):
        joined(parts, 1)


def test_a_line_survives_its_file():
    row = score("wine", "GLD", 0, 1, 90, log_loss=math.nan, excess="")
    again = Score.parse(row.line().rstrip("\n").split(","))
    assert again.line() == row.line()
    assert math.isnan(again.log_loss)
    assert again.excess == ""
    with pytest.raises(ValueError, match="log_loss is 'much'"):
        Score.parse(row.line().rstrip("\n").replace(",,,0", ",much,,0").split(","))


def test_calibration_is_that_of_all_rows_of_a_shuffle():
    rows = (
        score("wine", "GLD", 0, 0, 90, excess="1 0 -2"),
        score("wine", "GLD", 0, 1, 90, excess="-1 0 -4"),
        score("wine", "GLD", 1, 0, 90, excess="0 3 0"),
    )
    assert_allclose(calibration_error(rows), np.mean([6 / 200, 3 / 100]))
    assert math.isnan(calibration_error(()))


def test_measures_agree_with_their_definitions():
    X, y = load_iris(return_X_y=True)
    parts = Parts(X[::2], y[::2], X[1::2], y[1::2])
    model = LogisticRegression(max_iter=3)
    found = measured(model, parts)
    assert found["n_warnings"] == 1
    assert found["n_correct"] == np.sum(model.predict(X[1::2]) == y[1::2])
    proba = model.predict_proba(X[1::2])
    truth = proba[np.arange(75), y[1::2]]
    assert_allclose(found["log_loss"], -np.mean(np.log(truth)), rtol=1e-6)
    top = proba.max(axis=1)
    excess = np.array(found["excess"].split(), float)
    assert_allclose(excess.sum(), top.sum() - found["n_correct"], atol=1e-4)


def test_every_peer_can_be_fitted():
    X, y = load_iris(return_X_y=True)
    for name in resolve(["peers", "GLD", "power+GLD"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert METHODS[name].make(0).fit(X, y).score(X, y) > 0.7


def test_many_rows_are_tuned_with_a_sample(monkeypatch):
    monkeypatch.setattr(table, "MANY_ROWS", 100)
    monkeypatch.setattr(table, "SAMPLE", 60)
    y = np.repeat([0, 1, 2], 50)
    for sampled, rows in ((True, 60), (False, 150)):
        folds = list(InnerFolds(0, sampled).split(y[:, None], y))
        assert len(folds) == 3
        tested = np.concatenate([test for _, test in folds])
        assert len(np.unique(tested)) == len(tested) == rows
        assert np.ptp(np.bincount(y[tested])) == 0


def test_the_first_shuffle_comes_first_and_what_is_limited_ends_it():
    limits = {"SVC:wine": 1}
    study = AccuracyStudy(["iris", "wine"], ["ridge", "SVC"], 2, 2, limits=limits)
    tasks = study.tasks()
    assert [t.trial for t in tasks] == [0] * 8 + [1] * 6
    assert all(t.methods == ("SVC",) and t.dataset == "wine" for t in tasks[6:8])


def test_the_sets_are_those_that_are_named():
    assert set(SET_ASIDE) < set(DATASETS)
    assert len(DATASETS) == 16
    with pytest.raises(ValueError, match="unknown method"):
        resolve(["nobody"])
