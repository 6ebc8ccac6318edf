"""Scores of linear rules and votes between all pairs of classes, on a device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.arrays import Array, Device
from heterolda.kernels.votes import incidence, n_classes_of

# Scores are kept near or below this, so that sums of them do not overflow.
_ROOM = 1e8
_LARGEST_SCORE = {8: 1e300, 4: 1e30}  # by the bytes of a number


class Rules(NamedTuple):
    """Linear rules on a device.

    Attributes
    ----------
    coef : array of shape (n_features, n_rules)
        Coefficients, a column for each rule.
    intercept : array of shape (n_rules,)
        Intercepts.
    """

    coef: Any
    intercept: Any


def put_rules(device: Device, coef: Array, intercept: Array, dtype: Any) -> Rules:
    """Copy rules to a device, as numbers of a type."""
    columns = np.ascontiguousarray(coef.T)
    return Rules(device.put(columns, dtype), device.put(intercept, dtype))


def scores_of_rows(device: Device, rows: Any, rules: Rules) -> tuple[Any, bool]:
    """Scores of shape (n, n_rules), and whether all are of a size to be trusted."""
    xp = device.xp
    if rules.coef.shape[1] == 1:  # by a vector it is faster
        scores = xp.matmul(rows, rules.coef[:, 0]) + rules.intercept
        scores = scores[:, None]
    else:
        scores = xp.matmul(rows, rules.coef) + rules.intercept
    extremes = xp.stack([xp.max(scores), xp.min(scores)])  # NaN where there is one
    return scores, bool(xp.all(xp.isfinite(extremes * _ROOM)))


def huge_scores(device: Device, rows: Any, rules: Rules) -> Any:
    """Scores of finite rows of any size: finite, and of the right sign.

    Products of such rows and rules may overflow, so rows are scaled first.
    """
    xp = device.xp
    scores = xp.matmul(rows, rules.coef) + rules.intercept
    size = xp.max(xp.abs(rows), axis=1, keepdims=True)
    size = xp.where(size == 0, xp.ones_like(size), size)
    scaled = size * (xp.matmul(rows / size, rules.coef) + rules.intercept / size)
    most = _LARGEST_SCORE[xp.finfo(scores.dtype).bits // 8]
    scaled = xp.clip(scaled, -most, most)
    return xp.where(xp.isfinite(scores * _ROOM), scores, scaled)


def winners_of_scores(device: Device, scores: Any, weight: Array) -> Any:
    """The class of most votes; exact ties go to the larger sum of scores.

    Of classes that are tied in their scores, too, the first wins. Sums of weights are
    exact in float64, in any order.
    """
    xp = device.xp
    marks = incidence(n_classes_of(weight))
    base = weight @ incidence(n_classes_of(weight), 1.0, 0.0)
    moves = device.put(weight[:, None] * marks.toarray())
    votes = xp.matmul(device.astype(scores > 0, moves.dtype), moves) + device.put(base)
    leads = votes == xp.max(votes, axis=1, keepdims=True)
    confidence = xp.matmul(scores, device.put(marks.toarray()))
    lowest = xp.full_like(confidence, -xp.inf)
    return xp.argmax(xp.where(leads, confidence, lowest), axis=1)
