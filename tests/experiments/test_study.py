"""The study: data, protocol, results that survive a crash, the command line."""

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch
from typer.testing import CliRunner

from helpers.cli import command
from heterolda import ParameterError
from heterolda.cli.commands import app
from heterolda.experiments import datasets as loader
from heterolda.experiments.catalogue import CATALOGUE, resolve_datasets
from heterolda.experiments.datasets import dataset_source, load_dataset
from heterolda.experiments.folder import RunFolder
from heterolda.experiments.methods import METHODS, resolve_methods
from heterolda.experiments.protocol import Study, Task, run_study
from heterolda.experiments.results import Row
from heterolda.experiments.workers import computed


class Silent:
    """An observer that remembers."""

    def __init__(self):
        self.notices, self.tasks, self.finished = [], None, []

    def notice(self, text):
        self.notices.append(text)

    def begin(self, tasks, n_done):
        self.tasks, self.n_done = tasks, n_done

    def finish(self, task):
        self.finished.append(task)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch, request):
    if "data_dir" not in request.fixturenames:
        monkeypatch.delenv("HETEROLDA_DATA", raising=False)


def start(folder):
    """Run the study below in processes of its own, whose warnings are errors."""
    options = ["--datasets", "wine,iris", "--methods", "LDA,GLD", "--trials", "10"]
    return subprocess.Popen(
        command("reproduce", *options, "--folds", "5", "--jobs", "1", "--out", folder),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_lines(folder, n):
    path = Path(folder) / "results.csv"
    for _ in range(6000):
        if path.exists() and path.read_bytes().count(b"\n") > n:
            return
        time.sleep(0.005)
    pytest.fail("the run does not come to pass")


def children(process):
    """Where Linux shows the processes that a process has started."""
    family = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    pids = family.read_text().split() if family.exists() else []
    return [Path(f"/proc/{pid}/exe") for pid in pids]


def wait_for_end(processes):
    for _ in range(1000):
        if not any(path.exists() for path in processes):
            return
        time.sleep(0.01)
    pytest.fail("processes survive the run that started them")


def without_times(folder):
    lines = (Path(folder) / "results.csv").read_text().splitlines()
    times = [Row.header().index(name) for name in ("fit_seconds", "predict_seconds")]
    rows = [line.split(",") for line in lines]
    return [[v for k, v in enumerate(row) if k not in times] for row in rows]


def row(dataset="iris", method="LDA", trial=0, fold=0):
    return Row(dataset, method, trial, fold, 120, 30, 29, 0.01, 1e-3, 1e-4, np.nan)


def settings(**changes):
    return Study(["iris"], ["LDA"]).description(1) | changes


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


# Data


def test_catalogue_is_complete():
    assert len(resolve_datasets(["paper"])) == 12
    for entry in CATALOGUE.values():
        assert entry.origin
        assert entry.licence
        assert (len(entry.sha256) == 64) == (entry.kind == "file")
        if entry.kind != "file":
            X, y = load_dataset(entry.name)
            assert (*X.shape, len(np.unique(y))) == (entry.n, entry.d, entry.k)
            assert X.flags.c_contiguous


def test_drawn_sets_follow_their_seed():
    assert np.array_equal(
        load_dataset("D1", random_state=3)[0], load_dataset("D1", random_state=3)[0]
    )
    assert not np.array_equal(
        load_dataset("D1")[0], load_dataset("D1", random_state=1)[0]
    )
    X, y = load_dataset("D2-0.53")
    gap = X[y == 2].mean(axis=0) - X[y == 1].mean(axis=0)
    assert gap == pytest.approx([0.53] * 4, abs=0.15)


@pytest.mark.check
def test_real_files_load_and_are_what_the_catalogue_says(data_dir):
    for name in resolve_datasets(["all"]):
        assert dataset_source(name, data_dir) is not None
        X, y = load_dataset(name, data_dir)
        assert np.all(np.isfinite(X))
        assert len(y) == CATALOGUE[name].n


def test_a_corrupted_file_is_named(tmp_path):
    (tmp_path / "liver.csv.gz").write_bytes(b"no data")
    with pytest.raises(
        ValueError, match=r"liver\.csv\.gz' is not the data set.*sha256"
    ):
        load_dataset("liver", tmp_path)
    result = invoke("reproduce", "--datasets", "liver", "--data-dir", tmp_path)
    assert result.exit_code == 1
    assert "liver.csv.gz" in result.stderr


def test_absent_data_says_what_to_do(tmp_path, monkeypatch):
    def offline(**options):
        raise URLError("no connection")

    monkeypatch.setattr(loader.bundled, "fetch_openml", offline)
    with pytest.raises(OSError, match=r"HETEROLDA_DATA.*OpenML.*no connection.*put li"):
        load_dataset("liver")
    with pytest.raises(FileNotFoundError, match=r"satellite\.csv\.gz"):
        load_dataset("satellite", tmp_path)
    with pytest.raises(ParameterError, match=r"^data_dir: "):
        load_dataset("liver", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="unknown data set 'livers'"):
        load_dataset("livers")


def test_openml_columns_are_chosen_and_counted(monkeypatch):
    names = ["Speaker_Number", "Sex", *(f"Feature_{k}" for k in range(10))]
    data = np.arange(990.0 * 12).reshape(990, 12)
    labels = np.repeat([f"h{k}d" for k in range(11)], 90).astype(object)

    def fetch(data_id, **options):
        assert data_id == 307
        assert options["as_frame"] is False
        return Bunch(data=data, target=labels, feature_names=names)

    monkeypatch.setattr(loader.bundled, "fetch_openml", fetch)
    X, y = load_dataset("vowels")
    assert np.array_equal(X, data[:, 2:])
    assert y.dtype.kind == "U"
    labels[:90] = "h1d"
    with pytest.raises(ValueError, match=r"10 classes, it should have .*11 classes"):
        load_dataset("vowels")


# Protocol


def test_names_resolve_in_the_order_of_the_tables():
    assert resolve_methods(["SVM", "LDA", "LDA"]) == ["LDA", "SVM"]
    assert resolve_methods(["all"]) == list(METHODS)
    assert resolve_methods(["paper"])[-1] == "SVM"
    with pytest.raises(ValueError, match=r"unknown method 'QDA'.*C-HLD.*groups all"):
        resolve_methods(["QDA"])


def test_tasks_respect_limits_and_what_is_done():
    study = Study(["iris", "wine"], ["LDA", "SVM"], 3, 2, limits={"SVM:iris": 1})
    tasks = study.tasks({("iris", "LDA", 0, 0), ("wine", "LDA", 1, 1)})
    assert len(tasks) == 12
    assert Task("iris", 0, 0, ("SVM",)) in tasks
    assert Task("iris", 0, 1, ("LDA", "SVM")) in tasks
    assert Task("iris", 2, 1, ("LDA",)) in tasks
    assert Task("wine", 1, 1, ("SVM",)) in tasks
    assert [t.trial for t in tasks] == sorted(t.trial for t in tasks)


@pytest.mark.parametrize("name", ["D1", "iris", "breast_cancer"])
def test_every_method_gives_a_row(name):
    task = Task(name, 1, 2, tuple(METHODS))
    rows = {r.method: r for r in Study([name], [], folds=5).evaluate(task)}
    assert list(rows) == list(METHODS)
    for r in rows.values():
        assert (r.dataset, r.trial, r.fold) == (name, 1, 2)
        assert r.n_train + r.n_test == CATALOGUE[name].n
        assert r.n_correct > 0.6 * r.n_test
        assert r.fit_seconds > 0
        assert Row.parse(r.line().strip().split(",")).key == r.key
    assert rows["GLD-global"].bayes_error <= rows["GLD"].bayes_error
    assert rows["GLD"].bayes_error <= rows["LDA"].bayes_error
    assert np.isnan([rows["LNS"].bayes_error, rows["SVM"].bayes_error]).all()
    assert np.isnan(rows["LinearDiscriminantAnalysis"].iterations)


def test_a_class_with_fewer_rows_than_folds_is_spread_without_a_warning(data_dir):
    tasks = [Task("wine_white", 0, fold, ("LDA",)) for fold in range(10)]
    rows = [Study([], []).evaluate(t, data_dir)[0] for t in tasks]
    assert sum(r.n_test for r in rows) == 4898


@pytest.mark.check
def test_one_thread_for_all_methods():
    code = (
        "from heterolda.experiments.protocol import Study\n"
        "import threadpoolctl\n"
        "Study([], ['LDA', 'LogisticRegression']).warm_up()\n"
        "print(*(pool['num_threads'] for pool in threadpoolctl.threadpool_info()))"
    )
    more = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | more,
    )
    assert set(run.stdout.split()) == {"1"}, run.stderr


# Processes


@pytest.fixture
def workers():
    """Function that lists the processes of this test; others may have left some."""
    before = {child.pid for child in multiprocessing.active_children()}
    return lambda: [
        child for child in multiprocessing.active_children() if child.pid not in before
    ]


def test_a_task_that_fails_is_named(workers):
    results = computed([4.0, -1.0], partial(int), math.sqrt, 1)
    assert next(results) == (4.0, 2.0)
    assert len(workers()) == 1
    with pytest.raises(RuntimeError, match=r"-1\.0 failed: ValueError") as caught:
        next(results)
    error = caught.value.__cause__
    assert isinstance(error, ValueError)
    assert "Traceback" in str(error.__cause__)  # of the process
    assert not workers()


@pytest.mark.check
def test_a_process_that_dies_is_noticed(tmp_path, workers):
    class Murderer(Silent):
        def finish(self, task):
            os.kill(workers()[0].pid, signal.SIGTERM)

    study = Study(["iris"], ["LDA"])
    with pytest.raises(RuntimeError, match=r"iris, trial 1, fold .* was killed"):
        run_study(study, tmp_path, Murderer())
    observer = Silent()
    run_study(study, tmp_path, observer)
    assert 1 <= observer.n_done < 10
    assert len(observer.finished) == 10 - observer.n_done


@pytest.mark.check
def test_a_run_killed_in_the_middle_goes_on_to_the_same_table(tmp_path):
    whole, cut, observer = tmp_path / "whole", tmp_path / "cut", Silent()
    study = Study(["wine", "iris"], ["LDA", "GLD"], trials=10, folds=5)
    run_study(study, whole, Silent())

    killed = start(cut)
    wait_for_lines(cut, 30)
    workers = children(killed)
    killed.kill()
    killed.communicate()
    kept = without_times(cut)
    assert 30 < len(kept) < 1 + 2 * 2 * 5 * 10
    wait_for_end(workers)

    run_study(study, cut, observer)
    assert observer.n_done == len(kept) - 1
    assert without_times(cut) == without_times(whole)
    assert json.loads((cut / "run.json").read_text()) == json.loads(
        (whole / "run.json").read_text()
    )


@pytest.mark.check
def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    interrupted = start(tmp_path)
    wait_for_lines(tmp_path, 5)
    workers = children(interrupted)
    os.killpg(interrupted.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
    stderr = interrupted.communicate(timeout=60)[1]
    assert interrupted.returncode == 1
    assert "Traceback" not in stderr
    assert stderr.splitlines()[-1].endswith("the same command continues from there")
    wait_for_end(workers)


# Folder


def test_rows_are_added_to_a_folder_and_sorted(tmp_path):
    RunFolder(tmp_path, settings()).append([row(fold=1), row(fold=0)])
    more = settings(command="other", plan={"wine": {"LDA": 3, "SVM": 1}})
    folder = RunFolder(tmp_path, more)
    assert [r.fold for r in folder.rows] == [1, 0]
    folder.append([row("wine")])
    folder.sort(["wine", "iris"], ["LDA"])
    folder.append([row("wine", trial=1)])
    found = [r.key[::2] for r in RunFolder(tmp_path, settings()).rows]
    assert found == [("wine", 0), ("iris", 0), ("iris", 0), ("wine", 1)]
    described = json.loads((tmp_path / "run.json").read_text())
    assert described["plan"] == {"iris": {"LDA": 1}, "wine": {"LDA": 3, "SVM": 1}}
    assert described["command"].split("\n") == [settings()["command"], "other"]


def test_a_line_cut_in_the_middle_is_dropped(tmp_path):
    RunFolder(tmp_path, settings()).append([row(fold=0), row(fold=1)])
    path = tmp_path / "results.csv"
    path.write_bytes(path.read_bytes()[:-9])
    folder = RunFolder(tmp_path, settings())
    assert len(folder.rows) == 1
    folder.append([row(fold=2)])
    assert [r.fold for r in RunFolder(tmp_path, settings()).rows] == [0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 5}, "holds results with folds = 5"),
        ({"seed": 7}, "holds results with seed = 7"),
    ],
)
def test_other_settings_are_refused(tmp_path, change, message):
    RunFolder(tmp_path, settings(**change)).append([row()])
    result = invoke("reproduce", "--datasets", "iris", "--out", tmp_path)
    assert result.exit_code == 1
    assert message in result.stderr


def test_the_plan_follows_the_newest_wish(tmp_path):
    def wish(n):
        folder = RunFolder(tmp_path, settings(plan={"iris": {"LDA": n}}))
        folder.append([row(trial=len(folder.rows))])
        return json.loads((tmp_path / "run.json").read_text())["plan"]["iris"]["LDA"]

    # Not below the two trials that are there when the third wish comes.
    assert [wish(60), wish(34), wish(1)] == [60, 34, 2]


def test_other_versions_are_noticed(tmp_path):
    RunFolder(tmp_path, settings(versions={})).append([row()])
    assert "other versions" in RunFolder(tmp_path, settings()).notice


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("results.csv", "my notes", "not a file of results"),
        ("results.csv", "a,b\n1,2\n", "not a file of results"),
        (
            "results.csv",
            f"{','.join(Row.header())}\niris,LDA\n",
            "line 2: it has 2 fields",
        ),
        ("run.json", "{", "not the description"),
        ("run.json", "{}", "lacks 'folds'"),
        ("run.json", "[]", "not a JSON object"),
    ],
)
def test_foreign_files_are_refused(tmp_path, name, content, message):
    RunFolder(tmp_path, settings())
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        RunFolder(tmp_path, settings())
    assert (tmp_path / name).read_text() == content  # nothing is lost


def test_results_without_a_description_are_refused(tmp_path):
    (tmp_path / "results.csv").write_text(",".join(Row.header()) + "\n")
    with pytest.raises(ValueError, match=r"no run\.json"):
        RunFolder(tmp_path, settings())


# Command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "irises"], "unknown data set 'irises'"),
        (["--methods", "QDA"], "unknown method 'QDA'"),
        (["--limit", "SVM:shuttle"], "METHOD:DATASET=TRIALS"),
        (["--full", "--trials", "3"], "--full means --trials 20"),
        (["--folds", "1"], "--folds"),
        (["--format", "pdf"], "--format"),
    ],
)
def test_wrong_usage_ends_with_2(arguments, message):
    result = invoke("reproduce", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_other_errors_end_with_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    iris = ["reproduce", "--datasets", "iris"]
    result = invoke(*iris, "--out", tmp_path / "file" / "out")
    assert result.exit_code == 1
    assert re.fullmatch(r"heterolda: cannot write results to .*\n", result.stderr)
    result = invoke(*iris, "--out", tmp_path / "out", "--folds", "51")
    assert result.exit_code == 2  # an option out of range
    assert "largest class has 50 rows" in result.stderr
    assert "Traceback" not in result.stderr
    result = invoke(*iris, "--out", tmp_path / "out", "--folds", "51", "--debug")
    assert "Traceback" in result.stderr


def test_data_sets_are_listed_with_what_is_available(tmp_path):
    (tmp_path / "liver.csv.gz").write_bytes(b"")
    result = invoke("datasets", "--details", "--data-dir", tmp_path)
    assert result.exit_code == 0
    assert re.search(r"^iris .* yes: in scikit-learn$", result.stdout, re.MULTILINE)
    assert re.search(r"^liver +\(c\) .* yes: file$", result.stdout, re.MULTILINE)
    assert re.search(r"^letters .* no: needs a file, or OpenML", result.stdout, re.M)
    assert "CC BY 4.0" in result.stdout


def test_the_command_prints_the_tables_and_writes_the_report(tmp_path):
    chosen = ["--datasets", "iris,D1", "--methods", "LDA,GLD", "--folds", "3"]
    result = invoke("reproduce", *chosen, "--out", tmp_path, "--format", "markdown")
    assert result.exit_code == 0, result.stderr
    assert "GLD" in result.stdout
    assert "trial 1: done" in result.stderr
    page = invoke("report", tmp_path)
    assert page.exit_code == 0, page.stderr
    assert Path(page.stdout.strip()).is_file()
