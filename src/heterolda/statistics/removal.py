"""The moments of a class without some of its rows: the merge of moments, undone."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from heterolda.exceptions import PrecisionWarning
from heterolda.foundations.types import Array
from heterolda.foundations.wording import listed

# What rounding may do to sums of rows: to the weight, the squares and the mean, as a
# share of what they are before rows are taken away.
_WEIGHT = 1e-10
_SQUARES = 2e-15
_MEAN = 1e-15
# So many times the rounding errors, the rows were not there.
_DOUBT = 1e4
# Rounding errors that draw a warning, as a share of the squares that are left.
_MUCH = 0.1

NO_REMOVAL = (
    "rows cannot be removed from statistics of fewer rows than features: gather the "
    "statistics of the other rows again"
)


class Moments(NamedTuple):
    """Weight, mean and scatter of one class."""

    weight: float
    mean: Array
    scatter: Array


def rounding(whole: Moments) -> Array:
    """Squares that rounding may leave of each feature when all rows are taken away."""
    squares = np.diag(whole.scatter)
    shift = _MEAN * np.abs(whole.mean) * np.sqrt(whole.weight)
    found: Array = _SQUARES * squares + shift * (np.sqrt(squares) + shift)
    return found


def without(
    label: object, whole: Moments, part: Moments, noise: Array
) -> Moments | None:
    r"""The moments of a class without those of some of its rows.

    With the shift :math:`\delta = m_b - m_a` from the whole a to the part b, the rest
    has the weight :math:`W = W_a - W_b`, the mean :math:`m_a - \delta W_b / W` and the
    scatter :math:`S_a - S_b - \delta \delta' W_a W_b / W`. If no rows are left, there
    are no moments. `noise` has the squares of each feature that rounding may leave at
    this and at earlier removals; errors name the label.
    """
    weight = whole.weight - part.weight
    gone = weight <= _WEIGHT * whole.weight
    with np.errstate(over="ignore", invalid="ignore"):
        shift = part.mean - whole.mean
        scatter = whole.scatter - part.scatter
        factor = whole.weight * (1.0 if gone else part.weight / weight)
        scatter -= factor * np.outer(shift, shift)
    squares, limit = np.diag(scatter), _DOUBT * noise
    unit = np.sqrt(np.where(limit > 0, limit, 1.0))
    if weight < -_WEIGHT * whole.weight:
        problem = f"a weight of {weight:.6g}"
    elif not np.all(np.isfinite(scatter)):
        problem = "squares that overflow float64"
    elif gone and np.any(np.abs(squares) > limit):
        problem = "squares, but no rows"
    elif np.any(squares < -limit) or (
        np.linalg.eigvalsh(scatter / unit / unit[:, None])[0] < -1
    ):
        problem = "a negative variance"
    elif gone:
        return None
    else:
        mean = whole.mean - shift * (part.weight / weight)
        if weight > 1:
            _warn_of_rounding(label, np.diag(whole.scatter), squares, noise)
        return Moments(weight, mean, _cleaned(scatter, noise))
    raise ValueError(
        f"these rows of class {label!r} cannot be removed, they would leave {problem}: "
        "they were never added, or earlier removals left little but rounding errors; "
        "gather the statistics of the other rows again"
    )


def _warn_of_rounding(
    label: object, before: Array, squares: Array, noise: Array
) -> None:
    """Say which features of a class have lost their digits by this removal."""
    lost = (noise > _MUCH * squares) & (noise <= _MUCH * before)
    if lost.any():
        warnings.warn(
            f"the variance of features {np.flatnonzero(lost).tolist()} in class "
            f"{label!r} is partly or wholly rounding errors after this removal. This "
            "is harmless if the other rows do not vary; if they do, gather their "
            "statistics again",
            PrecisionWarning,
            stacklevel=5,
        )


def _cleaned(scatter: Array, noise: Array) -> Array:
    """The scatter, zero in features that do no more than the noise; else at least that.

    So it is positive semi-definite. Eigenvalues are raised in units of the noise: each
    feature changes by as little as its own rounding errors, however large others' are.
    """
    unit = np.sqrt(np.outer(noise, noise))
    varies = np.flatnonzero((noise > 0) & np.any(np.abs(scatter) > unit, axis=0))
    block = np.ix_(varies, varies)
    values, vectors = np.linalg.eigh(scatter[block] / unit[block])
    cleaned = np.zeros_like(scatter)
    cleaned[block] = scatter[block]
    if np.any(values < 1):
        cleaned[block] = (vectors * np.maximum(values, 1.0)) @ vectors.T * unit[block]
    return cleaned


def take_away(
    left: dict[Any, Moments], part: dict[Any, Moments], noise: dict[Any, Array]
) -> None:
    """Take the moments of some rows away from those of all, by label, in place.

    Classes of which no rows are left are gone. `noise` is as for `without`, and grows.
    """
    taken = [label for label, moments in part.items() if moments.weight > 0]
    there = {label for label, moments in left.items() if moments.weight > 0}
    missing = [label for label in taken if label not in there]
    if missing:
        raise ValueError(
            f"rows of classes {listed(np.array(missing))} cannot be removed: these "
            "statistics have no such rows"
        )
    for label in taken:
        noise[label] = np.maximum(rounding(left[label]), noise.get(label, 0.0))
        rest = without(label, left.pop(label), part[label], noise[label])
        if rest is not None:
            left[label] = rest
