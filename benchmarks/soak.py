"""Whether memory grows over thousands of fits in one process.

python -m benchmarks.soak [--fits 10000]

Both estimators, all solvers and strategies, data of many shapes: each is fitted,
predicts, and goes through a file and a pickle. After a warm-up, the memory of the
process is measured at intervals, and a line is fitted to it.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import heterolda
from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.solvers import SOLVERS

# Growth that is called none, in MB for 1000 fits: a leak of a kilobyte a fit is one.
LIMIT = 1.0
_SHAPES = ((40, 2, 2), (48, 3, 4), (60, 6, 3), (100, 4, 5), (300, 12, 2))
_N_MEASURED = 100


def settings() -> list[Any]:
    """Estimators to fit, in turn."""
    small = {"max_iter": 20, "patience": 5}
    return [
        *(GaussianLinearDiscriminant(solver=s, random_state=0) for s in SOLVERS),
        GaussianLinearDiscriminant(shrinkage="auto", multiclass="ova"),
        GaussianLinearDiscriminant(shrinkage="cv", voting="majority"),
        GaussianLinearDiscriminant(criterion="minimax"),
        LocalNeighborhoodSearch(**small),
        SmoothedLinearDiscriminant(n_jobs=2),
    ]


def jobs() -> Iterator[tuple[Any, Any, Any]]:
    """Estimators with data, again and again in the same order."""
    rng = np.random.default_rng(0)
    data = []
    for n, d, k in _SHAPES:
        y = np.arange(n) % k
        data.append((rng.normal(size=(n, d)) * (1 + y[:, None]) + y[:, None], y))
    # Their numbers have no common divisor, so that all meet.
    return ((m, *d) for m, d in zip(cycle(settings()), cycle(data), strict=False))


def work(model: Any, X: Any, y: Any, folder: Path) -> None:
    """One fit, and all that is done with a model."""
    model.fit(X, y)
    path = folder / "model.json"
    heterolda.save(model, path)
    loaded = pickle.loads(pickle.dumps(heterolda.load(path)))
    if np.any(loaded.predict_proba(X) != model.predict_proba(X)):
        raise RuntimeError(f"{model} predicts otherwise after it was saved")
    if isinstance(model, GaussianLinearDiscriminant) and model.shrinkage != "cv":
        loaded.partial_fit(X, y)
        loaded.fit_statistics(model.statistics_ + loaded.statistics_).predict(X)


def main() -> int:
    """Print how memory grows after a warm-up of a tenth; 1 if it is too much."""
    parser = argparse.ArgumentParser(
        "benchmarks.soak", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--fits", type=int, default=10_000, help="number of fits")
    n_fits = parser.parse_args().fits
    process, every = psutil.Process(), max(1, n_fits // _N_MEASURED)
    fits, sizes = [], []
    todo, begin = jobs(), time.monotonic()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for job in islice(todo, max(300, n_fits // 10)):
            work(*job, Path(name))
        for done, job in enumerate(islice(todo, n_fits), 1):
            work(*job, Path(name))
            if done % every == 0:
                fits.append(done / 1000)
                sizes.append(process.memory_info().rss / 1e6)
                if done % (10 * every) == 0:
                    print(f"{done} fits: {sizes[-1]:.1f} MB", file=sys.stderr)
    (slope, _), cov = np.polyfit(fits, sizes, 1, cov=True)
    tenth = max(1, len(sizes) // 10)
    first, last = np.median(sizes[:tenth]), np.median(sizes[-tenth:])
    print(
        f"{n_fits} fits in {time.monotonic() - begin:.0f} s: {slope:+.3f} MB for 1000 "
        f"fits (standard deviation {cov[0, 0] ** 0.5:.3f}), from {first:.1f} to "
        f"{last:.1f} MB: {'memory grows' if slope > LIMIT else 'no growth'}"
    )
    return int(slope > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
