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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import heterolda
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.solvers import SOLVERS

# Growth that is called none, in MB for 1000 fits: a leak of a kilobyte a fit is one.
LIMIT = 1.0
_SHAPES = ((40, 2, 2), (48, 3, 4), (60, 6, 3), (100, 4, 5), (300, 12, 2))
_N_MEASURED = 100


def settings() -> list[Any]:
    """Estimators to fit, in turn."""
    small = {"max_iter": 20, "patience": 5, "random_state": 0}
    return [
        *(GaussianLinearDiscriminant(solver=s, random_state=0) for s in SOLVERS),
        GaussianLinearDiscriminant(shrinkage="auto", multiclass="ova"),
        GaussianLinearDiscriminant(shrinkage="cv", voting="majority"),
        GaussianLinearDiscriminant(criterion="minimax"),
        LocalNeighborhoodSearch(**small),
        LocalNeighborhoodSearch(strategy="smooth", n_jobs=2, **small),
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


@dataclass(frozen=True)
class Verdict:
    """A line through the memory of a process.

    Attributes
    ----------
    slope, deviation : float
        Growth in MB for 1000 fits, and its standard deviation.
    first, last : float
        MB at the beginning and at the end: medians of a tenth of the figures.
    """

    slope: float
    deviation: float
    first: float
    last: float

    @classmethod
    def of(cls, fits: Any, sizes: Any) -> Verdict:
        """Fit the line to sizes in MB after numbers of fits."""
        x, y = np.asarray(fits) / 1000, np.asarray(sizes)
        (slope, _), cov = np.polyfit(x, y, 1, cov=True)
        tenth = max(1, len(y) // 10)
        first, last = np.median(y[:tenth]), np.median(y[-tenth:])
        return cls(slope, float(np.sqrt(cov[0, 0])), float(first), float(last))

    @property
    def grows(self) -> bool:
        """Whether the growth is more than the limit."""
        return self.slope > LIMIT

    def __str__(self) -> str:
        return (
            f"{self.slope:+.3f} MB for 1000 fits (standard deviation "
            f"{self.deviation:.3f}), from {self.first:.1f} to {self.last:.1f} MB: "
            + ("memory grows" if self.grows else "no growth")
        )


def soak(n_fits: int, tell: Callable[[str], None], work: Any = work) -> Verdict:
    """Fit so many times, after a warm-up of a tenth of that."""
    process, every = psutil.Process(), max(1, n_fits // _N_MEASURED)
    fits, sizes = [], []
    todo = jobs()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for job in islice(todo, max(300, n_fits // 10)):
            work(*job, Path(name))
        for done, job in enumerate(islice(todo, n_fits), 1):
            work(*job, Path(name))
            if done % every == 0:
                fits.append(done)
                sizes.append(process.memory_info().rss / 1e6)
                if done % (10 * every) == 0:
                    tell(f"{done} fits: {sizes[-1]:.1f} MB")
    return Verdict.of(fits, sizes)


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict; the status is 1 if memory grows."""
    parser = argparse.ArgumentParser(
        "benchmarks.soak", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--fits", type=int, default=10_000, help="number of fits")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    verdict = soak(options.fits, lambda text: print(text, file=sys.stderr, flush=True))
    print(f"{options.fits} fits in {time.monotonic() - begin:.0f} s: {verdict}")
    return 1 if verdict.grows else 0


if __name__ == "__main__":
    sys.exit(main())
