"""The accuracy benchmark: it resumes, and its page says what the rows say."""

import dataclasses
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import methods as table
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.comparisons import CONTENDERS, Comparisons, covers, joined
from benchmarks.accuracy.methods import DEAREST, LIMITS, METHODS, InnerFolds, resolve
from benchmarks.accuracy.picture import draw
from benchmarks.accuracy.report import page
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
from heterolda.experiments.protocol import Split
from heterolda.experiments.results import Results, read_results

TINY = ["--folds", "3", "--trials", "2", "--datasets", "iris,wine"]


def score(dataset, method, trial, fold, n_correct, **changes):
    """A row of 100 test points."""
    values = {"bayes_error": math.nan, "iterations": math.nan, "log_loss": 0.25}
    values |= {"fit_seconds": 2.0, "predict_seconds": 0.1, "n_warnings": 0}
    values |= {"excess": " ".join(["0"] * (BINS - 1) + ["5"])}
    sizes = {"n_train": 200, "n_test": 100, "n_correct": n_correct}
    return Score(dataset, method, trial, fold, **sizes, **(values | changes))


def made(correct=lambda dataset, method, trial: 90, methods=None):
    """Results of the full protocol with two folds, with so many hits of 100."""
    methods = methods or ["GLD", *CONTENDERS]
    study = AccuracyStudy(DATASETS, methods, 3, 2, limits=LIMITS)
    rows = []
    for task in study.tasks():
        (method,) = task.methods
        extra = {"fit_seconds": 1.0} if method == "recommended" else {}
        if method == "ridge":
            extra = {"excess": "", "log_loss": math.nan, "n_warnings": 3}
        hits = correct(task.dataset, method, task.trial)
        row = task.dataset, method, task.trial, task.fold
        rows.append(score(*row, hits, **extra))
    return Results(Path("made"), tuple(rows), study.description(1))


def without(results, wanted):
    """The results without the rows that a function picks."""
    rows = tuple(row for row in results.rows if not wanted(row))
    return dataclasses.replace(results, rows=rows)


def leading(dataset, method, trial):
    """The recommended recipe is best on every set but wine, where SVC is."""
    if method == "recommended":
        return 80 if dataset == "wine" else 95
    if method == "SVC":
        return 81 if dataset == "wine" else 90
    return {"GLD": 70, "OvO-LinearSVC-tuned": 72}.get(method, 60)


def verdicts(results):
    """The lines of what should hold."""
    text = page(Comparisons(results)).partition("## What should hold")[2]
    return [x for x in text.partition("##")[0].splitlines() if x]


@pytest.fixture
def made_up(tmp_path):
    """A folder of made-up results."""
    results = made(leading)
    study = AccuracyStudy(DATASETS, results.methods, 3, 2, limits=LIMITS)
    with RunFolder(tmp_path, study.description(1), Score) as folder:
        folder.append(list(results.rows))
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
    assert "Of the 2 methods that have every set" in text
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
    assert "best mean rank (1.06; the best peer is SVC, 1.94): met" in text
    assert "(at worst -1.00, on wine): met" in text
    assert "(at worst 0.5 times as long, on" in text
    assert "| D1 | 3 | +5.00 | SVC | +23.00 | OvO-LinearSVC-tuned |" in text
    assert "| shuttle † | 1 | 70.00 | **95.00** |" in text
    assert "| D1 | 3 | 60.00 ± 0.00 |" in text
    assert "| 60.00 [1] |" in text  # SVC-tuned on D1
    assert "| ridge | RidgeClassifier | 252 |" in text
    assert "Convergence warnings: 252" in text
    assert "| D1 | 0.050 | 0.050 | 0.050 |" in text
    assert "| *shuffles* |" in text
    assert "issing" not in text


def test_what_is_set_aside_can_stay_hidden(made_up):
    comparisons = Comparisons(read_results(made_up, Score), development=True)
    assert not {*comparisons.datasets, *comparisons.expected} & set(SET_ASIDE)
    text = page(comparisons)
    assert "| shuttle" not in text
    assert "issing" not in text
    assert draw(comparisons).startswith(b"\x89PNG")


def test_equal_hits_share_a_rank():
    """Means over shuffles in floating point would break the tie."""
    hits = {"LDA": [70, 71, 72], "ridge": [70, 72, 71]}
    means = [np.mean(100 * np.array(row) / 178) for row in hits.values()]
    assert np.ptp(means) > 0  # so the test is of something
    results = made(lambda dataset, method, trial: hits[method][trial], list(hits))
    rows = tuple(dataclasses.replace(row, n_test=178) for row in results.rows)
    ranks = Comparisons(dataclasses.replace(results, rows=rows)).ranks(list(hits))
    assert_allclose(ranks[DATASETS.index("wine")], 1.5)


@pytest.mark.parametrize(
    ("method", "undecided"),
    [("LDA", [0, 1]), ("LDA-tuned", [0]), ("recommended", [0, 1])],
)
def test_a_missing_cell_leaves_the_verdict_open(method, undecided):
    results = made(leading)
    results = without(results, lambda r: (r.dataset, r.method) == ("wine", method))
    lines = verdicts(results)
    for k in (0, 1):
        said = f"**not decided** (so far met); missing: wine ({method})"
        assert (said in lines[k]) == (k in undecided)
    assert f"Missing: wine ({method})." in page(Comparisons(results))


def test_a_missing_set_leaves_the_verdict_open():
    results = made(leading)
    del results.run["plan"]["wine"]
    results = without(results, lambda r: r.dataset == "wine")
    assert "wine" not in Comparisons(results).datasets
    first, second, third = verdicts(results)
    assert "missing: wine (recommended, LDA, " in first
    assert "missing: wine (recommended, LDA, " in second
    assert third.endswith(": met")  # wine has few rows


def test_a_method_is_ranked_on_the_sets_that_it_has():
    """And compared with others on the sets that both have."""
    results = made(leading)
    results = without(results, lambda r: r.method == "SVC" and r.dataset != "wine")
    c = Comparisons(results)
    assert c.mean_ranks(CONTENDERS)["SVC"] == (1, 1)
    assert c.mean_ranks(CONTENDERS)["recommended"] == (17 / 16, 16)
    assert c.rivals()["SVC"] == (2, 1)
    assert "(so far **not met**)" in verdicts(results)[0]
    assert "| SVC | 1.00 | 1.00 | 1 |" in page(c)
    assert draw(c).startswith(b"\x89PNG")


def test_limited_methods_are_compared_on_their_own_shuffle():
    """The first shuffle of D1 is easy: only there does SVC-tuned have a figure."""

    def correct(dataset, method, trial):
        hits = {"recommended": 80, "SVC-tuned": 79}.get(method, 60)
        return hits + (15 if dataset == "D1" and trial == 0 else 0)

    c = Comparisons(made(correct))
    assert c.accuracy("D1", "SVC-tuned") > c.accuracy("D1", "recommended")
    assert c.difference("D1", "recommended", "SVC-tuned") == 1
    ranks = dict(
        zip(CONTENDERS, c.ranks(CONTENDERS)[DATASETS.index("D1")], strict=True)
    )
    assert (ranks["recommended"], ranks["SVC-tuned"]) == (1, 2)
    assert c.is_best("D1", "recommended")
    assert not c.is_best("D1", "SVC-tuned")
    assert c.differences(table.TUNED_PEERS)["D1"] == (1, "SVC-tuned")


def test_a_stopped_run_uses_the_shuffles_that_all_have():
    results = without(made(leading), lambda r: r.key == ("wine", "SVC", 1, 1))
    c = Comparisons(results)
    assert c.shuffles("wine", "LDA") == c.shuffles("wine", "SVC") == {0, 2}
    assert not c.missing(CONTENDERS)
    assert "| wine | 2 | " in page(c)
    assert len(c.cell("wine", "SVC").rows) == 4
    assert "not decided" not in "".join(verdicts(results))


def test_a_cell_without_a_complete_shuffle_is_in_parentheses():
    results = made(leading)
    results = without(
        results, lambda r: (r.dataset, r.method, r.fold) == ("wine", "GLD", 1)
    )
    c = Comparisons(results)
    assert c.missing(["GLD"]) == [("wine", "GLD")]
    assert np.isnan(c.accuracy("wine", "GLD"))
    assert c.n_shuffles("wine") == 3  # nobody else loses any
    assert "(70.00)" in page(c)


def test_the_verdict_ranks_the_recommended_recipe_among_peers_alone():
    """Where it beats SVC, our variants do too, and push SVC down by five ranks."""

    def correct(dataset, method, trial):
        ahead = dataset in DATASETS[:7]
        if method in table.OURS and method != "recommended":
            return 75 if ahead else 50
        return {"recommended": 80, "SVC": 70 if ahead else 90}.get(method, 60)

    results = made(correct, list(METHODS))
    c = Comparisons(results)
    assert next(iter(c.mean_ranks(list(METHODS)))) == "recommended"
    assert c.mean_ranks(CONTENDERS)["recommended"] == (25 / 16, 16)
    assert "(1.56; the best peer is SVC, 1.44): **not met**" in verdicts(results)[0]


def test_times_of_different_folders_do_not_compare():
    peers = made(leading, CONTENDERS[1:])
    ours = made(leading, ["recommended", "GLD"])
    c = Comparisons(joined([ours, peers]))
    assert c.time_ratios() == {}
    text = page(c)
    assert "not timed in one run: D1" in text
    assert "**not decided**; missing: times of one run on D1" in text
    whole = made(leading)
    assert len(Comparisons(joined([whole, peers])).time_ratios()) == len(c.timed)


def test_versions_of_all_folders_are_named():
    ours, peers = made(leading, ["GLD"]), made(leading, ["ridge", "LDA"])
    text = page(Comparisons(joined([ours, peers])))
    assert "\nVersions: " in text
    peers.run["versions"] = {"numpy": "0.1"}
    text = page(Comparisons(joined([ours, peers])))
    assert "\nVersions of LDA, ridge: numpy 0.1.\n" in text
    assert "\nVersions of GLD: " in text


@pytest.mark.parametrize(
    "selection",
    ["--datasets wine", "--methods peers", "--trials 2", "--folds 3", "--development"],
)
def test_a_selection_must_say_where_its_page_goes(selection, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*selection.split(), "--report", "--out", str(tmp_path)])
    assert "name its --page" in capsys.readouterr().err


def test_a_folder_of_a_selection_must_say_where_its_page_goes(
    made_up, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(command, "DOCS", tmp_path / "docs")
    with pytest.raises(SystemExit):
        main(["--report", "--out", str(made_up)])  # GLD alone of our variants
    assert "have less" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()
    assert covers(made(methods=list(METHODS)).run["plan"])


def test_the_page_tells_the_limits():
    text = page(Comparisons(made())).partition("## Limits")[2]
    assert "stops after 50,000 iterations" in text
    assert "one shuffle only on shuttle, letters, optdigits." in text
    limited = {key.partition(":")[2] for key in LIMITS if key.startswith("SVC-tuned:")}
    (line,) = [x for x in text.splitlines() if "has one shuffle only where" in x]
    named = line.partition("rows: ")[2].rstrip(".").split(", ")
    assert set(named) == (limited & set(DATASETS)) - set(DEAREST)


def test_folders_can_be_joined(made_up, tmp_path):
    """Ours beside peers that were computed elsewhere, the first shuffle only."""
    other = AccuracyStudy(["wine"], ["LNS"], 1, 2)
    with RunFolder(tmp_path / "ours", other.description(1), Score) as folder:
        folder.append([score("wine", "LNS", 0, fold, 99) for fold in range(2)])
    parts = [read_results(f, Score) for f in (tmp_path / "ours", made_up)]
    assert Comparisons(joined(parts)).n_shuffles("wine") == 1
    assert Comparisons(joined(parts)).n_shuffles("vowels") == 3
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
    split = Split(X[::2], y[::2], X[1::2], y[1::2])
    model = LogisticRegression(max_iter=3)
    found = measured(model, split)
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
