"""Fitting estimators to files and Arrow streams that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from heterolda.data.labels import ClassFinder
from heterolda.data.sources import is_read_once, read_once
from heterolda.data.table import MEMORY, RowProgress, Table, silent
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.validation import check_number
from heterolda.search.algorithm2 import Reporter
from heterolda.search.passes import (
    NearestRows,
    Pairing,
    RuleEvaluation,
    Walk,
    evaluate_rule,
)

Estimator = TypeVar("Estimator")

# Copies of the rows at hand that there are at the same time, at most.
_COPIES = 4
_SEARCH = "the search reads the rows several times"


def fit_batches(
    estimator: Estimator,
    source: Any,
    target: Any,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: Any = None,
    missing: str | None = None,
    batch_size: int | None = None,
    memory: float = MEMORY,
    progress: RowProgress = silent,
) -> Estimator:
    """Fit an estimator to files, Arrow data or an array, batch by batch.

    A discriminant or a projection reads the rows once, to gather class statistics. A
    search with the strategy "paper" reads them several times. After each pass it keeps
    the rows nearest to the threshold in memory, and iterates for as long as these
    suffice. The rule is the same as for rows in memory.

    Parameters
    ----------
    estimator : GaussianLinearDiscriminant, HeteroscedasticProjection or \
            LocalNeighborhoodSearch
        The estimator to fit.
    source, target, columns, exclude, sample_weight, batch_size
        As for :func:`heterolda.data.statistics_from_batches`. For a search, the
        source must be readable more than once.
    missing : {"error", "drop", "em"} or None, default=None
        How to treat missing values, as for
        :func:`heterolda.data.statistics_from_batches`. If None, the parameter `missing`
        of the estimator, or "error" if it has none. "em" requires
        ``GaussianLinearDiscriminant(missing="em")``, which also predicts rows with
        gaps.
    memory : float, default=2**29
        Bytes for the rows that a search keeps, or for rows with gaps. More memory means
        fewer passes.
    progress : callable
        Called with the number of rows so far after each batch of the first pass. For
        later passes, use `verbose` of the search.

    Returns
    -------
    estimator
        The fitted estimator.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from heterolda import LocalNeighborhoodSearch
    >>> from heterolda.data import fit_batches
    >>> table = pa.table(
    ...     {"width": [1.0, 2.0, 4.0, 3.0, 6.0, 7.0], "kind": [*"aaabbb"]}
    ... )
    >>> search = fit_batches(LocalNeighborhoodSearch(), table, "kind")
    >>> search.n_errors_
    array([1])
    """
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator must be an object, got a class: pass {name}()")
    check_number("fit_batches", "memory", memory, 1, np.inf)
    own = getattr(estimator, "missing", None)
    if missing == "em" and own != "em":
        em = Setting("missing", "em")
        raise ParameterError(
            em,
            " needs GaussianLinearDiscriminant(missing='em'), which also predicts rows "
            f"with gaps, got {estimator!r:.80}; or leave such rows out with ",
            Setting("missing", "drop"),
        )
    missing = own or "error" if missing is None else missing
    settings = columns, exclude, sample_weight, missing, batch_size
    table = Table.of(source, target, *settings, takes_gaps=own is not None)
    if hasattr(estimator, "_fit_in_passes"):
        if is_read_once(source):
            raise read_once(source, _SEARCH)
        estimator._fit_in_passes(FileRows(table, memory, progress))
    elif hasattr(estimator, "_fit_sampled"):
        statistics, sample = table.statistics_and_sample(progress, memory)
        estimator._fit_sampled(statistics, sample)
    else:
        raise TypeError(
            "estimator must be a GaussianLinearDiscriminant, a "
            "HeteroscedasticProjection or a LocalNeighborhoodSearch, got "
            f"{type(estimator).__name__}"
        )
    return estimator


class FileRows:
    """Rows of files for a search, which may keep some in so many bytes of memory."""

    def __init__(self, table: Table, memory: float, progress: RowProgress):
        self.table = table
        self.statistics, self.sample = table.statistics_and_sample(progress)
        self.weighted = table.sample_weight is not None
        row = 8 * (self.statistics.n_features + 3)
        self.room = max(1, int(memory / (_COPIES * row)))
        self._near: dict[int, NearestRows] = {}

    def make_pass(self, pairing: Pairing, walks: Mapping[int, Walk]) -> None:
        """Read all rows once; each walk, by its pair, gets to know its next move."""
        self._near = {}
        room = max(1, self.room // len(walks))
        pools = {k: _Pool(room) for k in walks}
        finder = ClassFinder(pairing.classes)
        n_rows = 0
        for batch in self.table.batches():
            n_rows += len(batch.X)
            arrays = batch.X, finder.of(batch), batch.weight
            for k, rows in pairing.rows(walks, *arrays):
                walk, pool = walks[k], pools[k]
                pool.add(evaluate_rule(rows, walk.v, walk.step, room, pool.horizon))
        if not n_rows:  # the first pass found some
            raise read_once(self.table.source, _SEARCH)
        for k, walk in walks.items():
            total = pools[k].total()
            walk.apply_pass(total.errors, total.changes, total.near.horizon)
            self._near[k] = total.near

    def move_in_memory(
        self, pairing: Pairing, walks: Mapping[int, Walk], reports: list[Reporter]
    ) -> None:
        """Let each walk move as far as the rows that were kept in memory suffice."""
        for k, walk in walks.items():
            walk.move_in_memory(self._near.pop(k), reports[k])


class _Pool:
    """The evaluations of a rule on several batches, with the rows nearest in all."""

    def __init__(self, room: int):
        self.room = room
        self.horizon = np.inf
        self._evaluations: list[RuleEvaluation] = []

    def add(self, found: RuleEvaluation) -> None:
        """Add that of a batch."""
        self._evaluations.append(found)
        self.horizon = min(self.horizon, found.near.horizon)
        if sum(len(one.near.sizes) for one in self._evaluations) > 1.5 * self.room:
            self._evaluations = [self.total()]
            self.horizon = self._evaluations[0].near.horizon

    def total(self) -> RuleEvaluation:
        """The evaluation on all batches."""
        return RuleEvaluation(
            sum(one.errors for one in self._evaluations),
            np.sum([one.changes for one in self._evaluations], axis=0),
            NearestRows.joined([one.near for one in self._evaluations], self.room),
        )
