"""The page of a study."""

import base64
import re
from html import escape

import pytest
from matplotlib import style

from helpers.study import make_rows, write_run
from heterolda.experiments.report import write_report

NAMES = ["$x^{", r"\frac", "漢字", "<g>"]


def test_the_page_is_self_contained_and_complete_in_any_style(tmp_path, rng):
    rows = make_rows(rng)
    few = [row for row in rows if row[0] == "liver"]
    for name in NAMES:  # shown and drawn as they are
        rows += [[row[0], name, *row[2:]] for row in rows if row[1] == "gld"]
    rows += [["D2-0.53", *row[1:]] for row in rows if row[0] == "D2"]
    run = write_run(tmp_path / "run", rows)
    page = write_report(run)
    assert page == run / "report.html"
    html = page.read_text(encoding="utf-8")
    text = " ".join(html.split())
    assert "://" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text
    assert "made up &lt;for a test&gt;" in text  # facts of the run are escaped
    assert text.count("<figure>") == 1
    assert "svm on wine_white (5 of 15)" in text
    # Ranks have the sets on which all methods are complete, and D2 once.
    assert "11 methods on 4 data sets: D2, liver, iris, wine. Friedman" in text
    (picture,) = re.findall(r"svg\+xml;base64,([^\"]*)", html)
    svg = base64.b64decode(picture).decode()
    for name in NAMES:
        assert f"{escape(name)}</th>" in text
        assert re.search(f"<!-- .*{re.escape(escape(name, quote=False))}.* -->", svg)
    with style.context(["dark_background", {"text.usetex": True, "font.size": 20}]):
        assert write_report(run, tmp_path / "b.html").read_text("utf-8") == html
    other = write_report(write_run(tmp_path / "few", few)).read_text("utf-8")
    assert "Ranks need at least two methods" in other
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_report(run, tmp_path / "nowhere" / "report.html")
    assert not (tmp_path / "nowhere").exists()
