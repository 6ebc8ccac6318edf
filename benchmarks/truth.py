"""Measure how far fits are from solutions to fifty digits, and write docs/trust.md.

PYTHONPATH=tests python -m benchmarks.truth [--report]

The problems and their solutions are those of the tests. Results are kept in
benchmarks/results/truth.json. --report measures nothing.
"""

from __future__ import annotations

import warnings

from benchmarks.pages import Record, command, origin, publish, section_table

FIGURES = "excess", "reported", "threshold", "minimax", "curve"
HEAD = "problems||excess over the optimum|reported error|threshold|minimax|curve"


def measure() -> Record:
    """Return the number of random problems of each kind and the largest deviations."""
    from helpers.problems import fit
    from solvers.test_truth import KINDS, deviations, problems

    record = {}
    for kind in KINDS:
        with warnings.catch_warnings(action="ignore"):
            actual = [deviations(r, p, fit(p)) for _, r, p in problems(kind)]
        largest = {key: max(float(one[key]) for one in actual) for key in FIGURES}
        record[kind] = {"problems": len(actual), **largest}
    return record


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page."""
    rows = [
        (kind, str(row["problems"]), *(f"{max(row[key], 0):.0e}" for key in FIGURES))
        for kind, row in record.items()
    ]
    return {
        "truth": section_table(HEAD, rows),
        "truth, machine": origin("truth", "Fifty digits"),
    }


if __name__ == "__main__":
    command("truth", measure, lambda record: publish("trust", parts(record)))
