"""Measure class statistics of files larger than a batch, and write docs/speed.md.

python -m benchmarks.scale [--report]

Parquet and CSV files of 30 features, about 2.5 GB, are written into build/scale and
removed at the end. Peers are a loop that reads the same batches and multiplies, and
one Dask worker for two. Memory is the peak of a fresh process. Results are kept in
benchmarks/results/scale.json. --report measures nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from threadpoolctl import threadpool_limits

from benchmarks.pages import (
    Record,
    command,
    comparisons,
    origin,
    publish,
    section_table,
)
from benchmarks.shapes import Shape, gaussian_classes
from benchmarks.timing import THREADS, child_environment, in_turns
from heterolda import GaussianLinearDiscriminant
from heterolda.data import statistics_from_batches

FOLDER = Path("build/scale")
FEATURES, CLASSES, TARGET = 30, 4, "kind"
NAMES = [f"x{j}" for j in range(FEATURES)]
FILE_ROWS, BLOCK_ROWS = 1_000_000, 100_000
N_FILES = 1, 2, 5
TEXT_ROWS = 100_000, 1_000_000
PEAK = (
    "import sys; from benchmarks.memory import peak_of_process; "
    "from heterolda.data import statistics_from_batches; "
    f"statistics_from_batches(sys.argv[1:], {TARGET!r}); print(peak_of_process())"
)
# The batches of `statistics_from_batches` have about this many numbers.
BATCH_ROWS = (1 << 21) // (FEATURES + 1)


def blocks(rows: int, first: int) -> Iterator[pa.Table]:
    """Yield tables, all different: one block of rows, moved and scaled a little."""
    X, y = gaussian_classes(Shape(BLOCK_ROWS, FEATURES, CLASSES))
    for k in range(rows // BLOCK_ROWS):
        rng = np.random.default_rng(first + k)
        moved = X * rng.uniform(0.9, 1.1, FEATURES) + 0.1 * rng.normal(size=FEATURES)
        yield pa.table({**dict(zip(NAMES, moved.T, strict=True)), TARGET: y})


def write(writer: Any, path: Path, rows: int, first: int = 0) -> str:
    """Write a file of some rows, and return its name."""
    tables = blocks(rows, first)
    table = next(tables)
    with writer(str(path), table.schema) as file:
        file.write_table(table)
        for table in tables:
            file.write_table(table)
    return str(path)


def gram(files: list[str]) -> np.ndarray:
    """Read with pyarrow, lay out the rows of each batch, and multiply."""
    total = np.zeros((FEATURES, FEATURES))
    for path in files:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=[*NAMES, TARGET]):
                X = np.column_stack([batch[name].to_numpy() for name in NAMES])
                total += X.T @ X
    return total


def throughput(files: list[str]) -> Record:
    """Compare our statistics with a loop that forms no classes and no means."""
    ours, peer = statistics_from_batches(files, TARGET), gram(files)
    means = ours.means * np.sqrt(ours.weights)[:, None]
    np.testing.assert_allclose(ours.scatters.sum(axis=0) + means.T @ means, peer, 1e-9)
    names = {"ours": "class statistics", "peer": "read, X.T @ X"}
    calls = partial(statistics_from_batches, files, TARGET), partial(gram, files)
    return _data(len(files) * FILE_ROWS) | names | in_turns(*calls)


def cluster(files: list[str]) -> Record:
    """Compare a fit by two Dask workers with one by one, each with one thread."""
    import dask.dataframe as dd

    def fit(client: Any) -> None:
        frame = dd.read_parquet(files)
        with client.as_current():
            model = GaussianLinearDiscriminant(choose_on="model")
            model.fit(frame[NAMES], frame[TARGET])

    with _client(1) as one, _client(2) as two:
        times = in_turns(partial(fit, two), partial(fit, one))
    names = {"ours": "fit, two Dask workers", "peer": "fit, one Dask worker"}
    return _data(len(files) * FILE_ROWS) | names | times


@contextmanager
def _client(n_workers: int) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    settings = {"processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, **settings) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def memory(kind: str, rows: int, files: list[str]) -> Record:
    """Return the peak of a fresh process that gathers the statistics of files."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK, *files],
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    size = sum(Path(path).stat().st_size for path in files)
    return _data(rows) | {"files": kind, "bytes": size, "peak": int(run.stdout)}


def _data(rows: int) -> dict[str, str]:
    return {"data": f"{rows:,} x {FEATURES}"}


def measure() -> Record:
    """Write the files, measure, and remove them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        files = [
            write(pq.ParquetWriter, FOLDER / f"{k}.parquet", FILE_ROWS, 10 * k)
            for k in range(max(N_FILES))
        ]
        text = [
            [write(csv.CSVWriter, FOLDER / f"{rows}.csv", rows)] for rows in TEXT_ROWS
        ]
        peaks = [memory("Parquet", n * FILE_ROWS, files[:n]) for n in N_FILES[::2]]
        peaks += [memory("CSV", n, one) for n, one in zip(TEXT_ROWS, text, strict=True)]
        times = [throughput(files[:n]) for n in N_FILES]
        times.append(cluster(files))
    finally:
        shutil.rmtree(FOLDER)
    return {"times": times, "memory": peaks}


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page by their names."""
    peaks = [
        (e["files"], e["data"], *(f"{e[k] / 1e6:,.0f} MB" for k in ("bytes", "peak")))
        for e in record["memory"]
    ]
    return {
        "scale": comparisons(record["times"]),
        "scale, memory": section_table("files|data|on disk|peak", peaks),
        "scale, machine": origin("scale", "Larger than memory"),
    }


if __name__ == "__main__":
    with threadpool_limits(THREADS):
        command(
            "scale",
            measure,
            lambda record: publish("speed", parts(record)),
            *("pyarrow", "dask"),
        )
