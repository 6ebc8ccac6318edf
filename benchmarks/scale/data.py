"""Files of Gaussian classes, written block by block."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks.shapes import Shape, gaussian_classes
from heterolda.foundations.files import written_whole

FEATURES, CLASSES, TARGET = 30, 4, "kind"
NAMES = [f"x{j}" for j in range(FEATURES)]
# Bytes that a number takes in a file, at most.
PARQUET_NUMBER, TEXT_NUMBER = 10, 22


@dataclass(frozen=True)
class Sizes:
    """How much data there is.

    Attributes
    ----------
    quick : bool
        Whether the sizes are smaller than those that the targets are meant for.
    file_rows : int
        Rows of a Parquet file ...
    block_rows : int
        ... and of each of its row groups.
    throughput : int
        Files that are read against the peers.
    growth : tuple of int
        Files that are read to see how time grows.
    cluster : int
        Files that are read with Dask.
    memory : tuple of int
        Files that are read to see how memory grows.
    text : tuple of int
        Rows of the text files that are read for that.
    """

    quick: bool = False
    file_rows: int = 1_000_000
    block_rows: int = 100_000
    throughput: int = 2
    growth: tuple[int, ...] = (1, 2, 4, 8, 16, 20)
    cluster: int = 20
    memory: tuple[int, ...] = (1, 20)
    text: tuple[int, ...] = (100_000, 1_000_000)


FULL = Sizes()
QUICK = Sizes(True, 4_000, 1_000, 2, (1, 2, 4), 4, (1, 4), (1_000, 20_000))


class Folder:
    """The folder of the files, which are written when they are needed.

    Parameters
    ----------
    path : Path
        Is made, and removed by `clear`.
    sizes : Sizes
        How large the files are.
    say : callable
        Is told what takes a while.
    """

    def __init__(self, path: Path, sizes: Sizes, say: Callable[[str], None]):
        self.path, self.sizes, self.say = path, sizes, say
        self._blocks = _Blocks(sizes.block_rows)

    def parquet(self, n_files: int) -> list[str]:
        """Names of some Parquet files."""
        paths = [self.path / f"part-{k:02}.parquet" for k in range(n_files)]
        missing = [path for path in paths if not path.exists()]
        rows = self.sizes.file_rows
        self._check_room(len(missing) * rows * (FEATURES + 1) * PARQUET_NUMBER)
        for number, path in enumerate(missing, 1):
            self.say(f"writing file {number} of {len(missing)}, {rows:,} rows each")
            first = paths.index(path) * rows // self.sizes.block_rows
            with written_whole(path) as file:
                self._write(pq.ParquetWriter, file, rows, first)
        return [str(path) for path in paths]

    def text(self, rows: int) -> list[str]:
        """Name of a text file of some rows."""
        path = self.path / f"rows-{rows}.csv"
        if not path.exists():
            self._check_room(rows * (FEATURES + 1) * TEXT_NUMBER)
            self.say(f"writing a text file of {rows:,} rows")
            with written_whole(path) as file:
                self._write(csv.CSVWriter, file, rows, 0)
        return [str(path)]

    def clear(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(self, writer, file, rows: int, first: int) -> None:
        blocks = self._blocks.tables(rows, first)
        table = next(blocks)
        with writer(file, table.schema) as target:
            target.write_table(table)
            for table in blocks:
                target.write_table(table)

    def _check_room(self, needed: int) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.path).free
        if needed > 0.9 * free:
            raise OSError(
                f"{self.path} has {free / 1e9:.1f} GB of free disk space, and the "
                f"files take {needed / 1e9:.1f} GB: choose another folder by --out"
            )


class _Blocks:
    """Blocks of rows, all different and the same in each run."""

    def __init__(self, rows: int):
        self.rows = rows
        # The rows of all blocks are those of one, moved and scaled a little.
        self._X, self._y = gaussian_classes(Shape(rows, FEATURES, CLASSES))

    def tables(self, rows: int, first: int) -> Iterator[pa.Table]:
        """As many blocks as the rows take, from a number on."""
        for k in range(first, first + -(-rows // self.rows)):
            rng = np.random.default_rng(k)
            size = min(self.rows, rows - (k - first) * self.rows)
            X = self._X[:size] * rng.uniform(0.9, 1.1, FEATURES)
            X += 0.1 * rng.normal(size=FEATURES)
            columns = dict(zip(NAMES, X.T, strict=True))
            yield pa.table({**columns, TARGET: self._y[:size]})
