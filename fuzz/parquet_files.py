"""Parquet files that are good as such, with columns that nobody expects."""

from __future__ import annotations

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.changes import CELLS, MAX_BYTES

# A run over many rows, or much text, does not hang, so the fuzzer keeps to few.
_MAX_ROWS = 300_000
_MAX_TEXT = 30_000_000
_CODECS = ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]
_VALUES = [
    *(None, True, 0, -1, 2**63 - 1, 2**64 - 1, 0.0, float("nan"), float("inf"), 1e308),
    *("", "a", "1", "north", b"", b"\xff\x00", b"north", [1.0, 2.0], [], [[1], [2]]),
    *({"a": 1}, {"a": {"b": [1]}}, {"x0": 1.0}, (1, 2)),
    *(decimal.Decimal("1.5"), decimal.Decimal("1e30"), decimal.Decimal(10) ** 37),
    *(datetime.datetime(2020, 1, 1), datetime.date(1, 1, 1), datetime.time(1, 2)),
    *(datetime.timedelta(days=1), np.float16(2.5), np.float32(1e38), np.uint64(2**63)),
    *(datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC), np.datetime64("NaT", "ns")),
]


def written(table, **settings):
    """Return the bytes of a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, **settings)
    return file.getvalue()


def odd_table(rng):
    """Return a file of a few columns of any types, at most a megabyte."""
    n = rng.choice([0, 1, 2, 8, 24, 24, 24, 100, 1000, _MAX_ROWS])
    columns = {name: _column(name, n, rng) for name in ("x0", "x1", "kind")}
    if rng.random() < 0.2:
        columns[rng.choice(["prediction", "", "x0 ", "é", "id"])] = _odd(n, rng)
    if rng.random() < 0.1:
        columns.pop(rng.choice(list(columns)))
    names = list(columns)
    if rng.random() < 0.05:
        names[0] = names[-1]  # twice the same
    try:
        data = written(
            pa.Table.from_arrays(list(columns.values()), names=names),
            compression=rng.choice(_CODECS),
            use_dictionary=rng.random() < 0.7,
            row_group_size=rng.choice([1, 7, 1000, 10**6]) if n < 2000 else 10**6,
            data_page_version=rng.choice(["1.0", "2.0"]),
            store_schema=rng.random() < 0.8,
        )
    except pa.ArrowException:  # not all types can be written
        return written(pa.table({"x0": [1.0], "x1": [2.0], "kind": ["north"]}))
    return data if len(data) <= MAX_BYTES else data[: MAX_BYTES // 2]


def _column(name, n, rng):
    """Return a column of the right type, nearly, or not at all."""
    if rng.random() < 0.25:
        return _odd(n, rng)
    if name == "kind":
        labels = rng.choice([["north", "south", "east", "west"], [0, 1, 2], ["north "]])
        array = pa.array(labels).take(pa.array(np.arange(n) % len(labels)))
    else:
        noise = np.random.default_rng(rng.randrange(99)).normal(size=1000)
        array = pa.array(np.resize(noise, n))
    if rng.random() < 0.2:
        array = pa.concat_arrays([array[: n // 2], pa.nulls(n - n // 2, array.type)])
    return array.dictionary_encode() if rng.random() < 0.2 else array


def _odd(n, rng):
    """Return a column of some type, the same few values again and again."""
    few, kind = rng.randrange(1, 5), rng.randrange(5)
    values = [rng.choice(_VALUES)]
    if kind == 0:
        values = [rng.choice(CELLS) for _ in range(few)]
    elif kind == 1:  # long text of which a dictionary needs but one copy
        length = rng.choice([100, 10_000, 500_000])
        values = [rng.choice("abc") * min(length, _MAX_TEXT // max(n, 1) + 1)]
    try:
        array = pa.array(values)
        return array.take(pa.array(np.arange(n) % len(values), pa.int64()))
    except (pa.ArrowException, ValueError, OverflowError, TypeError):
        return pa.nulls(n)
