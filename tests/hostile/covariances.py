"""Features that are constant, dependent or ill-conditioned."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import hilbert

from heterolda import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from hostile.case import Case
from hostile.classes import LOCAL_SOLVERS, SHRUNK
from hostile.contenders import OURS
from hostile.data import Data, grouped, variant
from hostile.judges import Accurate, Constant, Judge, Optimal, Same


def _more(column: Callable[[Data], Any]) -> Callable[[int], Data]:
    """Benign data with one more column."""
    return variant(X=lambda data: np.insert(data.X, 1, column(data), axis=1))


def _noisy_copy(data: Data) -> Any:
    rng = np.random.default_rng(3)
    return data.X[:, 0] + 1e-9 * rng.normal(size=len(data.X))


def _repeated(data: Data) -> Any:
    """A constant, a copy and a multiple among the columns."""
    same = np.full(len(data.X), -7.5)
    return np.column_stack([same, data.X, data.X[:, 1], -4 * data.X[:, 0], same])


def _telling_copy(size: float) -> Callable[[int], Data]:
    """Features a and a + size * e, in which e is apart in all classes."""

    @cache
    def make(k: int) -> Data:
        z, y, _ = grouped(k, 150, 3)
        e = z[:, 2] + 4 * y
        X = z.copy()
        X[:, 2] = z[:, 0] + size * e
        return Data(X, y)

    return make


@cache
def _constant_in_one(k: int) -> Data:
    z, y, _ = grouped(k, 60, 2)
    X = z * (1 + y[:, None]) + y[:, None] * [1.0, 0.5]
    X[y == 0, 1] = 0.25
    return Data(X, y)


@cache
def _rank_one(k: int) -> Data:
    z, y, _ = grouped(k, 60, 2)
    X = z + y[:, None] * [0.5, 0.5]
    X[y == 0, 1] = 2 * X[y == 0, 0]
    return Data(X, y)


@cache
def _different_ranges(k: int) -> Data:
    """Class 0 varies along the first axis only, class 1 along the second."""
    X, y, _ = grouped(2, 60, 2)
    X[y == 0, 1], X[y == 1, 0] = 0.0, 1.0
    X[y == 1, 1] += 0.5
    return Data(X, y)


@cache
def _apart(k: int) -> Data:
    """Each class has its own interval of the first column."""
    X, y, rng = grouped(k, 40, 3)
    X[:, 0] = 10 * y + rng.uniform(size=len(y))
    return Data(X, y)


@cache
def _few_rows(k: int) -> Data:
    X, y, _ = grouped(k, 6, 20)
    return Data(X + y[:, None], y)


@cache
def _hilbert(k: int) -> Data:
    """A linear map of condition 1e8, whose square is the Hilbert matrix."""
    z, y, _ = grouped(k, 100, 12)
    values, axes = np.linalg.eigh(hilbert(12))
    z = z * (1 + 0.2 * y[:, None]) + 3 * y[:, None] * axes[:, -1]
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return Data(z, y).but(X=z @ root)


@cache
def _equal_covariances(k: int) -> Data:
    """Whole numbers, so that the scatters of the classes are the same bit for bit."""
    z, _, _ = grouped(1, 64, 3)
    z = np.rint(8 * z)
    X = np.vstack(
        [z + shift for shift in ([0, 0, 0], [8, 4, 0], [0, -8, 6], [6, 6, 6])]
    )
    y = np.repeat(np.arange(4), 64)
    return Data(X[y < k], y[y < k])


@cache
def _nearly_equal_covariances(k: int) -> Data:
    data = _equal_covariances(k)
    last = (data.y == k - 1)[:, None]
    return data.but(X=np.where(last, data.X * (1 + np.finfo(float).eps), data.X))


@cache
def _equal_means(k: int) -> Data:
    """Every row and its opposite: all means are exactly zero."""
    z, y, _ = grouped(k, 40, 2)
    X = z * (1 + 2 * y[:, None])
    return Data(np.vstack([X, -X]), np.append(y, y))


@cache
def _same_rows(k: int) -> Data:
    z, _, _ = grouped(1, 40, 3)
    return Data(np.repeat(z, k, axis=0), np.arange(40 * k) % k)


@cache
def _one_row(k: int) -> Data:
    y = np.arange(20 * k) % k
    return Data(np.tile([0.1, -3.0, 1e9], (len(y), 1)), y)


_TRIVIAL = Constant(warns=TrivialRuleWarning)
# Shrinkage goes by the number of columns, whatever is in them.
_COUNTED = dict.fromkeys(SHRUNK, Same(tolerance=0.03))
# A copied feature is twice as cheap to ridge rules.
_RIDGED = {"smoothed": Same(tolerance=0.03, accuracy=True)}

# Shrinkage towards a diagonal takes such a difference away, whatever it tells.
NOT_SHRUNK = tuple(name for name in OURS if name not in SHRUNK)

CASES = [
    Case("a constant column", _more(lambda data: 0.1), Same(), but=_COUNTED),
    Case("a constant column of 1e9", _more(lambda data: 1e9), Same(), but=_COUNTED),
    Case(
        "a column constant in one class",
        _constant_in_one,
        Optimal(told=ModelMisfitWarning),
        but=dict.fromkeys(SHRUNK, Judge()),
    ),
    Case(
        "a column constant in each class, but different",
        _more(lambda data: 0.1 + data.y),
        Accurate(),
    ),
    Case(
        "a duplicate column",
        _more(lambda data: data.X[:, 0]),
        Same(),
        but=_COUNTED | _RIDGED,
    ),
    Case(
        "a column that differs by 1e-9 from another",
        _more(_noisy_copy),
        Same(tolerance=0.02),
        but=_RIDGED,
    ),
    Case(
        "a column that differs by 1e-7 from another and tells the classes",
        _telling_copy(1e-7),
        Accurate(least=0.93, may=PrecisionWarning),
        # It shrinks towards a diagonal, without a guard.
        but={"smoothed": Judge(may=PrecisionWarning)},
    ),
    Case(
        "a column that differs by 1e-9 from another and tells the classes",
        _telling_copy(1e-9),
        Judge(warns=PrecisionWarning),
        but={"peers": Accurate(least=0.93)},
        ways=("fit",),
        only=NOT_SHRUNK,
        note="covariances of float64 do not hold the difference; the rows do",
    ),
    Case(
        "constant and repeated columns",
        variant(X=_repeated),
        Same(),
        but=_COUNTED | _RIDGED,
    ),
    Case(
        "class 0 of rank 1, the others full",
        _rank_one,
        Optimal(told=ModelMisfitWarning),
        but=dict.fromkeys(SHRUNK, Judge()),
    ),
    Case(
        "classes that vary in different subspaces",
        _different_ranges,
        Optimal(told=ModelMisfitWarning),
        but=dict.fromkeys(SHRUNK, Judge()),
        classes=(2,),
    ),
    Case("classes in disjoint intervals", _apart, Accurate()),
    Case(
        "fewer rows in a class than features",
        _few_rows,
        Accurate(warns=SmallClassWarning),
        but=dict.fromkeys(SHRUNK, Accurate()),
    ),
    Case(
        "covariances of condition 1e16 (Hilbert)",
        _hilbert,
        Same(tolerance=0.03, accuracy=True, may=PrecisionWarning),
    ),
    Case("covariances exactly equal", _equal_covariances, Optimal()),
    Case(
        "covariances equal to one unit in the last place",
        _nearly_equal_covariances,
        Same(),
    ),
    Case(
        "equal means, unequal covariances",
        _equal_means,
        Optimal(),
        but=dict.fromkeys(LOCAL_SOLVERS, _TRIVIAL),
    ),
    Case(
        "the same rows in all classes",
        _same_rows,
        _TRIVIAL,
        but=dict.fromkeys(("minimax", "peers"), Judge()),
    ),
    Case("all rows the same", _one_row, _TRIVIAL, but={"peers": Judge()}),
]
