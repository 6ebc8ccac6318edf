"""Measure on a GPU, and write the table of docs/speed.md.

python -m benchmarks.gpu [--report]

Results are kept in benchmarks/results/gpu.json. --report measures nothing and writes
the table, from measurements on another machine.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.pages import Record, command, comparisons, origin, publish
from benchmarks.timing import in_turns
from heterolda import ClassStatistics, GaussianLinearDiscriminant

_BLOCK = 1 << 20  # rows that are drawn at a time
PRODUCT, READING = "`X.T @ X`", "`X.sum()`"
PROCESSORS, LDA = "NumPy, all processors", "LDA on the GPU"

Call = Callable[[], Any]
# Data, our call and its name, a peer's call and its name, and bytes of the data where
# memory is of interest.
Case = tuple[str, str, Call, str, Call, int]


def gaussian_classes(n: int, d: int, k: int, kind: str, device: str) -> Any:
    """Return rows of Gaussian classes of unequal covariances, and their labels."""
    import torch

    rng = np.random.default_rng(0)
    centers = (rng.normal(size=(k, d)) / d**0.5).astype(kind)
    scales = (0.5 + rng.random((k, d))).astype(kind)
    labels = rng.integers(k, size=n)
    centers, scales, y = (
        torch.asarray(array, device=device) for array in (centers, scales, labels)
    )
    torch.manual_seed(0)
    X = torch.randn(n, d, dtype=getattr(torch, kind), device=device)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        X[rows] = X[rows] * scales[y[rows]] + centers[y[rows]]
    return X, y


def cases(device: str = "cuda", shrink: int = 1) -> Iterator[Case]:
    """Yield the comparisons; the data have a share of the rows."""

    def drawn(n: int, d: int, k: int, kind: str = "float64") -> tuple[str, Any, Any]:
        n //= shrink
        text = f"{n:,} x {d}, {k} classes" + (", float32" if kind == "float32" else "")
        return text, *gaussian_classes(n, d, k, kind, device)

    def fit(X: Any, y: Any) -> Any:
        return GaussianLinearDiscriminant().fit(X, y)

    def host(*arrays: Any) -> Any:
        return (array.cpu().numpy() for array in arrays)

    data, X, y = drawn(10_000_000, 50, 5)
    size = X.nbytes + y.nbytes
    statistics = partial(ClassStatistics.from_data, X, y)
    yield data, "fit", partial(fit, X, y), PRODUCT, lambda: X.T @ X, size
    yield data, "statistics", statistics, PRODUCT, lambda: X.T @ X, 0
    yield data, "fit", partial(fit, X, y), PROCESSORS, partial(fit, *host(X, y)), 0
    del X, y, statistics
    data, X, y = drawn(100_000_000, 20, 5, "float32")
    size = X.nbytes + y.nbytes
    yield data, "fit", partial(fit, X, y), PRODUCT, lambda: X.T @ X, size
    del X, y
    data, X, y = drawn(1_000_000, 50, 5)
    lda = LinearDiscriminantAnalysis()
    yield data, "fit", partial(fit, X, y), LDA, partial(lda.fit, X, y), 0
    data, X, y = drawn(1_000 * shrink, 20, 5)
    H, h = host(X, y)
    yield data, "fit", partial(fit, X, y), PROCESSORS, partial(fit, H, h), 0
    predict, other = fit(X, y).predict, fit(H, h).predict
    yield data, "predict", partial(predict, X), PROCESSORS, partial(other, H), 0
    for k in (2, 10):
        data, X, y = drawn(10_000_000, 50, k)
        model = fit(X[:200_000], y[:200_000])
        for name in ("predict", "predict_proba"):
            yield data, name, partial(getattr(model, name), X), READING, X.sum, 0


def measure() -> Record:
    """Return the times of all cases, and memory as a multiple of the data."""
    import torch

    def finished(call: Call) -> Call:
        def waited() -> None:
            call()
            torch.cuda.synchronize()

        return waited

    times = []
    with (
        warnings.catch_warnings(action="ignore"),
        sklearn.config_context(array_api_dispatch=True),
    ):
        for data, ours, call, peer, other, size in cases():
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            call()
            entry = {"data": data, "ours": ours, "peer": peer}
            if size:
                entry["memory"] = torch.cuda.max_memory_allocated() / size
            times.append(entry | in_turns(finished(call), finished(other)))
            print(times[-1], flush=True)
    return {"device": torch.cuda.get_device_name(), "times": times}


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page."""
    return {
        "gpu": comparisons(record["times"]),
        "gpu, machine": origin("gpu", f"GPU, {record['device']}"),
    }


if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"
    command("gpu", measure, lambda record: publish("speed", parts(record)), "torch")
