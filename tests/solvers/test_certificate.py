"""The certificate under a verifier that shares no code with the solver."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import certificate
from benchmarks.verifier import verify
from helpers.problems import random_pairs
from heterolda.solvers import FixedPoint, Global
from heterolda.solvers import solve as solve_moments
from heterolda.solvers.pencil import Moments

# Slow when traced; quicker tests take the same branches.
pytestmark = pytest.mark.no_cover

PAIR = np.array([[0, 1]])


def solve(means, cov, priors, solver):
    weights = np.array([50.0, 50.0])
    return solve_moments(Moments(means, cov, priors, weights, PAIR), solver)


def test_no_claim_is_violated(request):
    tallies = certificate.check(400, request.config.getoption("--seed"))
    assert sum(t.problems for t in tallies.values()) == 400
    for kind, tally in tallies.items():
        assert tally.proven == tally.problems, kind
        assert tally.refuted == 0, kind
        assert tally.unmet <= 0.1 * tally.problems, kind
        assert tally.hyperplanes > 0.4 * tally.problems, kind
        assert tally.difference < 1e-8, kind


def test_only_bounds_below_the_optimum_are_proven(rng):
    worse = 0
    means, cov, priors, _ = random_pairs(rng, 60, 3, condition=1e3)
    for problem in zip(0.5 * means, cov, priors, strict=True):
        error = solve(*problem, Global(gap=1e-8)).error[0]
        for share in (1e-4, 0.1, 1.0, -1e-6, -1e-3, -0.3):
            verdict = verify(*problem, error * (1 - share))
            assert verdict.proven == (share > 0)
            assert verdict.refuted == (share < 0)
        # The result of Algorithm 1 is refuted wherever a better rule exists.
        local = solve(*problem, FixedPoint()).error[0]
        if local > error * (1 + 1e-6):
            worse += 1
            assert verify(*problem, local).refuted
        # Too few points decide nothing.
        verdict = verify(*problem, error * (1 - 1e-4), most=10)
        assert (verdict.proven, verdict.refuted) == (False, False)
    assert worse > 5


@pytest.mark.usefixtures("numpy_kernels")
def test_false_claims_are_refuted(monkeypatch):
    def boastful(self, pencil, rng):
        """Claim one percent more than there is."""
        rules = solve_honestly(self, pencil, rng)
        return replace(rules, gap=np.full(len(rules.gap), -0.01))

    solve_honestly = Global.solve
    monkeypatch.setattr(Global, "solve", boastful)
    assert sum(t.refuted for t in certificate.check(20, 0).values()) == 20
