"""Reject dates and times among features."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np

from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import named

_TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def reject_dates(X: Any) -> None:
    """Reject dates and times, which NumPy reads as numbers of days or nanoseconds."""
    where, dtype = "", getattr(X, "dtype", "")
    if hasattr(X, "columns"):  # a data frame or an Arrow table
        names = [
            name
            for name, kind in _column_types(X)
            if _is_time(kind) or (str(kind) == "object" and _has_times(X[name]))
        ]
        where = f"in {named(names)}" if names else ""
    elif isinstance(X, list | tuple) or str(dtype) == "object":
        where = "among its values" if _has_times(X) else ""
    elif _is_time(dtype):
        where = f"(dtype {dtype})"
    if where:
        raise ParameterError(
            "X",
            f"has dates or times {where}: replace them with numbers, such as the days "
            "since a start, or leave them out",
        )


def _column_types(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the name and type of each column."""
    if hasattr(X, "dtypes"):
        return zip(X.columns, X.dtypes, strict=False)
    return zip(X.schema.names, X.schema.types, strict=False)


def _is_time(kind: Any) -> bool:
    """Return whether NumPy, pandas, Polars or Arrow names a type of dates or times."""
    return str(kind).lower().startswith(("date", "time", "duration", "period"))


def _has_times(values: Any) -> bool:
    """Return whether dates or times are among objects or rows of a list."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # not an array: rejected later
        return False
    if array.dtype.kind != "O":
        return array.dtype.kind in "mM"
    return any(isinstance(value, _TIMES) for value in array.flat)
