"""Linear rules in whole numbers of 16 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heterolda.exceptions import ParameterError, Setting
from heterolda.export._rules import Rules
from heterolda.foundations.types import Array
from heterolda.foundations.validation import check_finite

LARGEST = 32767
# A feature and a coefficient are at most 2^15, each of their products 2^30, and an
# offset 2^61, so that a sum of 64 bits holds any score of fewer than 2^31 features.
_OFFSET_BITS = 61
_SUM_BITS = 62


@dataclass(frozen=True)
class Int16Rules:
    """Rules on whole features q, where ``x = zero + unit * q``.

    Attributes
    ----------
    zero, unit : ndarray of shape (n_features,)
        What a feature is at q = 0, and what one step of q is.
    coef : ndarray of int of shape (n_rules, n_features)
        Coefficients, at most 2^15 in size.
    offset : ndarray of int of shape (n_rules,)
        Offsets.
    exponent : ndarray of int of shape (n_rules,)
        The score of a rule is ``2.0**-exponent * (coef @ q + offset)``.
    """

    zero: Array
    unit: Array
    coef: NDArray[np.int64]
    offset: NDArray[np.int64]
    exponent: NDArray[np.int64]

    def largest_sums(self) -> list[int]:
        """The largest sums that any features of 16 bits can make of the rules."""
        reach = np.abs(self.coef).sum(axis=1) * (LARGEST + 1) + np.abs(self.offset)
        sizes: list[int] = reach.tolist()
        return sizes

    def shifts(self, pairs: NDArray[np.intp]) -> NDArray[np.int64]:
        """Binary digits by which sums are moved, so that those of all rules compare.

        For each class of `pairs` the moved sums of its rules are added; none needs
        more than 62 bits. Negative numbers move to the right.
        """
        sizes = np.log2(np.maximum(self.largest_sums(), 1)) - self.exponent
        room = _SUM_BITS - 1 - np.ceil(np.log2(pairs.max() + 1))
        common = int(np.floor(room - sizes.max()))
        return np.clip(common - self.exponent, -_SUM_BITS, _SUM_BITS)


def to_int16(
    rules: Rules, ranges: ArrayLike | None = None, units: ArrayLike | None = None
) -> Int16Rules:
    """Round rules to whole numbers; see `export_c` for ranges and units."""
    if rules.transformation:
        raise ParameterError(
            Setting("dtype", "int16"),
            " cannot hold a model that transforms features: use ",
            Setting("dtype", "float"),
            ", or fit a model with another ",
            Setting("strategy"),
        )
    zero, unit = _scales(rules, ranges, units)
    coef = rules.coef * unit
    offset = rules.intercept + rules.coef @ zero
    largest = np.abs(coef).max(axis=1)
    # The largest coefficient of a rule gets all 15 digits, or 14 if it rounds to 2^15.
    exponent = 15 - np.frexp(largest)[1]
    exponent -= np.round(np.ldexp(largest, exponent)) > LARGEST
    most = _OFFSET_BITS - np.frexp(offset)[1]
    exponent = np.where(largest > 0, np.minimum(exponent, most), most)
    with np.errstate(under="ignore"):
        whole = np.round(np.ldexp(coef, exponent[:, None])).astype(np.int64)
        start = np.round(np.ldexp(offset, exponent)).astype(np.int64)
    return Int16Rules(zero, unit, whole, start, exponent.astype(np.int64))


def _scales(rules: Rules, ranges: Any, units: Any) -> tuple[Array, Array]:
    """What a feature is at zero, and what one step of it is."""
    d = rules.coef.shape[1]
    if ranges is not None and units is not None:
        raise ValueError("ranges and units cannot both be given: pass one of them")
    if units is not None:
        given = np.full(d, units) if np.ndim(units) == 0 else units
        unit = check_finite("units", given, 1)
        if unit.shape != (d,) or not np.all(unit > 0):
            raise ValueError(
                "units must be one positive number, or one for each of the "
                f"{d} features"
            )
        return np.zeros(d), unit
    if ranges is not None:
        limits = check_finite("ranges", ranges, 2)
        if limits.shape != (d, 2) or not np.all(limits[:, 0] < limits[:, 1]):
            raise ValueError(
                f"ranges must have shape {(d, 2)}, with a smaller and a larger value "
                f"in each row; got shape {limits.shape}"
            )
    elif rules.ranges is not None:
        limits = rules.ranges
    else:
        raise ValueError(
            "ranges must be given, because this model does not know the range of its "
            "features: pass the smallest and the largest value of each"
        )
    low, high = limits.T
    width = np.where(high > low, high - low, 1.0)
    return (low + high) / 2, width / (2 * LARGEST)
