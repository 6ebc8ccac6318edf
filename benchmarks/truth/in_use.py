"""What models say of new rows: typicality, frequencies, remarks of the monitor.

Rows are drawn, at fixed numbers and with the default seed, or held out of public sets,
which are read from the folder in HETEROLDA_DATA.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import Record, section_table
from heterolda import GaussianLinearDiscriminant, SmoothedLinearDiscriminant
from heterolda.inspection import monitor

LAWS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "Student's t, 4 degrees of freedom": lambda rng, n, d: rng.standard_t(4, (n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "Poisson, mean 0.5": lambda rng, n, d: rng.poisson(0.5, (n, d)).astype(float),
    "two groups": lambda rng, n, d: (
        rng.normal(size=(n, d)) + 4 * rng.integers(2, size=(n, 1))
    ),
}
SIZES = {
    "150 rows, 5 features": (150, 5),
    "40 rows, 8": (40, 8),
    "40 rows, 60": (40, 60),
}
LEVELS, DRAWS, N_NEW = (0.01, 0.05, 0.2), 100, 200
# Rows of public sets that are held out, and the sets whose columns are damaged.
_MAX_ROWS, _MAX_NEW = 4000, 500
DAMAGED = (
    *("banknote", "letters", "pendigits", "satellite", "seeds", "segmentation"),
    *("vertebral_3c", "vowels", "wall_following_24", "waveform"),
)


def cell(law: str, size: str, draws: int = DRAWS) -> list[float]:
    """Return the shares of new rows whose typicality is below the levels."""
    (n, d), low = SIZES[size], []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        y, new = np.arange(n) % 2, np.arange(N_NEW) % 2
        mix = np.eye(d) + 0.5
        X, Z = (LAWS[law](rng, m, d) @ mix for m in (n, N_NEW))
        model = GaussianLinearDiscriminant(choose_on="model")
        model.fit(X + y[:, None], y)
        typical = model.typicality(Z + new[:, None])
        low.append([np.mean(typical < level) for level in LEVELS])
    return np.mean(low, axis=0).tolist()


def shift(draws: int = 2 * DRAWS) -> Record:
    """Return how well frequencies are estimated after a shift from 0.5 to 0.05."""
    rows, covered, off, remarks = 2000, [], [], []
    for seed in range(draws):
        rng = np.random.default_rng(seed)

        def drawn(y: Any, rng: Any = rng) -> Any:
            return rng.normal(size=(len(y), 3)) + np.array([2.0, 0, 0]) * y[:, None]

        y = np.arange(rows) % 2
        model = GaussianLinearDiscriminant().fit(drawn(y), y)
        found = model.estimate_priors(drawn((rng.random(rows) < 0.05).astype(int)))
        covered.append(found.low[1] <= 0.05 <= found.high[1])
        off.append(abs(found.estimate[1] - 0.05))
        same = monitor(model, drawn((rng.random(rows) < 0.5).astype(int)))
        remarks.append(len(same.remarks) > 0)
    return {
        "draws": draws,
        "covered": float(np.mean(covered)),
        "off": float(np.mean(off)),
        "remarks": float(np.mean(remarks)),
    }


def _public() -> dict[str, tuple[Any, Any]]:
    """Return rows and labels of the public sets, at most 4,000 rows of each."""
    import pandas as pd

    folder, sets = os.environ.get("HETEROLDA_DATA"), {}
    if not folder:
        raise SystemExit("set HETEROLDA_DATA to the folder of the public sets")
    paths = [*Path(folder).glob("*.csv.gz"), *Path(folder).glob("more/*.csv.gz")]
    for path in sorted(paths):
        table = pd.read_csv(path).sample(frac=1, random_state=0)[:_MAX_ROWS]
        rows = table.iloc[:, :-1].to_numpy(np.float64), table["target"].to_numpy()
        sets[path.name.removesuffix(".csv.gz")] = rows
    return sets


def public(kind: Any) -> Record:
    """Return what an estimator says of held-out rows of the public sets."""
    own: dict[bool, list[Any]] = {True: [], False: []}
    typical, damaged, named = [], [], []
    for name, (X, y) in _public().items():
        half = len(X) // 2
        model = kind().fit(X[:half], y[:half])
        classes, counts = np.unique(y[:half], return_counts=True)
        known = np.isin(y[half:], classes)
        new, labels = X[half:][known], y[half:][known]
        start, distances = model._classes()
        shares = distances.shares(model._as_measured(new), start._far_rows)[0]
        codes = np.searchsorted(classes, labels)
        low = shares[np.arange(len(new)), codes] < 0.05
        many = counts[codes] >= 10 * X.shape[1]
        own[True].append(low[many])
        own[False].append(low[~many])
        typical.append(shares.max(axis=1) < 0.05)
        if name in DAMAGED:
            limit = max(0.01, 2 / (counts.min() + 1))
            for bad, j in _damaged(X, new[:_MAX_NEW]):
                value, worst = model._typical(bad)
                damaged.append(np.mean(value < limit))
                named.append(np.mean(worst == j))
    record = {"sets": len(typical), "damaged columns": len(damaged)}
    parts = {
        "own, 10 rows per feature": own[True],
        "own, fewer": own[False],
        "typical": typical,
    }
    record |= {key: float(np.mean(np.concatenate(x))) for key, x in parts.items()}
    return record | {"found": float(np.mean(damaged)), "named": float(np.mean(named))}


def _damaged(X: Any, new: Any) -> Any:
    """Yield rows with one column in other units, or all -999, where that is far."""
    center, deviation = X.mean(axis=0), X.std(axis=0)
    for j in np.flatnonzero((X == 0).mean(axis=0) < 0.05):
        for values in (1000 * new[:, j], np.full(len(new), -999.0)):
            far = np.abs(values - center[j]) > 8 * deviation[j]
            if far.any():
                bad = new[far].copy()
                bad[:, j] = values[far]
                yield bad, j


def measure() -> Record:
    """Return all shares."""
    warnings.simplefilter("ignore")
    drawn = {law: {size: cell(law, size) for size in SIZES} for law in LAWS}
    kinds = GaussianLinearDiscriminant, SmoothedLinearDiscriminant
    sets = {kind.__name__: public(kind) for kind in kinds}
    return {"drawn": drawn, "shift": shift(), "public": sets}


def parts(record: Record) -> dict[str, str]:
    """Return the tables of the page."""
    rows = [
        (law, *(" / ".join(f"{100 * x:.1f}" for x in cells[size]) for size in SIZES))
        for law, cells in record["drawn"].items()
    ]
    head = "law|" + "|".join(f"{size}: % below 0.01 / 0.05 / 0.2" for size in SIZES)
    keys = "own, 10 rows per feature", "own, fewer", "typical", "found", "named"
    sets = [
        (name, *(f"{100 * found[key]:.1f} %" for key in keys))
        for name, found in record["public"].items()
    ]
    names = (
        "|below 0.05 for the true class, 10 rows per feature and more|with fewer|"
        "typicality below 0.05|rows of damaged columns found|with the right column"
    )
    moved = record["shift"]
    text = (
        f"In {moved['draws']} draws of 2,000 rows of two normal classes two deviations "
        f"apart, with a frequency of 0.05 instead of 0.5, the interval contains it in "
        f"{100 * moved['covered']:.1f} %, and the estimate is off by "
        f"{moved['off']:.3f} in the mean. In {100 * moved['remarks']:.1f} % of draws "
        "without a shift the monitor makes a remark."
    )
    return {
        "in use": section_table(head, rows),
        "in use, public": section_table(names, sets),
        "in use, shift": text,
    }
