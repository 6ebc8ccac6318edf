"""Where the time of a fit goes: its stages one by one, beside the whole and LDA.

In one thread, so that the stages add up. All of them take turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.methods import PEERS
from benchmarks.runner import Settings
from benchmarks.shapes import PAPER_SHAPES, Shape, load
from heterolda import ClassStatistics, GaussianLinearDiscriminant, Global
from heterolda.solvers import Moments, solve
from heterolda.statistics.rows import validated

# The columns, in seconds; then the whole fit and LDA's.
STAGES = ("validation", "statistics", "rules", "eigh", "model")


@dataclass(frozen=True)
class Stages:
    """A row of the table of stages."""

    shape: Shape

    kind = "stages"

    @property
    def name(self) -> str:
        """What --only looks at."""
        return f"stages of a fit: {self.shape.label}"

    def run(self, settings: Settings) -> dict[str, Any]:
        """Median time of each stage, of the whole fit and of LDA's."""
        calls = stages(*load(self.shape))
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
            for call in calls.values():
                call()  # not counted: loads, fills caches
            for _ in range(settings.repetitions):
                for name, call in calls.items():
                    begin = time.perf_counter()
                    call()
                    seconds[name].append(time.perf_counter() - begin)
        medians = {name: float(np.median(times)) for name, times in seconds.items()}
        return {"data": self.shape.label, "source": self.shape.source, **medians}


def stages(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The stages of a fit of `Global`, each as a call of its own."""
    model = GaussianLinearDiscriminant(guard=False)
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, y)
    pairs = model.pairs_
    rows = validated(X, y)

    def validation() -> None:
        validated(X, y, estimator=model)

    def statistics() -> np.ndarray:
        return ClassStatistics.from_rows(rows).covariances()

    covariances = statistics()
    weights = model.statistics_.weights
    moments = model.statistics_.means, covariances, model.priors_, weights
    matrices = covariances[pairs[:, 0]]
    return {
        "validation": validation,
        "statistics": statistics,
        "rules": lambda: solve(Moments(*moments, pairs), Global()),
        "eigh": lambda: np.linalg.eigh(matrices),
        "model": lambda: clone(model).fit(X, y),
        "fit": lambda: GaussianLinearDiscriminant().fit(X, y),
        "LDA svd": lambda: clone(PEERS["LDA svd"]).fit(X, y),
    }


def measurements() -> list[Stages]:
    """The study's shapes."""
    return [Stages(shape) for shape in PAPER_SHAPES]
