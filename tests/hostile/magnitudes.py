"""Offsets, units and magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from heterolda import ModelMisfitWarning, PrecisionWarning
from hostile.case import Case
from hostile.classes import SHRUNK
from hostile.data import Data, benign, variant
from hostile.judges import Accurate, Checked, Judge, Optimal, Refused, Same
from hostile.trial import Trial

_TOO_LARGE = Refused(words="so large that their squares overflow float64: divide")
_TOO_SMALL = Refused(words="vary so little that their squares underflow .*: multiply")
_SQUARES = (
    "a fit needs squares, and these leave float64. Statistics in other units would no "
    "longer be those of the data, so the unit is for the user to choose. An outlier of "
    "1e300 would leave nothing of the other rows in any unit"
)


@cache
def _far(k: int) -> Data:
    """Offset by 1e15, where numbers are 1/8 apart; the twin is rounded alike."""
    data = benign(k)
    offset = np.array([1e15, 0, 0])
    X = data.X + offset
    return data.but(X=X, twin=data.but(X=X - offset))


def _outlier(value: float) -> Callable[[int], Data]:
    """One entry replaced."""

    def change(data: Data) -> Any:
        X = data.X.copy()
        X[0, 1] = value
        return X

    return variant(X=change)


def _exact_sides(trial: Trial) -> str | None:
    """Whether rows are on the side that exact arithmetic says, for two classes."""
    model = trial.model
    if len(model.classes_) > 2:
        return None
    w = [Fraction(x) for x in model.coef_[0].tolist()]
    w0 = Fraction(float(model.intercept_[0]))
    for row, label in zip(trial.data.rows.tolist(), trial.labels, strict=True):
        score = w0 + sum(a * Fraction(x) for a, x in zip(w, row, strict=True))
        if (score > 0) != (label == model.classes_[1]):
            return "names the class of the other side"
    return None


CASES = [
    Case("benign data", benign, Optimal()),
    Case(
        "a column offset by 1e9",
        variant(X=lambda data: data.X + np.array([1e9, 0, 0])),
        Same(),
    ),
    Case("all columns offset by 1e9", variant(X=lambda data: data.X + 1e9), Same()),
    Case(
        "a column offset by 1e15",
        _far,
        Same(tolerance=0.05, accuracy=True, warns=PrecisionWarning),
        note="numbers there are 1/8 apart, and so are scores",
    ),
    Case(
        "columns in units of 1e-150, 1 and 1e150",
        variant(X=lambda data: data.X * [1e-150, 1, 1e150]),
        Same(),
    ),
    Case("all data times 0.01", variant(X=lambda data: data.X * 0.01), Same()),
    Case(
        "all data times 1e200",
        variant(X=lambda data: data.X * 1e200),
        _TOO_LARGE,
        but={"peers": Same()},
        note=_SQUARES,
    ),
    Case(
        "all data times 1e-200",
        variant(X=lambda data: data.X * 1e-200),
        _TOO_SMALL,
        but={"peers": Same()},
    ),
    Case(
        "class 0 in units of 1e-140, the others of 1e140",
        variant(X=lambda data: data.X * np.where(data.y == 0, 1e-140, 1e140)[:, None]),
        Accurate(least=0.9, told=ModelMisfitWarning),
        but=dict.fromkeys(SHRUNK, Accurate(least=0.9)),
    ),
    Case(
        "one outlier of 1e100",
        _outlier(1e100),
        Judge(told=ModelMisfitWarning),
        but=dict.fromkeys(SHRUNK, Judge()),
    ),
    Case(
        "one outlier of 1e300",
        _outlier(1e300),
        _TOO_LARGE,
        but={"peers": Judge()},
    ),
    Case(
        "rows of 1e300 to predict",
        variant(rows=lambda data: data.X * 1e300),
        Checked(check=_exact_sides),
    ),
    Case(
        "NaN in rows to predict",
        variant(rows=lambda data: np.where(data.X > 1, np.nan, data.X)),
        Refused(words="contains NaN|is missing"),
    ),
]
