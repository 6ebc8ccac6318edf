"""Peak memory of a fit, in a child process, as a multiple of the bytes of X.

Two figures: what the allocator was asked for (tracemalloc), and by how much the
resident memory of the process grew beyond its peak before the fit. Both count X itself
as one. The child makes X in place, in small blocks, and fits a few rows first, so that
libraries and their buffers are loaded.

python -m benchmarks.memory METHOD ROWS FEATURES CLASSES TYPE
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.methods import OURS, PEERS, child_environment
from benchmarks.runner import Settings
from benchmarks.shapes import WIDE_SHAPES, Shape, gaussian_classes

TARGET = 1.15
# With fewer rows than features, the rows themselves take the place of matrices.
WIDE_TARGET = 4.0
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Memory:
    """A row of the table of memory."""

    shape: Shape
    method: str
    dtype: str = "float64"
    target: float | None = None
    quick: Shape | None = None

    kind = "memory"

    @property
    def name(self) -> str:
        """What --only looks at."""
        return f"memory: fit {self.method}, {self.dtype}, {self.shape.label}"

    def run(self, settings: Settings) -> dict[str, Any]:
        """Measure and judge."""
        small = settings.quick and self.quick is not None
        shape = self.quick if small else self.shape
        size = [shape.n, shape.d, shape.n_classes]
        command = [sys.executable, "-m", "benchmarks.memory", self.method]
        run = subprocess.run(
            [*command, *map(str, size), self.dtype],
            cwd=ROOT,
            env=child_environment(settings.threads),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        peaks = json.loads(run.stdout)
        largest = max(value for value in peaks.values() if value is not None)
        return {
            "method": f"fit {self.method}",
            "data": f"{shape.label}, {self.dtype}",
            "bytes": shape.n * shape.d * np.dtype(self.dtype).itemsize,
            **peaks,
            "ratio": largest,
            "target": self.target,
            "full_size": not small,
            "met": None if self.target is None else largest <= self.target,
        }


def measurements() -> list[Memory]:
    """Ours in both precisions and the peers."""
    many, fewer = Shape(1_000_000, 50, 5), Shape(200_000, 50, 5)
    rows = [
        Memory(many, "global", dtype, TARGET, fewer) for dtype in ("float64", "float32")
    ]
    rows += [
        Memory(many, peer, quick=fewer)
        for peer in ("LDA svd", "LDA lsqr", "GaussianNB")
    ]
    for wide in WIDE_SHAPES:
        rows.append(Memory(wide, "global", "float64", WIDE_TARGET, WIDE_SHAPES[0]))
        rows.append(Memory(wide, "LDA svd", quick=WIDE_SHAPES[0]))
    # Few rows for many classes: what the pairs take outweighs the data.
    return [*rows, Memory(Shape(20_000, 16, 26), "global")]


def peak_of_process() -> int | None:
    """Largest resident memory of this process so far, in bytes, where it is known.

    Linux: VmHWM, because the figure of `getrusage` starts from that of the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return 1024 * int(peak[1])
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return None


def main(method: str, n: str, d: str, k: str, dtype: str) -> None:
    """Fit in this process and print both peaks."""
    model = clone(OURS.get(method) or PEERS[method])
    shape = Shape(int(n), int(d), int(k))
    small = replace(shape, n=4 * shape.d * shape.n_classes)
    if shape.n < shape.d:
        small = replace(shape, d=shape.n + 101)
    few = gaussian_classes(small, np.dtype(dtype))
    X, y = gaussian_classes(shape, np.dtype(dtype))
    with warnings.catch_warnings(action="ignore"):
        model.fit(*few)
        before = peak_of_process()
        model.fit(X, y)
        after = peak_of_process()
        tracemalloc.start()
        model.fit(X, y)
        traced = tracemalloc.get_traced_memory()[1]
    resident = None if before is None else 1 + (after - before) / X.nbytes
    print(json.dumps({"traced": 1 + traced / X.nbytes, "resident": resident}))


if __name__ == "__main__":
    main(*sys.argv[1:])
