"""Measure what each compiled kernel buys over its Python body.

python -m benchmarks.kernels

Prints the table of CONTRIBUTING.md: processor time in Python over that in C, one thread
of linear algebra, the best of several turns. A kernel is worth its lines if some shape
has 1.5 or more.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    kernels,
)
from heterolda.estimators.gaussians import gaussians
from heterolda.kernels.ordered_scores import ordered_scores
from heterolda.kernels.score_distributions import RowsByClass, score_distributions
from heterolda.solvers.directions import curve_directions, lost_by
from heterolda.statistics.rows import Rows

SHAPES = (
    Shape(150, 4, 3),
    Shape(5_000, 5, 2),
    Shape(5_000, 16, 10),
    Shape(20_000, 16, 26),
    Shape(20_000, 60, 5),
)
# Seconds for each kernel, shape and form.
_SECONDS = 0.5

Call = Callable[[], Any]


def calls(shape: Shape) -> Iterator[tuple[str, Call]]:
    """Yield the name of each kernel, and a call that it does the work of."""
    X, y = gaussian_classes(shape)
    classes, codes = np.unique(y, return_inverse=True)
    model = GaussianLinearDiscriminant(choose_on="model").fit(X, y)
    statistics, committee = model.statistics_, model._committee
    rules = model.coef_, model.intercept_
    plain = GaussianLinearDiscriminant(choose_on="model")
    yield "pair_solver", lambda: plain.fit_statistics(statistics)
    pairs = gaussians(plain, statistics)[0]
    moments, optima = pairs.moments, pairs.solve()
    order, bounds = Rows(X, codes, None, classes).by_class
    Z = (X - moments.means[codes])[order]
    rows = RowsByClass(Z, None, bounds, moments.weights)
    lost = lost_by(moments, pairs.shrinkage.to_pooled, pairs.shrinkage.to_diagonal)
    directions = curve_directions(moments, optima, lost).directions
    yield "score_distributions", lambda: score_distributions(rows, directions)
    yield "ordered_scores", lambda: ordered_scores(X, *rules)
    few = X[: 131_072 // shape.d // shape.n_classes]  # as a block of `predict`
    if shape.n_classes > 2:
        for name, method in ("coupling", "probabilities"), ("winners", "winners"):
            yield name, partial(committee.of_rows, method, few, *rules, few)
    if shape.n_classes <= 3:
        search = LocalNeighborhoodSearch(max_iter=100)
        yield "algorithm2", lambda: search.fit(X, y)
        yield "smoothed_path", lambda: SmoothedLinearDiscriminant().fit(X, y)


def seconds(call: Call) -> float:
    """Return the least processor time of a call."""
    call()
    best, end = np.inf, time.process_time() + _SECONDS
    while time.process_time() < end or best == np.inf:
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    """Print the table."""
    compiled = kernels.compiled
    ratios: dict[str, dict[str, str]] = {}
    for shape in SHAPES:
        for name, call in calls(shape):
            times = []
            for kernels.compiled in (compiled, None):
                times.append(seconds(call))
            kernels.compiled = compiled
            ratios.setdefault(name, {})[shape.label] = f"{times[1] / times[0]:.1f}"
    print("| kernel |", " | ".join(shape.label for shape in SHAPES), "|")
    print("|---|" + "---|" * len(SHAPES))
    for name, row in sorted(ratios.items()):
        cells = [row.get(shape.label, "") for shape in SHAPES]
        print(f"| `{name}` |", " | ".join(cells), "|")


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
        main()
