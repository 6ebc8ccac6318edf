"""Rows of files and Arrow streams as arrays, batch by batch, decoded ahead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from heterolda.data.arrow import features_of, labels_of, numbers_of, open_source
from heterolda.data.parts import Columns, Part
from heterolda.data.text_files import TextStream
from heterolda.foundations.validation import check_number, check_sample_weight

Array = NDArray[np.float64]
Item = TypeVar("Item")

_AHEAD = 2  # batches that wait to be used


class Rows(NamedTuple):
    """A batch of rows as arrays.

    Attributes
    ----------
    part : Part
        Where they come from.
    X : ndarray of shape (n_rows, n_features)
        Features.
    codes : ndarray of shape (n_rows,)
        Index of each row's label.
    labels : list
        The labels, as the file has them.
    weight : ndarray of shape (n_rows,) or None
        Sample weights.
    n_dropped : int
        Number of rows that were left out for missing values.
    """

    part: Part
    X: Array
    codes: NDArray[np.int64]
    labels: list[Any]
    weight: Array | None
    n_dropped: int


def read_rows(
    source: Any,
    target: str | None,
    *,
    columns: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    sample_weight: str | None = None,
    missing: str = "error",
    batch_size: int | None = None,
) -> Iterator[Rows]:
    """Rows of files or Arrow streams, batch by batch; a thread decodes them ahead.

    Parameters
    ----------
    source, columns, exclude, sample_weight, missing, batch_size
        As for :func:`heterolda.data.streaming.statistics_from_batches`.
    target : str or None
        Column of the labels; None: the one column that is nothing else.

    Yields
    ------
    Rows
        A batch, in the order of the source.
    """
    if missing not in ("error", "drop"):
        raise ValueError(f"missing must be 'error' or 'drop', got {missing!r}")
    if batch_size is not None:
        owner = "statistics_from_batches"
        check_number(owner, "batch_size", batch_size, 1, 2**31, integer=True)
    wanted = Columns(
        None if columns is None else list_of_names("columns", columns),
        target,
        sample_weight,
        list_of_names("exclude", exclude),
        find_target=target is None,
    )
    _check_names(wanted)
    parts = open_source(source, wanted, batch_size)
    return ahead(_decoded(parts, missing == "drop"), source)


def list_of_names(name: str, value: Any) -> tuple[Any, ...]:
    """An argument that lists names of columns, or an error that names it."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list of names, got {value!r}")
    return tuple(value)


def _check_names(wanted: Columns) -> None:
    """Refuse what is no name, and a column that is to be two things."""
    names = [*wanted.all, *wanted.exclude]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                "target, sample_weight and all of columns and exclude must be names of "
                f"columns, which are text, got {name!r:.50}"
            )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"columns, exclude, target and sample_weight name {repeated} more than "
            "once: each column can be one of them only"
        )


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
            yield Rows(part, X, codes, labels, weight, n_dropped)


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


class LabelBook:
    """The labels of a source, numbered in order of appearance."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}
        self._kinds: dict[str, str] = {}
        self._is_text = True

    def __len__(self) -> int:
        return len(self._places)

    def numbers(self, rows: Rows) -> NDArray[np.int64]:
        """The number of each row's label; new ones are entered.

        Parameters
        ----------
        rows : Rows
            A batch.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers.
        """
        self._is_text &= rows.part.is_text
        present = np.bincount(rows.codes, minlength=len(rows.labels)) > 0
        lookup = np.zeros(len(rows.labels), np.int64)
        for code in np.flatnonzero(present):
            lookup[code] = self._number(rows.labels[code], rows.part)
        return lookup[rows.codes]

    def _number(self, label: Any, part: Part) -> int:
        kind = "text" if isinstance(label, str) else "numbers"
        self._kinds.setdefault(kind, part.name)
        if len(self._kinds) > 1:
            text, numbers = self._kinds["text"], self._kinds["numbers"]
            raise ValueError(
                f"{part.name}: column {part.columns.target!r} of the labels holds text "
                f"in {text} and numbers in {numbers}: convert one of them"
            )
        return self._places.setdefault(label, len(self._places))

    @property
    def classes(self) -> NDArray[Any]:
        """The labels by number. Those of text files are integers if all of them are."""
        labels = list(self._places)
        whole = r"0|-?[1-9]\d{0,17}"
        if self._is_text and all(re.fullmatch(whole, label) for label in labels):
            labels = [int(label) for label in labels]
        classes = np.array(labels)
        for label, kept in zip(labels, classes.tolist(), strict=True):
            if kept != label:  # large integers collapse in float64
                raise ValueError(
                    f"the labels have no type in common that holds {label!r}: convert "
                    "them to text"
                )
        return classes


def ahead(items: Iterable[Item], source: Any = None) -> Iterator[Item]:
    """The same items, made in a thread of their own a little ahead of their use.

    Whatever goes wrong there is raised here, and whoever stops early ends the thread.

    Parameters
    ----------
    items : iterable
        What to make.
    source : object or None, default=None
        Where they come from: if it is a stream that may be waiting for more, it is
        told to stop.

    Yields
    ------
    object
        The items.
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
                # Not for ever, so that an interrupt gets through.
                kind, value = queue.get(timeout=0.1)
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        if isinstance(source, TextStream):
            source.stop()
        thread.join()
