"""Class probabilities from the scores of rules, on a device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.arrays import Device
from heterolda.kernels.coupling import LEAST_LOG_ODDS, MOST_LOG_ODDS, Curve
from heterolda.kernels.votes import incidence


class PutCurve(NamedTuple):
    """A `Curve` on a device, and the inverses of its limits."""

    low: Any
    high: Any
    inverse_low: Any
    inverse_high: Any
    bend: Any
    unit: Any  # None where it is 1 for all pairs
    no: tuple[Any, Any, Any]
    yes: tuple[Any, Any, Any]


def put_curve(device: Device, curve: Curve) -> PutCurve:
    """Copy a curve to a device."""
    put, parts = device.put, (curve.slope, curve.offset, curve.step)
    known = curve.low, curve.high, 1 / curve.low, 1 / curve.high, curve.bend
    return PutCurve(
        *map(put, known),
        unit=put(curve.unit) if (curve.unit != 1).any() else None,
        no=tuple(
            put(sign * one[0]) for one, sign in zip(parts, (1, -1, -1), strict=True)
        ),
        yes=tuple(put(one[1]) for one in parts),
    )


def log_odds(device: Device, scores: Any, curve: PutCurve) -> Any:
    """Log-odds of the second class of each pair; see `Curve`."""
    xp = device.xp
    s = xp.clip(scores, curve.low, curve.high)
    s = s if curve.unit is None else s / curve.unit
    beyond = xp.maximum(scores * curve.inverse_low, scores * curve.inverse_high)
    times, bent = _doublings(device, beyond), curve.bend * s
    no, yes = (
        s * (bent + slope) + offset + step * times
        for slope, offset, step in (curve.no, curve.yes)
    )
    yes = xp.maximum(yes, LEAST_LOG_ODDS + 0.5 * xp.clip(yes, 0.0, None))
    no = xp.clip(no, -MOST_LOG_ODDS, 0.0)
    return xp.where(scores > 0, xp.clip(yes, None, MOST_LOG_ODDS), no)


def _doublings(device: Device, ratio: Any) -> Any:
    """How often one doubles to reach a ratio, linear between powers of two.

    An exponent that rounding makes too large by one changes next to nothing: lines of
    neighbouring exponents meet there.
    """
    xp = device.xp
    ratio = xp.clip(ratio, 1.0, float(np.finfo(np.float64).max))
    exponent = xp.clip(xp.floor(xp.log2(ratio)), 0.0, 1023.0)
    return exponent - 1 + ratio / xp.pow(xp.full_like(exponent, 2.0), exponent)


def logistic(device: Device, x: Any) -> Any:
    """1 / (1 + exp(-x)) for |x| up to 700."""
    return 1 / (1 + device.xp.exp(-x))


def put_ends(device: Device, n_classes: int) -> tuple[Any, Any]:
    """Which class is the first of each pair, and which the second, on a device."""
    first, second = (incidence(n_classes, *ends) for ends in ((1.0, 0.0), (0.0, 1.0)))
    return device.put(first.toarray()), device.put(second.toarray())


def couple(device: Device, log_odds_of_pairs: Any, ends: tuple[Any, Any]) -> Any:
    """Class probabilities from the log-odds of the second class of each pair."""
    xp, (first, second) = device.xp, ends
    odds = xp.exp(log_odds_of_pairs)
    against = xp.matmul(odds, first) + xp.matmul(1 / odds, second)
    p = 1 / (1 + against)
    return p / xp.sum(p, axis=1, keepdims=True)


def tempered(device: Device, probabilities: Any, temperature: float) -> Any:
    """Return probabilities whose logarithms are divided by a temperature."""
    xp, p = device.xp, probabilities
    if temperature == 1:
        return p
    p = (p / xp.max(p, axis=1, keepdims=True)) ** (1 / temperature)
    p = xp.clip(p, float(np.finfo(np.float64).tiny), None)
    return p / xp.sum(p, axis=1, keepdims=True)


def swap_largest_to_winner(device: Device, probabilities: Any, winner: Any) -> Any:
    """Probabilities with each row's largest swapped to the winning class."""
    xp, p = device.xp, probabilities
    won = _marked(device, p, winner)
    led = _marked(device, p, xp.argmax(p, axis=1))
    of_winner = xp.sum(xp.where(won, p, xp.zeros_like(p)), axis=1, keepdims=True)
    swapped = xp.where(
        won, xp.max(p, axis=1, keepdims=True), xp.where(led, of_winner, p)
    )
    return set_apart(device, swapped, winner)


def logarithms(device: Device, probabilities: Any) -> Any:
    """Logarithms of probabilities, the largest where theirs is."""
    winner = device.xp.argmax(probabilities, axis=1)
    return set_apart(device, device.xp.log(probabilities), winner)


def set_apart(device: Device, values: Any, winner: Any) -> Any:
    """Values, the winner's raised above equal ones by the least step."""
    xp = device.xp
    most = xp.max(values, axis=1, keepdims=True)
    more = xp.nextafter(most, xp.full_like(most, xp.inf))
    beaten = (xp.argmax(values, axis=1) != winner)[:, None]
    return xp.where(beaten & _marked(device, values, winner), more, values)


def _marked(device: Device, values: Any, column: Any) -> Any:
    """True in one column of each row."""
    columns = device.xp.arange(
        values.shape[1], dtype=column.dtype, device=device.device
    )
    return columns[None, :] == column[:, None]
