"""Fit to files and Arrow streams that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from heterolda.data.gathering import draw_rows, gather
from heterolda.data.table import Table
from heterolda.exceptions import ParameterError
from heterolda.foundations.threads import Progress, silent
from heterolda.statistics.class_statistics import ClassStatistics

Estimator = TypeVar("Estimator")


def statistics_from_batches(
    source: Any,
    target: str,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: str | None = None,
    missing: str = "error",
    progress: Progress = silent,
) -> ClassStatistics:
    """Gather class statistics from files or Arrow streams, batch by batch.

    Memory use does not grow with the number of rows: it holds a few batches and one
    matrix per class, or all rows while they are fewer than the features.

    Parameters
    ----------
    source : path, list of paths or Arrow data
        One of these:

        - Parquet files (``.parquet``, ``.pq``), Excel workbooks (``.xlsx``) or text
          files with a header (``.csv``, ``.tsv``, also ``.gz``): a file, a folder, a
          pattern such as ``"data/*.parquet"``, or a list of them;
        - a pyarrow dataset, table or reader, an object that exports an Arrow stream,
          such as a DuckDB relation or a Polars (also lazy) or pandas data frame, or an
          iterable of record batches or tables.
    target : str
        Label column: text, whole numbers or booleans. Labels from text files become
        integers if all of them are.
    columns : iterable of str or None, default=None
        Feature columns, in this order. If None, all columns of the first file except
        `target`, `sample_weight`, `exclude` and an index written by pandas; other files
        must then have the same columns.
    exclude : iterable of str, default=()
        Columns that are not features, such as identifiers.
    sample_weight : str or None, default=None
        Column of frequencies.
    missing : {"error", "drop", "em"}, default="error"
        How to treat rows in which a feature, the label or the weight is missing (null
        or NaN). "drop" leaves them out, with a warning. "em" leaves out only rows
        without label or weight, and finds the maximum-likelihood moments as
        :meth:`ClassStatistics.from_data` does. If the incomplete rows do not fit in
        512 MB, it reads the source again for each of its steps.
    progress : callable
        Called after each batch with a message, the number of rows so far, and NaN.

    Returns
    -------
    ClassStatistics
        The statistics, with the names of the features. Pass them to
        :meth:`GaussianLinearDiscriminant.fit_statistics`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from heterolda.data import statistics_from_batches
    >>> table = pa.table(
    ...     {"width": [1.0, 2.0, 4.0, 7.0], "kind": ["a", "a", "b", "b"]}
    ... )
    >>> statistics_from_batches(table, "kind")
    ClassStatistics(n_classes=2, n_features=1, weights=[2. 2.])
    """
    target = _column_name(target)
    table = Table(source, target, columns, exclude, sample_weight, missing)
    return gather(table, progress, sampled=False).statistics


def fit_batches(
    estimator: Estimator,
    source: Any,
    target: str,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: str | None = None,
    missing: str | None = None,
    progress: Progress = silent,
) -> Estimator:
    """Fit an estimator to files or Arrow data, batch by batch.

    The rows are read once, to gather class statistics, and again only if too many of
    them have missing values to fit in memory. A :class:`SmoothedLinearDiscriminant`
    takes 100,000 rows, drawn at random in the first pass; if there are more, the
    moments of all transformed rows need a second one.

    Parameters
    ----------
    estimator : estimator
        The GaussianLinearDiscriminant, SmoothedLinearDiscriminant or
        HeteroscedasticProjection to fit.
    source, target, columns, exclude, sample_weight
        As for :func:`heterolda.data.statistics_from_batches`.
    missing : {"error", "drop", "em"} or None, default=None
        How to treat missing values, as for
        :func:`heterolda.data.statistics_from_batches`. If None, the parameter `missing`
        of the estimator, or "error" if it has none. "em" requires an estimator with
        ``missing="em"``, which also predicts incomplete rows.
    progress : callable
        Called after each batch of the first pass with a message, the number of rows
        so far, and NaN.

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
    fit_drawn = getattr(estimator, "_fit_drawn", None)  # takes rows, in two passes
    if fit is None and fit_drawn is None:
        raise TypeError(
            f"estimator {type(estimator).__name__} needs rows in memory. Draw a sample "
            "and call fit, or pass a GaussianLinearDiscriminant, a "
            "SmoothedLinearDiscriminant or a HeteroscedasticProjection."
        )
    setting = getattr(estimator, "missing", None)
    if missing == "em" and setting != "em":
        raise ParameterError(
            "missing",
            f"='em' needs GaussianLinearDiscriminant(missing='em'), which also "
            f"predicts incomplete rows, got {estimator!r:.80}; or leave such rows out "
            "with missing='drop'",
        )
    missing = setting or "error" if missing is None else missing
    table = Table(
        source,
        _column_name(target),
        columns,
        exclude,
        sample_weight,
        missing,
        takes_missing=setting is not None,
    )
    if fit_drawn is not None:
        fit_drawn(draw_rows(table, progress))
    elif fit is not None:
        seed = getattr(estimator, "random_state", 0)
        gathered = gather(table, progress, random_state=seed)
        fit(gathered.statistics, gathered.sample)
    return estimator


def _column_name(target: Any) -> str:
    if not isinstance(target, str):
        raise TypeError(f"target must be the name of a column, got {target!r:.50}")
    return target
