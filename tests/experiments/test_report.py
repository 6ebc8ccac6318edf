"""The page of a study."""

import base64
import re
from html import escape

import pytest
from matplotlib import style

from helpers.study import make_rows, write_run
from heterolda.experiments.report import write_report


def test_the_page_is_self_contained_and_complete(tmp_path, rng):
    rows = make_rows(rng)
    rows += [["D2-0.53", *row[1:]] for row in rows if row[0] == "D2"]
    run = write_run(tmp_path / "run", rows)
    page = write_report(run)
    assert page == run / "report.html"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "://" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text
    assert "made up &lt;for a test&gt;" in text  # facts of the run are escaped
    assert text.count("<figure>") == 1
    assert "svm on wine_white (5 of 15)" in text
    # Ranks have the sets on which all methods are complete, and D2 once.
    assert "7 methods on 4 data sets: D2, liver, iris, wine. Friedman" in text
    few = [row for row in rows if row[0] == "liver"]
    other = write_report(write_run(tmp_path / "few", few)).read_text("utf-8")
    assert "Ranks need at least two methods" in other
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_report(run, tmp_path / "nowhere" / "report.html")
    assert not (tmp_path / "nowhere").exists()


def test_names_are_drawn_as_they_are_in_any_style(tmp_path, rng):
    names = ["$x^{", r"\frac", "漢字", "<g>"]
    rows = [
        [row[0], name, *row[2:]]
        for name in names
        for row in make_rows(rng)
        if row[1] == "gld"
    ]
    page = write_report(write_run(tmp_path / "run", rows))
    text = page.read_text("utf-8")
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]*)", text)
    svg = "".join(base64.b64decode(data).decode() for data in pictures)
    for name in names:
        assert f"{escape(name)}</th>" in text.replace("<wbr>", "")
        assert re.search(f"<!-- .*{re.escape(escape(name, quote=False))}.* -->", svg)
    with style.context(["dark_background", {"text.usetex": True, "font.size": 20}]):
        other = write_report(page.parent, tmp_path / "other.html")
    assert other.read_bytes() == page.read_bytes()
