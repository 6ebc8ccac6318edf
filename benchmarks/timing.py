"""Two calls that take turns, and the machine they run on."""

from __future__ import annotations

import gc
import os
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

import heterolda

Call = Callable[[], Any]

THREADS = 2
# Turns of two calls; measured seconds after which there is no further turn, but for the
# least number.
TURNS, BUDGET, LEAST = 15, 5.0, 3


class Seconds(float):
    """Time that a call has measured itself, in another process."""


def seconds(call: Call) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    result = call()
    passed = time.perf_counter() - begin
    return float(result) if isinstance(result, Seconds) else passed


def in_turns(
    ours: Call, peer: Call, budget: float = BUDGET, least: int = LEAST
) -> dict[str, Any]:
    """Return median times of both calls, and the ratio with its quartiles."""
    times: list[tuple[float, float]] = []
    with warnings.catch_warnings(action="ignore"):
        seconds(ours), seconds(peer)  # loads, fills caches
        gc.collect()
        gc.disable()
        try:
            while len(times) < TURNS:
                late = sum(map(sum, times)) > budget
                if late and len(times) >= least:
                    break
                if len(times) % 2:
                    second, first = seconds(peer), seconds(ours)
                else:
                    first, second = seconds(ours), seconds(peer)
                times.append((first, second))
        finally:
            gc.enable()
    first, second = np.array(times).T
    low, middle, high = np.quantile(first / second, [0.25, 0.5, 0.75]).tolist()
    return {
        "seconds": float(np.median(first)),
        "peer_seconds": float(np.median(second)),
        "ratio": middle,
        "quartiles": [low, high],
    }


def child_environment(threads: int = THREADS) -> dict[str, str]:
    """Return the environment of a child process, with this number of threads."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return os.environ | dict.fromkeys(names, str(threads))


def circumstances(*libraries: str) -> str:
    """Return the machine, the versions and the date, in words."""
    names = "numpy", "scipy", "scikit-learn", *libraries
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    blas = {
        f"{pool['internal_api']} {pool['version']}, threads: {pool['num_threads']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return (
        f"{os.cpu_count()} processors ({platform.machine()}, {platform.system()}), "
        f"Python {platform.python_version()}, heterolda {heterolda.__version__}, "
        f"{versions}; BLAS: {'; '.join(sorted(blas))}. "
        f"{time.strftime('%Y-%m-%d', time.gmtime())}."
    )
