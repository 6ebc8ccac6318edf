"""Draw 200 hard problems and solve them with fifty digits: tests/golden/truth.json.

PYTHONPATH=tests python tests/golden/make_truth.py

Hypothesis draws the problems; what is drawn depends on its version, and so they are
kept. The answers come from `reference.py`, which knows nothing of the package. Takes
some minutes. The numbers of a problem are float64 and exact; S1 and S2 are upper
triangles, row by row. Answers are strings of 20 digits:

- ``optimum``: least error of all linear rules, and ``hyperplane``: of all but the
  trivial one;
- ``theta``: ends of the arc of admissible rules, and ``curve``: error rates of both
  classes at some shares of it; ``minimax``: where both are equal;
- ``threshold`` and ``error``: the best along a direction with ``projection`` D,
  sigma1 and sigma2, measured from the mean of class 2; null where none is stationary.

A pair with singular covariances is solved with its variances of zero raised as the
package says it does (``VARIANCE_FLOOR``).
"""

import json
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from helpers import reference
from helpers.reference import Gaussians, mp
from helpers.strategies import KINDS

TARGET = Path(__file__).with_name("truth.json")
EACH = 20
SHARES = (0.01, 0.2, 0.5, 0.8, 0.99)


def drawn(strategy, count):
    """Different examples of a strategy, always the same ones."""
    found = {}

    @seed(2017)
    @settings(
        max_examples=10 * count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(p):
        key = p.m1.tobytes() + p.S1.tobytes() + p.S2.tobytes()
        found.setdefault(key, p)

    collect()
    # Hypothesis begins with simple examples and varies what it has: take some of all.
    problems = list(found.values())
    return [problems[len(problems) * k // count] for k in range(count)]


def digits(x):
    """A number as a string."""
    return mp.nstr(x, 20)


def along(p):
    """The best threshold along the difference of the means."""
    g = Gaussians.of(p)
    w = g.m1 - g.m2
    sizes = reference.dot(w, w), *(reference.deviation(S, w) for S in (g.S1, g.S2))
    projection = [float(x) for x in sizes]
    if min(projection) == 0:
        return {}
    # The problem along w, from the numbers that are kept.
    D, s1, s2 = (mp.matrix([x]) for x in projection)
    one, unit = Gaussians(D, 0 * D, s1**2, s2**2, g.p1, g.p2), mp.matrix([1])
    t = reference.best_threshold(one, unit)
    found = {"projection": projection, "threshold": None}
    if t is not None:
        found |= {
            "threshold": digits(t),
            "error": digits(reference.error_of(one, unit, t)),
        }
    return found


def answers(p):
    """All that is known of a problem."""
    g = Gaussians.of(p)
    if reference.is_separable(g):
        return {"optimum": "0.0"}
    values, _ = reference.spread(g.S1 + g.S2)
    values = [x for x in values if x > mp.mpf("1e-30")]
    model, _ = reference.floored(g)
    best = reference.optimum(model)
    low, high = reference.ends_of_arc(reference.pencil(model)[0])
    curve = [
        reference.errors_of(
            model, *reference.rule_on_arc(model, low + (high - low) * mp.mpf(share))
        )
        for share in SHARES
    ]
    return {
        "condition": float(max(values) / min(values)),
        "optimum": digits(best.error),
        "hyperplane": digits(best.hyperplane_error),
        "theta": [digits(low), digits(high)],
        "curve": [[digits(e1), digits(e2)] for e1, e2 in curve],
        "minimax": digits(reference.minimax_error(model)),
        **along(p),
    }


def record(kind, p):
    """A problem with its answers, for the file."""
    triangle = np.triu_indices(p.dimension)
    return {
        "kind": kind,
        "m1": p.m1.tolist(),
        "m2": p.m2.tolist(),
        "S1": p.S1[triangle].tolist(),
        "S2": p.S2[triangle].tolist(),
        "p1": p.p1,
        **answers(p),
    }


def main():
    """Write the file, a line for each problem."""
    lines = []
    for kind, strategy in KINDS.items():
        lines += [json.dumps(record(kind, p)) for p in drawn(strategy, EACH)]
        print(kind, flush=True)
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
