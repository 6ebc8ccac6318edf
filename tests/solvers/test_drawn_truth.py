"""Error, threshold, curve and optimum against fifty digits, on 200 drawn problems.

`make_truth.py` drew the problems by hypothesis, solved them without any code of the
package, and wrote both down.
"""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings

from golden import make_truth
from helpers.drawn import RECORDS, UNDERFLOW, deviations, drawn, problem_of
from helpers.problems import fit
from helpers.reference import Gaussians, dot, error_of, mp, rule_of
from helpers.strategies import KINDS
from heterolda.solvers.rules import bayes_error, best_threshold

# Slow when traced; quicker tests take the same branches.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.PrecisionWarning"),
]

each_kind = pytest.mark.parametrize("kind", KINDS)


def rounding(record):
    """The smallest eigenvalue of a float64 matrix is uncertain by its condition."""
    return 1e-10 + 1e-15 * record["condition"]


@each_kind
def test_optimum_certificate_error_threshold_and_curve(kind):
    for name, record, p in drawn(kind):
        found = deviations(record, p)
        # No rule is better than the optimum, up to the 20 digits that are kept.
        assert found.excess >= mp.mpf("-1e-18"), name
        assert found.excess <= mp.mpf(rounding(record)) ** 2 + 1e-15, name
        blurred = record["condition"] > 1e9 and mp.isnan(found.claim)
        assert found.claim <= rounding(record) or blurred, name
        assert found.reported <= rounding(record), name
        assert found.threshold <= rounding(record), name
        assert found.minimax <= rounding(record), name
        assert found.curve <= 100 * rounding(record), name
        model = fit(p)
        assert 0 <= model.gap_[0] <= 1e-3 or blurred, name
        likelier = mp.mpf(min(p.p1, p.p2))
        is_trivial = mp.mpf(record["hyperplane"]) >= likelier * (1 - mp.mpf("1e-12"))
        assert model.trivial_[0] == is_trivial, name


def test_threshold_and_error_of_a_given_projection():
    for name, record, p in chain.from_iterable(map(drawn, KINDS)):
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


@pytest.mark.check
@each_kind
def test_what_is_kept_can_be_made_again(kind):
    """The reference still gives these answers, and the strategies such problems."""
    kept = next(r for r in RECORDS if r["kind"] == kind and "curve" in r)
    assert make_truth.record(kind, problem_of(kept)) == kept
    shapes = []

    @settings(max_examples=5)
    @given(KINDS[kind])
    def draw(p):
        shapes.append(p.S1.shape)
        assert np.array_equal(p.S1, p.S1.T)
        assert 0 < p.p1 < 1

    draw()
    assert shapes
