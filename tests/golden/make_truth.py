"""Solve the hard problems of tests/golden/truth.json with fifty digits, again.

PYTHONPATH=tests python tests/golden/make_truth.py

Twenty problems of each of ten kinds were drawn at random; those of the kind "named"
were written by hand. The answers come from `reference.py`, which knows nothing of the
package. Takes some minutes. The numbers of a problem are float64 and exact; S1 and S2
are upper triangles, row by row. Answers are strings of 20 digits:

- ``optimum``: least error of all linear rules, and ``hyperplane``: of all but the
  trivial one;
- ``theta``: ends of the arc of admissible rules, and ``curve``: error rates of both
  classes at some shares of it; ``minimax``: where both are equal;
- ``threshold`` and ``error``: the best along a direction with ``projection`` D,
  sigma1 and sigma2, measured from the mean of class 2; null where none is stationary.

A pair with singular covariances is solved with its variances of zero raised as the
package says it does (``VARIANCE_FLOOR``). A pair with equal means has no arc.
"""

import json
from pathlib import Path

import numpy as np

from helpers import reference
from helpers.reference import Gaussians, Problem, mp

TARGET = Path(__file__).with_name("truth.json")
SHARES = (0.01, 0.2, 0.5, 0.8, 0.99)


def digits(x):
    """A number as a string."""
    return mp.nstr(x, 20)


def symmetric(triangle, d):
    """The matrix of an upper triangle."""
    S = np.zeros((d, d))
    S[np.triu_indices(d)] = triangle
    return S + np.triu(S, 1).T


def problem_of(record):
    """The problem of a record of the file."""
    m1, m2 = np.array(record["m1"]), np.array(record["m2"])
    S1, S2 = (symmetric(record[name], len(m1)) for name in ("S1", "S2"))
    return Problem(m1, m2, S1, S2, record["p1"])


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
    if t is None:
        return {"projection": projection, "threshold": None}
    error = digits(reference.error_of(one, unit, t))
    return {"projection": projection, "threshold": digits(t), "error": error}


def answers(p):
    """Return everything that the reference computes about a problem."""
    g = Gaussians.of(p)
    if reference.is_separable(g):
        return {"optimum": "0.0"}
    values, _ = reference.spread(g.S1 + g.S2)
    values = [x for x in values if x > mp.mpf("1e-30")]
    model, _ = reference.floored(g)
    best = reference.optimum(model)
    result = {
        "condition": float(max(values) / min(values)),
        "optimum": digits(best.error),
        "hyperplane": digits(best.hyperplane_error),
    }
    if not any(p.m1 - p.m2):
        return result
    low, high = reference.ends_of_arc(reference.pencil(model)[0])
    curve = [
        reference.errors_of(
            model, *reference.rule_on_arc(model, low + (high - low) * mp.mpf(share))
        )
        for share in SHARES
    ]
    return result | {
        "theta": [digits(low), digits(high)],
        "curve": [[digits(e1), digits(e2)] for e1, e2 in curve],
        "minimax": digits(reference.minimax_error(model)),
        **along(p),
    }


def main():
    """Write the file, a line for each problem."""
    records = json.loads(TARGET.read_text(encoding="utf-8"))
    given = ("kind", "name", "m1", "m2", "S1", "S2", "p1")
    lines = []
    for record in records:
        kept = {name: record[name] for name in given if name in record}
        lines.append(json.dumps(kept | answers(problem_of(record))))
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
