"""Time on many rows: EM and the imputer that is nearest to it, one after the other."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.gaps.methods import EM, METHODS, filled
from heterolda.foundations.files import written_whole

PEER = "iterative + LDA"
N_ROWS, N_FEATURES, SHARE = 100_000, 20, 0.1


def measure(folder: Path) -> None:
    """Seconds of processor time for fits to made-up rows, unless they are known."""
    path = folder / "large.json"
    if path.exists():
        return
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    mixed = np.eye(N_FEATURES) + rng.normal(size=(N_FEATURES, N_FEATURES)) / 4
    X = rng.normal(size=(N_ROWS, N_FEATURES)) @ mixed * (1 + 0.5 * y[:, None])
    X += 0.3 * y[:, None]
    X[rng.random(X.shape) < SHARE] = np.nan
    seconds = {}
    with warnings.catch_warnings(action="ignore"):
        for name in (EM, PEER):
            start = process_time()
            rows, labels, _ = filled(METHODS[name].filler, X, y)
            METHODS[name].classifier().fit(rows, labels)
            seconds[name] = process_time() - start
    with written_whole(path) as file:
        file.write(json.dumps(seconds).encode())


def sentence(folder: Path) -> str:
    """What was measured, if it was."""
    path = folder / "large.json"
    if not path.exists():
        return ""
    seconds = json.loads(path.read_text())
    return (
        f"The fit to {N_ROWS:,} rows of two classes and {N_FEATURES} features, "
        f"{100 * SHARE:.0f} % of the values missing at random, takes "
        f"{seconds[EM] / seconds[PEER]:.2g} of the time of {PEER} (one thread, in the "
        "same process).\n"
    )
