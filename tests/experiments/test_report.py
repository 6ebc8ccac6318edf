"""The report: what the page says, and how it behaves in a real browser."""

import re
import subprocess
import sys
from statistics import NormalDist
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import style

from helpers.browsing import overflow, requests, set_scheme
from helpers.cut_text import unreadable
from helpers.study import METHODS, SIZES, make_rows, write_run
from heterolda import GaussianLinearDiscriminant
from heterolda.experiments import datasets, figures, methods, pairs
from heterolda.experiments.report import write_report
from heterolda.experiments.results import read_results


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


def test_the_page_is_self_contained(page):
    text = page.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "url(" not in text
    assert "made up &lt;for a test&gt;" in text  # facts of the run are escaped
    assert "default-src 'none'" in text


def test_the_page_says_which_pictures_lack_their_data(page):
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert text.count("the data are not on this machine: liver, wine_white.") == 2
    assert "† SVM on wine_white: 1 of 3 trials" in text
    assert "This run is incomplete" not in text


def test_an_incomplete_run_gets_a_warning(tmp_path, rng, monkeypatch):
    rows = [row for row in make_rows(rng) if row[0] in ("liver", "iris")]
    rows = [row for row in rows if row[:2] != ["iris", "SVM"]]
    run = write_run(tmp_path / "run", rows[:-1])
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)
    text = " ".join(write_report(run).read_text(encoding="utf-8").split())
    combinations = len(SIZES) * len(METHODS)
    # Two sets, less the two of iris that are not finished.
    there = 2 * len(METHODS) - 2
    assert f"{there} of {combinations} combinations" in text
    assert "7 methods on 2 data sets" not in text
    assert "SVM (incomplete)" in text


def test_the_report_does_not_follow_the_style_of_other_figures(
    page, tmp_path, monkeypatch
):
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)
    with style.context(["dark_background", {"text.usetex": True, "font.size": 20}]):
        drawn = write_report(page.parent, tmp_path / "again.html")
    assert drawn.read_bytes() == page.read_bytes()


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


def test_nothing_is_written_where_it_cannot_be(tmp_path, rng, page):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_report(page.parent, tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_curves_and_choices_are_those_of_the_definition(monkeypatch):
    """Equations (12) and (13) with matrix inverses, and the errors counted by hand."""
    study = pairs.study_pair("D2")
    X, y = datasets.make_d2(random_state=0)
    S1, S2 = (np.cov(X[y == k].T) for k in (1, 2))
    m1, m2 = (X[y == k].mean(axis=0) for k in (1, 2))
    normal = NormalDist()
    for i in (0, 60, 150, len(study.s) - 1):
        s = study.s[i]
        w = np.linalg.solve(s * S1 + (1 - s) * S2, m1 - m2)
        s1, s2 = np.sqrt(w @ S1 @ w), np.sqrt(w @ S2 @ w)

        def error(w0, w=w, s1=s1, s2=s2):
            first, second = (w0 - w @ m1) / s1, (w @ m2 - w0) / s2
            return normal.cdf(first) / 3 + normal.cdf(second) * 2 / 3

        w0 = s * (w @ m2) * s1**2 + (1 - s) * (w @ m1) * s2**2
        w0 /= s * s1**2 + (1 - s) * s2**2
        assert study.error[i] == pytest.approx(error(w0), rel=1e-9)
        grid = np.linspace(w @ m2 - 6 * s2, w @ m1 + 6 * s1, 2001)
        least = min(map(error, grid))
        assert study.best_error[i] == pytest.approx(least, abs=1e-5)
    assert study.choices["LDA"][0] == pytest.approx(1 / 3, abs=1e-6)
    best = GaussianLinearDiscriminant().fit(X, y).bayes_error_[0]
    assert study.choices["GLD-global"][1] == pytest.approx(best, rel=1e-9)
    assert study.error.min() == pytest.approx(best, rel=1e-6)
    for method, (s, e) in study.choices.items():
        if method != "LDA":  # which has a threshold of its own
            assert np.interp(s, study.s, study.error) == pytest.approx(e, rel=1e-5)
    assert study.histories["LNS"].min() <= study.histories["LNS"][0]


def test_the_pareto_front_by_its_definition(rng):
    points = {f"m{k}": tuple(rng.integers(0, 6, 2)) for k in range(12)}
    front = figures.pareto_front(points)
    for name, (time, score) in points.items():
        beaten = any(
            (t < time and s >= score) or (t <= time and s > score)
            for t, s in points.values()
        )
        assert (name in front) == (not beaten)
    assert [points[name] for name in front] == sorted(points[n] for n in front)


@pytest.mark.parametrize(
    "name", ["$x^{", r"\frac", "漢字", "a|b", "'' style='x", "<g>"]
)
def test_names_are_drawn_as_they_are(tmp_path, rng, name):
    name = name.replace("'", '"')
    quoted = '"' + name.replace('"', '""') + '"'
    rows = [[quoted, *row[1:]] for row in make_rows(rng) if row[0] == "iris"]
    rows += [[row[0], quoted, *row[2:]] for row in rows if row[1] == "GLD"]
    results = read_results(write_run(tmp_path / "run", rows))
    picture = ElementTree.fromstring(figures.trade_off(results, name))  # noqa: S314
    assert [text.text for text in picture.iter("text")].count(name) >= 1
    hints = [title.text for title in picture.iter("title")]
    assert len(hints) == len(METHODS) + 1
    assert hints[-1].startswith(f"{name}: ")
    assert not [part for part in picture.iter() if "style" in part.attrib]


def column(browser, table, method):
    """Names and main figures of a table's rows, from top to bottom."""
    return browser.execute_script(
        """
        const table = document.querySelector(arguments[0] + " table");
        const heads = [...table.tHead.rows[0].cells].map((c) => c.innerText);
        const at = heads.findIndex((text) => text.trim() === arguments[1]);
        return [...table.tBodies[0].rows].map((row) =>
            [row.cells[0].innerText.split(/\\s/)[0], row.cells[at].dataset.value]);
        """,
        table,
        method,
    )


def test_the_page_in_a_browser(page, browser):
    browser.get(page.as_uri())
    assert browser.title == "heterolda: the paper's study, reproduced"

    # Pictures: one for each set, or for each set whose data are there, and two ranks.
    for section, n in (("trade-off", 5), ("curves", 3), ("searches", 3), ("ranks", 2)):
        sizes = browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((s) =>"
            " [s.getBoundingClientRect().width, s.getBoundingClientRect().height])",
            f"#{section} figure > svg",
        )
        assert len(sizes) == n
        assert np.min(sizes) > 100
    markers = "#trade-off figure:first-child .m"
    assert len(browser.find_elements("css selector", markers)) == len(METHODS)

    # A click sorts, a second one turns the order, and the header says so.
    for table, method, falling_first in (
        ("#table-2", "GLD", False),
        ("#table-3", "Algorithm 1", True),
        ("#table-4", "SVM", False),
    ):
        before = column(browser, table, method)
        path = f"//*[@id='{table[1:]}']//button[.='{method}']"
        button = browser.find_element("xpath", path)
        header = button.find_element("xpath", "..")
        for falling in (falling_first, not falling_first):
            button.click()
            after = column(browser, table, method)
            expected = sorted(before, key=lambda row: float(row[1]), reverse=falling)
            assert after == expected
            order = "descending" if falling else "ascending"
            assert header.get_attribute("aria-sort") == order
        browser.find_element("css selector", f"{table} button").click()
        assert column(browser, table, method) == before

    # The legend picks methods out.
    legend = browser.find_element("css selector", "#legend button")
    legend.click()
    assert legend.get_attribute("aria-pressed") == "true"
    dim = "return getComputedStyle(document.querySelector('figure .m-1')).opacity"
    assert float(browser.execute_script(dim)) < 0.5
    legend.click()
    assert float(browser.execute_script(dim)) == 1

    assert browser.get_log("browser") == []
    asked = requests(browser, page.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]


def test_the_page_in_light_and_dark(page, browser):
    browser.get(page.as_uri())
    colours = """
        const colour = (css, key) => getComputedStyle(document.querySelector(css))[key];
        return [colour("body", "backgroundColor"), colour("body", "color"),
            colour("svg .tick text", "fill"), colour("figure .m-0 use", "stroke"),
            colour(".axis path", "stroke")]"""

    def brightness(colour):
        return np.mean([int(v) for v in re.findall(r"\d+", colour)[:3]])

    for scheme in ("light", "dark"):
        set_scheme(browser, scheme)
        ground, *inks = map(brightness, browser.execute_script(colours))
        assert (ground > 200) == (scheme == "light")
        for ink in inks[:2]:
            assert abs(ink - ground) > 90
        assert abs(inks[-1] - ground) > 90

    assert browser.get_log("browser") == []


def test_all_methods_can_be_read_on_any_screen(tmp_path, rng, browser, monkeypatch):
    """The table of all twelve fits 1280 pixels; a phone scrolls past the names."""
    rows = [row for row in make_rows(rng) if row[0] in ("liver", "wine_white")]
    missing = set(methods.METHODS) - set(METHODS)
    rows += [
        [row[0], name, *row[2:]] for name in missing for row in rows if row[1] == "LDA"
    ]
    plan = {row[0]: dict.fromkeys(methods.METHODS, 3) for row in rows}
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)
    page = write_report(write_run(tmp_path / "run", rows, plan=plan))
    browser.get(page.as_uri())
    heads = browser.execute_script(
        "return [...document.querySelectorAll('#table-3 th[scope=col]')]"
        ".map((head) => head.innerText.replace(/\\s+/g, ' '))"
    )
    assert heads == ["Data set", *map(methods.title, methods.METHODS)]
    for width in (390, 1280, 1600):
        assert overflow(browser, width) <= 0
        assert unreadable(browser, width, "table") == []
        if width > 390:
            assert overflow(browser, width, ".scroll") == 0
    assert overflow(browser, 390, "#table-3 .scroll") > 100
    set_screen = "Emulation.setDeviceMetricsOverride"
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd(set_screen, phone)
    name, figure, box = browser.execute_script(
        """
        const box = document.querySelector("#table-3 .scroll");
        box.scrollLeft = 10000;
        const [name, ...figures] = box.querySelectorAll("tbody tr:first-child > *");
        return [name.getBoundingClientRect().left,
            figures.at(-1).getBoundingClientRect().right,
            [box.getBoundingClientRect().left, box.getBoundingClientRect().right]]
        """
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert name == pytest.approx(box[0], abs=2)
    assert figure == pytest.approx(box[1], abs=2)
