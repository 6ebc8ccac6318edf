"""How the accuracy benchmark runs: its sets, its methods, its protocol."""

import gzip
import json
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PowerTransformer

from benchmarks.accuracy import methods as table
from benchmarks.accuracy import study as protocol
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.methods import (
    LIMITS,
    METHODS,
    InnerFolds,
    Power,
    RegularizedDiscriminant,
    resolve,
)
from benchmarks.accuracy.sets import (
    NEW_DEVELOPMENT,
    SET_ASIDE,
    SETS,
    SIZES,
    STUDY,
    load,
    published,
)
from benchmarks.accuracy.sets import resolve as resolve_sets
from benchmarks.accuracy.study import (
    AccuracyStudy,
    Score,
    measured,
    packed,
    shuffles,
    unpacked,
)
from heterolda.experiments.methods import Method
from heterolda.experiments.protocol import Split, Task
from heterolda.experiments.results import read_results


@pytest.fixture
def in_process(monkeypatch):
    """Tasks are computed in this process."""

    def computed(tasks, prepare, compute, jobs):
        return ((task, compute(task)) for task in tasks)

    monkeypatch.setattr(protocol, "computed", computed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data that has the set haberman in `more`."""
    rng = np.random.default_rng(0)
    rows = [f"{x},{y},{z},{int(x > y)}" for x, y, z in rng.random((306, 3))]
    text = "\n".join(["x,y,z,target", *rows, ""])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "haberman.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "more" / "published.csv").write_text("set,lda_R\nhaberman,74.0\n")
    monkeypatch.setenv("HETEROLDA_DATA", str(tmp_path))
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


def test_what_fails_is_missing_and_tried_again(
    tmp_path, capsys, monkeypatch, in_process
):
    def fail(seed):
        raise ArithmeticError("no luck\nat all")

    out = tmp_path / "out"
    command = ["--datasets", "iris,wine", "--methods", "ridge,centroids"]
    command += ["--trials", "1", "--folds", "2", "--out", str(out)]
    with monkeypatch.context() as change:
        change.setitem(METHODS, "ridge", Method("ridge", fail, ""))
        assert main(command) == 0
    messages = capsys.readouterr().err
    assert "missing, because they failed:" in messages
    said = "ridge on wine, trial 1, fold 2 failed: ArithmeticError: no luck\n"
    assert messages.count(said) == 2  # when it happens, and in the end
    assert {row.method for row in read_results(out, Score).rows} == {"centroids"}
    assert main(command) == 0
    messages = capsys.readouterr().err
    assert "4 folds to compute" in messages
    assert "missing" not in messages
    rows = read_results(out, Score).rows
    assert [row.dataset for row in rows] == ["wine"] * 4 + ["iris"] * 4
    assert not (tmp_path / "accuracy.md").exists()


def test_the_published_protocol_has_a_folder_of_its_own(folder, in_process):
    assert main(["--published", "--out", str(folder / "out")]) == 0
    results = read_results(folder / "out" / "published", Score)
    assert {row.dataset for row in results.rows} == {"haberman"}
    assert results.folds == len(results.rows) == 4
    assert {row.method for row in results.rows} == {"recommended"}
    assert published() == {"haberman": {"set": "haberman", "lda_R": "74.0"}}


def test_data_that_is_not_there_is_told_at_once(folder, capsys, monkeypatch):
    X, y = load("haberman")
    assert X.shape == (306, 3)
    assert set(y) == {0, 1}
    command = ["--datasets", "seeds", "--methods", "LDA", "--out", str(folder / "out")]
    for name in (str(folder), ""):
        monkeypatch.setenv("HETEROLDA_DATA", name)
        with pytest.raises(SystemExit):
            main(command)
        assert "needs the file more/seeds.csv.gz" in capsys.readouterr().err
    monkeypatch.setenv("HETEROLDA_DATA", str(folder))
    (folder / "more" / "haberman.csv.gz").rename(folder / "more" / "seeds.csv.gz")
    with pytest.raises(SystemExit):
        main(command)
    assert "3 features and 2 classes, it should have 210 x 7" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_the_sets_are_those_that_are_named():
    assert len(STUDY) == len(NEW_DEVELOPMENT) == len(SET_ASIDE) == 17
    assert len(set(SETS)) == 51
    assert set(SIZES) >= set(SETS)
    assert resolve_sets(["aside", "iris"]) == ["iris", *SET_ASIDE]
    assert resolve_sets(["study", "development", "aside"]) == list(SETS)
    with pytest.raises(ValueError, match="unknown data set 'nobody'"):
        resolve_sets(["nobody"])


def test_the_methods_are_those_that_are_named():
    groups = [set(resolve([n])) for n in ("ours", "default", "tuned", "landmarks")]
    assert [len(names) for names in groups] == [5, 20, 18, 7]
    assert set().union(*groups) == set(METHODS) == set(resolve(["plain", "power"]))
    assert set(resolve(["peers"])) == groups[1] | groups[2]
    assert all(name.endswith("+power") for name in resolve(["power"]))
    known = {name for name, _ in LIMITS}, {name for _, name in LIMITS}
    assert known[0] <= set(METHODS)
    assert known[1] <= set(SETS)
    with pytest.raises(ValueError, match="unknown method"):
        resolve(["nobody"])


def test_small_sets_have_more_shuffles_and_no_cell_is_planned_without():
    assert shuffles("wine", "ridge") == shuffles("digits", "SVC-tuned") == 5
    assert shuffles("zernike", "ridge") == 1  # of 2,000 rows
    assert shuffles("plant_margin", "OvO-LinearSVC-tuned") == 1
    assert shuffles("ecoli", "QDA") == 0
    study = AccuracyStudy(["zernike", "ecoli"], ["QDA", "ridge"], 3)
    assert study.plan() == {"zernike": {"QDA": 1, "ridge": 1}, "ecoli": {"ridge": 3}}
    assert AccuracyStudy(["ecoli"], ["QDA"], 3).plan() == {}
    json.dumps(study.description(1))


def test_the_first_shuffle_comes_first_and_what_is_dear_comes_last():
    methods = ["ridge", "LDA", "OvO-LinearSVC-tuned"]
    study = AccuracyStudy(["plant_margin", "wine"], methods, 2, 2)
    tasks = study.tasks()
    assert len(tasks) == 22
    for task in tasks[20:]:
        assert (task.dataset, *task.methods) == ("plant_margin", "OvO-LinearSVC-tuned")
    places = [(t.trial, t.work) for t in tasks[:20]]
    assert places == sorted(places)
    done = {(t.dataset, t.methods[0], t.trial, t.fold) for t in tasks[3:]}
    assert study.tasks(done) == tasks[:3]


def test_trials_are_shuffles_and_what_is_drawn_is_drawn_anew():
    study = AccuracyStudy(["D1", "wine"], ["LDA"], 2, 3)
    for name in ("D1", "wine"):
        folds = [study.split(Task(name, trial, 0, ("LDA",))) for trial in (0, 0, 1)]
        assert np.array_equal(folds[0].X_test, folds[1].X_test)
        assert not np.array_equal(folds[0].X_test, folds[2].X_test)
        first = {row.tobytes() for row in np.r_[folds[0].X_train, folds[0].X_test]}
        again = {row.tobytes() for row in np.r_[folds[2].X_train, folds[2].X_test]}
        assert (first == again) == (name == "wine")
    parts = [study.split(Task("wine", 0, fold, ("LDA",))).X_test for fold in range(3)]
    assert len(np.unique(np.concatenate(parts), axis=0)) == 178


def test_forecasts_survive_their_file():
    rng = np.random.default_rng(0)
    top = np.r_[0.0, 1.0, rng.random(1000)]
    hits = rng.random(1002) < top
    again = unpacked(packed(top, hits))
    assert_allclose(again[0], top, atol=1 / 65000)
    assert np.array_equal(again[1], hits)
    assert len(packed(np.ones(1000), np.ones(1000, bool))) < 50
    values = {"n_train": 200, "n_test": 1002, "n_correct": 7, "bayes_error": math.nan}
    values |= {"fit_seconds": 2.0, "predict_seconds": 0.1, "iterations": math.nan}
    values |= {"log_loss": math.nan, "n_warnings": 0, "forecasts": packed(top, hits)}
    line = Score("wine", "GLD", 0, 1, **values).line().rstrip("\n")
    row = Score.parse(line.split(","))
    assert row.line() == line + "\n"
    assert row.forecasts == values["forecasts"]
    with pytest.raises(ValueError, match="log_loss is 'much'"):
        Score.parse(line.replace(",,,0,", ",,much,0,").split(","))


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
    top, hits = unpacked(found["forecasts"])
    assert_allclose(top, proba.max(axis=1), atol=1e-4)
    assert np.array_equal(hits, model.predict(X[1::2]) == y[1::2])
    silent = measured(METHODS["ridge"].make(0), split)
    assert math.isnan(silent["log_loss"])
    assert silent["forecasts"] == ""


def test_every_method_can_be_fitted(monkeypatch):
    """And takes a class of fewer rows than there are inner folds."""
    monkeypatch.setattr(table, "INNER_FOLDS", 3)
    X, y = load_iris(return_X_y=True)
    X, y = np.r_[X[::2], X[:2] + 9], np.r_[y[::2], 3, 3]
    names = {*resolve(["plain"]), "LDA+power", "GLD+power"}
    for name in names - {"GLD-cv", "LNS", "recommended"}:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert METHODS[name].make(0).fit(X, y).score(X, y) > 0.6, name


def test_many_rows_are_tuned_with_a_sample(monkeypatch):
    monkeypatch.setattr(table, "MANY_ROWS", 100)
    monkeypatch.setattr(table, "SAMPLE", 60)
    y = np.repeat([0, 1, 2], 50)
    for sampled, rows in ((True, 60), (False, 150)):
        folds = list(InnerFolds(0, sampled).split(y[:, None], y))
        assert len(folds) == 5
        tested = np.concatenate([test for _, test in folds])
        assert len(np.unique(tested)) == len(tested) == rows
        assert np.ptp(np.bincount(y[tested])) == 0


def test_the_power_transformation_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(200, 3)))
    expected = PowerTransformer().fit(X)
    assert_allclose(Power().fit(X).transform(X[:9]), expected.transform(X[:9]))
    # With values far from zero, all of them become equal: it is standardised only.
    X[:, 1] = 1e9 + np.exp(rng.normal(size=200))
    X[:, 2] = 5.0
    found = Power().fit(X)
    Z = found.transform(X)
    assert_allclose(Z[:, 1], (X[:, 1] - X[:, 1].mean()) / X[:, 1].std(), atol=1e-5)
    assert_allclose(Z[:, 2], 0, atol=1e-9)
    assert np.isfinite(found.transform(np.full((1, 3), 1e300))).all()


@pytest.mark.parametrize("d", [3, 120])
def test_friedmans_discriminant_follows_its_definition(d):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [40, 30, 1])
    X = rng.normal(size=(71, d)) * np.where(y == "a", 1, 3)[:, None]
    X[y == "c"] += 2
    model = RegularizedDiscriminant().fit(X, y)
    model.pooling_, model.ridge_ = 0.5, 0.1
    rows = rng.normal(size=(5, d))
    scatters = [
        len(own) * np.cov(own.T, bias=True) if len(own) > 1 else np.zeros((d, d))
        for own in (X[y == name] for name in "abc")
    ]
    logs = []
    for name, scatter in zip("abc", scatters, strict=True):
        n = np.sum(y == name)
        mixed = (0.5 * scatter + 0.5 * sum(scatters)) / (0.5 * n + 0.5 * 71)
        mixed = 0.9 * mixed + 0.1 * np.trace(mixed) / d * np.eye(d)
        density = multivariate_normal(X[y == name].mean(axis=0), mixed)
        logs.append(density.logpdf(rows) + np.log(n / 71))
    expected = np.exp(logs - np.logaddexp.reduce(logs, axis=0)).T
    assert_allclose(model.predict_proba(rows), expected, rtol=1e-6, atol=1e-12)
    assert np.array_equal(
        model.predict(rows), np.array(list("abc"))[expected.argmax(1)]
    )


def test_friedmans_discriminant_chooses_both_amounts():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 4))
    model = RegularizedDiscriminant().fit(X * (1 + 3 * y[:, None]), y)
    assert model.pooling_ < 1  # which could not tell them apart
    X = X * [1, 30, 30, 30] + 2 * y[:, None] * [1, 0, 0, 0]
    model = RegularizedDiscriminant().fit(X, y)
    assert model.ridge_ < 0.1  # the direction that tells them apart has little variance
