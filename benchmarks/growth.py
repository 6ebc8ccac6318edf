"""How the time to fit grows with rows, features and classes.

Every round goes through all sizes and all methods, so that each sees the same
disturbances. The exponent is the slope of log time against log size over the largest
sizes, one for each round; its median and quartiles are reported.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.methods import GRAM, PEERS, fitting
from benchmarks.runner import Call, Method, Settings, judged
from benchmarks.shapes import Shape, gaussian_classes

# The cost n d^2 + K^2 d^3 has these exponents; caches and noise may add a little.
EXPONENTS = {"n": 1, "d": 3, "K": 2}
ALLOWANCE = 0.1
# Sizes at the upper end that the exponent is fitted to.
FITTED = 4


@dataclass(frozen=True)
class Sweep:
    """Times of many methods at several sizes along one axis."""

    axis: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    base: Shape

    kind = "growth"

    @property
    def name(self) -> str:
        """What --only looks at."""
        return f"growth in {self.axis}"

    def at(self, size: int) -> Shape:
        """The shape of one size."""
        whole = {"n": self.base.n, "d": self.base.d, "K": self.base.n_classes}
        return Shape(*(whole | {self.axis: size}).values())

    @property
    def fixed(self) -> str:
        """The sizes that stay."""
        whole = {"n": self.base.n, "d": self.base.d, "K": self.base.n_classes}
        return ", ".join(f"{k} = {v:,}" for k, v in whole.items() if k != self.axis)

    def run(self, settings: Settings) -> dict[str, Any]:
        """Measure all curves."""
        sizes = self.quick_sizes if settings.quick else self.sizes
        methods = [fitting("global"), *map(fitting, PEERS), GRAM]
        with warnings.catch_warnings(action="ignore"):
            curves = measure(methods, [self.at(size) for size in sizes], settings)
        target = EXPONENTS[self.axis] + ALLOWANCE
        lines = []
        for method, times in zip(methods, curves, strict=True):
            ours = method is methods[0]
            reached = times.shape[1]
            line = {"method": method.name, "sizes": list(sizes[:reached])}
            line["seconds"] = np.median(times, axis=0).tolist()
            if reached >= 3:
                slopes = exponents(np.array(sizes[:reached]), times)
                verdict = judged(slopes, target if ours else None)
                line |= {"exponent": verdict.pop("ratio"), **verdict}
            lines.append(line)
        return {
            "axis": self.axis,
            "fixed": self.fixed,
            "target": target,
            "lines": lines,
            "full_size": not settings.quick,
        }


def calls_within(
    method: Method, data: list[tuple[Any, Any]], settings: Settings
) -> list[Call]:
    """Calls at growing sizes; ends where the next is likely to take too long."""
    calls: list[Call] = []
    before = now = 0.0
    for X, y in data:
        if now * max(now / before if before else 1.0, 1.0) > settings.longest:
            break
        calls.append(method.prepare(X, y, settings))
        before, now = now, method.timed(calls[-1])[0]
    return calls


def measure(
    methods: list[Method], shapes: list[Shape], settings: Settings
) -> list[np.ndarray]:
    """Times of each method, shape (rounds, sizes it reached)."""
    data = [gaussian_classes(shape) for shape in shapes]
    calls = [calls_within(method, data, settings) for method in methods]
    rounds: list[list[list[float]]] = [[] for _ in methods]
    begin = time.perf_counter()
    for turn in range(settings.repetitions):
        late = time.perf_counter() - begin > 10 * settings.longest
        if late and turn >= settings.minimum:
            break
        for method, reached, times in zip(methods, calls, rounds, strict=True):
            times.append([method.timed(call)[0] for call in reached])
    return [np.array(times) for times in rounds]


def exponents(sizes: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Slopes of the upper ends of log-log curves, one for each round."""
    x, y = np.log(sizes[-FITTED:]), np.log(times[:, -FITTED:])
    x = x - x.mean()
    return y @ x / (x @ x)


def sweeps() -> list[Sweep]:
    """Rows, features and classes."""
    return [
        Sweep(
            "n",
            (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
            (1_000, 3_000, 10_000, 30_000, 100_000),
            Shape(0, 20, 4),
        ),
        Sweep(
            "d",
            (4, 8, 16, 32, 64, 128, 256, 512),
            (4, 8, 16, 32, 64),
            Shape(10_000, 0, 4),
        ),
        Sweep("K", (2, 4, 8, 16, 32, 64), (2, 4, 8, 16, 32), Shape(10_000, 16, 0)),
    ]
