"""Bounds on an error rate: the rows they need, and the rank of the threshold."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc

from heterolda.foundations.wording import percent


@dataclass(frozen=True)
class ErrorBound:
    """Guaranteed bound on the error rate of one class.

    Attributes
    ----------
    label : object
        The bounded class.
    max_error : float
        Largest error rate of the class.
    confidence : float
        Probability, over the draw of the training rows, that the bound holds.
    n_rows : int
        Number of rows of the class that set the threshold.
    rank : int
        Rank of the threshold among the scores of these rows, in increasing order
        toward the other class.

    See Also
    --------
    BoundedErrorClassifier : Stores its bounds in `bounds_`.

    Examples
    --------
    >>> from heterolda.inspection import ErrorBound
    >>> bound = ErrorBound("ill", 0.05, 0.95, n_rows=106, rank=105)
    >>> print(bound)
    at most 5.0 % of ill are wrong on new rows, with 95.0 % confidence
    >>> round(bound.expected_error, 3)
    0.019
    """

    label: Any
    max_error: float
    confidence: float
    n_rows: int
    rank: int

    @property
    def expected_error(self) -> float:
        """Return the expected error rate on new rows, if scores are continuous."""
        return (self.n_rows + 1 - self.rank) / (self.n_rows + 1)

    def __str__(self) -> str:
        return (
            f"at most {percent(self.max_error)} of {self.label} are wrong on new rows, "
            f"with {percent(self.confidence)} confidence"
        )


def smallest_rank(n: int, max_error: float, confidence: float) -> int:
    r"""Return the smallest rank of n scores that bounds the error rate, n + 1 if none.

    Of n independent scores the one of rank k, in increasing order, is exceeded with a
    probability above q = `max_error` with a probability of at most

    .. math:: \sum_{j=k}^n \binom nj (1 - q)^j q^{n-j}.
    """
    if n < rows_needed(max_error, confidence):
        return n + 1

    def holds(k: int) -> bool:
        return bool(bdtrc(k - 1, n, 1 - max_error) <= 1 - confidence)

    return 1 + bisect_left(range(1, n), True, key=holds)


def rows_needed(max_error: float, confidence: float) -> float:
    """Return the number of rows whose largest score bounds the error rate."""
    with np.errstate(over="ignore"):
        n = max(1.0, np.ceil(np.log1p(-confidence) / np.log1p(-max_error)) - 1)
    for _ in range(2):  # the quotient is rounded
        n += (1 - max_error) ** n > 1 - confidence
    return float(n)
