"""Class statistics of files: throughput, and how time and memory grow with rows."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.memory import peak_of_process
from benchmarks.methods import child_environment
from benchmarks.runner import Case, Method, Settings, judged, take_turns
from benchmarks.scale.data import FEATURES, NAMES, TARGET, Folder
from heterolda import ClassStatistics
from heterolda.data import statistics_from_batches

ROOT = Path(__file__).resolve().parent.parent.parent

# At least 0.8 of the peer's throughput.
LARGEST_RATIO = 1 / 0.8
# Twice the rows may take this much more or less than twice the time.
ALLOWANCE = 0.15
# Bytes of a process, and how much larger than that of few rows.
LARGEST_PEAK, LARGEST_GROWTH = 1e9, 1.25
# The batches of `statistics_from_batches` have about so many numbers.
BATCH_ROWS = (1 << 21) // (FEATURES + 1)


def gram_of_rows(files: list[str]) -> np.ndarray:
    """Read with pyarrow, lay out the rows of each batch, and multiply."""
    total = np.zeros((FEATURES, FEATURES))
    for batch in _batches(files):
        X = np.column_stack([batch[name].to_numpy() for name in NAMES])
        total += X.T @ X
    return total


def gram_of_columns(files: list[str]) -> np.ndarray:
    """The same without laying out rows: the columns lie as Arrow has them."""
    total = np.zeros((FEATURES, FEATURES))
    for batch in _batches(files):
        columns = np.array([batch[name].to_numpy() for name in NAMES])
        total += columns @ columns.T
    return total


def _batches(files: list[str]):
    """The batches that we read; pyarrow's defaults take longer, and more memory."""
    for path in files:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=[*NAMES, TARGET])


def same_sums(statistics: ClassStatistics, gram: np.ndarray) -> str:
    """How far the sums of both are apart."""
    means = statistics.means * np.sqrt(statistics.weights)[:, None]
    ours = statistics.scatters.sum(axis=0) + means.T @ means
    difference = np.abs(ours - gram).max() / np.abs(gram).max()
    return f"sums differ by {difference:.0e}"


PEERS = {
    "read, rows, X.T @ X": gram_of_rows,
    "read, columns, A @ A.T": gram_of_columns,
}


def label(rows: int) -> str:
    """Rows and features."""
    return f"{rows:,} x {FEATURES}"


@dataclass(frozen=True)
class Throughput:
    """Our time against that of a peer who forms no classes, and no means."""

    peer: str

    kind = "throughput"

    @property
    def name(self) -> str:
        """For the results."""
        return f"throughput against: {self.peer}"

    def run(self, folder: Folder, settings: Settings) -> dict[str, Any]:
        """Measure and judge."""
        files = folder.parquet(folder.sizes.throughput)
        case = Case(
            self.kind,
            None,
            Method("statistics", partial(_prepared, _statistics)),
            Method(self.peer, partial(_prepared, PEERS[self.peer])),
            compare=same_sums,
        )
        turns, remark = take_turns(case, files, None, settings)
        ours, peer = np.array(turns).T
        return {
            "data": label(len(files) * folder.sizes.file_rows),
            "peer": self.peer,
            "ours_seconds": ours.tolist(),
            "peer_seconds": peer.tolist(),
            "target": LARGEST_RATIO,
            **judged(ours / peer, LARGEST_RATIO),
            "remark": remark,
        }


def _statistics(files: list[str]) -> ClassStatistics:
    return statistics_from_batches(files, TARGET)


def _prepared(function, files, _, settings):
    return partial(function, files)


@dataclass(frozen=True)
class Growth:
    """Time against rows, in rounds through all sizes."""

    name = "growth with rows"
    kind = "growth"

    def run(self, folder: Folder, settings: Settings) -> dict[str, Any]:
        """Measure; the judgement is on neighbouring sizes."""
        sizes = folder.sizes.growth
        files = folder.parquet(max(sizes))
        _statistics(files)  # not counted: fills caches
        rounds: list[list[float]] = []
        begin = time.perf_counter()
        for turn in range(settings.repetitions):
            late = time.perf_counter() - begin > settings.budget
            if late and turn >= settings.minimum:
                break
            folder.say(f"growth, round {turn + 1}")
            rounds.append([_seconds(files[:n]) for n in sizes])
        times = np.array(rounds)
        per_row = times / sizes
        against = per_row[:, 1:] / per_row[:, :-1]
        lines = []
        for k, size in enumerate(sizes):
            line: dict[str, Any] = {
                "data": label(size * folder.sizes.file_rows),
                "rows": size * folder.sizes.file_rows,
                "seconds": times[:, k].tolist(),
                "met": None,
            }
            if k:
                line |= judged(against[:, k - 1], None)
                line["met"] = abs(line["ratio"] - 1) <= ALLOWANCE
            lines.append(line)
        return {"lines": lines, "target": ALLOWANCE}


def _seconds(files: list[str]) -> float:
    begin = time.perf_counter()
    _statistics(files)
    return time.perf_counter() - begin


@dataclass(frozen=True)
class Memory:
    """The peak of a fresh process that gathers the statistics of files."""

    source: str

    kind = "memory"

    @property
    def name(self) -> str:
        """For the results."""
        return f"memory, {self.source}"

    def run(self, folder: Folder, settings: Settings) -> dict[str, Any]:
        """Measure and judge: all sizes, the last against the first."""
        sizes = folder.sizes
        if self.source == "Parquet":
            rows = [n * sizes.file_rows for n in sizes.memory]
            sources = [folder.parquet(n) for n in sizes.memory]
        else:
            rows = list(sizes.text)
            sources = [folder.text(n) for n in sizes.text]
        lines = []
        for n, files in zip(rows, sources, strict=True):
            folder.say(f"memory, {self.source}, {n:,} rows")
            line = {"data": label(n), "rows": n, **_measured(files, settings)}
            line["bytes"] = sum(Path(path).stat().st_size for path in files)
            lines.append(line | {"target": LARGEST_PEAK, "ratio": None, "met": None})
        first, last = lines[0]["peak"], lines[-1]["peak"]
        if first is not None:
            lines[-1]["ratio"] = last / first
            small = last < LARGEST_PEAK and last <= LARGEST_GROWTH * first
            lines[-1]["met"] = small
        return {"source": self.source, "lines": lines}


def _measured(files: list[str], settings: Settings) -> dict[str, Any]:
    """Peak memory, and the number of rows, from a child process."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.streams", *files],
        cwd=ROOT,
        env=child_environment(settings.threads),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def main(files: list[str]) -> None:
    """Gather statistics in this process, and print its peak and their weight."""
    weight = float(_statistics(files).weights.sum())
    print(json.dumps({"peak": peak_of_process(), "weight": weight}))


if __name__ == "__main__":
    main(sys.argv[1:])
