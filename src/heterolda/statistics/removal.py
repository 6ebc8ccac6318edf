"""The moments of a class without some of its rows: the merge of moments, undone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.types import Array
from heterolda.foundations.wording import listed

# What rounding does to sums of rows, as a share of them: to weights, and to squares and
# means; so many times that, the rows were never there.
_SAME_WEIGHT, _ROUNDING, _DOUBT = 1e-10, 2e-14, 1e4

Moments = tuple[float, Array, Array]  # weight, mean and scatter of a class


def check_removable(wide: bool, taken: NDArray[Any], present: NDArray[Any]) -> None:
    """Refuse to take rows from factors, and rows of classes that have none."""
    if wide:
        raise ValueError(
            "rows cannot be removed from statistics of fewer rows than features: "
            "gather the statistics of the other rows again"
        )
    absent = np.setdiff1d(taken, present)
    if len(absent):
        raise ValueError(
            f"rows of classes {listed(absent)} cannot be removed, because these "
            "statistics have none: subtract only what was added"
        )


def without(whole: Moments, part: Moments, label: object) -> Moments:
    r"""Return the moments of a class without those of some of its rows.

    With the shift :math:`\delta = m_b - m_a` from the whole a to the part b, the rest
    has the weight :math:`W = W_a - W_b`, the mean :math:`m_a - \delta W_b / W` and the
    scatter :math:`S_a - S_b - \delta \delta' W_a W_b / W`. What is no more than
    rounding becomes zero; errors name the label.
    """
    weight = whole[0] - part[0]
    if abs(weight) <= _SAME_WEIGHT * whole[0]:
        return 0.0, whole[1], whole[2]
    squares = np.diag(whole[2])
    with np.errstate(over="ignore", invalid="ignore"):
        shift = part[1] - whole[1]
        step = shift * (part[0] / weight)
        mean = whole[1] - step
        scatter = whole[2] - part[2] - np.outer(shift, step) * whole[0]
        error = _ROUNDING * (np.abs(whole[1]) + np.abs(step))
        far = np.sqrt(whole[0]) * error
        noise = _ROUNDING * squares + far * (np.sqrt(squares) + far)
        left = np.diag(scatter)
        impossible = ~np.isfinite(left) | (left < -_DOUBT * noise)
    if weight < 0 or impossible.any():
        what = f"weight of {weight:.6g}" if weight < 0 else "negative variance"
        raise ValueError(
            f"removing these rows would leave class {label!r} with a {what}: subtract "
            "only what was added, or gather the statistics of the other rows again"
        )
    constant = left <= noise
    scatter[constant] = scatter[:, constant] = 0.0
    return weight, np.where(np.abs(mean) <= error, 0.0, mean), scatter
