"""Error, threshold, curve and optimum against fifty digits, on 236 hard problems.

`golden/make_truth.py` solved them without any code of the package.
"""

import json

import numpy as np
import pytest
from scipy.special import ndtri

from golden.make_truth import SHARES, TARGET, answers, problem_of
from helpers.problems import fit, statistics_of
from helpers.reference import (
    Gaussians,
    best_threshold,
    dot,
    error_of,
    floored,
    mp,
    rule_of,
    threshold_scale,
)
from heterolda.inspection import Frontier
from heterolda.solvers import SOLVERS
from heterolda.solvers import rules as package

# Slow when traced; quicker tests take the same branches.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.PrecisionWarning"),
]

RECORDS = json.loads(TARGET.read_text(encoding="utf-8"))
KINDS = list(dict.fromkeys(record["kind"] for record in RECORDS))
# Where an error underflows, float64 has no more to say than that.
UNDERFLOW = 1e-290
each_kind = pytest.mark.parametrize("kind", KINDS)


def problems(kind):
    """Yield the problems of a kind that no hyperplane separates for good."""
    for number, record in enumerate(RECORDS):
        if record["kind"] == kind and "hyperplane" in record:
            name = record.get("name", f"{kind}, number {number}")
            yield name, record, problem_of(record)


def rounding(record):
    """The smallest eigenvalue of a float64 matrix is uncertain by its condition."""
    return 1e-10 + 1e-15 * record["condition"]


def deviations(record, p, model):
    """How far a fit is from the truth.

    All are relative, but for the curve: in normal deviates of its error rates.
    """
    exact, to_model = floored(Gaussians.of(p))
    w, w0 = to_model(*rule_of(model))
    best, attained = mp.mpf(record["optimum"]), error_of(exact, w, w0)
    reported, visible = float(model.model_error_[0]), best > UNDERFLOW
    result = {
        "excess": attained / best - 1,
        "reported": abs(reported / float(attained) - 1) if visible else reported,
        "threshold": 0.0,
        "minimax": 0.0,
        "curve": 0.0,
        # Of the proven bound over the optimum; positive if it is violated.
        "claim": mp.mpf(reported) * (1 - mp.mpf(float(model.gap_[0]))) / best - 1,
    }
    if not model.trivial_[0]:
        # The intercept is one number: its last digit is that of the largest term.
        terms = sum(
            abs(x * y) for x, y in zip(rule_of(model)[0], p.m2.tolist(), strict=True)
        )
        shift = abs(w0 - best_threshold(exact, w)) - terms * mp.mpf("1e-15")
        result["threshold"] = max(float(shift / threshold_scale(exact, w)), 0.0)
    if "curve" in record:
        frontier = Frontier.from_statistics(statistics_of(p), priors=[p.p1, p.p2])
        minimax = float(record["minimax"])
        rates = frontier.at("minimax").error_rates
        if minimax > UNDERFLOW:
            result["minimax"] = np.abs(rates / minimax - 1).max()
        result["curve"] = curve_deviation(frontier, record)
    return result


def curve_deviation(frontier, record):
    low, high = frontier.theta_range
    ends = np.abs([low, high] - np.array(record["theta"], float)).max()
    rates = np.array(frontier.error_rates(low + (high - low) * np.array(SHARES))).T
    expected = np.array(record["curve"], float)
    assert np.all(rates[expected <= UNDERFLOW] <= 1.1 * UNDERFLOW)
    seen = (expected > UNDERFLOW) & (expected < 1 - 1e-9)
    y, truth = ndtri(rates[seen]), ndtri(expected[seen])
    return max(ends, np.max(np.abs(y - truth) / (1 + np.abs(truth)), initial=0.0))


@each_kind
def test_optimum_certificate_error_threshold_and_curve(kind):
    for name, record, p in problems(kind):
        model = fit(p)
        deviation = deviations(record, p, model)
        # No rule is better than the optimum, up to the 20 digits that are kept.
        assert deviation["excess"] >= mp.mpf("-1e-18"), name
        assert deviation["excess"] <= mp.mpf(rounding(record)) ** 2 + 1e-15, name
        blurred = record["condition"] > 1e9 and mp.isnan(deviation["claim"])
        assert deviation["claim"] <= rounding(record) or blurred, name
        for figure in ("reported", "threshold", "minimax"):
            assert deviation[figure] <= rounding(record), (name, figure)
        assert deviation["curve"] <= 100 * rounding(record), name
        assert 0 <= model.gap_[0] <= 1e-3 or blurred, name
        likelier = mp.mpf(min(p.p1, p.p2))
        is_trivial = mp.mpf(record["hyperplane"]) >= likelier * (1 - mp.mpf("1e-12"))
        assert model.trivial_[0] == is_trivial, name


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "global"])
def test_no_other_solver_is_better(solver):
    """Nor does the grid of weights from 0 to 1 reach an optimum outside of it."""
    for name, record, p in problems("named"):
        attained = error_of(Gaussians.of(p), *rule_of(fit(p, solver)))
        best = mp.mpf(record["optimum"])
        assert attained >= best * (1 - mp.mpf("1e-18")), name
        if name == "outside the unit interval" and solver == "c-hld":
            assert attained > best + mp.mpf("1e-7")


@each_kind
def test_threshold_and_error_of_a_given_projection(kind):
    for name, record, p in problems(kind):
        if "projection" not in record:
            continue
        D, s1, s2 = record["projection"]
        tau = np.log([p.p2]) - np.log([p.p1])
        sizes = (np.array([x]) for x in (D, s1, s2))
        t = package.best_threshold(*sizes, tau)[0]
        if record["threshold"] is None:
            assert np.isnan(t), name
            continue
        expected = float(record["threshold"])
        assert abs(t - expected) <= 1e-13 * max(abs(expected), min(s1, s2)), name
        error = float(record["error"])
        if error > UNDERFLOW:
            deviation = package.bayes_error(t, D, s1, s2, p.p1, p.p2)
            assert deviation == pytest.approx(error, rel=1e-10), name


def test_pairs_that_are_separated_for_good():
    separated = [problem_of(one) for one in RECORDS if "hyperplane" not in one]
    assert separated
    for p in separated:
        model, g = fit(p), Gaussians.of(p)
        assert model.model_error_[0] == model.gap_[0] == 0
        w, w0 = rule_of(model)
        assert dot(w, g.m2) < w0 < dot(w, g.m1)
        assert error_of(g, w, w0) < 1e-300


@pytest.mark.check
@each_kind
def test_the_reference_still_gives_these_answers(kind):
    _, kept, p = next(problems(kind))
    assert kept | answers(p) == kept
