"""A fit on a Dask cluster of two worker processes against one of a single one.

Every worker has one thread, and so has its BLAS. The data frame is read from files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.runner import Settings, judged
from benchmarks.scale.data import NAMES, TARGET, Folder
from benchmarks.scale.streams import label
from heterolda import GaussianLinearDiscriminant
from heterolda.data import statistics_from_batches

# At least 1.4 times as fast.
LARGEST_RATIO = 1 / 1.4


@dataclass(frozen=True)
class TwoWorkers:
    """Time to fit with two workers against one, in turns."""

    name = "Dask, two workers against one"
    kind = "cluster"

    def run(self, folder: Folder, settings: Settings) -> dict[str, Any]:
        """Measure and judge, where two processors are free to be used."""
        import dask.dataframe as dd

        files = folder.parquet(folder.sizes.cluster)
        folder.say("starting two clusters")
        with _client(1) as one, _client(2) as two:
            for client in (one, two):
                _timed(client, dd.read_parquet(files[:2]))  # not counted: loads
            frame = dd.read_parquet(files)
            turns: list[tuple[float, float]] = []
            begin = time.perf_counter()
            while len(turns) < settings.repetitions:
                late = time.perf_counter() - begin > settings.budget
                if late and len(turns) >= settings.minimum:
                    break
                folder.say(f"Dask, turn {len(turns) + 1}")
                order = (two, one) if len(turns) % 2 else (one, two)
                done = {client: _timed(client, frame) for client in order}
                turns.append((done[two][0], done[one][0]))
        ours, peer = np.array(turns).T
        target = LARGEST_RATIO if n_processors() > 1 else None
        return {
            "data": label(len(files) * folder.sizes.file_rows),
            "peer": "one worker",
            "ours_seconds": ours.tolist(),
            "peer_seconds": peer.tolist(),
            "target": target,
            **judged(ours / peer, target),
            "remark": same_statistics(files, [model for _, model in done.values()]),
        }


@contextmanager
def _client(n_workers: int) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _timed(client: Any, frame: Any) -> tuple[float, GaussianLinearDiscriminant]:
    begin = time.perf_counter()
    with client.as_current():
        model = GaussianLinearDiscriminant(guard=False)
        model.fit(frame[NAMES], frame[TARGET])
    return time.perf_counter() - begin, model


def same_statistics(files: list[str], models: Any) -> str:
    """How far the scatter of some models is from that of one process."""
    expected = statistics_from_batches(files, TARGET).scatters
    difference = max(np.abs(m.statistics_.scatters - expected).max() for m in models)
    return f"scatter differs by {difference / np.abs(expected).max():.0e}"


def n_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
