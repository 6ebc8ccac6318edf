"""The site: built once, every link followed, and looked at in a real browser."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

import heterolda
from helpers.browsing import read_axe, requests, set_scheme, set_width

# Importing them takes seconds.
NEEDED = "sphinx", "myst_parser", "numpydoc", "sphinx_design", "sphinx_gallery"
if not all(map(find_spec, NEEDED)):
    pytest.skip("the site needs the dependency group docs", allow_module_level=True)

# One build for all tests, also where several processes share them.

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT / "tests/project/public_names.txt"
MADE = shutil.ignore_patterns("_build", "gallery", "generated", "__pycache__")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does, from a copy of its sources."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=MADE)
    for path in (*ROOT.glob("*.md"), ROOT / "CITATION.cff", ROOT / "pyproject.toml"):
        shutil.copy(path, folder)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^docs:.*\n\t(.+)\n", makefile, re.MULTILINE)[1]
    options = recipe.partition("/python ")[2].split()
    assert "-W" in options
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    source = str(Path(heterolda.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, *options],
        cwd=folder,
        env={**os.environ, **threads, "PYTHONPATH": source},
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
        values = dict(attributes)
        self.names.update(values[key] for key in ("id", "name") if key in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and "stylesheet" in values.get("rel", ""):
            self.loads.append(values["href"])
        elif "src" in values:
            self.loads.append(values["src"])


@pytest.fixture(scope="module")
def pages(site):
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Links(path) for path in files}


def test_every_public_name_has_its_page(site, pages):
    for name in PUBLIC.read_text(encoding="utf-8").split():
        assert name in pages[site / "api" / "generated" / f"{name}.html"].names


def test_links_inside_of_the_site_lead_somewhere(site, pages):
    wrong = []
    for path, page in pages.items():
        for url in [*page.links, *page.loads]:
            parts = urlsplit(url)
            assert url in page.links or not parts.netloc  # nothing from elsewhere
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            linked = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.is_file() or (
                linked and anchor and anchor not in linked.names
            ):
                wrong.append(f"{path.relative_to(site)}: {url}")
    assert not wrong


def test_figures_of_the_landing_page_are_those_of_the_accuracy_page():
    def rows(page):
        """The first four accuracies of each data set."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        named = re.findall(r"^\| (\w+) \|(.+)", text, re.MULTILINE)
        cells = {name: re.findall(r"\b\d+\.\d\b", row)[:4] for name, row in named}
        return {name: row for name, row in cells.items() if len(row) == 4}

    landing = rows("index.md")
    assert len(landing) >= 6
    assert landing.items() <= rows("accuracy.md").items()


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not log and keeps its connections."""

    protocol_version = "HTTP/1.1"

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


# Text that cannot be seen, or only by moving what does not say that it can be moved.
CUT = """
    const [width, done] = arguments;
    const hidden = "svg, dialog, mjx-assistive-mml";
    const movable = ".pst-scrollable-table-container, .aligned pre, mjx-container";
    const look = () => {
        const found = [];
        const wide = document.documentElement.scrollWidth - width;
        if (wide > 0) found.push(`the page by ${wide}`);
        for (const box of document.querySelectorAll("body *")) {
            const [x, y] = [box.scrollWidth - box.clientWidth,
                box.scrollHeight - box.clientHeight];
            if ((x <= 1 && y <= 2) || box.clientWidth <= 1 || box.closest(hidden)
                || !box.checkVisibility({visibilityProperty: true})) continue;
            const style = getComputedStyle(box);
            if (style.display === "inline") continue;
            const says = `${box.tagName} ${box.className} by ${x}, ${y}: `
                + box.textContent.trim().slice(0, 50);
            if ((x > 1 && /hidden|clip/.test(style.overflowX))
                || (y > 2 && /hidden|clip/.test(style.overflowY))) found.push(says);
            else if (x > 1 && /auto|scroll/.test(style.overflowX)) {
                const first = box.querySelector("td, th");
                if (width >= 1280 || !box.matches(movable) || box.tabIndex !== 0
                    || !box.ariaLabel || box.role !== "region"
                    || (first && getComputedStyle(first).position !== "sticky"))
                    found.push(says);
            } else if (x > 4 && box.matches("td, th")) found.push(says);
        }
        done(found);
    };
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(look)));
"""
# Rows of a table are alike: a few of them do. What the scheme changes is contrast.
ACCESSIBLE = """
    const [whole, scheme, done] = arguments;
    document.querySelectorAll("tbody tr:nth-child(n+4)").forEach((row) => row.remove());
    const parts = whole ? document : {exclude: [".bd-header", ".bd-sidebar-primary"]};
    const rules = scheme === "dark" ? ["color-contrast"]
        : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const options = {resultTypes: ["violations"], runOnly: rules};
    axe.run(parts, options).then((result) =>
        done(result.violations.filter((rule) => /serious|critical/.test(rule.impact))
            .map((rule) => `${rule.id}: ${rule.nodes[0].html.slice(0, 150)}`)));
"""


@pytest.fixture(scope="module")
def seen(site, pages, address, browser, request):
    """What is wrong with pages, by kind: each is loaded once, of those alike a few."""
    axe, missing = read_axe(request.config.cache.mkdir("axe"))
    kinds = ("cut", "formulas", "scheme", "accessible", "console")
    wrong = {kind: [] for kind in kinds}
    wrong["no axe"] = missing
    formulas = pictures = 0
    folders = set()
    browser.set_script_timeout(120)
    requests(browser, address)
    names = sorted(str(path.relative_to(site)) for path in pages)
    alike = [name for name in names if re.match("api/generated|gallery/plot", name)]
    few = [name for name in names if name not in alike] + alike[::12]
    for number, name in enumerate(few):
        set_scheme(browser, "light")
        set_width(browser, 390)
        browser.get(f"{address}/{name}")
        browser.execute_async_script(READY)
        expected, drawn, errors = browser.execute_script(FORMULAS)
        if (expected, errors) != (drawn, 0):
            wrong["formulas"].append(name)
        formulas += drawn
        for width in (390, 1280):
            set_width(browser, width)
            cut = browser.execute_async_script(CUT, width)
            wrong["cut"] += [f"{name} at {width}: {text}" for text in cut]
        whole = name.rpartition("/")[0] not in folders  # headers and menus are alike
        folders.add(name.rpartition("/")[0])
        judged = whole or number % 8 == 0  # it takes time
        if judged and axe:
            browser.execute_script(axe)
        for scheme in ("light", "dark") if judged else ():
            set_scheme(browser, scheme)
            ground, ink = browser.execute_async_script(GROUND, scheme)
            dark, light = sorted((ground, ink))
            if dark > 100 or light < 150 or (ground < ink) != (scheme == "dark"):
                wrong["scheme"].append(f"{name}: {scheme}")
            if axe:
                rules = browser.execute_async_script(ACCESSIBLE, whole, scheme)
                wrong["accessible"] += [f"{name}, {scheme}: {rule}" for rule in rules]
            filters = browser.execute_script(FILTERS) if scheme == "dark" else ()
            pictures += len(filters)
            if not all("invert" in value for value in filters):
                wrong["scheme"].append(f"{name}: pictures")
        for entry in browser.get_log("browser"):
            if entry["level"] != "INFO":
                wrong["console"].append(f"{name}: {entry['message']}")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert formulas > 60
    assert pictures > 5
    asked = {urlsplit(url).netloc for url in requests(browser, address)}
    assert asked <= {urlsplit(address).netloc, ""}  # none in data: addresses
    return wrong


@pytest.mark.parametrize("kind", ["cut", "formulas", "scheme", "console"])
def test_pages_in_a_browser(seen, kind):
    assert not seen[kind], "\n".join(seen[kind])


def test_pages_are_accessible(seen):
    if seen["no axe"]:
        pytest.skip(f"accessibility is not checked: {seen['no axe']}")
    assert not seen["accessible"], "\n".join(seen["accessible"])
