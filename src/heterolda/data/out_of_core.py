"""Fitting estimators to files and Arrow streams that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from heterolda.data.table import MEMORY, RowProgress, Table, silent
from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import check_number

Estimator = TypeVar("Estimator")


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

    The rows are read once, to gather class statistics; again only if too many of them
    have missing values, see `memory`.

    Parameters
    ----------
    estimator : GaussianLinearDiscriminant or HeteroscedasticProjection
        The estimator to fit.
    source, target, columns, exclude, sample_weight, batch_size
        As for :func:`heterolda.data.statistics_from_batches`.
    missing : {"error", "drop", "em"} or None, default=None
        How to treat missing values, as for
        :func:`heterolda.data.statistics_from_batches`. If None, the parameter `missing`
        of the estimator, or "error" if it has none. "em" requires
        ``GaussianLinearDiscriminant(missing="em")``, which also predicts
        incomplete rows.
    memory : float, default=2**29
        Bytes for incomplete rows. More memory means fewer passes over the source.
    progress : callable
        Called with the number of rows so far after each batch of the first pass.

    Returns
    -------
    estimator
        The fitted estimator.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.data import fit_batches
    >>> table = pa.table(
    ...     {"width": [1.0, 2.0, 4.0, 3.0, 6.0, 7.0], "kind": [*"aaabbb"]}
    ... )
    >>> model = fit_batches(GaussianLinearDiscriminant(), table, "kind")
    >>> model.statistics_.weights
    array([3., 3.])
    """
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator must be an object, got a class: pass {name}()")
    fit = getattr(estimator, "_fit_sampled", None)
    if fit is None:
        raise TypeError(
            f"{type(estimator).__name__} needs rows in memory. Draw a sample and call "
            "fit, or pass a GaussianLinearDiscriminant or a HeteroscedasticProjection."
        )
    check_number("memory", memory, 1, np.inf)
    own = getattr(estimator, "missing", None)
    if missing == "em" and own != "em":
        raise ParameterError(
            "missing",
            f"='em' needs GaussianLinearDiscriminant(missing='em'), which also "
            f"predicts rows with gaps, got {estimator!r:.80}; or leave such rows out "
            "with missing='drop'",
        )
    missing = own or "error" if missing is None else missing
    settings = columns, exclude, sample_weight, missing, batch_size
    table = Table.of(source, target, *settings, takes_gaps=own is not None)
    statistics, sample = table.statistics_and_sample(progress, memory)
    fit(statistics, sample)
    return estimator
