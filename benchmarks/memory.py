"""Measure the peak memory of a fit in a child process, in multiples of X.

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.shapes import WIDE_SHAPES, Shape, gaussian_classes
from benchmarks.speed.cases import MODELS
from benchmarks.timing import child_environment

ROOT = Path(__file__).resolve().parent.parent
MANY = Shape(1_000_000, 50, 5)
CASES = [
    (MANY, "GLD", "float64"),
    (MANY, "GLD", "float32"),
    *((MANY, peer, "float64") for peer in ("LDA", "LDA (lsqr)", "GaussianNB")),
    *((shape, name, "float64") for shape in WIDE_SHAPES for name in ("GLD", "LDA")),
    # Few rows for many classes: what the pairs take outweighs the data.
    (Shape(20_000, 16, 26), "GLD", "float64"),
]


def measured() -> list[dict[str, Any]]:
    """Return the peaks of all cases."""
    entries = []
    for shape, name, dtype in CASES:
        size = map(str, (shape.n, shape.d, shape.n_classes))
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", name, *size, dtype],
            cwd=ROOT,
            env=child_environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        entries.append(
            {
                "method": f"fit {name}",
                "data": f"{shape.label}, {dtype}",
                "bytes": shape.n * shape.d * np.dtype(dtype).itemsize,
                **json.loads(run.stdout),
            }
        )
    return entries


def peak_of_process() -> int | None:
    """Return the largest resident memory of this process so far; None if not known.

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
    model = clone(MODELS[method])
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
