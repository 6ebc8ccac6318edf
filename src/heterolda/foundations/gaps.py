"""NaN as a missing value: whether it may be there, and whether it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from heterolda.exceptions import ParameterError
from heterolda.foundations.choices import GAPS


def check_missing(missing: object) -> None:
    """Refuse what does not say what to do with NaN."""
    if missing not in GAPS:
        raise ParameterError("missing", f"must be one of {list(GAPS)}, got {missing!r}")


# For estimators without a parameter for missing values.
_OTHER_WAY = "GaussianLinearDiscriminant(missing='em')"


@contextmanager
def gaps_as(missing: str | None, way: str = _OTHER_WAY) -> Iterator[dict[str, Any]]:
    """The argument for scikit-learn's validation, whose error names our parameter.

    None stands for an estimator without the parameter: the error then advises `way`,
    unless that is empty.
    """
    try:
        yield {"ensure_all_finite": "allow-nan" if missing == "em" else True}
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        use = "missing='em'" if missing else way
        use = f"use {use}, " if use else ""
        raise ParameterError(
            "X",
            f"contains NaN, which stands for a missing value: {use}fill "
            "such values in, or leave their rows out",
        ) from error


def has_gaps(X: Any) -> bool:
    """Whether rows, validated but for NaN, have missing values."""
    values = X.data if issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = values.dtype.kind == "f" and np.isnan(values.sum())
    gaps = bool(doubtful and np.isnan(values).any())  # sums may overflow
    if gaps and issparse(X):
        raise ParameterError(
            "X",
            "is sparse and has missing values, but only dense rows may have them: "
            "pass X.toarray()",
        )
    return gaps
