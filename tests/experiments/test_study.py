"""The study: data, protocol, results that survive a crash, the command line."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils import Bunch
from typer.testing import CliRunner

from helpers.cli import command
from heterolda.cli.app import app
from heterolda.exceptions import ParameterError
from heterolda.experiments import datasets as loader
from heterolda.experiments.datasets import CATALOG, load_dataset, resolve_datasets
from heterolda.experiments.results import read_results
from heterolda.experiments.study import METHODS, Study, Task, resolve_methods


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)


def small(methods=("pairwise-lda",), **settings):
    return Study(["iris"], list(methods), **{"folds": 2} | settings)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


D2 = [-1.5, -0.75, 0.75, 1.5], [0.25, 0.75, 1.25, 1.75]
DRAWN = {
    "D1": (
        [3.86, 3.10, 0.84, 0.84, 1.64, 1.08, 0.26, 0.01],
        [8.41, 12.06, 0.12, 0.22, 1.49, 1.77, 0.35, 2.73],
        0.3,
    ),
    "D2": (*D2, 0.75),
    "D2-0.53": (*D2, 0.53),
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_sets_have_the_printed_parameters_and_follow_their_seed(name):
    """Equations (42) and (43), within six standard errors."""
    mean, variance, shift = map(np.array, DRAWN[name])
    study = Study([name], ["lda"], seed=3)  # a new draw in each trial
    X, y = study.data(name, 0)
    for label, m, v in ((1, mean - shift, 1.0), (2, mean, variance)):
        rows = X[y == label]
        assert np.all(abs(rows.mean(axis=0) - m) < 6 * np.sqrt(v / len(rows)))
        assert np.all(abs(rows.var(axis=0) / v - 1) < 6 * np.sqrt(2 / len(rows)))
    assert np.array_equal(X, load_dataset(name, random_state=3)[0])
    other = study.data(name, 1)[0]
    assert np.array_equal(other, load_dataset(name, random_state=4)[0])
    assert not np.array_equal(other, X)


def test_data_that_are_absent_or_wrong(tmp_path, monkeypatch):
    def offline(**options):
        raise URLError("no connection")

    monkeypatch.setattr(loader.bundled, "fetch_openml", offline)
    (tmp_path / "liver.csv.gz").write_bytes(b"no data")
    for name, folder, error, message in [
        ("liver", None, OSError, r"OpenML failed.*no connection.*put li.*HETEROLDA"),
        ("satellite", tmp_path, FileNotFoundError, r"satellite\.csv\.gz"),
        ("liver", tmp_path / "nowhere", ParameterError, r"^data_dir: "),
        ("livers", None, ValueError, "has no 'livers'"),
        ("liver", tmp_path, ValueError, r"liver\.csv\.gz' is not the .*sha256"),
    ]:
        with pytest.raises(error, match=message):
            load_dataset(name, folder)


def test_openml_columns_are_chosen_and_counted(monkeypatch):
    names = ["Speaker_Number", "Sex", *(f"Feature_{k}" for k in range(10))]
    data = np.arange(990.0 * 12).reshape(990, 12)
    labels = np.repeat([f"h{k}d" for k in range(11)], 90).astype(object)

    def fetch(data_id, **options):
        assert data_id == 307
        return Bunch(data=data, target=labels, feature_names=names)

    monkeypatch.setattr(loader.bundled, "fetch_openml", fetch)
    X, y = load_dataset("vowels")
    assert np.array_equal(X, data[:, 2:])
    assert X.flags.c_contiguous
    assert y.dtype.kind == "U"
    labels[:90] = "h1d"
    sizes = r"\(990, 10, 10\), and should be \(990, 10, 11\)"
    with pytest.raises(ValueError, match=sizes):
        load_dataset("vowels")


@pytest.mark.parametrize("name", ["D1", "iris"])
def test_every_method_gives_a_row(name):
    task = Task(name, 1, 2, tuple(METHODS))
    rows, failures = Study([name], list(METHODS), folds=5).evaluate(task)
    assert [r.key for r in rows] == [(name, method, 1, 2) for method in METHODS]
    assert failures == []
    for r in rows:
        assert r.n_train + r.n_test == CATALOG[name].n
        assert r.n_correct > 0.6 * r.n_test
        assert r.fit_seconds > 0
    error = {r.method: r.bayes_error for r in rows}
    assert error["gld"] <= error["algorithm-1"] <= error["pairwise-lda"]
    assert np.isnan([error["algorithm-2"], error["svm"]]).all()
    assert resolve_methods(["svm", "gld", "c-hld", "svm"]) == ["c-hld", "svm", "gld"]
    assert resolve_methods(["paper"])[-1] == "svm"
    assert len(resolve_datasets(["paper"])) == 12


def test_random_methods_and_folds_follow_the_seed_of_the_trial(rng):
    X, y = rng.normal(size=(44, 2)), np.repeat([0, 1, 2, 3], [20, 15, 6, 3])
    methods = {"r-hld-1": None, "mine": SVC(random_state=9)}
    study, later = (Study({"mine": (X, y)}, methods, folds=5, seed=k) for k in (5, 6))
    assert study.model("r-hld-1", 2).random_state == 7
    assert study.model("mine", 2).random_state == 7
    assert METHODS["r-hld-1"].random_state == 0
    folds = [study.split(Task("mine", 0, fold, ())) for fold in range(5)]
    for X_train, y_train, X_test, y_test in folds:
        assert sorted([*X_train[:, 0], *X_test[:, 0]]) == sorted(X[:, 0])
        assert len(y_train) + len(y_test) == 44
    # Each row is tested once, also those of a class with fewer rows than folds.
    assert sorted(np.concatenate([fold[3] for fold in folds])) == sorted(y)
    again, other = (study.split(Task("mine", k, 0, ()))[2] for k in (0, 1))
    assert np.array_equal(folds[0][2], again)
    assert not np.array_equal(again, other)
    assert np.array_equal(later.split(Task("mine", 0, 0, ()))[2], other)


@pytest.mark.check
def test_an_interrupted_run_continues_to_the_same_results(tmp_path):
    cut = tmp_path / "cut"
    options = "--datasets wine,iris --methods c-hld,gld --trials 99 --folds 5 --jobs 2"
    run = subprocess.Popen(
        command("reproduce", *options.split(), "--out", cut),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (cut / "results.csv").exists() or len(read_results(cut).rows) < 20:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
    stderr = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "Traceback" not in stderr
    *_, told, last = stderr.splitlines()
    assert told.endswith("the same command continues from there")
    assert last == "heterolda: interrupted"
    assert 20 <= len(read_results(cut).rows) < 2 * 2 * 5 * 99
    study = Study(["wine", "iris"], ["c-hld", "gld"], trials=3, folds=5)

    def without_times(folder):
        rows = study.run(folder).rows
        return sorted(row[:8] for row in rows if row.trial < study.trials)

    assert without_times(cut) == without_times(tmp_path / "whole")


def test_a_folder_is_extended(tmp_path):
    first = small().run(tmp_path).rows
    path = tmp_path / "results.csv"
    path.write_bytes(path.read_bytes()[:-9])  # a line cut in the middle is made again
    assert len(read_results(tmp_path).rows) == 1
    second = small().run(tmp_path).rows
    assert [r.n_correct for r in second] == [r.n_correct for r in first]
    before = path.read_text()
    study, steps = Study(["iris", "wine"], ["pairwise-lda", "lda"], 2, 2), []
    results = study.run(tmp_path, progress=lambda *step: steps.append(step))
    assert steps[-1] == ("wine, trial 2 of 2", 1)
    assert path.read_text().startswith(before)
    assert len(results.rows) == 2 * 2 * 2 * 2
    assert all(cell.complete for cell in results.cells.values())
    more = small(["c-hld"]).run(tmp_path)
    assert not more.cells["iris", "c-hld"].complete  # 2 folds, others have 4


def test_other_settings_and_foreign_files_are_rejected_and_kept(tmp_path):
    small().run(tmp_path)
    for key, old in {"folds": 2, "seed": 0}.items():
        with pytest.raises(ValueError, match=f"has results with {key} = {old}"):
            small(**{key: 5}).run(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(run | {"versions": {}}))
    with pytest.warns(UserWarning, match="other versions"):
        small().run(tmp_path)
    for name, content, message in [
        ("results.csv", "my notes", "not a file of results"),
        ("run.json", "{", "not the description"),
        ("run.json", "{}", "lacks 'folds'"),
        ("run.json", "[]", "not a JSON object"),
    ]:
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            small().run(tmp_path)
        assert (tmp_path / name).read_text() == content
        (tmp_path / name).write_text(before)


REJECTED = {
    "--datasets irises": (2, "--datasets has no 'irises'"),
    "--methods QDA": (2, "--methods has no 'QDA'"),
    "--methods os:Nothing": (2, "os:Nothing, which failed to load: AttributeError"),
    "--data iris.csv": (2, "--data and --target belong together"),
    "--data iris.csv -t y --datasets iris": (2, "--data has two sets named"),
    "--methods sklearn.svm:SVC,sklearn.svm:SVC": (2, "--methods has two named"),
    "--datasets iris --folds 51": (2, "largest class has 50 rows"),
    "--data gap.csv -t y": (1, "fill it in, or leave such rows out\n"),
    "--data one.csv -t y": (1, "at least 2 classes are needed"),
    "--datasets iris --out file/out": (1, "heterolda: file/out: Not a directory"),
}


@pytest.mark.parametrize("arguments", REJECTED)
def test_errors_end_with_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("gap.csv").write_text("x,y\n1,2\n,3\n")
    Path("one.csv").write_text("x,y\n" + "1,2\n" * 20)
    status, message = REJECTED[arguments]
    result = invoke("reproduce", *arguments.split())
    assert result.exit_code == status
    assert message in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"file", "gap.csv", "one.csv"}


def test_the_commands_with_own_data_and_methods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nclass Mine(GaussianNB):\n"
        "    def predict(self, X):\n        return super().predict(X)[:, None]\n"
        "class Fails(GaussianNB):\n    def fit(self, X, y):\n        raise ValueError\n"
    )
    Path("liver.csv.gz").touch()
    listed = invoke("datasets", "--details", "--data-dir", tmp_path)
    assert listed.exit_code == 0
    for line in (
        r"^iris .* yes: in scikit-learn$",
        r"^liver +\(c\) .* yes: file$",
        r"^letters .* no: needs a file, or OpenML",
    ):
        assert re.search(line, listed.stdout, re.MULTILINE)
    assert invoke("datasets", "--write", "iris", "--out", "mine.csv").exit_code == 0
    options = "--data mine.csv --target class --folds 3 --jobs 1 --datasets wine"
    reproduce = ["reproduce", *options.split(), "--methods"]
    result = invoke(*reproduce, "lda,own:Mine")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^ +lda +Mine", result.stdout, re.MULTILINE)
    assert re.search(r"^mine +ours +98.00\*", result.stdout, re.MULTILINE)
    assert "mine, trial 1 of 1" in result.stderr
    page = invoke("report", "heterolda-results")
    assert Path(page.stdout.strip()).is_file()
    # Only methods that fail now are an error.
    failed = invoke(*reproduce, "lda,own:Fails")
    assert failed.exit_code == 1
    assert "note: Fails failed on mine: ValueError" in failed.stderr
    assert "has results of mine and keeps them" in failed.stderr
    assert invoke(*reproduce, "lda").exit_code == 0
