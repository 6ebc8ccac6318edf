"""Scores of linear rules and votes between all pairs of classes, on a device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heterolda.foundations.devices import Device
from heterolda.foundations.types import Array
from heterolda.kernels.votes import incidence, n_classes_of

# Scores are kept near or below this, so that sums of them do not overflow.
_ROOM = 1e8
_LARGEST_SCORE = {8: 1e300, 4: 1e30}  # by the bytes of a number
# Whole numbers up to this are exact in half precision.
_MOST_IN_HALF = 2048


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
    return scores, bool(xp.all(xp.isfinite(scores * _ROOM)))


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


class WinCode(NamedTuple):
    """How to find a class that wins all its pairs, in few passes over the scores.

    The wins of a class k, times `unit`, plus unit - 1 - k are its code, and the largest
    code of a row names the class of most wins. Two more rules see to it that rows of
    huge numbers, infinity or NaN have codes no larger than `full`: each is positive for
    all other rows, and without them a class lacks wins.

    Attributes
    ----------
    coef : array of shape (n_features, n_columns)
        Coefficients of the pairs, of two more rules, and zeros.
    threshold : array of shape (n_columns,)
        What the products with them must exceed: minus the intercepts.
    marks : array of shape (n_classes, n_columns)
        What each rule adds to the code of each class if it does.
    unit, full : int
        Codes above `full` are of classes that win all their pairs, and the votes.
    """

    coef: Any
    threshold: Any
    marks: Any
    unit: int
    full: int


def win_code(
    device: Device, coef: Array, intercept: Array, weight: Array, dtype: Any
) -> WinCode | None:
    """The code for rules of all pairs and rows of a type; None if they are extreme."""
    limit = float(device.xp.finfo(dtype).max)
    with np.errstate(over="ignore"):
        # If a feature times this is finite, so are all scores, and with some room.
        large = np.abs(coef).max(initial=0.0) * coef.shape[1] * _ROOM
    if not max(large, np.abs(intercept).max()) < limit:
        return None
    n_classes = n_classes_of(weight)
    unit = 1 << n_classes.bit_length()
    k = np.arange(n_classes)
    n_rules, d = coef.shape
    n_columns = -(-(n_rules + 2) // 8) * 8  # as matrix units like it
    padded, threshold = np.zeros((d, n_columns)), np.full(n_columns, -limit)
    padded[:, :n_rules], threshold[:n_rules] = coef.T, -intercept
    padded[:, n_rules], padded[:, n_rules + 1] = large, -large
    marks = np.zeros((n_classes, n_columns))
    marks[:, :n_rules] = unit * incidence(n_classes).toarray().T
    marks[:, n_rules] = unit * (n_classes - 1 - k) + unit - 1 - k
    marks[:, n_rules + 1] = unit * _decides(weight, n_classes)
    exact = device.is_gpu and unit * (n_classes + 1) < _MOST_IN_HALF
    kind = device.xp.float16 if exact else device.xp.float32
    return WinCode(
        device.put(padded, dtype),
        device.put(threshold, dtype),
        device.put(marks, kind),
        unit,
        unit * n_classes,
    )


def _decides(weight: Array, n_classes: int) -> Any:
    """Whether the votes of all its pairs make a class win, whatever others get."""
    both = np.zeros((n_classes, n_classes))
    both[np.triu_indices(n_classes, 1)] = weight
    both += both.T
    total = both.sum(axis=1)
    rivals = total - both
    np.fill_diagonal(rivals, -np.inf)
    return total > rivals.max(axis=1)


def largest_codes(device: Device, rows: Any, code: WinCode) -> Any:
    """The largest code of each row.

    Rows are multiplied by all rules, the signs are written in few bytes, and these are
    multiplied by marks: two products, and two passes over what they give.
    """
    xp = device.xp
    products = xp.matmul(rows, code.coef)
    if device.is_torch:  # in one pass
        signs = xp.empty(products.shape, dtype=code.marks.dtype, device=device.device)
        xp.gt(products, code.threshold, out=signs)
    else:
        signs = device.astype(products > code.threshold, code.marks.dtype)
    return xp.max(xp.matmul(code.marks, signs.T), axis=0)
