"""How far fits are from solutions to fifty digits.

The problems and their solutions are those of tests/solvers/test_truth.py.
"""

from __future__ import annotations

import warnings

from benchmarks.pages import Record, section_table

FIGURES = "excess", "reported", "threshold", "minimax", "curve"
HEAD = "problems||excess over the optimum|reported error|threshold|minimax|curve"


def cell(kind: str) -> Record:
    """Return the number of problems of a kind and the largest deviations."""
    from helpers.problems import fit
    from solvers.test_truth import deviations, problems

    with warnings.catch_warnings(action="ignore"):
        actual = [deviations(r, p, fit(p)) for _, r, p in problems(kind)]
    largest = {key: max(float(one[key]) for one in actual) for key in FIGURES}
    return {"problems": len(actual), **largest}


def measure() -> Record:
    """Return the cell of each kind."""
    from solvers.test_truth import KINDS

    return {kind: cell(kind) for kind in KINDS}


def parts(record: Record) -> dict[str, str]:
    """Return the table of the page."""
    rows = [
        (kind, str(row["problems"]), *(f"{max(row[key], 0):.0e}" for key in FIGURES))
        for kind, row in record.items()
    ]
    return {"fifty digits": section_table(HEAD, rows)}
