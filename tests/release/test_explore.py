"""The page "Explore": the library's numbers, and hands on its handles in a browser."""

import io
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from helpers.browsing import overflow, set_scheme
from heterolda import ClassStatistics, Frontier, GaussianLinearDiscriminant, Global

for module in ("sphinx", "myst_parser", "pydata_sphinx_theme"):
    pytest.importorskip(module, reason="the site needs heterolda[docs]")

pytestmark = [pytest.mark.check, pytest.mark.xdist_group("site")]

DOCS = Path(__file__).parents[2] / "docs"
CONF = """
extensions = ["myst_parser"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
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
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, folder / "html"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "html" / "explore.html").as_uri()


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
    """One of ten kinds of problems, most of them hard in some way."""
    means = 1.5 * rng.normal(size=(2, 2))
    ratios = np.exp(rng.uniform(-3, 3, 2))
    p, costs = rng.uniform(0.05, 0.95), [1.0, 1.0]
    if kind == 1:  # nearly equal means
        means[1] = means[0] + rng.normal(size=2) * 10.0 ** -rng.integers(2, 7)
    elif kind == 3:
        ratios = rng.permutation([1e4, 1e-4])
    elif kind == 4:
        p = rng.choice([0.01, 0.99])
    elif kind == 5:
        costs = rng.permutation([1.0, 100.0]).tolist()
    elif kind == 6:  # equal means
        means[1] = means[0]
    elif kind == 8:  # mostly hopeless
        p, means = 0.01, 0.1 * means
    elif kind == 9:  # well apart, with costs
        means[1], costs = means[0] + rng.uniform(2, 8, 2), [3.0, 1.0]
    covariances = np.array([covariance(rng, ratio) for ratio in ratios])
    if kind == 2:  # nearly equal covariances
        nearly = 10.0 ** -rng.integers(2, 8)
        covariances[1] = covariances[0] + nearly * covariance(rng, 1.0)
    elif kind == 7:
        covariances[1] = covariances[0]
    return {
        "means": means.tolist(),
        "covariances": covariances.tolist(),
        "priors": [p, 1 - p],
        "costs": costs,
    }


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
    assert rule["error"] == pytest.approx(model.bayes_error_[0], abs=1e-9)
    assert rule["risk"] == pytest.approx(model.risk_[0], abs=1e-9)
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
    problems = [draw_problem(rng, k % 10) for k in range(1000)]
    known = [by_library(problem) for problem in problems]
    batch = [
        {**problem, "q": points[:, 0].tolist()}
        for problem, (_, _, points) in zip(problems, known, strict=True)
    ]
    found = page.execute_script(
        """return arguments[0].map((problem) => {
            const {lda, best, gap, frontierAt, ldaAt} = heteroldaExplore.solve(problem);
            const at = problem.q.map((q) => frontierAt(0, q).rates);
            return {lda, best, gap, at, moved: problem.q.map((q) => ldaAt(0, q).rates)};
        })""",
        batch,
    )
    n_trivial = 0
    for k, (one, (lda, best, points)) in enumerate(zip(found, known, strict=True)):
        assert_same(one["lda"], lda)
        assert_same(one["best"], best, mirrored=k % 10 == 6)
        n_trivial += not best.coef_.any()
        assert 0 <= one["gap"] <= 1e-3
        np.testing.assert_allclose(np.reshape(one["at"], (-1, 2)), points, atol=1e-9)
        if lda.coef_.any():  # LDA's normal with another threshold
            w, (S1, S2) = lda.coef_[0], np.array(problems[k]["covariances"])
            s1, s2 = np.sqrt([w @ S1 @ w, w @ S2 @ w])
            D = w @ np.subtract(*problems[k]["means"][::-1])
            e2 = norm.cdf((s1 * norm.isf(points[:, 0]) - D) / s2)
            moved = np.reshape(one["moved"], (-1, 2))
            np.testing.assert_allclose(moved[:, 1], e2, atol=1e-9)
            assert (moved[:, 1] >= points[:, 1] - 1e-9).all()
    assert 50 < n_trivial < 300


def test_the_curve_is_that_of_the_frontier(page, rng):
    for kind in (0, 3, 6, 7):
        problem = draw_problem(rng, kind)
        frontier, lda = page.execute_script(
            """const s = heteroldaExplore.solve(arguments[0]);
            return [s.frontier(0.02), s.ldaCurve(0.02)]""",
            problem,
        )
        moments = problem["means"], problem["covariances"], problem["priors"]
        fpr, tpr, _ = Frontier.from_moments(["A", "B"], *moments, [9, 9]).roc_curve(2000)
        for curve in (frontier, lda):
            e1, e2 = np.transpose(curve)
            assert (e1[0], e2[0], e1[-1], e2[-1]) == pytest.approx((0, 1, 1, 0))
            assert np.abs(np.diff([e1, e2])).sum(axis=0).max() <= 0.02
            # At the ends a curve is steeper than can be interpolated.
            inside = (e1 > 0.01) & (e2 > 0.01)
            excess = (e2 - np.interp(e1, fpr, 1 - tpr))[inside]
            assert excess.min() > -1e-4
            if curve is frontier:
                assert excess.max() < 1e-4


def test_singular_covariances_are_no_obstacle(page):
    flat, line = [[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]
    round_ = [[1.0, 0.0], [0.0, 1.0]]
    for covariances in ([flat, round_], [round_, line], [flat, flat], [line, line]):
        numbers = page.execute_script(
            """const {lda, best} = heteroldaExplore.solve(arguments[0]);
            return [lda, best].flatMap((rule) => [rule.error, ...rule.rates, ...rule.coef])
                .map((v) => Number.isFinite(v))""",
            {"means": [[0, 0], [1, 1]], "covariances": covariances, "priors": [0.5, 0.5]},
        )
        assert all(numbers)
    problem = {
        "means": [[0.0, 0.0], [1.0, 1.0]],
        "covariances": [flat, round_],
        "priors": [0.4, 0.6],
        "costs": [1.0, 1.0],
    }
    with pytest.warns(UserWarning, match="variance"):
        best = by_library(problem)[1]
    rule = page.execute_script("return heteroldaExplore.solve(arguments[0]).best", problem)
    assert rule["error"] == pytest.approx(best.bayes_error_[0], abs=1e-9)
