"""The page "Explore": the library's numbers, and hands on its handles in a browser."""

import io
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from helpers.browsing import overflow, set_scheme
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
)
from heterolda.inspection import Frontier
from heterolda.solvers import Global

if not all(map(find_spec, ("sphinx", "myst_parser", "pydata_sphinx_theme"))):
    pytest.skip("the site needs the dependency group docs", allow_module_level=True)

pytestmark = pytest.mark.check

DOCS = Path(__file__).parents[2] / "docs"
CONF = """
extensions = ["myst_parser"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_title = "heterolda"
root_doc = "explore"
"""
# Until the page has drawn what was asked for.
DRAWN = """
    const done = arguments[arguments.length - 1];
    requestAnimationFrame(() => requestAnimationFrame(() => done()));
"""
NOW = "const {given, lda, best} = heteroldaExplore.current(); return {given, lda, best}"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page alone, in the theme of the site."""
    folder = tmp_path_factory.mktemp("explore")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    shutil.copy(DOCS / "explore.md", folder)
    shutil.copytree(DOCS / "_static", folder / "_static")
    html = folder / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, html]
    subprocess.run(command, check=True, capture_output=True)
    return (html / "explore.html").as_uri()


@pytest.fixture
def page(browser, address):
    """The page as a visitor finds it, at a width where all is in sight."""
    screen = {"width": 1280, "height": 1400, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    set_scheme(browser, "light")
    browser.get("about:blank")
    browser.get(address)
    browser.execute_async_script(DRAWN)
    yield browser
    log = browser.get_log("browser")
    assert not [entry for entry in log if entry["level"] != "INFO"]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def read(page):
    """The problem, LDA's rule and the best one, as drawn."""
    page.execute_async_script(DRAWN)
    return page.execute_script(NOW)


# ------------------------------------------------------------------ the mathematics


def covariance(rng, ratio):
    """An ellipse of any size and direction whose variances have this ratio."""
    angle = rng.uniform(0, np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn * (np.exp(rng.uniform(-1, 1)) * np.array([1, ratio])) @ turn.T
    return (matrix + matrix.T) / 2


def draw_problem(rng, kind):
    """One of seven kinds of problems, most of them hard in some way."""
    means, ratios = 1.5 * rng.normal(size=(2, 2)), np.exp(rng.uniform(-3, 3, 2))
    p, costs = rng.uniform(0.05, 0.95), [1.0, 1.0]
    if kind == 1:  # nearly equal means
        means[1] = means[0] + rng.normal(size=2) * 10.0 ** -rng.integers(2, 7)
    elif kind == 2:  # equal means
        means[1] = means[0]
    elif kind == 3:
        ratios = rng.permutation([1e4, 1e-4])
    elif kind == 4:  # mostly hopeless
        p, means = 0.01, 0.1 * means
    elif kind == 5:
        costs = rng.permutation([1.0, 100.0]).tolist()
    S = np.array([covariance(rng, ratio) for ratio in ratios])
    if kind == 6:  # nearly equal covariances, or just equal ones
        S[1] = S[0] + rng.choice([0, 1e-3, 1e-7]) * covariance(rng, 1.0)
    arrays = {"means": means.tolist(), "covariances": S.tolist()}
    return {**arrays, "priors": [p, 1 - p], "costs": costs}


def by_library(problem, n_theta=5):
    """Fisher's rule, the certified optimum, and error rates along the frontier."""
    counts = 1000 * np.array(problem["priors"])
    moments = problem["means"], problem["covariances"]
    statistics = ClassStatistics.from_moments(["A", "B"], counts, *moments)
    a, b = problem["costs"]
    costs = None if a == b else {"A": {"B": a}, "B": {"A": b}}
    lda, best = (
        GaussianLinearDiscriminant(solver=solver, costs=costs)
        for solver in ("fisher", Global(gap=1e-8))
    )
    frontier = Frontier.from_statistics(statistics)
    low, high = frontier.theta_range
    e1, e2 = frontier.error_rates(np.linspace(low, high, n_theta + 2)[1:-1])
    inside = (e1 > 1e-6) & (e1 < 1 - 1e-6)
    rules = lda.fit_statistics(statistics), best.fit_statistics(statistics)
    return *rules, np.column_stack([e1, e2])[inside]


def assert_same(rule, model, mirrored=False):
    """The same line, whatever its length, and the same errors.

    With equal means the mirror image of a rule is as good as the rule.
    """
    assert rule["error"] == pytest.approx(model.model_error_[0], abs=1e-9)
    assert rule["risk"] == pytest.approx(model.expected_cost_[0], abs=1e-9)
    np.testing.assert_allclose(rule["rates"], model.error_rates_[0], atol=1e-9)
    ours, theirs = np.array(rule["coef"]), model.coef_[0]
    size = np.hypot(*theirs)
    if size == 0 or mirrored:
        assert np.hypot(*ours) == pytest.approx(size, rel=1e-6)
        return
    np.testing.assert_allclose(ours / size, theirs / size, atol=1e-6)
    offset = model.intercept_[0]
    assert rule["intercept"] == pytest.approx(offset, rel=1e-6, abs=1e-6 * size)


@pytest.mark.filterwarnings("ignore")  # of rules that always give the same answer
def test_the_numbers_are_those_of_the_library(page, rng):
    problems = [draw_problem(rng, k % 7) for k in range(210)]
    expected = [by_library(problem) for problem in problems]
    batch = [
        {**problem, "q": points[:, 0].tolist()}
        for problem, (_, _, points) in zip(problems, expected, strict=True)
    ]
    results = page.execute_script(
        """return arguments[0].map((problem) => {
            const {lda, best, gap, frontierAt, ldaAt} = heteroldaExplore.solve(problem);
            const at = problem.q.map((q) => frontierAt(0, q).rates);
            return {lda, best, gap, at, moved: problem.q.map((q) => ldaAt(0, q).rates)};
        })""",
        batch,
    )
    n_trivial = 0
    pairs = zip(results, expected, strict=True)
    for k, (rule, (lda, best, points)) in enumerate(pairs):
        assert_same(rule["lda"], lda)
        assert_same(rule["best"], best, mirrored=k % 7 == 2)
        n_trivial += not best.coef_.any()
        assert 0 <= rule["gap"] <= 1e-3
        np.testing.assert_allclose(np.reshape(rule["at"], (-1, 2)), points, atol=1e-9)
        if lda.coef_.any():  # LDA's normal with another threshold
            w, (S1, S2) = lda.coef_[0], np.array(problems[k]["covariances"])
            s1, s2 = np.sqrt([w @ S1 @ w, w @ S2 @ w])
            D = w @ np.subtract(*problems[k]["means"][::-1])
            e2 = norm.cdf((s1 * norm.isf(points[:, 0]) - D) / s2)
            moved = np.reshape(rule["moved"], (-1, 2))
            np.testing.assert_allclose(moved[:, 1], e2, atol=1e-9)
            assert (moved[:, 1] >= points[:, 1] - 1e-9).all()
    assert 9 < n_trivial < 90


def test_the_dial_has_the_smoothed_errors_of_the_library(page):
    results = page.execute_script("return heteroldaExplore.dial()")
    X = np.array([row["x"] for row in results["rows"]])
    y = np.array([row["k"] for row in results["rows"]])
    settings = {"transformation": None, "shrinkage": 0, "priors": "equal"}
    for rule in results["rules"][::4]:
        model = SmoothedLinearDiscriminant(rule["h"], **settings).fit(X, y)
        assert rule["error"] == pytest.approx(model.smoothed_error_[0], rel=1e-3)
        assert abs(rule["wrong"] - np.mean(model.predict(X) != y)) < 1.5 / len(y)
    first, last = results["rules"][0], results["rules"][-1]
    assert min(rule["others"] for rule in results["rules"]) < min(
        first["others"] - 0.05, last["others"] - 0.01
    )
    page.find_element("css selector", ".dial input").send_keys("\ue014")  # to the right
    status = text(page, ".dial [role=status]")
    assert f"{100 * results['rules'][1]['others']:.1f} %" in status


# ------------------------------------------------------------------- text and state


def choose_preset(page, k):
    page.find_elements("css selector", ".explore-presets button")[k].click()
    return read(page)


def text(page, selector):
    return page.find_element("css selector", selector).get_attribute("textContent")


def assert_python_agrees(page):
    """Run the code that the page shows: it must print the numbers of the page."""
    now, scope = read(page), {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(text(page, ".explore-code pre"), scope)  # noqa: S102
    for name in ("lda", "best"):
        if name in scope:
            assert_same(now[name], scope[name])
            assert str(scope[name].model_error_[0]) in printed.getvalue()


def test_presets_tell_the_truth(page):
    covariances = [[[0.3, 0], [0, 1.5]], [[6, 1.4], [1.4, 0.5]]]
    now = choose_preset(page, 0)
    assert now["given"]["means"] == [[0, 0], [1, 0.5]]  # of examples/plot_idea.py
    assert now["given"]["covariances"] == covariances
    totals = [text(page, f'[data-rule="{k}"] [data-total]') for k in ("lda", "best")]
    name = text(page, ".explore-presets button")
    assert name == "LDA {}, optimum {}".format(*totals) == "LDA 35.7 %, optimum 26.5 %"
    assert_python_agrees(page)


def test_the_address_holds_the_situation(page, address):
    hash_ = "#a=0.5,-1,1.5,0.6,30&b=2,1,0.8,2.2,-10&p=20&cost=0&at=B,0.2"
    page.get(f"{address}{hash_}")
    first = read(page)
    assert first["given"]["means"] == [[0.5, -1], [2, 1]]
    assert first["given"]["priors"] == [0.2, 0.8]
    assert first["best"]["rates"][1] == pytest.approx(0.2, abs=1e-12)
    assert_python_agrees(page)
    press(page, "Mean of class A", "\ue014")  # to the right
    changed = read(page)
    assert changed["given"]["means"][0] == [0.6, -1]
    page.set_script_timeout(30)
    page.execute_async_script("setTimeout(arguments[0], 400)")
    shared = page.current_url
    assert shared.startswith(f"{address}#a=0.6,-1,")
    page.get("about:blank")
    page.get(shared)
    assert read(page) == changed
    assert "from the address" in text(page, ".explore-story")
    same = "a=0,0,1,1,0&b=0,0,1,1,0"
    for broken in ("a=1,2", same.replace("1", "x"), same + "&p=x", "what", "%"):
        page.get("about:blank")
        page.get(f"{address}#{broken}")
        assert read(page)["given"]["means"] == [[0, 0], [1, 0.5]]
        assert text(page, ".explore-story").startswith("The address could not be read;")
    page.get(f"{address}#a=0,0,2,2,0&b=0.2,0,0.5,0.5,0&p=99")
    assert read(page)["best"]["trivial"]
    assert text(page, ".explore-verdict") == "No line beats calling everything A."


# ---------------------------------------------------------------------------- hands


def place(page, label):
    """Where the middle of a handle is, in pixels of the window."""
    return page.execute_script(
        """const box = document.querySelector(`[aria-label="${arguments[0]}"] .dot`)
            .getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]""",
        label,
    )


def press(page, label, *keys):
    node = page.find_element("css selector", f'[aria-label="{label}"]')
    page.execute_script("arguments[0].focus()", node)
    page.switch_to.active_element.send_keys(*keys)


def drag(page, label, dx, dy, *, touch=False, steps=8):
    """Take a handle along by a mouse or by a finger."""
    x, y = place(page, label)
    path = [(x + dx * k / steps, y + dy * k / steps) for k in range(steps + 1)]

    def event(kind, *at):
        if touch:
            points = [dict(zip("xy", at, strict=True))] if at else []
            name, send = f"touch{kind}", {"touchPoints": points}
        else:
            mouse = {"Start": "Pressed", "Move": "Moved", "End": "Released"}
            name, at = f"mouse{mouse[kind]}", at or path[-1]
            send = {"button": "left", "buttons": 1, "clickCount": 1}
            send |= dict(zip("xy", at, strict=True))
        device = "Touch" if touch else "Mouse"
        page.execute_cdp_cmd(f"Input.dispatch{device}Event", {"type": name, **send})

    event("Start", *path[0])
    for at in path[1:]:
        event("Move", *at)
    event("End")
    return read(page)


@pytest.mark.parametrize("touch", [False, True])
def test_handles_follow_the_hand(page, touch):
    unit = page.execute_script(
        "return document.querySelector('.explore-frame').clientWidth / 14"
    )
    now = drag(page, "Mean of class B", 2 * unit, -unit, touch=touch)
    np.testing.assert_allclose(now["given"]["means"][1], [3, 1.5], atol=0.02)
    x, y = place(page, "Mean of class A")
    now = drag(page, "First axis of class A", unit, 0, touch=touch)
    # The end of the axis is where the hand left it: two deviations from the mean.
    end = np.subtract(place(page, "First axis of class A"), [x, y]) / unit
    values, vectors = np.linalg.eigh(now["given"]["covariances"][0])
    np.testing.assert_allclose(end[0], 1, atol=0.03)
    np.testing.assert_allclose(np.hypot(*end), 2 * np.sqrt(values[1]), atol=0.03)
    along = vectors[:, 1] * np.sign(vectors[0, 1])
    np.testing.assert_allclose(end / np.hypot(*end), along * [1, -1], atol=0.02)
    # Nothing leaves the picture, however far the hand goes.
    now = drag(page, "Mean of class B", 99 * unit, 99 * unit, touch=touch)
    assert now["given"]["means"][1] == [7.7, -3.8]


def test_everything_works_without_a_mouse(page):
    labels = page.execute_script(
        "return [...document.querySelectorAll('.explore .handle')]"
        ".map((node) => node.getAttribute('aria-label'))"
    )
    assert len(set(labels)) == 7
    last = page.find_elements("css selector", ".explore-presets button")[3]
    page.execute_script("arguments[0].focus()", last)
    reached = []
    for _ in labels:
        page.switch_to.active_element.send_keys("\ue004")  # Tab
        reached.append(page.switch_to.active_element.get_attribute("aria-label"))
        ring = "return getComputedStyle(arguments[0].querySelector('.reach')).stroke"
        assert page.execute_script(ring, page.switch_to.active_element) != "none"
    assert reached == labels
    before = read(page)
    for label in labels[:6]:
        press(page, label, "\ue013", "+")  # upwards, and larger
        after = read(page)
        assert after["given"] != before["given"], label
        press(page, label, "-", "\ue015")
        before = read(page)


# ---------------------------------------------------------------------------- look

CUT = """
    const cut = (node) => {
        const box = node.getBoundingClientRect();
        const frame = node.closest("svg").getBoundingClientRect();
        return node.textContent && (box.left < frame.left - 1 || box.top < frame.top - 1
            || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
    };
    return [...document.querySelectorAll(".explore svg text")].filter(cut)
        .map((node) => node.textContent)
"""


def test_nothing_is_cut_off_at_any_width(page):
    for width in (390, 768, 1280, 1600):
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        for k in range(4):
            choose_preset(page, k)
            page.execute_async_script(DRAWN)
            assert page.execute_script(CUT) == [], (width, k)
        assert overflow(page, width) <= 0  # less where a scroll bar stands
