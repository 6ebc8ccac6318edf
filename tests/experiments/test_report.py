"""The report: what the page says, and how it looks in a real browser."""

import base64
import re
import subprocess
import sys
from html import escape

import numpy as np
import pytest
from matplotlib import style

from helpers.browsing import overflow, requests, set_scheme
from helpers.cut_text import unreadable
from helpers.study import METHODS, SIZES, make_rows, write_run
from heterolda.experiments import study
from heterolda.experiments.report import pareto_front, write_report


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report without the data of liver and wine_white."""
    folder = tmp_path_factory.mktemp("study")
    run = write_run(folder / "run", make_rows(np.random.default_rng(0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HETEROLDA_DATA", raising=False)
        path = write_report(run)
    assert path == run / "report.html"
    return path


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_page_is_self_contained_and_complete(page):
    text = words(page)
    assert "://" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text
    assert "made up &lt;for a test&gt;" in text  # facts of the run are escaped
    # One for each set, one each for three sets whose data are there, and two of ranks.
    assert text.count("<figure>") == len(SIZES) + 2 * 3 + 2
    assert "not on this machine: liver, wine_white." in text
    assert "† svm on wine_white: 1 of 3 trials" in text
    assert "This run is incomplete" not in text
    assert "7 methods on 5 data sets. Friedman" in text


def test_an_incomplete_run_says_so(tmp_path, rng):
    rows = [row for row in make_rows(rng) if row[0] in ("liver", "iris")]
    rows = [row for row in rows if row[:2] != ["iris", "svm"]]
    text = words(write_report(write_run(tmp_path / "run", rows[:-1])))
    # Two sets, less the two of iris that are not finished.
    done = 2 * len(METHODS) - 2
    assert f"{done} of {len(SIZES) * len(METHODS)} combinations" in text
    assert "Ranks need at least two data sets" in text


def test_the_report_does_not_follow_the_style_of_other_figures(tmp_path, rng):
    rows = [row for row in make_rows(rng) if row[0] == "liver"]
    run = write_run(tmp_path / "run", rows, plan={"liver": dict.fromkeys(METHODS, 3)})
    plain = write_report(run)
    with style.context(["dark_background", {"text.usetex": True, "font.size": 20}]):
        drawn = write_report(run, tmp_path / "again.html")
    assert drawn.read_bytes() == plain.read_bytes()


def test_the_report_without_matplotlib_says_what_to_install(page):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from heterolda.cli import main; main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "report", page.parent],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    message = "heterolda: pictures need matplotlib: pip install matplotlib\n"
    assert run.stderr == message


def test_nothing_is_written_where_it_cannot_be(tmp_path, page):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_report(page.parent, tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_the_pareto_front_by_its_definition(rng):
    assert pareto_front({"a": (2, 5), "b": (1, 5), "c": (1, 4)}) == ["b"]
    points = {f"m{k}": tuple(rng.integers(0, 6, 2)) for k in range(12)}
    front = pareto_front(points)
    for name, (time, score) in points.items():
        beaten = any(
            (t < time and s >= score) or (t <= time and s > score)
            for t, s in points.values()
        )
        assert (name in front) == (not beaten)
    assert [points[name] for name in front] == sorted(points[n] for n in front)


def test_names_are_drawn_as_they_are(tmp_path, rng):
    names = ["$x^{", r"\frac", "漢字", '" style="x', "<g>"]
    rows = [
        ['"' + name.replace('"', '""') + '"', *row[1:]]
        for name in names
        for row in make_rows(rng)
        if row[0] == "iris"
    ]
    plan = {name: dict.fromkeys(METHODS, 3) for name in names}
    text = write_report(write_run(tmp_path / "run", rows, plan=plan)).read_text("utf-8")
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]*)", text)
    svg = "".join(base64.b64decode(data).decode() for data in pictures)
    for name in names:
        assert f'<th scope="row">{escape(name)}</th>' in text.replace("<wbr>", "")
        assert f"<!-- {escape(name, quote=False)} -->" in svg or name == "<g>"


def test_the_page_in_a_browser(page, browser):
    browser.get(page.as_uri())
    assert browser.title == "heterolda: the paper's study, reproduced"
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure > img')].map((s) =>"
        " [s.getBoundingClientRect().width, s.getBoundingClientRect().height])"
    )
    assert np.min(sizes) > 100
    for scheme in ("light", "dark"):
        set_scheme(browser, scheme)
        colors = browser.execute_script(
            "const {backgroundColor, color} = getComputedStyle(document.body);"
            "return [backgroundColor, color]"
        )
        ground, ink = (np.mean([*map(int, re.findall(r"\d+", c)[:3])]) for c in colors)
        assert (ground > 200) == (scheme == "light")
        assert abs(ink - ground) > 90
    assert browser.get_log("browser") == []
    asked = requests(browser, page.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]


def test_all_methods_can_be_read_on_any_screen(tmp_path, rng, browser):
    rows = [row for row in make_rows(rng) if row[0] in ("liver", "wine_white")]
    rows += [
        [row[0], name, *row[2:]]
        for name in set(study.METHODS) - set(METHODS)
        for row in rows
        if row[1] == "pairwise-lda"
    ]
    plan = {row[0]: dict.fromkeys(study.METHODS, 3) for row in rows}
    page = write_report(write_run(tmp_path / "run", rows, plan=plan))
    browser.get(page.as_uri())
    for width in (390, 1280, 1600):
        assert overflow(browser, width) <= 0  # wide tables scroll on their own
        assert unreadable(browser, width, "table") == []
