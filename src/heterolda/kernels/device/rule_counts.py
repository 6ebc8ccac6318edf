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
    weight = None if rows.weight is None else rows.weight[order]
    totals = np.bincount(member, weight, n_classes).astype(np.float64)
    pairs = np.flatnonzero(rows.judged)
    step = max(1, _BLOCK // max(1, X.shape[0]))
    coef = np.concatenate([rules[0], others[0]], axis=1).reshape(-1, X.shape[1])
    intercept = np.stack([rules[1], others[1]], axis=1).ravel()
    for some in (pairs[i : i + step] for i in range(0, len(pairs), step)):
        both = (2 * some[:, None] + [0, 1]).T.ravel()  # one rule of each, then others
        scores = xp.matmul(X, device.put(coef[both].T)) + device.put(intercept[both])
        positive, n = scores > 0, len(some)
        one, two = positive[:, :n], positive[:, n:]
        masks = device.astype(xp.concat([one, two, one != two], axis=1), X.dtype)
        found = xp.matmul(marks, masks)
        if not bool(xp.isfinite(xp.sum(scores))):
            return None
        known = to_host(found)
        _add(counts, rows, some, np.split(known, 3, axis=1), totals)
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
