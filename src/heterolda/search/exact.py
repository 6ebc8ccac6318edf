"""Search over all real steps for the rule with the fewest training errors.

The relative of the paper's local search in :mod:`heterolda.search.algorithm2`: along a
line of rules the errors change only at the steps that bring a row onto the threshold,
so that sorting these gives the best of all steps. Rules are v = (w0, w), as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.foundations.types import Array, Mask
from heterolda.kernels.best_step import best_step
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.search.algorithm2 import (
    PairRows,
    Reporter,
    SearchResult,
    paper_search,
    report_progress,
)
from heterolda.search.smooth import Coordinates, median_size

# Lengths of the perturbations that restarts take in turn: changes of the margins in
# units of their median size, by each of the uncorrelated rules.
_PERTURBATIONS = (0.1, 0.3, 1.0)
# Random directions that a sweep tries besides the coordinates. Where features are
# correlated, the coordinates alone soon get stuck.
_N_DIRECTIONS = 15


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
    """Search along lines of rules, over all real steps, with restarts.

    First `paper_search` runs, with the same arguments. Then rules are moved in sweeps
    until none improves. A sweep takes one coordinate after the other, and goes to the
    middle of the interval with the fewest errors if they are fewer than now: from the
    start, from the best rule of the paper's search, and from `n_restarts` perturbations
    of the best rule so far, of equals the last. For these, drawn from `rng`, a sweep
    has random directions besides the coordinates, and both these and the perturbations
    are the same for all linear maps of the features. So there are never more errors
    than with the paper's search, nor than at the start. The history is that of the
    paper's search and then the errors after each sweep, which takes one thread and is
    reported as an iteration.
    """
    options: dict[str, Any] = {"step": step, "patience": patience, "threads": threads}
    options |= {"max_iter": max_iter, "report": report, "copy": copy}
    paper = paper_search(X, first, weight, v, **options)
    rows = PairRows.from_arrays(X, first, weight)
    path, fewest = list(paper.path), rows.count(paper.v)
    best, lines = paper.v, _Lines(rows, rng)
    sweeps: list[int] = []
    interrupted = paper.interrupted
    try:
        for restart in range(-2, n_restarts):
            if interrupted or fewest == 0:
                break
            start = paper.path[0] if restart == -2 else paper.v
            if restart >= 0:
                length = _PERTURBATIONS[restart % len(_PERTURBATIONS)]
                start = best + length * lines.perturbation(best)
            for rule, errors in lines.descend(start, restart >= 0):
                sweeps.append(errors)
                if errors <= fewest:
                    best = rule
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


class _Lines:
    """Moves of the rules of some rows along lines.

    Parameters
    ----------
    rows : PairRows
        The rows.
    rng : Generator
        Draws the lines.
    """

    def __init__(self, rows: PairRows, rng: np.random.Generator):
        self.rows = rows
        self.rng = rng
        weighted = len(rows.weight) > 0
        self._weight = rows.weight.astype(float) if weighted else np.ones(len(rows.X))

    @cached_property
    def _uncorrelated(self) -> Array:
        """Rules with uncorrelated scores of variance one, and the constant one."""
        weight = self._weight / self._weight.sum()
        found = Coordinates.from_rows(self.rows.X, weight)
        normals, offsets = found.rules(np.eye(found.Z.shape[1]))
        return np.column_stack([-offsets, normals])

    def _draw(self, n: int) -> Array:
        """Random combinations of the uncorrelated rules."""
        draws: Array = self.rng.normal(size=(n, len(self._uncorrelated)))
        return draws @ self._uncorrelated

    def perturbation(self, v: Array) -> Array:
        """A random rule whose scores are about as large as those of v."""
        size = median_size(self._margins(v), self._weight)
        shift: Array = size * self._draw(1)[0]
        return shift

    def _margins(self, v: Array) -> Array:
        """w.x - w0; equal rows have equal margins wherever they stand."""
        margins: Array = ordered_scores(self.rows.X, v[None, 1:], -v[:1])[:, 0]
        return margins

    def descend(self, v: Array, randomly: bool) -> Iterator[tuple[Array, int]]:
        """Sweeps until none improves; a rule and its errors each."""
        before, errors = None, self.rows.count(v)
        while errors != before:
            before = errors
            others = self._draw(_N_DIRECTIONS) if randomly else np.empty((0, len(v)))
            order = np.arange(len(v) + len(others))
            if randomly:
                self.rng.shuffle(order)
            margins = self._margins(v)
            for i in order.tolist():
                direction = None if i < len(v) else others[i - len(v)]
                v, margins, errors = self._move(v, margins, errors, i, direction)
            yield v, errors

    def _move(
        self, v: Array, margins: Array, errors: int, i: int, direction: Array | None
    ) -> tuple[Array, Array, int]:
        """The best rule along a direction or else coordinate i, if it is better."""
        X, first, weight = self.rows.X, self.rows.first, self.rows.weight
        if direction is not None:
            X, i = self._margins(direction)[:, None], 1
        found = best_step(X, first, weight, margins, i, errors)
        if found is None:
            return v, margins, errors
        step, trial = found[0], v.copy()
        if direction is None:
            trial[i] += step
        else:
            trial += step * direction
        # Breakpoints are rounded, so the errors are counted before the step is taken.
        counted = self.rows.count(trial)
        if counted >= errors:
            return v, margins, errors
        return trial, margins + step * (X[:, i - 1] if i > 0 else -1.0), counted
