"""How often the interval of `evaluate` holds the error of the model on new rows.

Rows are independent, or come in groups, each with a shift of its own. The error of the
model fitted to all rows is measured on many new rows, or on rows of many new groups.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from benchmarks.pages import Record, section_table
from heterolda import GaussianLinearDiscriminant, SmoothedLinearDiscriminant, evaluate

Array = NDArray[np.float64]
DRAWS, N_FEATURES, N_GROUPS = 300, 4, 20
N_NEW = 20_000
MODELS = {
    "GaussianLinearDiscriminant": GaussianLinearDiscriminant(),
    "SmoothedLinearDiscriminant": SmoothedLinearDiscriminant(),
}
# Kinds of rows: number of rows, standard deviation of the shifts of groups, and the
# least coverage that is promised.
ROWS = {
    "60 independent rows": (60, 0.0, 0.92),
    "200 independent rows": (200, 0.0, 0.92),
    "1,000 independent rows": (1000, 0.0, 0.92),
    "20 groups of 10 rows": (200, 1.0, 0.9),
    "20 groups of 50 rows": (1000, 1.0, 0.9),
}
# Probability that `violations` finds any in a study without one.
LEVEL = 0.01


def rows_of(
    rng: Generator, n: int, shift: float, n_groups: int
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Draw rows of two classes of unequal covariance, and their groups."""
    y, groups = rng.integers(0, 2, n), np.arange(n) % n_groups
    X = rng.normal(size=(n, N_FEATURES)) * np.where(y, 1.6, 1.0)[:, None] + y[:, None]
    X += shift * rng.normal(size=(n_groups, N_FEATURES))[groups]
    return X, y, groups


@dataclass
class Cell:
    """Intervals of a model and a kind of rows, and how many hold the error."""

    rows: str
    model: str
    draws: int
    held: int
    held_without_groups: int
    width: float  # mean, in points

    @property
    def p_value(self) -> float:
        """Return the probability of so few, if as many are held as is promised."""
        return float(stats.binom.cdf(self.held, self.draws, ROWS[self.rows][2]))


def cell(rows: str, model: str, draws: int, rng: Generator) -> Cell:
    """Evaluate a model on so many samples."""
    n, shift, _ = ROWS[rows]
    counts, widths = np.zeros(2, int), []
    for _ in range(draws):
        X, y, groups = rows_of(rng, n, shift, N_GROUPS)
        with warnings.catch_warnings(action="ignore"):
            fitted = MODELS[model].fit(X, y)
            results = [evaluate(MODELS[model], X, y)]
            if shift:
                results.insert(0, evaluate(MODELS[model], X, y, groups=groups))
        new, labels, _ = rows_of(rng, N_NEW, shift, N_NEW // (n // N_GROUPS))
        error = np.mean(fitted.predict(new) != labels)
        held = [
            low <= error <= high for low, high in (r.error_interval for r in results)
        ]
        counts += [held[0], held[-1]]
        widths.append(100 * float(np.diff(results[0].error_interval)[0]))
    ours, without = counts.tolist()
    return Cell(rows, model, draws, ours, without, float(np.mean(widths)))


def violations(cells: list[Cell]) -> list[Cell]:
    """Return cells that break the promise, at level LEVEL together."""
    return [one for one in cells if one.p_value <= LEVEL / len(cells)]


def measure() -> Record:
    """Return all cells."""
    rng = np.random.default_rng(0)
    cells = [cell(rows, model, DRAWS, rng) for rows in ROWS for model in MODELS]
    return {"cells": [asdict(one) for one in cells]}


def parts(record: Record) -> dict[str, str]:
    """Return the table of the page."""
    table = []
    for one in record["cells"]:
        n = one["draws"]
        without = f"{100 * one['held_without_groups'] / n:.1f} %"
        table.append(
            (
                one["rows"],
                one["model"],
                f"{n:,}",
                f"{100 * one['held'] / n:.1f} %",
                without if ROWS[one["rows"]][1] else "",
                f"{one['width']:.1f}",
            )
        )
    head = "rows|model|samples|error held|without groups|mean width in points"
    return {"intervals": section_table(head, table)}
