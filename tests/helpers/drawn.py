"""The drawn problems of golden/truth.json, and how far a fit is from the truth."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from golden.make_truth import SHARES
from helpers.problems import fit, statistics_of
from helpers.reference import (
    Gaussians,
    Problem,
    best_threshold,
    error_of,
    floored,
    mp,
    rule_of,
    threshold_scale,
)
from helpers.strategies import KINDS
from heterolda import Frontier

RECORDS = json.loads(
    (Path(__file__).parents[1] / "golden" / "truth.json").read_text(encoding="utf-8")
)
# Where an error underflows, float64 has no more to say than that.
UNDERFLOW = 1e-290


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
    """The problems of a kind that no hyperplane separates for good."""
    records = [r for r in RECORDS if r["kind"] == kind and "curve" in r]
    assert len(records) > 10
    for number, record in enumerate(records):
        yield f"{kind}, number {number}", record, problem_of(record)


@dataclass(frozen=True)
class Deviations:
    """How far a fit is from the truth; all but the last are relative.

    Attributes
    ----------
    excess : mpf
        Of the error of the returned rule over the optimum.
    claim : mpf
        Of the proven bound over the optimum; positive if it is violated.
    reported : float
        Difference of the reported error from that of the returned rule.
    threshold : float
        Of the threshold from the best one, relative to the distance of the means.
    minimax : float
        Of the minimax error rate.
    curve : float
        Of the normal deviates of error rates along the curve, and of its ends.
    """

    excess: mp.mpf
    claim: mp.mpf
    reported: float
    threshold: float
    minimax: float
    curve: float


def deviations(record, p):
    """Fit a problem and compare."""
    model, g = fit(p), Gaussians.of(p)
    exact, to_model = floored(g)
    w, w0 = to_model(*rule_of(model))
    best, attained = mp.mpf(record["optimum"]), error_of(exact, w, w0)
    reported = float(model.bayes_error_[0])
    bound = mp.mpf(reported) * (1 - mp.mpf(float(model.gap_[0])))
    visible = best > UNDERFLOW
    shift = 0.0
    if not model.trivial_[0]:
        # The intercept is one number: its last digit is that of the largest term.
        terms = sum(abs(x * y) for x, y in zip(rule_of(model)[0], g.m2, strict=True))
        shift = abs(w0 - best_threshold(exact, w)) - terms * mp.mpf("1e-15")
        shift = max(float(shift / threshold_scale(exact, w)), 0.0)
    frontier = Frontier.from_statistics(statistics_of(p), priors=[p.p1, p.p2])
    minimax = float(record["minimax"])
    rates = frontier.at("minimax").error_rates
    return Deviations(
        excess=attained / best - 1,
        claim=bound / best - 1,
        reported=abs(reported / float(attained) - 1) if visible else reported,
        threshold=shift,
        minimax=np.abs(rates / minimax - 1).max() if minimax > UNDERFLOW else 0.0,
        curve=_curve(frontier, record),
    )


def _curve(frontier, record):
    """Largest difference along the curve, in the normal deviates of the error rates."""
    low, high = frontier.theta_range
    ends = np.abs([low, high] - np.array(record["theta"], float)).max()
    found = np.array(frontier.error_rates(low + (high - low) * np.array(SHARES))).T
    expected = np.array(record["curve"], float)
    assert np.all(found[expected <= UNDERFLOW] <= 1.1 * UNDERFLOW)
    seen = (expected > UNDERFLOW) & (expected < 1 - 1e-9)
    y, truth = ndtri(found[seen]), ndtri(expected[seen])
    return max(ends, np.max(np.abs(y - truth) / (1 + np.abs(truth)), initial=0.0))


def table():
    """The largest deviations of each kind, as Markdown."""
    lines = [
        "| problems | | excess over the optimum | reported error | threshold "
        "| minimax | curve |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        found = [deviations(record, p) for _, record, p in drawn(kind)]
        cells = [
            f"{float(max(abs(getattr(x, name)) for x in found)):.0e}"
            for name in ("excess", "reported", "threshold", "minimax", "curve")
        ]
        lines.append(f"| {kind} | {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
