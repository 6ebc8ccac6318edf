"""A table of rows whose class is known: where it is, and what its columns mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.batches import Batch, decoded
from heterolda.data.categories import Category, UnseenLevels
from heterolda.data.columns import Columns
from heterolda.data.diagnosis import diagnosed
from heterolda.data.host_rows import LABELS, WEIGHTS, HostRows
from heterolda.data.labels import LabelNumbers
from heterolda.data.missing_rows import (
    IncompletePool,
    RereadRows,
    complete_rows,
    too_large_for_one_pass,
)
from heterolda.data.not_numbers import NotNumbersError
from heterolda.data.prefetch import prefetch
from heterolda.data.sampling import SamplePool
from heterolda.data.sources import is_read_once, open_source
from heterolda.data.warn import warn_of_missing_rows, warn_of_similar_labels
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    Array,
    Index,
    Mask,
    device_of,
    is_numpy,
    to_host,
)
from heterolda.foundations.validation import check_number
from heterolda.foundations.wording import MISSING_IN_FILES
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.missing import Passes
from heterolda.statistics.moments import RangeError
from heterolda.statistics.patterns import IncompleteRows
from heterolda.statistics.rows import Rows, frequency_factor
from heterolda.statistics.samples import RowSample, filled_rows, fold_of, row_hashes

# Is called with the number of rows so far.
RowProgress = Callable[[int], None]

# Every other row may be of another class only if there are no more rows than this.
_FEW_ROWS = 1000
# Numbers of the matrices of a class that statistics by fold may take.
_FOLD_NUMBERS = 1 << 19
# Bytes for rows that are kept.
MEMORY = 2**29


def statistics_from_batches(
    source: Any,
    target: Any,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: Any = None,
    missing: str = "error",
    batch_size: int | None = None,
    progress: RowProgress | None = None,
) -> ClassStatistics:
    """Gather class statistics from files, Arrow streams or an array, batch by batch.

    Memory does not grow with the number of rows: it holds a few batches and one matrix
    for each class, or all rows while these are fewer than the features. One thread
    decodes while the other sums.

    Parameters
    ----------
    source : path, list of paths, Arrow data or ndarray of shape (n_rows, n_features)
        One of these:

        - Parquet files (``.parquet``, ``.pq``), Excel workbooks (``.xlsx``) or text
          files with a header (``.csv``, ``.tsv``, also ``.gz``): a file, a folder, a
          pattern such as ``"data/*.parquet"``, or a list of them;
        - a pyarrow dataset, table or reader, an object that exports an Arrow stream,
          such as a DuckDB relation or a Polars (also lazy) or pandas data frame, or an
          iterable of record batches or tables;
        - a NumPy array, such as a memory map.
    target : str or array-like of shape (n_rows,)
        Column of the class labels: text, whole numbers or booleans. Labels from text
        files become integers if all of them are. For an array, the labels themselves.
    columns : iterable of str or None, default=None
        Feature columns, in this order. If None, all columns of the first file except
        `target`, `sample_weight`, `exclude` and an index written by pandas; other files
        must then have the same columns.
    exclude : iterable of str, default=()
        Columns that are not features, such as identifiers.
    sample_weight : str, array-like of shape (n_rows,) or None, default=None
        Column of frequencies. For an array, the frequencies themselves.
    missing : {"error", "drop", "em"}, default="error"
        How to treat rows in which a feature, the label or the weight is missing (null
        or NaN). "drop" leaves them out, with a warning. "em" leaves out only rows
        without label or weight, and finds the maximum-likelihood moments as
        :meth:`ClassStatistics.from_data` does. If the incomplete rows do not fit in
        512 MB, it reads the source again for each of its steps.
    batch_size : int or None, default=None
        Maximum number of rows to decode at a time. If None, about 16 MB. It does not
        apply to text files.
    progress : callable or None, default=None
        Called with the number of rows so far after each batch.

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
    settings = columns, exclude, sample_weight, missing, batch_size
    return Table.of(source, target, *settings).statistics(progress or silent)


def silent(n_rows: int) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True)
class Table:
    """A table of rows whose class is known, to be read as often as a task needs it.

    The fields are the arguments of :func:`statistics_from_batches`; without a target
    the labels are in the one column that is nothing else. Columns of categories are
    features, and `unseen` counts rows of theirs that are of levels of no fit.
    """

    source: Any
    target: str | None
    columns: Iterable[str] | None = None
    exclude: Iterable[str] = ()
    sample_weight: str | None = None
    missing: str = "error"
    batch_size: int | None = None
    categories: tuple[Category, ...] = ()
    n_columns: tuple[int, ...] = ()  # that files without header may have
    takes_gaps: bool = True  # whether to advise "em" where there are gaps
    unseen: UnseenLevels = field(default_factory=UnseenLevels, compare=False)

    def __post_init__(self) -> None:
        for name in ("columns", "exclude"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable | None):
                words = f"must be a list of names, got {value!r}"
                raise ParameterError(
                    name,
                    words,
                )
            object.__setattr__(self, name, None if value is None else tuple(value))
        if self.missing not in MISSING_IN_FILES:
            words = f"must be one of {list(MISSING_IN_FILES)}, got {self.missing!r}"
            raise ParameterError(
                "missing",
                words,
            )
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, 1, 2**31, integer=True)
        _check_names(self.wanted)

    @classmethod
    def of(cls, source: Any, target: Any, *settings: Any, **others: Any) -> Table:
        """A table of files, Arrow data or an array."""
        if (there := device_of(source, always=True)) is not None:
            if there.is_gpu:
                raise ParameterError(
                    "source",
                    "is an array on a GPU: pass it to fit, or to "
                    "ClassStatistics.from_data",
                )
            source = to_host(source)
        if not is_numpy(source):
            return cls(source, target, *settings, **others)
        columns, exclude, weight, *rest = settings
        if columns is not None or exclude:
            raise ParameterError(
                "columns" if exclude == () else "exclude",
                "is for tables with named columns: index the columns of an array "
                "instead",
            )
        rows = HostRows.checked(source, target, weight)
        names = columns, exclude, None if weight is None else WEIGHTS
        return cls(rows, LABELS, *names, *rest, **others)

    @property
    def wanted(self) -> Columns:
        """What to read of each file."""
        return Columns(
            None if self.columns is None else tuple(self.columns),
            self.target,
            self.sample_weight,
            tuple(self.exclude),
            find_target=self.target is None,
            batch_size=self.batch_size,
            categories=self.categories,
            n_columns=self.n_columns,
            unseen=self.unseen,
        )

    @property
    def advice(self) -> str | None:
        """The value of `missing` to advise for gaps, if none is given."""
        if self.missing != "error":
            return None
        return "em" if self.takes_gaps else "drop"

    def batches(self, progress: RowProgress = silent) -> Iterator[Batch]:
        """Read the rows, batch by batch; batches without rows are left out."""
        return (batch for batch in self._all_batches(progress) if len(batch.X))

    def _all_batches(self, progress: RowProgress) -> Iterator[Batch]:
        """Batches with and without rows, decoded in a thread."""
        n_rows = 0
        try:
            for batch in prefetch(self._decoded(), self.source):
                n_rows += len(batch.X) + batch.n_dropped
                progress(n_rows)
                yield batch
        except NotNumbersError as error:
            error.complete(self.advice)
            raise

    def _decoded(self) -> Iterator[Batch]:
        how = self.missing, self.advice
        if isinstance(self.source, HostRows):
            return self.source.batches(self.wanted, *how)
        return decoded(open_source(self.source, self.wanted), *how)

    def _batches_to_fit(self, progress: RowProgress) -> Iterator[Batch]:
        """The same; errors name all columns that are not numbers."""
        try:
            yield from self._all_batches(progress)
        except NotNumbersError as error:
            raise diagnosed(error, self.source, self.wanted, self.advice) from error

    def statistics(self, progress: RowProgress = silent) -> ClassStatistics:
        """Gather the class statistics, in one pass."""
        return self._gather(progress, MEMORY, sampled=False)[0][0]

    def statistics_and_sample(
        self, progress: RowProgress = silent, memory: float = MEMORY
    ) -> tuple[ClassStatistics, RowSample]:
        """Gather the class statistics and some rows of each class, in one pass.

        Incomplete rows are read again for each step of EM if they take more than
        that memory.
        """
        (total,), sample = self._gather(progress, memory, sampled=True)
        return total, sample

    def parts_and_sample(
        self, n_folds: int, progress: RowProgress = silent
    ) -> tuple[list[ClassStatistics], RowSample]:
        """Gather the same, and statistics of folds after those of all rows.

        The hash of a row says which fold is its own. Moments by EM, of rows with
        missing values, do not add up: then there are no folds.
        """
        return self._gather(progress, MEMORY, sampled=True, n_folds=n_folds)

    def _gather(
        self, progress: RowProgress, memory: float, *, sampled: bool, n_folds: int = 0
    ) -> tuple[list[ClassStatistics], Any]:
        """Return statistics of all rows and of folds, and some rows if asked for."""
        if self.target is None:
            raise TypeError("target must be the name of a column, got None")
        numbers, incomplete = LabelNumbers(), IncompletePool(memory)
        parts: list[ClassStatistics | None] = []
        pool = SamplePool()
        n_rows = n_dropped = 0
        files = {}
        for batch in self._batches_to_fit(progress):
            n_rows += len(batch.X)
            n_dropped += batch.n_dropped
            if not len(batch.X):
                continue
            codes = numbers.of(batch)
            _check_classes(batch, len(numbers), n_rows)
            if not parts:
                most = max(2, _FOLD_NUMBERS // batch.X.shape[1] ** 2)
                parts = [None] * (1 + min(n_folds, most))
            chosen = [np.ones(len(batch.X), bool)]
            if n_folds:
                folds = fold_of(row_hashes(batch.X), len(parts) - 1)
                chosen += [folds == k for k in range(len(parts) - 1)]
            parts = [
                _added(part, batch, codes, len(numbers), rows)
                for part, rows in zip(parts, chosen, strict=True)
            ]
            files[batch.file.name] = batch.file.columns
            if batch.n_gaps:
                incomplete.add(batch, codes, len(numbers))
                if incomplete.parts is None and is_read_once(self.source):
                    raise too_large_for_one_pass(self.source)
            if sampled:
                pool.add(batch.X, codes, batch.weight)
        warn_of_missing_rows(n_dropped, n_rows, self.missing)
        classes = numbers.classes
        warn_of_similar_labels(classes.tolist())
        sample = pool.total() if sampled and len(numbers) else None
        present = [part for part in parts if part is not None]
        if incomplete.n_rows:
            total = present[0] if present else None
            factor = 1.0
            if sample is not None:  # weights of a fit are frequencies
                complete = 0 if total is None else total.weights.sum()
                weight = incomplete.weight + complete
                factor = frequency_factor(weight, sample.n_rows)
                sample = replace(sample, weight=sample.weight * factor)
            present = [self._by_em(total, incomplete, numbers, factor, files)]
        if not present:
            raise _no_rows(n_dropped)
        found = [_with_labels(part, classes) for part in present]
        if isinstance(self.source, HostRows):
            for part in found:
                part.feature_names = None  # numbers, for messages
        if sample is not None:
            X = filled_rows(sample.X, found[0]) if incomplete.n_rows else sample.X
            sample = replace(sample, X=X, y=classes[sample.y])
        return found, sample

    def _by_em(
        self,
        total: ClassStatistics | None,
        incomplete: IncompletePool,
        numbers: LabelNumbers,
        factor: float,
        files: dict[str, Columns],
    ) -> ClassStatistics:
        """Return statistics of all rows by EM, with weights times a factor."""
        parts = complete_rows(total, len(numbers))
        if incomplete.parts is not None:
            rows = IncompleteRows.merged([*parts, *incomplete.parts])
            passes: Passes = [rows.scaled(factor)]
        else:
            parts = [part.scaled(factor) for part in parts]
            known = numbers, incomplete.n_rows, factor, self.source
            passes = RereadRows(parts, self.batches, *known)
        where, columns = next(iter(files.items()))
        where = where if len(files) == 1 else f"{len(files)} files"
        names = np.array(columns.feature_names, dtype=object)
        with _columns_named(where, names):
            return ClassStatistics.from_incomplete(passes, numbers.classes, names)

    def in_memory(
        self, progress: RowProgress = silent, most: int | None = None, seed: int = 0
    ) -> tuple[Array, NDArray[Any], Array | None, tuple[str, ...]]:
        """Read all rows at once: features, labels, weights, names of the features.

        Of more than `most` rows, a random sample of so many is kept.
        """
        numbers = LabelNumbers()
        sample = _Sample(most, np.random.default_rng(seed))
        n_rows = n_dropped = 0
        names: tuple[str, ...] = ()
        for batch in self._batches_to_fit(progress):
            sample.add(batch.X, numbers.of(batch), batch.weight)
            n_rows += len(batch.X)
            n_dropped += batch.n_dropped
            names = batch.file.columns.feature_names
        if not n_rows:
            raise _no_rows(n_dropped)
        warn_of_missing_rows(n_dropped, n_rows, self.missing)
        X, codes, weights = sample.rows()
        classes = numbers.classes
        warn_of_similar_labels(classes.tolist())
        return X, classes[codes], weights, names


class _Sample:
    """All rows of batches, or a random sample of `most` of them, in their order.

    A row has a random key, and those of the smallest keys are kept.
    """

    def __init__(self, most: int | None, rng: np.random.Generator) -> None:
        self._most = most
        self._rng = rng
        self._parts: list[tuple[Array, ...]] = []

    def add(self, X: Array, codes: NDArray[Any], weight: Array | None) -> None:
        """Add the rows of a batch."""
        keys = self._rng.random(len(X))
        self._parts.append((keys, X, codes, *([] if weight is None else [weight])))
        if self._most is not None and sum(map(_length, self._parts)) > 2 * self._most:
            self._parts = [self._kept()]

    def rows(self) -> tuple[Array, NDArray[Any], Array | None]:
        """Return features, codes of labels and weights."""
        _, X, codes, *weight = self._kept()
        return X, codes, weight[0] if weight else None

    def _kept(self) -> tuple[Array, ...]:
        parts = tuple(map(np.concatenate, zip(*self._parts, strict=True)))
        if self._most is None or len(parts[0]) <= self._most:
            return parts
        kept = np.sort(np.argpartition(parts[0], self._most - 1)[: self._most])
        return tuple(part[kept] for part in parts)


def _length(part: tuple[Array, ...]) -> int:
    return len(part[0])


def _check_names(wanted: Columns) -> None:
    """Refuse what is not a name, and a column that is to be two things."""
    names = [*wanted.all, *wanted.exclude]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                "target, sample_weight, columns and exclude must be column names, "
                f"which are text, got {name!r:.50}"
            )
    repeated = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeated:
        raise ParameterError(
            "columns",
            f", exclude, target and sample_weight name {repeated} more than once: a "
            "column can be only one of them",
        )


def _no_rows(n_dropped: int) -> ParameterError:
    complete = " without missing values" if n_dropped else ""
    return ParameterError("source", f": the data have no rows{complete}")


def _check_classes(batch: Batch, n_classes: int, n_rows: int) -> None:
    """Refuse labels that are not classes; so many rows were read so far."""
    if 2 * n_classes > max(n_rows, _FEW_ROWS):
        raise ValueError(
            f"{batch.file.name}: column {batch.file.columns.target!r} has {n_classes} "
            f"different labels in the first {n_rows} rows, too many for classes: name "
            "another column with target=..."
        )


def _added(
    total: ClassStatistics | None,
    batch: Batch,
    codes: Index,
    n_classes: int,
    chosen: Mask,
) -> ClassStatistics | None:
    """Add the chosen rows of a batch, without those that have missing values.

    Classes are numbers of labels.
    """
    X, weight = batch.X, batch.weight
    if batch.whole is not None:
        chosen = chosen & batch.whole
    if not chosen.all():
        if not chosen.any():
            return total
        X, codes = X[chosen], codes[chosen]
        weight = None if weight is None else weight[chosen]
    names = np.array(batch.file.columns.feature_names, dtype=object)
    with _columns_named(batch.file.name, names):
        classes = np.arange(n_classes)
        sums = ClassStatistics.from_rows(Rows(X, codes, weight, classes), names)
        return sums if total is None else total + sums


def _with_labels(stats: ClassStatistics, classes: NDArray[Any]) -> ClassStatistics:
    """Return statistics of the first classes with their labels, in order."""
    labels = classes[: stats.n_classes]
    order = np.argsort(labels)
    return stats.with_entries(order, labels[order])


@contextmanager
def _columns_named(where: str, names: NDArray[Any]) -> Iterator[None]:
    """Let errors about features name their columns."""
    try:
        yield
    except RangeError as error:
        raise ValueError(
            f"{where}: the values of column {names[error.feature]!r} {error.problem}"
        ) from error
