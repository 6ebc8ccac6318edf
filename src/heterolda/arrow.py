"""Arrow record batches from files and streams, as arrays; errors name file and column.

Text files are read with the types that are needed, not with guessed ones: features as
numbers, labels as text.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PARQUET = (".parquet", ".pq")
TEXT = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
# Numbers of a batch, unless its size is asked for: about 16 MB.
_BATCH_NUMBERS = 1 << 21
_TEXT_BLOCK = 1 << 22


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what.

    Attributes
    ----------
    features : tuple of str or None
        Names of the features, in their order; None: all that are nothing else.
    target : str
        The labels.
    weight : str or None
        The sample weights.
    """

    features: tuple[str, ...] | None
    target: str
    weight: str | None = None

    def resolve(self, names: Sequence[str], where: str) -> Columns:
        """The same with all features named, or an error that says what is amiss."""
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{where}: several columns are named {repeated}")
        special = {self.target, self.weight} - {None}
        wanted = [*special, *(self.features or ())]
        absent = [name for name in dict.fromkeys(wanted) if name not in names]
        if absent:
            raise ValueError(
                f"{where}: no column is named {', '.join(map(repr, absent))}; it has "
                f"{list(names)}"
            )
        features = self.features
        if features is None:
            features = tuple(name for name in names if name not in special)
        if not features:
            raise ValueError(f"{where}: there is no column besides {sorted(special)}")
        return Columns(features, self.target, self.weight)

    @property
    def all(self) -> list[str]:
        """All columns that must be read."""
        extra = [] if self.weight is None else [self.weight]
        return [*(self.features or ()), self.target, *extra]


@dataclass(frozen=True)
class Part:
    """A file, or the whole of a stream.

    Attributes
    ----------
    name : str
        For messages.
    columns : Columns
        What to read.
    batches : iterable of RecordBatch
        The rows.
    is_text : bool
        Whether labels are text only because the file is.
    """

    name: str
    columns: Columns
    batches: Iterable[Any]
    is_text: bool = False


def open_source(
    source: Any, columns: Columns, batch_size: int | None = None
) -> Iterator[Part]:
    """Open files or a stream, part by part.

    Parameters
    ----------
    source : path, list of paths, or Arrow data
        As for :func:`heterolda.streaming.statistics_from_batches`.
    columns : Columns
        What is wanted. All parts must have the features of the first, and no others
        if features are not named.
    batch_size : int or None, default=None
        Rows of a batch, where the source leaves that open.

    Yields
    ------
    Part
        One after the other; each is opened when it is its turn.
    """
    paths = _paths(source)
    if paths is None:
        yield _stream(source, columns, batch_size)
        return
    first: Part | None = None
    for path in paths:
        kind = _parquet if path.lower().endswith(PARQUET) else _text
        part = kind(path, columns, batch_size)
        first = first or part
        mine, others = part.columns.features or (), first.columns.features or ()
        if set(mine) != set(others):
            raise ValueError(
                f"{path}: its columns are not those of {first.name}: "
                f"{sorted(set(mine) ^ set(others))} are in one of them only; name the "
                "columns to use in columns"
            )
        yield Part(part.name, first.columns, part.batches, part.is_text)


def _paths(source: Any) -> list[str] | None:
    """Names of all files of a source, or None if it is no path."""
    if isinstance(source, str | os.PathLike):
        given = [os.fspath(source)]
    elif isinstance(source, list | tuple) and all(
        isinstance(item, str | os.PathLike) for item in source
    ):
        given = [os.fspath(item) for item in source]
    else:
        return None
    paths = [path for item in given for path in _expand(str(item))]
    if not paths:
        raise ValueError("source is an empty list: name at least one file")
    for path in paths:
        if not path.lower().endswith((*PARQUET, *TEXT)):
            raise ValueError(
                f"source: the kind of the file {path!r} is not known: its name must "
                f"end in {', '.join((*PARQUET, *TEXT))}"
            )
    return paths


def _expand(path: str) -> list[str]:
    """Files of a folder or a pattern, sorted by name."""
    if os.path.isdir(path):
        inside = (p for p in sorted(Path(path).rglob("*")) if p.is_file())
        names = [
            str(p)
            for p in inside
            if p.name.lower().endswith((*PARQUET, *TEXT))
            and not any(q.startswith((".", "_")) for q in p.relative_to(path).parts)
        ]
        if not names:
            raise FileNotFoundError(
                f"source: the folder {path!r} has no file that ends in "
                f"{', '.join((*PARQUET, *TEXT))}"
            )
        return names
    if os.path.exists(path):
        return [path]
    names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise FileNotFoundError(f"source: there is no file {path!r}")
    return names


@contextmanager
def _errors_name(where: str) -> Iterator[None]:
    """Turn whatever pyarrow raises into a ValueError that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"{where} cannot be read: {reason}") from error


def _rows(columns: Columns, batch_size: int | None) -> int:
    return batch_size or max(1024, _BATCH_NUMBERS // len(columns.all))


def _parquet(path: str, columns: Columns, batch_size: int | None) -> Part:
    import pyarrow.parquet as pq

    with _errors_name(path):
        file = pq.ParquetFile(path)
        columns = columns.resolve(file.schema_arrow.names, path)

    def batches() -> Iterator[Any]:
        with _errors_name(path), file:
            yield from file.iter_batches(
                _rows(columns, batch_size), columns=columns.all
            )

    return Part(path, columns, batches())


def _text(path: str, columns: Columns, batch_size: int | None) -> Part:
    import pyarrow as pa
    from pyarrow import csv

    lower = path.lower()
    delimiter = next(mark for end, mark in TEXT.items() if lower.endswith(end))
    parse = csv.ParseOptions(delimiter=delimiter)
    read = csv.ReadOptions(block_size=_TEXT_BLOCK)
    with _errors_name(path), csv.open_csv(path, read, parse) as reader:
        names = reader.schema.names
    columns = columns.resolve(names, path)
    types = dict.fromkeys(columns.all, pa.float64()) | {columns.target: pa.string()}
    convert = csv.ConvertOptions(
        include_columns=columns.all, column_types=types, strings_can_be_null=True
    )

    def batches() -> Iterator[Any]:
        try:
            with (
                _errors_name(path),
                csv.open_csv(path, read, parse, convert) as reader,
            ):
                yield from reader
        except ValueError as error:
            column = re.search(r"CSV column #(\d+): (.*)", str(error))
            if column is None:
                raise
            raise ValueError(
                f"{path}: column {names[int(column[1])]!r} must be numbers: {column[2]}"
            ) from error

    return Part(path, columns, batches(), is_text=True)


def _stream(source: Any, columns: Columns, batch_size: int | None) -> Part:
    """Arrow data that is open already, or that some other library hands over."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        columns = columns.resolve(source.schema.names, "source")
        batches = source.to_batches(
            columns=columns.all, batch_size=_rows(columns, batch_size)
        )
        return Part("source", columns, batches)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        columns = columns.resolve(reader.schema.names, "source")
        return Part("source", columns, reader)
    if isinstance(source, Iterable) and not isinstance(source, dict | str | bytes):
        batches = iter(source)
        first = next(batches, None)
        if isinstance(first, pa.RecordBatch):
            columns = columns.resolve(first.schema.names, "source")
            return Part("source", columns, _chain(first, batches))
    raise TypeError(
        "source must be a path, a list of paths, a pyarrow dataset, table or reader, "
        "record batches, or an object that exports an Arrow stream, got "
        f"{type(source).__name__}"
    )


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def features_of(batch: Any, part: Part) -> Array:
    """The features of a batch as a matrix of float64; missing values are NaN.

    Parameters
    ----------
    batch : RecordBatch
        The rows.
    part : Part
        Where they come from.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Column by column in memory, as Arrow has them.
    """
    names = part.columns.features or ()
    columns = np.empty((len(names), batch.num_rows))
    for column, name in zip(columns, names, strict=True):
        column[:] = numbers_of(batch, name, part)
    return columns.T


def numbers_of(batch: Any, name: str, part: Part) -> Array:
    """A column of numbers as float64; missing values are NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = _column(batch, name, part)
    kind = column.type
    if not any(
        check(kind)
        for check in (
            *(types.is_floating, types.is_integer, types.is_boolean),
            *(types.is_decimal, types.is_null),
        )
    ):
        raise ValueError(
            f"{part.name}: column {name!r} must be numbers, but is of type {kind}: "
            "convert it, or leave it out of columns"
        )
    if types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    if not types.is_float64(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    array: Array = column.to_numpy(zero_copy_only=False)
    return array


def labels_of(batch: Any, part: Part) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels of a batch: an index into a list of distinct ones, -1 for a missing one.

    Parameters
    ----------
    batch : RecordBatch
        The rows.
    part : Part
        Where they come from.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Indices.
    labels : list
        Numbers, booleans or strings.
    """
    import pyarrow.compute as pc
    from pyarrow import types

    name = part.columns.target
    column = _column(batch, name, part)
    if not types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    labels = column.dictionary.to_pylist()
    good = (bool, int, str, float)
    strange = [label for label in labels if not isinstance(label, (*good, type(None)))]
    parts = [label for label in labels if isinstance(label, float) and label % 1]
    if strange or [label for label in parts if label == label]:
        raise ValueError(
            f"{part.name}: column {name!r} of the labels must be whole numbers, "
            f"booleans or text, got values such as {(strange or parts)[0]!r}"
        )
    codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)
    codes = codes.astype(np.int64)
    for code, label in enumerate(labels):
        if label is None or label != label:
            codes[codes == code] = -1
    return codes, labels


def _column(batch: Any, name: str, part: Part) -> Any:
    if name not in batch.schema.names:
        raise ValueError(f"{part.name}: a batch has no column named {name!r}")
    return batch.column(batch.schema.get_field_index(name))
