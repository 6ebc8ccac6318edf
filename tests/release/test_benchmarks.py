"""The benchmarks measure what they say; no test looks at how long anything takes."""

import json
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import paper, small_samples
from benchmarks.__main__ import main, measure_all, write_all
from benchmarks.accuracy.sets import SET_ASIDE
from benchmarks.cases import FIT_REAL, MEANS, TRANSCRIBED, all_cases
from benchmarks.growth import Sweep, exponents
from benchmarks.installed import Installed, needed
from benchmarks.local_search import Fit, Search, compare, compare_fit
from benchmarks.memory import TARGET, Memory
from benchmarks.methods import (
    OURS,
    PAPER,
    first,
    fitting,
    on_numpy,
    one_row,
    same_errors,
    transcribed,
)
from benchmarks.picture import pictures
from benchmarks.report import ABOUT, machine, page, with_summary
from benchmarks.runner import QUICK, Case, Method, NotInstalled, geometric_mean
from benchmarks.shapes import PAPER_SHAPES, REAL_SHAPES, Shape, gaussian_classes, load
from benchmarks.stages import Stages, stages
from helpers.pages import ordered
from heterolda import kernels

TINY = Shape(120, 3, 2)
FEW = replace(QUICK, threads=1, repetitions=3, minimum=3, longest=0.05)


def waiting(seconds):
    """A method whose time is known."""
    return Method("wait", lambda X, y, settings: partial(time.sleep, seconds))


def refusing(error):
    def prepare(X, y, settings):
        raise error

    return Method("refuse", prepare)


def record_of(cases):
    head = {"heterolda": "0", "command": "a test", "quick": True, "machine": machine()}
    return head | measure_all(cases, FEW)


def test_a_case_reports_median_spread_and_verdict():
    case = Case(FIT_REAL, TINY, fitting("global"), fitting("LDA svd"), 1e9)
    entry = case.run(FEW)
    ratios = np.divide(entry["ours_seconds"], entry["peer_seconds"])
    assert len(ratios) == 3
    assert entry["ratio"] == np.median(ratios)
    assert_allclose(entry["quartiles"], np.quantile(ratios, [0.25, 0.75]))
    assert entry["met"] is True


def test_an_unmet_target_is_reported():
    case = Case(FIT_REAL, TINY, waiting(0.02), waiting(0), 0.5)
    record = record_of([case])
    assert record["times"][0]["met"] is False
    text = page(record)
    assert "0 of 1 goals are met." in text
    assert f"- wait against wait, {TINY.label}: " in text
    assert f"wait beside our wait: {TINY.label}" in text  # where a peer is faster


def test_a_verdict_at_a_smaller_size_is_marked():
    smaller = Case(FIT_REAL, TINY, waiting(0), waiting(0.01), 1, Shape(60, 3, 2))
    text = page(record_of([smaller]))
    assert "1 of 1 goals are met at a smaller size." in text
    assert "60 x 3, 2 classes" in text


def test_the_command_writes_figures_and_table(tmp_path, capsys):
    arguments = ["--quick", "--only", "fit liver", "--threads", "1"]
    assert main([*arguments, "--output", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "benchmarks.json").read_text())
    assert len(record["times"]) == 6
    assert not record["complete"]  # a selection
    assert record["machine"]["blas"]
    assert all(blas.endswith("threads: 1") for blas in record["machine"]["blas"])
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    ordered(text)
    assert text.count("| liver: 345 x 6, 2 classes | fit ") == 6
    assert '`python -m benchmarks --quick --only "fit liver" --threads 1`' in text
    captured = capsys.readouterr()
    assert captured.out.strip() == text.strip()
    assert "[7/7" in captured.err
    assert main(["--report", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "benchmarks.md").read_text(encoding="utf-8") == text


def test_a_pattern_without_cases_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "no such case"])
    assert "no case has these words" in capsys.readouterr().err


def test_an_interrupt_or_a_failure_keeps_the_rest(tmp_path, capsys):
    good = Case(FIT_REAL, TINY, waiting(0), waiting(0.001))
    failing = replace(good, ours=refusing(ValueError("broken")))
    stopped = replace(good, peer=refusing(KeyboardInterrupt()))
    record = record_of([good, failing, good, stopped, good])
    assert len(record["times"]) == 2
    assert record["failed"] == [failing.name]
    assert not record["complete"]
    write_all(record, tmp_path)
    assert "interrupted" in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "broken" in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == {
        "benchmarks.json",
        "benchmarks.md",
        "images",
    }


def test_an_absent_peer_is_reported():
    absent = Case(FIT_REAL, TINY, waiting(0), refusing(NotInstalled("not installed")))
    assert "not installed" in page(record_of([absent]))


def test_a_peer_that_refuses_the_data_is_reported():
    case = Case(FIT_REAL, TINY, waiting(0), refusing(ValueError("rank")))
    record = record_of([case])
    assert record["complete"]
    assert "the peer fails: ValueError" in page(record)


def test_the_stages_of_a_fit_are_those_of_the_fit():
    X, y = gaussian_classes(Shape(200, 3, 4))
    calls = stages(X, y)
    fitted = calls["fit"]()
    assert_allclose(calls["rules"]().coef, calls["model"]().coef_)
    assert_allclose(calls["statistics"](), fitted.statistics_.covariances())
    text = page(record_of([Stages(TINY)]))
    assert f"| {TINY.label} |" in text
    assert "| data | validation | statistics | rules | eigh | model | fit |" in text


@pytest.mark.parametrize("solver", PAPER)
def test_the_paper_transcribed_gives_our_errors(solver):
    X, y = gaussian_classes(Shape(240, 4, (40, 50, 60, 90)))
    model = OURS[solver].fit(X, y)
    errors = transcribed(solver).prepare(X, y, FEW)()
    assert_allclose(errors, model.bayes_error_, rtol=1e-8)
    assert same_errors(model, errors).startswith("errors differ by at most")


def test_the_transcription_inverts_singular_matrices_as_the_paper_says():
    matrix = np.diag([2.0, 0.0])
    assert_allclose(paper.inverse(matrix), np.diag([0.5, 0.0]))


def test_the_naive_local_search_takes_our_path():
    search = Search("fisher", 30, 30)
    X, y = gaussian_classes(Shape(300, 3, 2))
    ours, naive = search.prepare(X, y, FEW)(), search.prepare_naive(X, y, FEW)()
    assert "30 iterations" in compare(ours, naive)
    assert "same path" in compare(ours, naive)
    assert "PATHS DIFFER" in compare(ours, naive + 1)
    fit = Fit("fisher", 30, 30).prepare(X, y, FEW)()
    assert compare_fit(fit, naive) == "30 iterations, same path"


def test_growth_has_exponents_and_a_picture():
    sizes = np.array([1, 2, 4, 8, 16])
    assert_allclose(exponents(sizes, np.array([5.0 * sizes**2])), [2.0])
    sweep = Sweep("n", (), (200, 400, 800), Shape(0, 3, 2))
    record = record_of([sweep])
    ours = record["growth"][0]["lines"][0]
    assert ours["method"] == "fit global"
    assert ours["sizes"] == [200, 400, 800]
    assert "| n (d = 3, K = 2) | fit GLD | 200 to 800 |" in page(record)
    (picture,) = pictures(record).values()
    assert picture.startswith(b"\x89PNG")


def test_fit_holds_little_more_than_the_data():
    entry = Memory(Shape(200_000, 20, 4), "global", target=TARGET).run(FEW)
    assert 1 <= entry["traced"] <= TARGET
    assert entry["resident"] is None or entry["resident"] <= TARGET
    assert entry["met"]


def test_memory_sees_a_peer_that_copies_the_data():
    entry = Memory(Shape(100_000, 20, 4), "LDA svd", target=TARGET).run(FEW)
    assert entry["traced"] > 2
    assert entry["resident"] is None or entry["resident"] > 2
    assert not entry["met"]


def test_the_geometric_mean_needs_all_shapes():
    case = Case(FIT_REAL, TINY, waiting(0), waiting(0.001), 1.0)
    entries = [case.run(FEW) for _ in range(2)]
    mean = geometric_mean(entries, 0.5, 2)
    assert_allclose(mean["ratio"], np.sqrt(entries[0]["ratio"] * entries[1]["ratio"]))
    assert with_summary(entries) == entries
    n = len(REAL_SHAPES)
    assert len(with_summary((entries * n)[:n])) == n + 1


def test_the_table_is_sound():
    cases = all_cases()
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    groups = Counter(getattr(case, "group", "") for case in cases)
    assert {name: groups[name] for name in MEANS} == MEANS
    assert groups[TRANSCRIBED] == 4
    assert set(groups) - {""} == set(ABOUT)


@pytest.mark.parametrize("kind", ["round", "flat"])
def test_drawn_data_has_its_shape(kind):
    X, y = load(Shape(500, 4, (100, 150, 250), kind=kind))
    assert X.shape == (500, 4)
    assert np.bincount(y).tolist() == [100, 150, 250]


@pytest.mark.parametrize("shape", PAPER_SHAPES, ids=lambda shape: shape.name)
def test_real_sets_have_the_shapes_that_stand_in(data_dir, shape):
    X, y = load(shape)
    assert X.shape == (shape.n, shape.d)
    counts = np.unique(y, return_counts=True)[1]
    assert len(counts) == shape.n_classes
    if not isinstance(shape.classes, int):
        assert tuple(counts.tolist()) == shape.classes


def test_the_peer_of_a_kernel_is_the_same_call_on_numpy(monkeypatch):
    monkeypatch.setattr(kernels, "compiled", "the extension")
    seen = Method("look", lambda X, y, settings: lambda: kernels.compiled)
    assert on_numpy(seen).prepare(None, None, FEW)() is None
    assert seen.prepare(None, None, FEW)() == "the extension"


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_one_row_is_predicted_by_both(method):
    case = Case(FIT_REAL, TINY, one_row("global", method), one_row("LDA svd", method))
    assert case.run(FEW)["ratio"] > 0


def test_a_fresh_process_states_its_time():
    seconds = first("sleep", "import time as t", "t.sleep(0.05)").prepare(0, 0, FEW)()
    assert 0.05 <= seconds < 5


def test_the_installed_size_is_that_of_what_is_needed():
    names = needed("heterolda")
    assert {"heterolda", "numpy", "scipy", "scikit-learn", "joblib"} <= names
    assert not names & {"pandas", "pyarrow", "pytest", "matplotlib"}
    text = page(record_of([Installed()]))
    assert "| **all** |" in text
    assert "| heterolda |" in text


def test_small_samples_make_a_table(capsys):
    assert small_samples.main(["--repetitions", "1", "--datasets", "wine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(small_samples.ROWS)
    assert lines[2].startswith("| wine | 5 |")
    assert not set(small_samples.DATASETS) & set(SET_ASIDE)
