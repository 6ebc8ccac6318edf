"""The site: built once, every link followed, and looked at in a real browser."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

import heterolda
from helpers.browsing import overflow, requests, set_scheme
from heterolda import export

for module in ("sphinx", "myst_parser", "numpydoc", "sphinx_gallery"):
    pytest.importorskip(module, reason="the site needs heterolda[docs]")

# One build for all tests, also where several processes share them.
pytestmark = pytest.mark.xdist_group("site")

ROOT = Path(__file__).parents[2]
MADE = shutil.ignore_patterns("_build", "gallery", "generated", "__pycache__")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does, from a copy of its sources."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=MADE)
    for path in (*ROOT.glob("*.md"), ROOT / "CITATION.cff"):
        shutil.copy(path, folder)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^docs:.*\n\t(.+)\n", makefile, re.MULTILINE)[1]
    options = recipe.partition("/python ")[2].split()
    assert "-W" in options
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    source = str(Path(heterolda.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, *options],
        cwd=folder,
        env={**os.environ, **one, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    return folder / "docs" / "_build" / "html"


class Links(HTMLParser):
    """Identifiers of a page, what it links to and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Collect what a tag names and asks for."""
        found = dict(attributes)
        self.names.update(found[key] for key in ("id", "name") if key in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "stylesheet" in found.get("rel", ""):
            self.loads.append(found["href"])
        elif "src" in found:
            self.loads.append(found["src"])


@pytest.fixture(scope="module")
def pages(site):
    """All pages of the site, read."""
    found = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Links(path) for path in found}


def test_every_source_has_its_page(site, pages):
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix(".html")
        if not {"_build", "gallery", "generated"} & set(name.parts):
            assert site / name in pages
    examples = list((ROOT / "examples").glob("plot_*.py"))
    assert len(examples) >= 10
    for example in examples:
        page = site / "gallery" / f"{example.stem}.html"
        drawn = [url for url in pages[page].loads if f"sphx_glr_{example.stem}" in url]
        assert drawn, f"{example.name} draws nothing"


def test_every_public_name_has_its_page(site, pages):
    modules = {
        "heterolda": heterolda.__all__,
        "heterolda.data": ["fit_batches", "statistics_from_batches"],
        "heterolda.export": set(export.__all__) - set(heterolda.__all__),
    }
    for module, names in modules.items():
        for name in names:
            page = pages[site / "api" / "generated" / f"{module}.{name}.html"]
            assert f"{module}.{name}" in page.names


def test_every_public_name_has_an_example():
    for name in heterolda.__all__:
        assert "\n    >>> " in getattr(heterolda, name).__doc__, name


def test_links_inside_of_the_site_lead_somewhere(site, pages):
    wrong = []
    for path, page in pages.items():
        for url in [*page.links, *page.loads]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.is_file() or (known and anchor and anchor not in known.names):
                wrong.append(f"{path.relative_to(site)}: {url}")
    assert not wrong


def test_pages_load_nothing_from_elsewhere(site, pages):
    for path, page in pages.items():
        elsewhere = [u for u in page.loads if urlsplit(u).netloc]
        assert not elsewhere, f"{path.relative_to(site)}: {elsewhere}"


def test_figures_of_the_landing_page_are_those_of_the_accuracy_page():
    def table(text, heads):
        """Figures under these heads, by row; where there are several, the first."""
        cells = {}
        names = []
        for line in text.splitlines():
            row = [cell.strip(" *†") for cell in line.strip("|").split("|")]
            if not line.startswith("|"):
                names = []
            elif not names:
                names = row
            else:
                for name, cell in zip(names, row, strict=True):
                    if name in heads and (number := re.match(r"\d+\.\d", cell)):
                        cells.setdefault((row[0], name), number[0])
        return cells

    heads = ["LDA", "logistic", "GLD", "recommended"]
    read = partial(Path.read_text, encoding="utf-8")
    landing = table(read(ROOT / "docs" / "index.md"), heads)
    accuracy = table(read(ROOT / "docs" / "accuracy.md"), heads)
    assert len(landing) >= 24
    for key, figure in landing.items():
        assert accuracy[key] == figure, key


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not log."""

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site):
    """The site on a server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


READY = """
    const done = arguments[arguments.length - 1];
    if (window.MathJax) MathJax.startup.promise.then(() => done()); else done();
"""
FORMULAS = """
    return [document.querySelectorAll("span.math, div.math").length,
        document.querySelectorAll(".math mjx-container svg").length,
        document.querySelectorAll("mjx-merror, [data-mml-node=merror]").length]
"""
GROUND = """
    const [scheme, done] = arguments;
    const look = () => {
        if (document.documentElement.dataset.theme !== scheme)
            return setTimeout(look, 20);
        const style = getComputedStyle(document.body);
        done([style.backgroundColor, style.color]
            .map((c) => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b / 3, 0)));
    };
    look();
"""
FILTERS = """
    return [...document.querySelectorAll(".bd-content img")]
        .map((image) => getComputedStyle(image).filter)
"""


def test_pages_in_a_browser(site, pages, address, browser):
    names = sorted(str(path.relative_to(site)) for path in pages)
    alike = [name for name in names if re.match("api/generated|gallery/plot", name)]
    seen = [name for name in names if name not in alike] + alike[::6]
    formulas = 0
    requests(browser, address)
    for name in seen:
        set_scheme(browser, "light")
        browser.get(f"{address}/{name}")
        browser.execute_async_script(READY)
        expected, drawn, wrong = browser.execute_script(FORMULAS)
        assert (expected, wrong) == (drawn, 0), f"{name}: formulas"
        formulas += drawn
        for width in (390, 1280):
            assert overflow(browser, width) == 0, f"{name}: too wide for {width}"
        ground, ink = browser.execute_async_script(GROUND, "light")
        assert ground > 200 > 100 > ink, f"{name}: light"
        set_scheme(browser, "dark")
        ground, ink = browser.execute_async_script(GROUND, "dark")
        assert ground < 60 < 150 < ink, f"{name}: dark"
        filters = browser.execute_script(FILTERS)
        assert all("invert" in value for value in filters), f"{name}: pictures"
        log = browser.get_log("browser")
        assert not [entry for entry in log if entry["level"] != "INFO"], name
    assert len(seen) > 30
    assert formulas > 60
    asked = {urlsplit(url).netloc for url in requests(browser, address)}
    assert asked <= {urlsplit(address).netloc, ""}  # none in data: addresses


def test_the_search_finds(address, browser):
    browser.get(f"{address}/search.html?q=shrinkage")
    wait = """
        const done = arguments[arguments.length - 1];
        const look = () => document.querySelectorAll("#search-results li a").length > 2
            ? done(true) : setTimeout(look, 50);
        look();
    """
    assert browser.execute_async_script(wait)
