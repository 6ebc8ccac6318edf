"""Classes that are far from Gaussian: features of zeros and ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from hostile.case import Case
from hostile.data import Data
from hostile.judges import NoWorseThanLDA

# Without rows nobody can tell that the model does not fit, unless a class has no
# variance at all; the solvers of the paper are what they are, without a guard.
_GUARDED = ("fit", "dask", "command line")
_ONLY = ("global", "fisher")


def _dummy(shares: tuple[float, float], seed: int) -> Callable[[int], Data]:
    """Three features that overlap, and one that is 1 in a share of each class.

    What is predicted are other rows than those that are fitted.
    """

    def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 4))
        X[:, :3] += 0.54 * y[:, None]
        X[:, 3] = rng.random(n) < np.array(shares)[y]
        return X, y

    @cache
    def make(k: int) -> Data:
        rng = np.random.default_rng(seed)
        (X, y), (rows, truth) = draw(rng, 1000), draw(rng, 4000)
        return Data(X, y, rows=rows, truth=truth)

    return make


CASES = [
    Case(
        "a dummy that is 1 in 1 % of class 0 and never in class 1",
        _dummy((0.01, 0.0), seed=1),
        NoWorseThanLDA(),
        classes=(2,),
        only=_ONLY,
    ),
    Case(
        "a dummy that is 1 in 10 % of class 0 and 1 % of class 1",
        _dummy((0.1, 0.01), seed=1),
        NoWorseThanLDA(),
        classes=(2,),
        ways=_GUARDED,
        only=_ONLY,
        note="`fit_statistics` and `partial_fit` have no rows to see that the model "
        "does not fit, and have 56 %",
    ),
]
