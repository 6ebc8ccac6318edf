"""Pages of results: a picture and a sentence first, figures of the results files."""

import re
from functools import cache

import pytest
import scipy

from benchmarks import (
    certificate,
    fitted_gaussians,
    gpu,
    probabilities,
    reproduction,
    scale,
)
from benchmarks.accuracy.__main__ import done
from benchmarks.accuracy.page import parts as accuracy_parts
from benchmarks.held_out.__main__ import PAGES as HELD_OUT
from benchmarks.held_out.choose import CHOOSE, dummies
from benchmarks.held_out.runner import Study, measure
from benchmarks.pages import DOCS, MADE, filled, read_record
from benchmarks.shapes import Shape, gaussian_classes
from benchmarks.speed.cases import METHODS, NUMPY, all_cases
from benchmarks.speed.page import parts as speed_parts
from benchmarks.truth.__main__ import parts as truth_parts
from benchmarks.truth.error_bound import if_sorted
from heterolda.experiments import read_results

if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15):
    pytest.skip(
        "before SciPy 1.15 Wilcoxon's test is not exact", allow_module_level=True
    )

PAGES = "accuracy", "speed", "trust", "paper", "limits"
PART = re.compile(r"<!-- made: (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)


# Who writes into which page; tests/hostile and tests/experiments check their own.
SOURCES = [
    ("accuracy", lambda: accuracy_parts(done())),
    ("accuracy", lambda: probabilities.parts(read_record("probabilities"))),
    ("speed", lambda: speed_parts(read_record("speed"))),
    ("speed", lambda: scale.parts(read_record("scale"))),
    ("speed", lambda: gpu.parts(read_record("gpu"))),
    ("trust", lambda: certificate.parts(read_record("certificate"))),
    ("trust", truth_parts),
    ("paper", lambda: reproduction.parts(read_results(reproduction.FOLDER))),
    ("limits", lambda: fitted_gaussians.parts(read_record("fitted_gaussians"))),
    *((page.name, cache(page.parts)) for page in HELD_OUT),
]


def read(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "parts"), SOURCES)
def test_figures_are_those_of_the_file_of_results(name, parts):
    text = read(name)
    assert filled(text, parts()) == text


# Figures of the prose that are not ours: parameters of the paper's data sets.
GIVEN = {"paper": {"0.53", "0.75"}}


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_the_prose_are_those_of_the_tables(name):
    text = read(name)
    prose = PART.sub("", text).partition(f"## {MADE}")[0]
    prose = re.sub(r"(?s)```.*?```|\]\(.*?\)|\d+\.\d+\.\d\w*", "", prose)
    made = "".join(part for _, part in PART.findall(text))
    figures = set(re.findall(r"\d+\.\d+", made)) | GIVEN.get(name, set())
    assert set(re.findall(r"\d+\.\d+", prose)) <= figures


@pytest.mark.parametrize("name", PAGES)
def test_pages_say_with_which_version_and_when_they_were_measured(name):
    origins = [part for key, part in PART.findall(read(name)) if "machine" in key]
    assert origins
    for origin in origins:
        assert re.search(r"heterolda \d\S+,? .*\b(2026-\d\d-\d\d|\w+ 2026)\.", origin)


def test_every_part_is_made_by_a_command():
    made = {(name, part) for name, parts in SOURCES for part in parts()}
    made |= {
        ("trust", part) for part, _ in PART.findall(read("trust")) if "hostile" in part
    }
    shown = {(name, part) for name in PAGES for part, _ in PART.findall(read(name))}
    assert shown <= made


def test_the_error_bound_was_measured_with_this_draw_of_rows():
    ordered = read_record("truth")["error bound"]["sorted"]
    assert if_sorted(ordered["n"]) == pytest.approx(ordered["lowest"])


def test_every_timed_call_runs():
    assert {c.ours for c in all_cases()} <= METHODS.keys()
    assert {c.peer for c in all_cases()} <= METHODS.keys() | {NUMPY}
    for name in METHODS.keys() - {"import GLD", "import LDA"}:
        shape = Shape(200, 3, 2 if "search" in name else 3)
        METHODS[name](*gaussian_classes(shape))()


def test_the_runner_compares_on_the_same_folds():
    sets = {"dummy": lambda: dummies(0.1, 0.01)}
    study = Study("small", sets, CHOOSE.methods, CHOOSE.fits, folds=4, shuffles=2)
    ours, lda, alone = measure(study, "dummy")
    assert (ours.method, ours.behind, ours.error) == ("default", 0, 0)
    assert ours.size == "1,000 x 4, 2"
    assert lda.behind == pytest.approx(ours.accuracy - lda.accuracy, abs=0.01)
    assert alone.accuracy < lda.accuracy
    assert 0 < lda.log_loss < 1
    assert lda.seconds > 0
