"""Check the certificate of the global solver with an independent verifier.

python -m benchmarks.certificate [--report]

Draws problems of ten kinds, solves them to four gaps, and has `benchmarks.verifier`
prove every claimed lower bound. The result is kept in
benchmarks/results/certificate.json and written into docs/trust.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.pages import Record, command, origin, publish, section_table
from benchmarks.verifier import error_of_rule, verify
from heterolda.solvers import Global, solve
from heterolda.solvers.pencil import Moments

Array = NDArray[np.float64]
Problem = tuple[Array, Array, Array]

PROBLEMS, GAPS = 10_000, (1e-2, 1e-3, 1e-4, 1e-5)
_PAIR = np.array([[0, 1]])


def covariance(rng: Generator, d: int, condition: float) -> Array:
    """Return a rotated matrix with eigenvalues between 1 / condition and 1."""
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    S = (axes * condition ** -rng.uniform(0, 1, d)) @ axes.T
    return 0.5 * (S + S.T)


def draw(
    rng: Generator,
    dimensions: tuple[int, int] = (2, 10),
    condition: float = 1e3,
    distance: tuple[float, float] = (-1.5, 0.5),
    rarest: float = 0.02,
    likeness: tuple[float, float] | None = None,
) -> Problem:
    """Draw means, covariances and priors of two classes.

    Distances are powers of ten, in deviations; a likeness is the power of ten of the
    share by which the covariances differ.
    """
    d = int(rng.integers(dimensions[0], dimensions[1] + 1))
    S = np.array([covariance(rng, d, condition) for _ in range(2)])
    if likeness is not None:
        S[1] = S[0] + 10 ** rng.uniform(*likeness) * S[1]
    S *= 10 ** rng.uniform(-1, 1, (2, 1, 1)) if likeness is None else 1.0
    step = rng.normal(size=d)
    step *= 10 ** rng.uniform(*distance) / np.linalg.norm(step)
    means = np.tile(rng.normal(size=d), (2, 1))
    means[0] += np.linalg.cholesky(S.sum(axis=0)) @ step
    p = 10 ** rng.uniform(np.log10(rarest), np.log10(0.5))
    return means, S, rng.permutation([p, 1 - p])


KINDS: dict[str, Callable[[Generator], Problem]] = {
    "one dimension": lambda rng: draw(rng, (1, 1)),
    "two dimensions": lambda rng: draw(rng, (2, 2)),
    "3 to 10 dimensions": lambda rng: draw(rng, (3, 10)),
    "11 to 40 dimensions": lambda rng: draw(rng, (11, 40)),
    "condition up to 1e8": lambda rng: draw(rng, condition=1e8),
    "priors down to 1e-6": lambda rng: draw(rng, distance=(-0.5, 1.0), rarest=1e-6),
    "nearly equal covariances": lambda rng: draw(rng, likeness=(-12, -1)),
    "nearly equal means": lambda rng: draw(rng, distance=(-9, -2)),
    "well separated": lambda rng: draw(rng, distance=(0.5, 1.3)),
    "several minima": lambda rng: draw(rng, (2, 4), 1e6, (-1.5, -0.5), 0.3),
}


@dataclass
class Tally:
    """Count the claims of a kind and their verdicts."""

    problems: int = 0
    proven: int = 0
    refuted: int = 0
    unmet: int = 0
    hyperplanes: int = 0
    points: int = 0
    difference: float = 0.0

    def add(self, problem: Problem, gap: float) -> None:
        """Solve a problem and verify its claim."""
        means, S, priors = problem
        weights = np.full(2, 50.0)
        planes = solve(Moments(means, S, priors, weights, _PAIR), Global(gap=gap))
        error = float(planes.error[0])
        verdict = verify(means, S, priors, error * (1 - float(planes.gap[0])))
        again = error_of_rule(planes.coef[0], planes.intercept[0], means, S, priors)
        self.problems += 1
        self.proven += verdict.proven
        self.refuted += verdict.refuted
        self.unmet += bool(planes.gap[0] > gap)
        self.hyperplanes += not planes.trivial[0]
        self.points = max(self.points, verdict.n_points)
        self.difference = max(self.difference, abs(again - error) / error)


def check(problems: int, seed: int) -> dict[str, Tally]:
    """Verify a number of claims, in turn of each kind."""
    tallies = {kind: Tally() for kind in KINDS}
    rng = np.random.default_rng(seed)
    for number in range(problems):
        kind = list(KINDS)[number % len(KINDS)]
        gap = GAPS[number // len(KINDS) % len(GAPS)]
        tallies[kind].add(KINDS[kind](rng), gap)
    return tallies


def measure() -> Record:
    """Return the tally of each kind."""
    return {kind: asdict(tally) for kind, tally in check(PROBLEMS, seed=0).items()}


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page, from a tally for each kind."""
    problems, proven, refuted = (
        sum(tally[key] for tally in record.values())
        for key in ("problems", "proven", "refuted")
    )
    counts = "problems", "hyperplanes", "proven", "refuted", "points"
    rows = [
        (kind, *(f"{t[key]:,}" for key in counts), f"{t['difference']:.0e}")
        for kind, t in record.items()
    ]
    head = "problems|claims|hyperplanes|proven|violated|most points|error, recomputed"
    return {
        "certificate": f"**{proven:,} claims proven, {refuted:,} violated, "
        f"{problems - proven - refuted:,} undecided.**",
        "certificate, kinds": section_table(head, rows),
        "certificate, machine": origin("certificate", "Certificate"),
    }


if __name__ == "__main__":
    command("certificate", measure, lambda record: publish("trust", parts(record)))
