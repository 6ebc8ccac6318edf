"""How many rows two rules of a pair that were not fitted to them get wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import heterolda.kernels as kernels
from heterolda.foundations.arrays import Array, Mask
from heterolda.kernels.rule_counts import RowsOfPairs


def left_out_counts(
    rows: RowsOfPairs,
    moments: tuple[Array, Array, Array],
    log_odds: Array,
    planes: tuple[Array, Array, Mask, Array],
    fisher: Array,
    *,
    frequencies: bool,
) -> tuple[Array, Mask]:
    """Counts as of `rule_counts`, by rules without the row in question.

    These are the rule at the same place of the arc, and Fisher's; see `left_out_scores`
    of the solvers. `moments` are means, covariances and weights of the classes,
    `log_odds` those of the first class of each pair. `planes` are the weights of S1
    and S2 on the arc, deviations, trivial and coefficients of the rules with all rows,
    and `fisher` the coefficients of Fisher's. Also returned, of shape (n_pairs, 2), is
    where nothing was counted: where covariances are next to singular, where the weight
    of a row is below one, and everywhere without the compiled kernel.
    """
    counts = np.zeros((len(rows.judged), 2, 3))
    handed = np.ones((len(rows.judged), 2), bool)
    if kernels.compiled is None:
        return counts, handed
    if not rows.ready:
        rows = _gathered(rows)
    known = list(map(kernels.ready, (*moments, log_odds, *planes, fisher)))
    kernels.compiled.left_out_counts(
        *rows.arguments(), *known, frequencies, counts, handed
    )
    return counts, handed


def _gathered(rows: RowsOfPairs) -> RowsOfPairs:
    """The rows of the classes that count, in float64."""
    sizes = np.diff(rows.bounds)
    order = rows.order[np.repeat(rows.chosen, sizes)]
    X: Any = rows.X.take(order, axis=0)
    return replace(
        rows,
        X=X.astype(np.float64, order="C"),
        weight=None if rows.weight is None else rows.weight[order],
        order=np.arange(len(order)),
        bounds=np.append(0, np.where(rows.chosen, sizes, 0).cumsum()),
    )
