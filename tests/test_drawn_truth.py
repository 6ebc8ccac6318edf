"""Error, threshold, curve and optimum against fifty digits, on 200 drawn problems.

`make_truth.py` drew the problems by hypothesis, solved them without any code of the
package, and wrote both down.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from scipy.special import ndtri

import make_truth
from heterolda import Frontier
from heterolda.pencil import bayes_error, best_threshold
from problems import fit, statistics_of
from reference import (
    Gaussians,
    Problem,
    dot,
    error_of,
    floored,
    mp,
    rule_of,
    threshold_scale,
)
from reference import (
    best_threshold as exact_threshold,
)
from strategies import KINDS

RECORDS = json.loads(
    (Path(__file__).parent / "data" / "truth.json").read_text(encoding="utf-8")
)
# Where an error underflows, float64 has no more to say than that.
UNDERFLOW = 1e-290

each_kind = pytest.mark.parametrize("kind", KINDS)


def problem_of(record):
    d = len(record["m1"])

    def matrix(triangle):
        S = np.zeros((d, d))
        S[np.triu_indices(d)] = triangle
        return S + np.triu(S, 1).T

    return Problem(
        np.array(record["m1"]),
        np.array(record["m2"]),
        matrix(record["S1"]),
        matrix(record["S2"]),
        record["p1"],
    )


def drawn(kind):
    """The problems of a kind that some hyperplane does not separate for good."""
    records = [r for r in RECORDS if r["kind"] == kind and "curve" in r]
    assert len(records) > 10
    for number, record in enumerate(records):
        yield f"{kind}, number {number}", record, problem_of(record)


def rounding(record):
    """The smallest eigenvalue of a float64 matrix is uncertain by its condition."""
    return 1e-10 + 1e-15 * record["condition"]


def test_there_are_two_hundred_problems_and_none_is_easy():
    assert len(RECORDS) == 200
    assert {r["kind"] for r in RECORDS} == set(KINDS)
    assert {len(r["m1"]) for r in RECORDS} >= {1, 2, 3, 4, 5, 6}
    assert max(r.get("condition", 0) for r in RECORDS) > 1e11
    assert min(r["p1"] for r in RECORDS) < 1e-8
    trivial = sum(mp.mpf(r["optimum"]) == min(r["p1"], 1 - r["p1"]) for r in RECORDS)
    assert trivial < 30


@each_kind
def test_optimum_certificate_and_error(kind):
    for name, record, p in drawn(kind):
        model = fit(p)
        exact, to_model = floored(Gaussians.of(p))
        best = mp.mpf(record["optimum"])
        attained = error_of(exact, *to_model(*rule_of(model)))
        # No rule is better than ours, but for 20 digits of what is kept.
        assert best <= attained * (1 + mp.mpf("1e-18")), name
        assert attained <= best * (1 + mp.mpf(rounding(record)) ** 2 + 1e-15), name

        reported, gap = float(model.bayes_error_[0]), float(model.gap_[0])
        assert 0 <= gap <= 1e-3, name
        assert reported * (1 - gap) <= best * (1 + rounding(record)), name
        if best > UNDERFLOW:
            assert reported == pytest.approx(float(attained), rel=rounding(record)), (
                name
            )
        else:
            assert reported < UNDERFLOW, name
        likelier = min(exact.p1, exact.p2)
        is_trivial = mp.mpf(record["hyperplane"]) >= likelier * (1 - mp.mpf("1e-12"))
        assert model.trivial_[0] == is_trivial, name


@each_kind
def test_threshold_is_the_best_of_its_direction(kind):
    for name, record, p in drawn(kind):
        model = fit(p)
        if model.trivial_[0]:
            continue
        g = Gaussians.of(p)
        exact, to_model = floored(g)
        w, w0 = to_model(*rule_of(model))
        expected = exact_threshold(exact, w)
        # The intercept is one number: its last digit is that of the largest term.
        terms = sum(abs(x * y) for x, y in zip(rule_of(model)[0], g.m2, strict=True))
        allowed = rounding(record) * threshold_scale(exact, w) + terms * 1e-15
        assert abs(w0 - expected) <= allowed, name


@each_kind
def test_threshold_and_error_of_a_given_projection(kind):
    for name, record, p in drawn(kind):
        if "projection" not in record:
            continue
        D, s1, s2 = record["projection"]
        tau = np.log([p.p2]) - np.log([p.p1])
        t = best_threshold(np.array([D]), np.array([s1]), np.array([s2]), tau)[0]
        if record["threshold"] is None:
            assert np.isnan(t), name
            continue
        expected = float(record["threshold"])
        assert abs(t - expected) <= 1e-13 * max(abs(expected), min(s1, s2)), name
        error = float(record["error"])
        if error > UNDERFLOW:
            found = bayes_error(t, D, s1, s2, p.p1, p.p2)
            assert found == pytest.approx(error, rel=1e-10), name


@each_kind
def test_curve_and_minimax(kind):
    for name, record, p in drawn(kind):
        frontier = Frontier.from_statistics(statistics_of(p), priors=[p.p1, p.p2])
        low, high = frontier.theta_range
        ends = [float(x) for x in record["theta"]]
        assert_allclose([low, high], ends, atol=rounding(record), err_msg=name)
        theta = low + (high - low) * np.array(make_truth.SHARES)
        found = np.array(frontier.error_rates(theta)).T
        expected = np.array(record["curve"], float)
        # Deviates are compared, because a far tail magnifies any difference.
        seen = (expected > UNDERFLOW) & (expected < 1 - 1e-9)
        assert_allclose(
            ndtri(found[seen]),
            ndtri(expected[seen]),
            rtol=100 * rounding(record),
            atol=100 * rounding(record),
            err_msg=name,
        )
        assert np.all(found[expected <= UNDERFLOW] <= 1.1 * UNDERFLOW), name
        minimax = float(record["minimax"])
        if minimax > UNDERFLOW:
            rates = frontier.at("minimax").error_rates
            assert_allclose(rates, minimax, rtol=rounding(record), err_msg=name)


def test_pairs_that_are_separated_for_good():
    found = 0
    for record in RECORDS:
        if "curve" not in record:
            p = problem_of(record)
            model = fit(p)
            assert model.bayes_error_[0] == model.gap_[0] == 0
            w, w0 = rule_of(model)
            assert dot(w, Gaussians.of(p).m2) < w0 < dot(w, Gaussians.of(p).m1)
            assert error_of(Gaussians.of(p), w, w0) < 1e-300
            found += 1
    assert found > 0


@each_kind
def test_the_kept_problems_can_be_drawn_again(kind):
    """The strategies still make problems of the same kind, and the reference works."""
    kept = next(r for r in RECORDS if r["kind"] == kind and "curve" in r)
    again = make_truth.record(kind, problem_of(kept))
    assert again == kept
    shapes = []

    @settings(max_examples=5)
    @given(KINDS[kind])
    def draw(p):
        shapes.append(p.S1.shape)
        assert np.array_equal(p.S1, p.S1.T)
        assert 0 < p.p1 < 1

    draw()
    assert shapes
