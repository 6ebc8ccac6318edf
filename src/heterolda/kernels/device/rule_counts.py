"""How many rows of each class two rules of a pair get wrong, where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.devices import device_of, to_host
from heterolda.foundations.types import Array

# Numbers of scores that are formed at a time.
_BLOCK = 1 << 26


def rule_counts(rows: Any, rules: Any, others: Any) -> Array | None:
    """What `heterolda.kernels.rule_counts` returns; None if scores are not finite."""
    device = device_of(rows.X, always=True)
    xp = device.xp
    counts = np.zeros((len(rows.judged), 2, 3))
    order, bounds = rows.order, rows.bounds
    n_classes = len(bounds) - 1
    X = rows.X
    if not np.array_equal(order, np.arange(X.shape[0])):
        X = xp.take(X, device.put(order), axis=0)
    X = device.astype(X, device.floats)
    member = np.repeat(np.arange(n_classes), np.diff(bounds))
    numbers = xp.arange(n_classes, dtype=xp.int64, device=device.device)
    marks = device.astype(device.put(member)[None, :] == numbers[:, None], X.dtype)
    if rows.weight is not None:
        marks = marks * device.put(rows.weight[order])[None, :]
    totals = xp.sum(marks, axis=1)
    pairs = np.flatnonzero(rows.judged)
    step = max(1, _BLOCK // max(1, X.shape[0]))
    for some in (pairs[i : i + step] for i in range(0, len(pairs), step)):
        scores = [
            xp.matmul(X, device.put(coef[some].T))
            + device.put(intercept[some])[None, :]
            for coef, intercept in (rules, others)
        ]
        one, two = (score > 0 for score in scores)
        finite = xp.isfinite(xp.sum(scores[0]) + xp.sum(scores[1]))
        positive = [
            to_host(xp.matmul(marks, device.astype(mask, X.dtype)))
            for mask in (one, two, one != two)
        ]
        if not bool(finite):
            return None
        _add(counts, rows, some, positive, to_host(totals))
    return counts


def _add(
    counts: Array, rows: Any, some: Any, positive: list[Any], totals: Array
) -> None:
    """Set the counts of some pairs from the weights of positive scores by class."""
    for side in (0, 1):
        known = rows.classes[some, side]
        usable = (known >= 0) & rows.chosen[known]
        at, where = np.flatnonzero(usable), known[usable]
        for i, weights in enumerate(positive):
            wrong = weights[where, at]
            if side == 1 and i < 2:
                wrong = totals[where] - wrong
            counts[some[at], side, i] = wrong
