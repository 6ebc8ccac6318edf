"""The search over pairs of classes whose rows are not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from heterolda.estimators.progress import SearchProgress
from heterolda.foundations.types import Array
from heterolda.search.algorithm2 import Reporter, report_progress
from heterolda.search.pair_search import PairResult, without_extremes
from heterolda.search.passes import Pairing, Walk
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.row_sample import RowSample


class RowsOutOfMemory(Protocol):
    """Rows in files or on a cluster that can be read again and again.

    `statistics` are those of all rows, `sample` has some of them; `weighted` says
    whether rows have weights.
    """

    statistics: ClassStatistics
    sample: RowSample
    weighted: bool

    def make_pass(self, pairing: Pairing, walks: Mapping[int, Walk]) -> None:
        """Read all rows once; each walk, by its pair, gets to know its next move."""

    def move_in_memory(
        self, pairing: Pairing, walks: Mapping[int, Walk], reports: list[Reporter]
    ) -> None:
        """Let each walk move as far as the rows that were kept in memory suffice."""


def search_in_passes(
    rows: RowsOutOfMemory,
    pairing: Pairing,
    starts: Array,
    progress: SearchProgress,
    *,
    step: float,
    max_iter: int,
    patience: int,
) -> list[PairResult]:
    """Search for the rules of all pairs by Algorithm 2.

    `starts` has shape (n_pairs, n_features + 1). A KeyboardInterrupt after the first
    pass ends the search with the best rules so far.
    """
    sizes = _sizes(rows.statistics)
    walks = [Walk(without_extremes(v, sizes), step, max_iter, patience) for v in starts]
    tasks, reports = zip(*map(progress.begin_pair, range(len(walks))), strict=True)
    results: dict[int, PairResult] = {}

    def close(k: int) -> None:
        results[k] = _summarise(rows.statistics, pairing, k, walks[k])
        progress.end_pair(k, tasks[k], results[k])

    try:
        while active := {k: walk for k, walk in enumerate(walks) if not walk.ended}:
            rows.make_pass(pairing, active)
            for k, walk in active.items():
                report_progress(reports[k], walk.state, pairing.unit(k))
            rows.move_in_memory(pairing, active, list(reports))
            for k in active:
                if walks[k].ended:
                    close(k)
    except KeyboardInterrupt:
        if any(walk.state[0] == 0 for walk in walks):
            raise  # not even the starts are counted
        progress.stop.set()
    for k in range(len(walks)):
        if k not in results:
            close(k)
    return [results[k] for k in range(len(walks))]


def _sizes(statistics: ClassStatistics) -> Array:
    """Bounds on the features of rows of weight 1 or more: mean and scatter."""
    squares = statistics.squares
    sizes: Array = np.max(np.abs(statistics.means) + np.sqrt(squares), axis=0)
    return sizes


def _summarise(
    statistics: ClassStatistics, pairing: Pairing, k: int, walk: Walk
) -> PairResult:
    """The record of the rule of a pair, with moments from the class statistics."""
    result = walk.result(pairing.unit(k))
    pair = pairing.pairs[k]
    w0, w = result.v[0], result.v[1:]
    totals = statistics.weights[pair]
    means = w0 - statistics.means[pair] @ w
    factors = statistics.factors
    if factors is None:
        squares = np.einsum("i,kij,j->k", w, statistics.scatters[pair], w)
    else:
        squares = np.array([np.square(factors[i] @ w).sum() for i in pair])
    spread = np.maximum(squares, 0) / np.maximum(totals - 1, totals / 2)
    return PairResult(
        rule=result.v,
        errors_start=result.errors_start,
        errors=result.errors,
        errors_held_out=np.nan,
        error_rate=result.errors / float(pairing.totals[pair].sum()),
        history=result.history,
        means=(float(means[0]), float(means[1])),
        deviations=(float(np.sqrt(spread[0])), float(np.sqrt(spread[1]))),
    )
