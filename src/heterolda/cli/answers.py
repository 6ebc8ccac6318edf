"""Columns that a model adds to a table, written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from heterolda.data.files import PARQUET
from heterolda.foundations.wording import named

if TYPE_CHECKING:
    from heterolda.data.reading import Pass
    from heterolda.data.table import File
    from heterolda.foundations.arrays import Array


def write_answers(
    reading: Pass,
    out: str,
    only: Sequence[str],
    without: Sequence[str],
    added: Sequence[str],
    answer: Callable[[Array], Sequence[Any]],
    progress: Callable[[str, float], None],
) -> int:
    """Write columns of a table as they are, then those that are added.

    These are `only` some, or else all but those in `without`; `answer` takes the
    features of a batch. In Parquet files, features of text files are numbers. Return
    the number of rows.
    """
    import numpy as np
    import pyarrow as pa

    from heterolda.data.reading import open_files
    from heterolda.data.writer import write_table

    as_numbers = out.lower().endswith(PARQUET)
    kept: list[str] = []

    def answered(file: File, records: Any, X: Array) -> tuple[Any, Any]:
        columns = dict(zip(kept, records.select(kept).columns, strict=True))
        if as_numbers and file.is_text:
            # A feature of a category has the name of no column.
            for name, x in zip(file.features, X.T, strict=True):
                if name in columns:
                    columns[name] = pa.array(x, mask=np.isnan(x))
        columns |= dict(zip(added, answer(X), strict=True))
        return pa.RecordBatch.from_pydict(columns), file.format

    def batches() -> Iterator[tuple[Any, Any]]:
        for file in open_files(reading.table):
            if not kept:
                others = [name for name in file.schema.names if name not in without]
                kept.extend(only or others)
                _check_names(file, kept, added)
                # Names come first, so that whoever waits for rows sees them.
                empty = pa.RecordBatch.from_pylist([], schema=file.schema)
                yield answered(file, empty, np.empty((0, len(file.features))))
            for records, rows in reading.of_file(file):
                yield answered(file, records, rows.X)

    return write_table(batches(), out, progress)


def _check_names(file: File, kept: Sequence[str], added: Sequence[str]) -> None:
    """Refuse columns that do not exist, or would be written twice."""
    from heterolda.data.table import AbsentColumnsError

    names = file.schema.names
    absent = sorted({*kept} - {*names})
    if absent:
        raise AbsentColumnsError(
            f"{file.name}: no column is named {named(absent)}; it has {named(names)}"
        )
    columns = [*kept, *added]
    clash = next((name for name in added if columns.count(name) > 1), None)
    if clash is not None:
        raise ValueError(
            f"{file.name}: there is already a column {clash!r}: rename it, or choose "
            "the columns to write with --id"
        )
