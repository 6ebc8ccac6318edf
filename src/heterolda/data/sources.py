"""Whatever rows can be read from, opened as Arrow record batches file by file."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from heterolda.data.columns import Columns, OpenFile, errors_name
from heterolda.data.csv_reader import (
    TEXT,
    StandardInput,
    open_standard_input,
    open_text_file,
)
from heterolda.data.excel_reader import EXCEL, open_excel
from heterolda.data.parquet_reader import (
    PARQUET,
    PARQUET_BUFFER,
    index_columns,
    open_parquet,
)
from heterolda.data.reading import Files, Reading
from heterolda.exceptions import ParameterError

ENDINGS = (*PARQUET, *TEXT, *EXCEL)
# In a folder other files may be notes.
_IN_FOLDERS = (*PARQUET, ".csv", ".tsv", *EXCEL)
_LISTED = ", ".join(end for end in ENDINGS if not end.endswith(".gz")) + " (or .gz)"
_OPEN = "~$"  # how names begin of files beside those that Excel has open
HIDDEN = (".", "_", _OPEN)
_OTHER_TABLES = (".xls", ".xlsb", ".ods", ".numbers")


def open_source(source: Any, columns: Columns) -> Iterator[OpenFile]:
    """Open files or a stream, one after the other, each when it is its turn.

    All must have the features of the first, and no others if features are not named.
    """
    first: OpenFile | None = None
    for file in _opened(source, columns):
        first = first or file
        mine, others = file.columns.features or (), first.columns.features or ()
        if set(mine) != set(others):
            raise ValueError(
                f"{file.name}: its columns are not those of {first.name}: only one "
                f"file has {sorted(set(mine) ^ set(others))}; select columns with "
                "columns=..."
            )
        yield replace(file, columns=first.columns)


def _opened(source: Any, columns: Columns) -> Iterator[OpenFile]:
    reading, name = Reading(), None
    if isinstance(source, StandardInput):
        yield open_standard_input(source, columns)
        return
    if isinstance(source, Files):
        source, reading, name = source.paths, source.reading, source.name
    paths = paths_of(source)
    if paths is None:
        yield from _streams(source, columns)
    for path in paths or ():
        if path.lower().endswith(PARQUET):
            yield open_parquet(path, columns, reading)
        elif path.lower().endswith(EXCEL):
            yield open_excel(path, columns, reading)
        else:
            yield open_text_file(path, columns, reading, name)


def is_read_once(source: Any) -> bool:
    """Whether the rows of a source are gone after a pass."""
    once = "__next__", "read_next_batch"
    return isinstance(source, StandardInput) or any(hasattr(source, n) for n in once)


def paths_of(source: Any) -> list[str] | None:
    """Names of all files of a source, or None if it is not a path."""
    given = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(item, str | os.PathLike) for item in given):
        return None
    paths = [path for item in given for path in _expand(str(os.fspath(item)))]
    if not paths:
        raise ParameterError("source", "is an empty list: pass a file")
    repeated = [path for path, count in Counter(paths).items() if count > 1]
    if repeated:
        raise ParameterError(
            "source", f": the file {repeated[0]!r} is named more than once"
        )
    for path in paths:
        if path.lower().endswith(_OTHER_TABLES):
            raise ParameterError(
                "source",
                f": the file {path!r} cannot be read: open it in the program that "
                "wrote it, and save it as .xlsx or .csv",
            )
        if not path.lower().endswith(ENDINGS):
            raise ParameterError(
                "source",
                f": the file {path!r} is of unknown type: its name must end in "
                f"{_LISTED}",
            )
    return paths


def _expand(path: str) -> list[str]:
    """Files of a folder or a pattern, sorted by name, but for marks of open ones."""
    path = os.path.expanduser(path)
    if os.path.basename(path).startswith(_OPEN):
        return []
    if os.path.isdir(path):
        inside = (p for p in sorted(Path(path).rglob("*")) if not p.is_dir())
        names = [
            str(p)
            for p in inside
            if p.name.lower().removesuffix(".gz").endswith(_IN_FOLDERS)
            and not any(q.startswith(HIDDEN) for q in p.relative_to(path).parts)
        ]
        if not names:
            raise FileNotFoundError(
                f"the folder {path!r} has no file that ends in "
                f"{', '.join(_IN_FOLDERS)}: name other files one by one, or by a "
                "pattern"
            )
        return names
    if os.path.exists(path):
        return [path]
    names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise FileNotFoundError(f"there is no file {path!r}")
    return [inside for name in names for inside in _expand(name)]


def _streams(source: Any, columns: Columns) -> Iterator[OpenFile]:
    """Arrow data that is open already, or that some other library hands over."""
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        yield _dataset(source, columns)
        return
    if hasattr(source, "collect_batches"):  # a lazy data frame of Polars
        source = source.collect_batches()
    if _is_table(source):
        yield _table(source, columns, "source")
    elif isinstance(source, Iterable) and not isinstance(source, dict | str | bytes):
        for number, item in enumerate(source, 1):
            if not _is_table(item):
                raise TypeError(
                    f"item {number} of source must be a record batch or a table, got "
                    f"{type(item).__name__}"
                )
            yield _table(item, columns, f"item {number} of source")
    else:
        raise TypeError(
            "source must be a path, a list of paths, a pyarrow dataset, table or "
            "reader, record batches, or an object that exports an Arrow stream, got "
            f"{type(source).__name__}"
        )


def _is_table(source: Any) -> bool:
    import pyarrow as pa

    return isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__")


def _table(source: Any, columns: Columns, where: str) -> OpenFile:
    import pyarrow as pa

    with errors_name(where):
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        reader = pa.RecordBatchReader.from_stream(source)
    columns = columns.resolve(reader.schema.names, where, index_columns(reader.schema))
    rows = columns.rows_per_batch
    return OpenFile(where, columns, _cut(reader, rows, where), reader.schema)


def _dataset(source: Any, columns: Columns) -> OpenFile:
    import pyarrow.dataset as ds

    columns = columns.resolve(
        source.schema.names, "source", index_columns(source.schema)
    )
    # Without these settings much of the files would be read ahead.
    little: dict[str, Any] = {"batch_readahead": 2, "fragment_readahead": 1}
    default = ds.ParquetFragmentScanOptions()
    kind = getattr(source, "format", None)  # a union of datasets has none
    if kind is not None and kind.default_fragment_scan_options == default:
        little["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=PARQUET_BUFFER
        )
    rows = columns.rows_per_batch
    batches = source.to_batches(columns=columns.all, batch_size=rows, **little)
    return OpenFile("source", columns, _cut(batches, rows, "source"), source.schema)


def _cut(batches: Iterable[Any], rows: int, where: str) -> Iterator[Any]:
    """Batches of no more than some rows: one of all rows would be copied as a whole."""
    with errors_name(where):
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
