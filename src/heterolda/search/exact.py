"""Coordinate search over all real steps for the rule with the fewest training errors.

The relative of the paper's local search in :mod:`heterolda.search.algorithm2`: along a
coordinate the errors change only at the steps that bring a row onto the threshold, so
that sorting these gives the best of all steps. Rules are v = (w0, w), as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Count, Mask
from heterolda.kernels.best_step import best_step
from heterolda.search.algorithm2 import (
    PairRows,
    Reporter,
    SearchResult,
    paper_search,
    report_progress,
)

# Lengths of the perturbations that restarts take in turn, in units of the natural
# scale of each coefficient.
_PERTURBATIONS = (0.1, 0.3, 1.0)
# Standard deviations below this share of the largest value are rounding errors.
_CONSTANT = 1e-12


def exact_search(
    X: Array,
    first: Mask,
    weight: Array | None,
    v: Array,
    *,
    step: float = 0.1,
    max_iter: int = 1000,
    patience: int = 100,
    n_restarts: int = 10,
    rng: np.random.Generator,
    threads: int = 1,
    report: Reporter | None = None,
    copy: bool = True,
) -> SearchResult:
    """Coordinate search over all real steps, with restarts.

    First `paper_search` runs, with the same arguments. Then the coordinates are moved
    one after the other, each to the middle of the interval with the fewest errors if
    they are fewer than now, in sweeps until none improves: from the start, from the
    best rule of the paper's search, and from `n_restarts` perturbations of the best
    rule so far, drawn from `rng`. So there are never more errors than with the paper's
    search, nor than at the start. The history is that of the paper's search and then
    the errors after each sweep, which takes one thread and is reported as an iteration.
    """
    options: dict[str, Any] = {"step": step, "patience": patience, "threads": threads}
    options |= {"max_iter": max_iter, "report": report, "copy": copy}
    paper = paper_search(X, first, weight, v, **options)
    rows = PairRows.from_arrays(X, first, weight)
    path, fewest = list(paper.path), rows.count(paper.v)
    sweeps: list[int] = []
    interrupted = paper.interrupted
    try:
        for restart in range(-2, n_restarts):
            if interrupted or fewest == 0:
                break
            start, order = path[0 if restart == -2 else -1], np.arange(len(v))
            if restart >= 0:
                length = _PERTURBATIONS[restart % len(_PERTURBATIONS)]
                shift = length * rng.normal(size=len(v))
                start = path[-1] + shift * _natural_scales(rows, path[-1])
                order = rng.permutation(len(v))
            for rule, errors in _descend(rows, start, order):
                sweeps.append(errors)
                if errors < fewest:
                    path.append(rule)
                    fewest = errors
                state = np.array([paper.n_iter + len(sweeps), errors, fewest])
                report_progress(report, state, rows.unit)
    except KeyboardInterrupt:
        interrupted = True
    return replace(
        paper,
        path=np.array(path),
        errors=rows.unit * rows.count(path[-1]),
        history=np.append(paper.history, rows.unit * np.array(sweeps)),
        interrupted=interrupted,
    )


def _descend(rows: PairRows, v: Array, order: Count) -> Iterator[tuple[Array, int]]:
    """Sweeps over the coordinates until none improves; a rule and its errors each."""
    v = v.copy()
    before, errors = None, rows.count(v)
    while errors != before:
        before = errors
        margins = _margins(rows.X, v)
        for i in order.tolist():
            step, errors = _try_coordinate(rows, v, margins, i, errors)
            if step != 0:
                v[i] += step
                margins += step * (rows.X[:, i - 1] if i > 0 else -1.0)
        yield v.copy(), errors


def _natural_scales(rows: PairRows, v: Array) -> Array:
    """Changes of each coefficient that shift margins by about their own spread."""
    X, weight = rows.X, rows.weight if len(rows.weight) else None

    def deviation(x: Array) -> float:
        """Standard deviation; zero where it is rounding error."""
        size = float(np.abs(x).max()) or 1.0
        x = x / size
        mean = np.average(x, weights=weight)
        share = float(np.sqrt(np.average((x - mean) ** 2, weights=weight)))
        return size * share if share > _CONSTANT else 0.0

    margins = _margins(X, v)
    spread = deviation(margins) or float(np.max(np.abs(margins))) or 1.0
    # Column by column, because the deviation of all at once takes a copy of the data.
    deviations = [deviation(x) for x in X.T]
    # A constant feature is a second threshold: it needs no perturbation.
    return np.array([spread, *(spread / s if s > 0 else 0.0 for s in deviations)])


def _margins(X: Array, v: Array) -> Array:
    """w.x - w0, added up so that equal rows have equal margins wherever they stand."""
    margins: Array = v[1] * X[:, 0]
    for k in range(1, X.shape[1]):
        margins += v[k + 1] * X[:, k]
    margins -= v[0]
    return margins


def _try_coordinate(
    rows: PairRows, v: Array, margins: Array, i: int, errors: int
) -> tuple[float, int]:
    """Best step of coordinate i and the errors after it; zero if none is better."""
    found = best_step(rows.X, rows.first, rows.weight, margins, i, errors)
    if found is not None:
        # Breakpoints are rounded, so the errors are counted before the step is taken.
        trial = v.copy()
        trial[i] += found[0]
        counted = rows.count(trial)
        if counted < errors:
            return found[0], counted
    return 0.0, errors
