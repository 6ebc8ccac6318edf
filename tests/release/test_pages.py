"""Pages of results open with what they mean; commands and goals come last."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import certificate
from benchmarks.__main__ import RESULTS as SPEED
from benchmarks.held_out.__main__ import PAGES as HELD_OUT
from benchmarks.held_out.guard import GUARD, dummies
from benchmarks.held_out.runner import Study, measure, read
from benchmarks.held_out.tables import Figures
from benchmarks.pages import MADE, filled
from benchmarks.report import parts as speed_parts
from benchmarks.scale.__main__ import RESULTS as SCALE
from benchmarks.scale.report import parts as scale_parts
from helpers.pages import ordered

DOCS = Path(__file__).resolve().parents[2] / "docs"
WITHOUT_PICTURE = "trust", "certificate", "benchmarks_gpu"
PAGES = (
    *("accuracy", "benchmarks", "benchmarks_gpu"),
    *("benchmarks_scale", "certificate", "gaps_accuracy", "guard", "hostile"),
    *("outliers", "projection_accuracy", "trust", "wide_accuracy"),
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_what_it_means(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    ordered(text, picture=name not in WITHOUT_PICTURE)
    for image in re.findall(r"\]\((images/.*?)\)", text):
        assert (DOCS / image).is_file()
    assert f"({name}.md)" in (DOCS / "results.md").read_text(encoding="utf-8")


def made(name):
    """The parts of a page that its benchmark writes."""
    if name == "benchmarks":
        return speed_parts(json.loads(SPEED.read_text(encoding="utf-8")))
    if name == "benchmarks_scale":
        return scale_parts(json.loads(SCALE.read_text(encoding="utf-8")))
    if name == "certificate":
        found = json.loads(certificate.RESULTS.read_text(encoding="utf-8"))
        tallies = {kind: certificate.Tally(**t) for kind, t in found.items()}
        return certificate.parts(tallies)
    page = next(page for page in HELD_OUT if page.name == name)
    return page.tables(Figures(page.study, read()))


@pytest.mark.parametrize(
    "name",
    [
        "benchmarks",
        "benchmarks_scale",
        "certificate",
        *(page.name for page in HELD_OUT),
    ],
)
def test_figures_are_those_of_the_file_of_results(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    parts = made(name)
    assert filled(text, parts) == text
    if name.startswith("guide/"):
        return  # with examples, whose figures are not of these tables
    prose = text.partition(f"## {MADE}")[0]
    for part in parts.values():
        prose = prose.replace(part, "")
    known = set(re.findall(r"\d+\.\d+", "".join(parts.values())))
    limits = {"1.5"}  # points that are called clear on the page of the guard
    assert set(re.findall(r"\d+\.\d+", prose)) <= known | limits


def test_the_runner_compares_on_the_same_folds():
    study = Study(
        "small", {"dummy": lambda: dummies(0.1, 0.01)}, GUARD.methods, GUARD.fits, 4
    )
    ours, lda, alone = measure(study, "dummy")
    assert (ours.method, ours.behind, ours.error) == ("default", 0, 0)
    assert ours.size == "1,000 x 4, 2"
    assert lda.behind == pytest.approx(ours.accuracy - lda.accuracy, abs=0.01)
    assert alone.accuracy < lda.accuracy
    assert 0 < lda.log_loss < 1
    assert lda.seconds > 0
