"""The report: what the page says, and how it looks in a real browser."""

import base64
import re
from html import escape

import numpy as np
import pytest
from matplotlib import style

from helpers.browsing import overflow, requests, set_scheme
from helpers.cut_text import unreadable
from helpers.study import METHODS, make_rows, write_run
from heterolda.experiments import study
from heterolda.experiments.report import write_report


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report of made-up results."""
    folder = tmp_path_factory.mktemp("study")
    run = write_run(folder / "run", make_rows(np.random.default_rng(0)))
    path = write_report(run)
    assert path == run / "report.html"
    return path


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_page_is_self_contained_and_complete(page, tmp_path, rng):
    text = words(page)
    assert "://" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text
    assert "made up &lt;for a test&gt;" in text  # facts of the run are escaped
    assert text.count("<figure>") == 2
    assert "svm on wine_white (5 of 15)" in text
    # Ranks have the sets on which all methods are complete.
    assert "D2, liver, iris, wine. 7 methods on 4 data sets. Friedman" in text
    rows = [row for row in make_rows(rng) if row[0] == "iris"]
    one = write_report(write_run(tmp_path / "run", rows))
    assert "Ranks need at least two data sets" in words(one)
    with style.context(["dark_background", {"text.usetex": True, "font.size": 20}]):
        other = write_report(one.parent, tmp_path / "other.html")
    assert other.read_bytes() == one.read_bytes()


def test_nothing_is_written_where_it_cannot_be(tmp_path, page):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_report(page.parent, tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_names_are_drawn_as_they_are(tmp_path, rng):
    names = ["$x^{", r"\frac", "漢字", "<g>"]
    rows = [
        [row[0], name, *row[2:]]
        for name in names
        for row in make_rows(rng)
        if row[1] == "gld"
    ]
    text = write_report(write_run(tmp_path / "run", rows)).read_text("utf-8")
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]*)", text)
    svg = "".join(base64.b64decode(data).decode() for data in pictures)
    for name in names:
        assert f"{escape(name)}</th>" in text.replace("<wbr>", "")
        assert re.search(f"<!-- .*{re.escape(escape(name, quote=False))}.* -->", svg)


def test_the_page_in_a_browser(tmp_path, rng, browser):
    rows = [row for row in make_rows(rng) if row[0] in ("liver", "wine_white")]
    rows += [
        [row[0], name, *row[2:]]
        for name in set(study.METHODS) - set(METHODS)
        for row in rows
        if row[1] == "pairwise-lda"
    ]
    page = write_report(write_run(tmp_path / "run", rows))
    browser.get(page.as_uri())
    assert browser.title == "heterolda: the paper's study, reproduced"
    for scheme in ("light", "dark"):
        set_scheme(browser, scheme)
        colors = browser.execute_script(
            "const {backgroundColor, color} = getComputedStyle(document.body);"
            "return [backgroundColor, color]"
        )
        ground, ink = (np.mean([*map(int, re.findall(r"\d+", c)[:3])]) for c in colors)
        assert (ground > 200) == (scheme == "light")
        assert abs(ink - ground) > 90
    for width in (390, 1280, 1600):
        assert overflow(browser, width) <= 0  # wide tables scroll on their own
        assert unreadable(browser, width, "table") == []
    assert browser.get_log("browser") == []
    asked = requests(browser, page.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
