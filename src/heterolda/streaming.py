"""Class statistics of data that does not fit in memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heterolda.arrow import features_of, labels_of, numbers_of, open_source
from heterolda.exceptions import MissingRowsWarning
from heterolda.parts import Columns, Part
from heterolda.statistics import ClassStatistics
from heterolda.validation import check_number, check_sample_weight

Array = NDArray[np.float64]
Item = TypeVar("Item")

_AHEAD = 2  # batches that wait to be added up
# Every other row may be of another class only if there are no more rows than this.
_FEW_ROWS = 1000


def statistics_from_batches(
    source: Any,
    target: str,
    *,
    columns: Iterable[str] | None = None,
    sample_weight: str | None = None,
    missing: str = "error",
    batch_size: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClassStatistics:
    """Gather class statistics from files or Arrow streams, batch by batch.

    Memory does not grow with the number of rows: a few batches and one matrix for
    each class are all that is held. One thread decodes while the other adds up.

    Parameters
    ----------
    source : path, list of paths, or Arrow data
        Parquet files (``.parquet``, ``.pq``) and text with a header (``.csv``,
        ``.tsv``, also ``.gz``): a file, a folder, a pattern such as
        ``"data/*.parquet"``, or a list of them. Or a pyarrow dataset, table or reader;
        or anything that exports an Arrow stream, such as a DuckDB relation or a data
        frame of Polars (a lazy one, too) or pandas; or record batches or tables one
        after the other.
    target : str
        Column of the class labels: text, whole numbers or booleans. Labels from text
        files become integers if all of them are.
    columns : iterable of str or None, default=None
        Columns of the features, in this order. By default all columns of the first
        file but `target`, `sample_weight` and an index that pandas has written; then
        no file may have others.
    sample_weight : str or None, default=None
        Column of frequencies.
    missing : {"error", "drop"}, default="error"
        What to do with rows in which a feature, the label or the weight is missing:
        null or NaN. "drop" leaves them out and warns of their number.
    batch_size : int or None, default=None
        Rows decoded at a time, at most; by default about 16 MB. Text files come in
        batches of their own.
    progress : callable or None, default=None
        Called after each batch with the number of rows so far.

    Returns
    -------
    ClassStatistics
        With the names of the features. Pass it to
        :meth:`GaussianLinearDiscriminant.fit_statistics`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from heterolda.streaming import statistics_from_batches
    >>> table = pa.table(
    ...     {"width": [1.0, 2.0, 4.0, 7.0], "kind": ["a", "a", "b", "b"]}
    ... )
    >>> statistics_from_batches(table, "kind")
    ClassStatistics(n_classes=2, n_features=1, weights=[2. 2.])
    """
    batches = Batches(source, target, columns, sample_weight, missing, batch_size)
    return batches.statistics(progress)


class Batches:
    """Rows of files or Arrow streams, batch by batch.

    Parameters
    ----------
    source, target, columns, sample_weight, missing, batch_size
        As for `statistics_from_batches`.
    """

    def __init__(
        self,
        source: Any,
        target: str,
        columns: Iterable[str] | None,
        sample_weight: str | None,
        missing: str,
        batch_size: int | None,
    ):
        if missing not in ("error", "drop"):
            raise ValueError(f"missing must be 'error' or 'drop', got {missing!r}")
        if batch_size is not None:
            owner = "statistics_from_batches"
            check_number(owner, "batch_size", batch_size, 1, 2**31, whole=True)
        if isinstance(columns, str) or not isinstance(columns, Iterable | None):
            raise ValueError(f"columns must be a list of names, got {columns!r}")
        features = None if columns is None else tuple(columns)
        self.source, self.batch_size = source, batch_size
        self.drop = missing == "drop"
        self.columns = Columns(features, target, sample_weight)
        _check_names(self.columns)

    def __iter__(self) -> Iterator[Rows]:
        parts = open_source(self.source, self.columns, self.batch_size)
        return _ahead(_decoded(parts, self.drop))

    def statistics(self, progress: Callable[[int], None] | None) -> ClassStatistics:
        """Class statistics of all rows."""
        total = _Total()
        for rows in self:
            total.add(*rows)
            if progress is not None:
                progress(total.n_rows + total.n_dropped)
        if total.n_dropped:
            warnings.warn(
                f"{total.n_dropped} of {total.n_dropped + total.n_rows} rows have "
                "missing values and were left out",
                MissingRowsWarning,
                stacklevel=3,
            )
        return total.statistics()


def _check_names(wanted: Columns) -> None:
    """Refuse what is no name, and a column that is to be two things."""
    names = wanted.all
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                "target, sample_weight and all of columns must be names of columns, "
                f"which are text, got {name!r:.50}"
            )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"columns, target and sample_weight name {repeated} more than once: each "
            "column can be one of them only"
        )


Rows = tuple[Part, Array, NDArray[np.int64], list[Any], Array | None, int]


def _decoded(parts: Iterable[Part], drop: bool) -> Iterator[Rows]:
    """Batches as arrays, without the rows that have missing values."""
    for part in parts:
        for batch in part.batches:
            X = features_of(batch, part)
            codes, labels = labels_of(batch, part)
            weight = None
            if part.columns.weight is not None:
                weight = numbers_of(batch, part.columns.weight, part)
            good = _complete(part, X, codes, weight, drop)
            n_dropped = 0
            if good is not None:
                n_dropped = len(X) - int(np.count_nonzero(good))
                X, codes = X[good], codes[good]
                weight = None if weight is None else weight[good]
            try:
                weight = check_sample_weight(weight, len(X))
            except ValueError as error:
                raise ValueError(
                    f"{part.name}: column {part.columns.weight!r}: {error}"
                ) from error
            yield part, X, codes, labels, weight, n_dropped


def _complete(
    part: Part, X: Array, codes: NDArray[np.int64], weight: Array | None, drop: bool
) -> NDArray[np.bool_] | None:
    """Rows without missing values; None if that is all of them."""
    columns = part.columns
    absent = codes < 0
    if weight is not None:
        absent |= np.isnan(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum is finite unless some number is not, or nearly so.
        if np.isfinite(X.sum()) and not absent.any():
            return None
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"{part.name}: column {columns.all[int(np.argmax(infinite))]!r} contains "
            "infinity: every number must be finite"
        )
    good: NDArray[np.bool_] = ~(absent | np.isnan(X).any(axis=1))
    if good.all():
        return None
    if not drop:
        counts = [*np.isnan(X).sum(axis=0).tolist(), np.count_nonzero(codes < 0)]
        if weight is not None:
            counts.append(np.count_nonzero(np.isnan(weight)))
        at = int(np.argmax(np.array(counts) > 0))
        raise ValueError(
            f"{part.name}: column {columns.all[at]!r} has missing values ({counts[at]} "
            "in one batch): fill them in, or leave such rows out by missing='drop'"
        )
    return good


class _Total:
    """The sum of all batches so far, with classes in order of appearance."""

    def __init__(self) -> None:
        self.n_rows = self.n_dropped = 0
        self.is_text = True
        self.places: dict[Any, int] = {}
        self.kinds: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        self.sum: ClassStatistics | None = None

    def add(
        self,
        part: Part,
        X: Array,
        codes: NDArray[np.int64],
        labels: list[Any],
        weight: Array | None,
        n_dropped: int,
    ) -> None:
        """Add the rows of a batch."""
        self.n_rows += len(X)
        self.n_dropped += n_dropped
        self.is_text &= part.is_text
        self.names = part.columns.features or ()
        if not len(X):
            return
        present = np.bincount(codes, minlength=len(labels)) > 0
        lookup = np.zeros(len(labels), np.int64)
        for code in np.flatnonzero(present):
            lookup[code] = self._place(labels[code], part)
        if 2 * len(self.places) > max(self.n_rows, _FEW_ROWS):
            raise ValueError(
                f"{part.name}: column {part.columns.target!r} has {len(self.places)} "
                f"different labels in the first {self.n_rows} rows: these are no "
                "classes; name another column as the target"
            )
        classes = np.arange(len(self.places))
        try:
            sums = ClassStatistics.from_arrays(X, lookup[codes], classes, weight)
            self.sum = sums if self.sum is None else self.sum + sums
        except ValueError as error:
            message = re.sub(
                r"feature (\d+)",
                lambda m: f"column {self.names[int(m[1])]!r}",
                str(error),
            )
            raise ValueError(f"{part.name}: {message}") from error

    def _place(self, label: Any, part: Part) -> int:
        """Number of a class, in order of appearance."""
        kind = "text" if isinstance(label, str) else "numbers"
        self.kinds.setdefault(kind, part.name)
        if len(self.kinds) > 1:
            text, numbers = self.kinds["text"], self.kinds["numbers"]
            raise ValueError(
                f"{part.name}: column {part.columns.target!r} of the labels holds text "
                f"in {text} and numbers in {numbers}: convert one of them"
            )
        return self.places.setdefault(label, len(self.places))

    def statistics(self) -> ClassStatistics:
        """The sum, with classes sorted and features named."""
        if self.sum is None:
            raise ValueError(
                "source has no rows"
                + (" without missing values" if self.n_dropped else "")
            )
        labels = list(self.places)
        if self.is_text and all(re.fullmatch(r"0|-?[1-9]\d{0,17}", x) for x in labels):
            labels = [int(label) for label in labels]
        classes = np.array(labels)
        for label, kept in zip(labels, classes.tolist(), strict=True):
            if kept != label:  # large integers collapse in float64
                raise ValueError(
                    f"the labels have no type in common that holds {label!r}: convert "
                    "them to text"
                )
        order = np.argsort(classes)
        total = self.sum
        return ClassStatistics(
            classes[order],
            total.weights[order],
            total.means[order],
            total.scatters[order],
            np.array(self.names, dtype=object),
        )


def _ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, made in a thread of their own a little ahead of their use.

    Whatever goes wrong there is raised here, and whoever stops early ends the thread.
    """
    queue: Queue[tuple[str, Any]] = Queue(_AHEAD)
    stop = Event()

    def put(kind: str, value: Any) -> bool:
        while not stop.is_set():
            try:
                queue.put((kind, value), timeout=0.1)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = Thread(target=work, name="heterolda-decoder", daemon=True)
    thread.start()
    try:
        while True:
            try:
                kind, value = queue.get(
                    timeout=0.1
                )  # so that an interrupt gets through
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        thread.join()
