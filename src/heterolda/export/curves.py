"""Kinds of log-odds, curves of rules and far rows in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.estimators.chosen import RowsCurve
from heterolda.export.schema import (
    TINY,
    Kind,
    Place,
    array,
    list_of,
    number,
    optional,
    record,
)
from heterolda.foundations.arrays import Array
from heterolda.kernels.coupling import Curve
from heterolda.kernels.score_distributions import N_EDGES
from heterolda.statistics.typicality import FarRows

# Sums of smoothed rows may fall by rounding.
_ROUNDING = 1e-9
_WEIGHTS = array("rules", 2)
_CURVE = record(
    {
        "coef": array("rules", "directions", "features"),
        "intercept": array("rules", "directions"),
        "unit": array("rules", "directions", low=TINY),
        "weights": array("rules", 2, "directions"),
        "optimum": array("rules", low=0, dtype=int),
        "low": array("rules"),
        "step": array("rules", low=TINY),
        "F": array("rules", 2, "directions", N_EDGES, low=0, high=1),
        "counts": array("rules", 2, low=TINY),
    },
    RowsCurve,
)
_FAR_ROWS = record(
    {"squares": array(None, low=0), "beyond": array(None, low=1), "n": number(0)},
    FarRows,
)
log_odds = record(
    {
        "offset": array(2, "rules", low=0),
        "slope": array(2, "rules", low=0),
        "bend": array("rules"),
        "low": array("rules", high=-TINY),
        "high": array("rules", low=TINY),
        "step": array(2, "rules", low=0, high=1),
    },
    Curve,
)


def check_reach(at: Place, row: Any, coef: Any, offset: Any) -> None:
    """Reject numbers with which a small row becomes infinite."""
    with np.errstate(over="ignore"):
        reach = np.abs(row) @ np.abs(coef) + np.abs(offset)
    if not np.isfinite(reach).all():
        raise ValueError(f"{at.name} has numbers that are too large")


def _read_weights(value: Any, at: Place) -> Array:
    weights: Array = _WEIGHTS.read(value, at)
    _check_weights(weights, at)
    return weights


def _check_weights(weights: Array, at: Place) -> None:
    """Reject weights of both covariances, (n, 2), that give no matrix."""
    with np.errstate(over="ignore"):
        size = np.hypot(*weights.T)
    if not (np.isfinite(size) & (weights.max(axis=1) > 0)).all():
        raise ValueError(f"{at.name} are not those of directions")


def _read_curve(value: Any, at: Place) -> RowsCurve:
    curve: RowsCurve = _CURVE.read(value, at)
    n_pairs, n_directions, d = curve.coef.shape
    if n_pairs > 1 or curve.optimum[0] >= n_directions:
        raise ValueError(f"{at.name} is not that of two classes and their optimum")
    if (np.diff(curve.F) < -_ROUNDING).any():
        raise ValueError(f"{at.name}.F must not fall")
    with np.errstate(over="ignore"):
        farthest = np.abs(curve.low) + N_EDGES * curve.step
    for row, coef in (farthest, curve.unit), (np.ones(d), curve.coef[0].T):
        check_reach(at, row, coef, curve.intercept)
    _check_weights(curve.weights[0].T, at / "weights")
    return curve


def _read_far_rows(value: Any, at: Place) -> FarRows:
    far: FarRows = _FAR_ROWS.read(value, at)
    ends = np.append(far.n, far.beyond)
    falls = (np.diff(far.squares) < 0).any() or (np.diff(ends) > 0).any()
    if len(far.squares) != len(far.beyond) or falls:
        raise ValueError(f"{at.name} are not distances, and numbers of rows beyond")
    return far


arc_weights = Kind(_WEIGHTS.words, _read_weights, _WEIGHTS.write)
rows_curve = Kind(_CURVE.words, _read_curve, _CURVE.write)
_far_rows = Kind(_FAR_ROWS.words, _read_far_rows, _FAR_ROWS.write)
far_rows = optional(list_of(_far_rows, "classes"))
