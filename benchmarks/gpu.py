"""Measure on a GPU, and write the table of docs/speed.md.

python -m benchmarks.gpu [--page] [--smoke]

Results are kept in benchmarks/results/gpu.json. --page measures nothing and writes the
table, from what was measured on another machine. --smoke runs everything on tiny data
by PyTorch on the processor, and writes nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import heterolda
from benchmarks.pages import (
    figure,
    publish,
    read_record,
    section_table,
    timed,
    write_record,
)
from heterolda import ClassStatistics, GaussianLinearDiscriminant

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "gpu.json"
TURNS, BUDGET = 11, 4.0  # seconds after which there is no further turn
_BLOCK = 1 << 20  # rows that are made at a time
PRODUCT, READING = "`X.T @ X`", "`X.sum()`"
PROCESSORS, LDA = "NumPy, all processors", "LDA on the GPU"


class Torch:
    """PyTorch on a device."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, device
        torch.manual_seed(0)

    def normal(self, n: int, d: int, kind: str) -> Any:
        """Return normal numbers."""
        return self.torch.randn(
            n, d, dtype=getattr(self.torch, kind), device=self.device
        )

    def put(self, array: Any) -> Any:
        """Return an array of NumPy on the device."""
        return self.torch.asarray(array, device=self.device)

    def host(self, array: Any) -> Any:
        """Return an array of the device in NumPy."""
        return array.cpu().numpy()

    def wait(self) -> None:
        """Wait until the device has done all that it was told."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def free(self) -> None:
        """Give back unused memory, and forget its peak."""
        gc.collect()
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int | None:
        """Return the most bytes that arrays used since."""
        gpu = self.device == "cuda"
        return self.torch.cuda.max_memory_allocated() if gpu else None


def gaussian_classes(lib: Torch, n: int, d: int, k: int, kind: str) -> Any:
    """Return rows of Gaussian classes of unequal covariances, and their labels."""
    rng = np.random.default_rng(0)
    centers = lib.put((rng.normal(size=(k, d)) / d**0.5).astype(kind))
    scales = lib.put((0.5 + rng.random((k, d))).astype(kind))
    X, y = lib.normal(n, d, kind), lib.put(rng.integers(k, size=n))
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        X[rows] = X[rows] * scales[y[rows]] + centers[y[rows]]
    return X, y


@dataclass(frozen=True)
class Case:
    """Our call on some data, and a peer's."""

    data: str
    ours: str
    call: Callable[[], Any]
    peer: str
    other: Callable[[], Any]
    size: int = 0  # bytes of the data, where memory is of interest


def cases(lib: Torch, shrink: int) -> Iterator[Case]:
    """Yield what is measured; the data have a share of the rows."""

    def drawn(n: int, d: int, k: int, kind: str = "float64") -> tuple[str, Any, Any]:
        n //= shrink
        text = f"{n:,} x {d}, {k} classes" + (", float32" if kind == "float32" else "")
        lib.free()
        return text, *gaussian_classes(lib, n, d, k, kind)

    def fit(X: Any, y: Any) -> Any:
        return GaussianLinearDiscriminant().fit(X, y)

    data, X, y = drawn(10_000_000, 50, 5)
    size = X.nbytes + y.nbytes
    yield Case(data, "fit", lambda: fit(X, y), PRODUCT, lambda: X.T @ X, size)
    yield Case(
        *(data, "statistics", lambda: ClassStatistics.from_data(X, y)),
        *(PRODUCT, lambda: X.T @ X),
    )
    H, h = lib.host(X), lib.host(y)
    yield Case(data, "fit", lambda: fit(X, y), PROCESSORS, lambda: fit(H, h))
    del X, y
    data, X, y = drawn(100_000_000, 20, 5, "float32")
    size = X.nbytes + y.nbytes
    yield Case(data, "fit", lambda: fit(X, y), PRODUCT, lambda: X.T @ X, size)
    del X, y
    data, X, y = drawn(1_000_000, 50, 5)
    lda = LinearDiscriminantAnalysis()
    yield Case(data, "fit", lambda: fit(X, y), LDA, lambda: lda.fit(X, y))
    data, X, y = drawn(1_000 * shrink, 20, 5)
    H, h = lib.host(X), lib.host(y)
    yield Case(data, "fit", lambda: fit(X, y), PROCESSORS, lambda: fit(H, h))
    there, here = fit(X, y), fit(H, h)
    yield Case(
        *(data, "predict", lambda: there.predict(X)),
        *(PROCESSORS, lambda: here.predict(H)),
    )
    for k in (2, 10):
        data, X, y = drawn(10_000_000, 50, k)
        model = fit(X[:200_000], y[:200_000])
        for name in ("predict", "predict_proba"):
            call = partial(getattr(model, name), X)
            yield Case(data, name, call, READING, X.sum)


def measure(lib: Torch, case: Case) -> dict[str, Any]:
    """Return medians of the times of both, taken in turns, and of their ratio."""
    lib.free()
    case.call()
    lib.wait()
    peak = lib.peak()
    case.other()
    seconds: list[list[float]] = [[], []]
    begin = time.perf_counter()
    while len(seconds[0]) < TURNS:
        if len(seconds[0]) > 1 and time.perf_counter() - begin > BUDGET:
            break
        for call, times in zip((case.call, case.other), seconds, strict=True):
            lib.wait()
            start = time.perf_counter()
            call()
            lib.wait()
            times.append(time.perf_counter() - start)
    ours, peer = map(np.array, seconds)
    row = {"data": case.data, "ours": case.ours, "peer": case.peer}
    row |= {"seconds": np.median(ours), "peer_seconds": np.median(peer)}
    quartiles = np.quantile(ours / peer, [0.25, 0.5, 0.75])
    row |= dict(zip(("low", "ratio", "high"), quartiles, strict=True))
    if case.size and peak:
        row["memory"] = peak / case.size
    return {k: v if isinstance(v, str) else float(f"{v:.4g}") for k, v in row.items()}


def machine(lib: Torch) -> str:
    """Return what the figures depend on."""
    name = lib.torch.cuda.get_device_name() if lib.device == "cuda" else "no GPU"
    libraries = "numpy", "scipy", "scikit-learn", "torch"
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return (
        f"{name}, {os.cpu_count()} processors ({platform.machine()}), Python "
        f"{platform.python_version()}, heterolda {heterolda.__version__}, {versions}, "
        f"{time.strftime('%Y-%m-%d', time.gmtime())}"
    )


def parts(record: dict[str, Any]) -> dict[str, str]:
    """Return the parts of the page."""
    rows = [
        (
            *(r["data"], r["ours"], timed(r["seconds"]), r["peer"]),
            *(timed(r["peer_seconds"]), figure(r["ratio"])),
            f"{figure(r['low'])} to {figure(r['high'])}",
        )
        for r in record["rows"]
    ]
    head = "data|ours|time|peer|peer's time|ratio|quartiles"
    return {
        "gpu": section_table(head, rows),
        "gpu, machine": f"- **GPU**: {record['machine']}.",
    }


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser("benchmarks.gpu")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("--smoke", action="store_true", help="tiny data, no GPU")
    options = parser.parse_args()
    if not options.page:
        torch = Torch("cpu" if options.smoke else "cuda")
        rows = []
        with (
            warnings.catch_warnings(action="ignore"),
            sklearn.config_context(array_api_dispatch=True),
        ):
            for case in cases(torch, 1000 if options.smoke else 1):
                rows.append(measure(torch, case))
                print(rows[-1], flush=True)
        if options.smoke:
            return 0
        write_record(RESULTS, {"machine": machine(torch), "rows": rows})
    publish("speed", parts(read_record(RESULTS)))
    return 0


if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"
    sys.exit(main())
