"""Types, memory layouts and things that are no matrix of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from hostile.case import Case
from hostile.classes import FIT
from hostile.data import Data, benign, variant
from hostile.judges import Fair, Refused, Same
from hostile.ways import FIT_OR_COMMAND, OF_ARRAYS


def _rounded(kind: Any) -> Callable[[int], Data]:
    """Data in another type; the twin has the same numbers in float64."""

    @cache
    def make(k: int) -> Data:
        data = benign(k)
        X = (data.X > 0.5) if kind is bool else (10 * data.X).astype(kind)
        return Data(X, data.y, twin=data.but(X=X.astype(np.float64)))

    return make


def _given(change: Callable[[Any], Any]) -> Callable[[int], Data]:
    """The same numbers in another form."""
    return variant(X=lambda data: change(data.X))


def _spaced(X: Any) -> Any:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _mapped(X: Any) -> Any:
    with TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def _replaced(value: float) -> Callable[[Any], Any]:
    def change(X: Any) -> Any:
        X = X.copy()
        X[5, 1] = value
        return X

    return change


@cache
def _shuffled(k: int) -> Data:
    data = benign(k)
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    return data.but(X=frame, rows=frame[["b", "a", "c"]])


CASES = [
    *(
        Case(f"{name} data", _rounded(kind), Same())
        for name, kind in {
            "float16": np.float16,
            "float32": np.float32,
            "int8": np.int8,
            "big-endian": ">f8",
        }.items()
    ),
    # With four classes some column would be constant in one of them.
    Case("boolean data", _rounded(bool), Same(), classes=(2,)),
    Case("an object array of numbers", _given(lambda X: X.astype(object)), Same()),
    Case("rows and columns with gaps between", _given(_spaced), Same()),
    Case("columns one after the other (Fortran)", _given(np.asfortranarray), Same()),
    Case(
        "negative strides", _given(lambda X: X[::-1, ::-1].copy()[::-1, ::-1]), Same()
    ),
    Case("a read-only memory map", _given(_mapped), Same()),
    Case(
        "NaN",
        _given(_replaced(np.nan)),
        Refused(words="contains NaN|is missing"),
    ),
    Case(
        "infinity",
        _given(_replaced(np.inf)),
        Refused(words="contains infinity|infinite"),
    ),
    Case(
        "complex numbers",
        _given(lambda X: X + 1j),
        Refused(words="[Cc]omplex|not all numbers"),
    ),
    Case(
        "numbers as text",
        _given(lambda X: X.astype(str)),
        Same(),
        but={"peers": Fair()},
        ways=FIT_OR_COMMAND,
    ),
    Case(
        "words",
        _given(lambda X: np.where(X > 0, "yes", "no")),
        Refused(words="could not convert string|numeric|not all numbers"),
        ways=FIT_OR_COMMAND,
    ),
    Case(
        "no features",
        _given(lambda X: X[:, :0]),
        Refused(words="0 feature|no column besides"),
    ),
    Case(
        "no rows",
        variant(X=lambda data: data.X[:0], y=lambda data: data.y[:0]),
        Refused(words="0 sample|no rows"),
        ways=FIT_OR_COMMAND,
    ),
    Case(
        "one dimension",
        _given(lambda X: X[:, 0]),
        Refused(words="2D array|two dimensions"),
        ways=OF_ARRAYS,
    ),
    Case(
        "three dimensions",
        _given(lambda X: X[:, :, None]),
        Refused(words="dim"),
        ways=("fit", "dask"),
    ),
    Case(
        "a sparse matrix",
        _given(csr_array),
        Same(),
        but=dict.fromkeys(
            ("peers", "paper", "smoothed"), Refused(words="Sparse data was")
        ),
        ways=FIT,
    ),
    Case(
        "other columns to predict than to fit",
        _shuffled,
        Refused(words="feature names should match"),
        ways=FIT,
    ),
]
